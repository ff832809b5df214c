//! svn:// URLs: canonical form, components, and the relation to a repository's URL.
//!
//! The path of a URL names a repository and then a path in it; only the disk tells where the first ends. URLs are compared by whole
//! components of decoded paths: `…/repox` is not below `…/repo`.

use base::{Code, Error, Result, with_substitutes};

use crate::percent_encoding::{percent_decode, percent_encode};

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SvnUrl {
    /// Scheme and authority with `://` between, in canonical form.
    pub(crate) front: String,
    /// The authority alone.
    pub(crate) authority: String,
    /// Components of the path, decoded.
    pub(crate) path: Vec<Vec<u8>>,
}

impl SvnUrl {
    /// Parses a URL. Doubled slashes and `.` are dropped, scheme and host become lower case, and the default port is dropped.
    ///
    /// # Errors
    /// `BAD_URL` unless the scheme is `svn` or `svn+…`; `BAD_FILENAME` for `..`.
    pub(crate) fn parse(text: &str) -> Result<SvnUrl> {
        let bad = || {
            Error::new(
                Code::BAD_URL,
                format!("Non-svn URL passed to svn server: '{text}'"),
            )
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let scheme = scheme.to_ascii_lowercase();
        let tail = scheme.strip_prefix("svn").ok_or_else(bad)?;
        if !tail.is_empty() && !tail.starts_with('+') {
            return Err(bad());
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let authority = canonical_authority(&scheme, authority);
        let path: Vec<Vec<u8>> = percent_decode(path)
            .split(|b| *b == b'/')
            .filter(|c| !c.is_empty() && *c != b".")
            .map(<[u8]>::to_vec)
            .collect();
        if path.iter().any(|c| c == b"..") {
            return Err(no_repository_path());
        }
        let front = format!("{scheme}://{authority}");
        Ok(SvnUrl {
            front,
            authority,
            path,
        })
    }

    /// Returns the URL of the first `count` components.
    pub(crate) fn prefix(&self, count: usize) -> String {
        let mut url = self.front.clone();
        for component in self.path.iter().take(count) {
            url.push('/');
            percent_encode(component, &mut url);
        }
        url
    }

    /// Returns the directory name of the authority, for virtual hosts: decoded, and one component of a path.
    ///
    /// # Errors
    /// `BAD_FILENAME` for an authority that is empty, `.`, `..`, or contains a slash or NUL.
    pub(crate) fn host_directory(&self) -> Result<Vec<u8>> {
        let name = percent_decode(&self.authority);
        let is_special = name.is_empty() || name == b"." || name == b"..";
        if is_special || name.contains(&b'/') || name.contains(&0) {
            return Err(no_repository_path());
        }
        Ok(name)
    }

    /// Returns the path behind the first `count` components as text, without leading slash.
    pub(crate) fn behind(&self, count: usize) -> String {
        join_text(self.path.get(count..).unwrap_or_default())
    }

    /// Returns the path below `root` as text; `None` if this URL is not `root` or below it.
    pub(crate) fn below(&self, root: &SvnUrl) -> Option<String> {
        (self.front == root.front && self.path.starts_with(&root.path)).then(|| self.behind(root.path.len()))
    }
}

fn no_repository_path() -> Error {
    Error::new(Code::BAD_FILENAME, "Couldn't determine repository path")
}

fn join_text(components: &[Vec<u8>]) -> String {
    let parts: Vec<_> = components.iter().map(|c| with_substitutes(c)).collect();
    parts.join("/")
}

fn canonical_authority(scheme: &str, authority: &str) -> String {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let mut host = host.to_ascii_lowercase();
    if host.ends_with(':') {
        host.pop();
    }
    if scheme == "svn"
        && let Some(bare) = host.strip_suffix(":3690")
    {
        host.truncate(bare.len());
    }
    match user {
        Some(user) => format!("{user}@{host}"),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SvnUrl {
        SvnUrl::parse(text).expect("a URL of this protocol")
    }

    #[test]
    fn urls_are_made_canonical_as_the_incumbent_does() {
        let url = parse("svn://u@H:99//r//trunk/./");
        assert_eq!(url.prefix(1), "svn://u@h:99/r");
        assert_eq!(url.behind(1), "trunk");
        assert_eq!(parse("svn+ssh://x:99/r/trunk%20x/?").behind(1), "trunk x/?");
        assert_eq!(parse("svn://h/r%2ftrunk").behind(1), "trunk");
        assert_eq!(parse("svn://h:3690").prefix(0), "svn://h");
        assert_eq!(parse("svn://h/%zz/a b").prefix(2), "svn://h/%25zz/a%20b");
    }

    #[test]
    fn other_urls_are_refused() {
        for bad in ["http://x/r", "svnfoo://x/r", "svn:/x", "/r"] {
            assert_eq!(SvnUrl::parse(bad).expect_err("not ours").code(), Code::BAD_URL);
        }
        for bad in ["svn://x/r/../r", "svn://x/%2e%2e/r"] {
            assert_eq!(
                SvnUrl::parse(bad).expect_err("leads up").code(),
                Code::BAD_FILENAME
            );
        }
    }

    #[test]
    fn the_directory_of_a_host_is_one_component() {
        for (url, name) in [
            ("svn://Host/r", "host"),
            ("svn://host:3690/r", "host"),
            ("svn://host:/r", "host"),
            ("svn://h%6fst/r", "host"),
            ("svn://host:99/r", "host:99"),
            ("svn://u@host/r", "u@host"),
            ("svn://.../r", "..."),
        ] {
            assert_eq!(
                parse(url).host_directory().ok().as_deref(),
                Some(name.as_bytes()),
                "{url}"
            );
        }
        for bad in [
            "svn:///r",
            "svn://./r",
            "svn://../r",
            "svn://..:3690/r",
            "svn://:3690/r",
            "svn://:/r",
            "svn://%2e/r",
            "svn://%2E%2e/r",
            "svn://.%2e/r",
            "svn://host%2fr",
            "svn://..%2foutside/r",
            "svn://host%00/r",
            "svn://ho\0st/r",
        ] {
            let refused = parse(bad).host_directory().expect_err(bad);
            assert_eq!(refused.code(), Code::BAD_FILENAME, "{bad}");
        }
    }

    #[test]
    fn below_is_by_component() {
        let root = parse("svn://h/repo");
        assert_eq!(parse("svn://h/repo/a%20b").below(&root).as_deref(), Some("a b"));
        assert_eq!(parse("svn://h/repo").below(&root).as_deref(), Some(""));
        assert_eq!(parse("svn://h/repox").below(&root), None);
        assert_eq!(parse("svn://i/repo").below(&root), None);
    }
}
