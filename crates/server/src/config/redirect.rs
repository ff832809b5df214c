//! Redirects from old URLs of repositories to new ones.

use wire::dav::uri;

/// A redirect from an old path to a new URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The first components of old paths, decoded.
    from: Vec<String>,
    /// The beginning of new URLs, encoded, without a final slash: `https://host/path`, or `/path` on this server.
    to: String,
    /// The redirect is permanent (301); otherwise temporary (302).
    permanent: bool,
}

impl Redirect {
    /// Returns a redirect from paths that begin with `from` (decoded) to `to`, a URL or a path on this server.
    ///
    /// # Errors
    /// A sentence, if `from` is not a path, or `to` neither a path nor a URL of http or https.
    pub fn new(from: &str, to: &str, permanent: bool) -> Result<Redirect, String> {
        let parts: Vec<String> = from
            .split('/')
            .filter(|p| !p.is_empty())
            .map(str::to_owned)
            .collect();
        if !from.starts_with('/') || parts.iter().any(|part| part == "." || part == "..") {
            return Err(format!(
                "'{from}' is no path: it must begin with '/' and hold neither '.' nor '..'"
            ));
        }
        let rest = to.strip_prefix("http://").or_else(|| to.strip_prefix("https://"));
        let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
        let is_path = to.starts_with('/') && !to.starts_with("//");
        if !(is_url || is_path) || to.contains(['?', '#']) || to.contains(|c: char| c <= ' ' || !c.is_ascii())
        {
            return Err(format!(
                "'{to}' is neither an encoded path such as /svn/new nor a URL such as https://svn.example.org/new"
            ));
        }
        Ok(Redirect {
            from: parts,
            to: to.trim_end_matches('/').to_owned(),
            permanent,
        })
    }

    /// Returns whether the redirect is permanent.
    pub fn is_permanent(&self) -> bool {
        self.permanent
    }

    /// Returns the new URL of the path `components`, which ended in a slash or not; without scheme and host if it is on this server.
    pub(crate) fn target(&self, components: &[String], slash: bool) -> Option<String> {
        let below = components.strip_prefix(&self.from[..])?;
        let mut url = self.to.clone();
        for component in below {
            url.push('/');
            uri::encode(component, &mut url);
        }
        if slash || url.is_empty() {
            url.push('/');
        }
        Some(url)
    }

    /// Returns whether the new path begins with the old one on the same server, so that clients would be redirected forever.
    pub fn is_circle(&self) -> bool {
        let to = uri::split(&self.to).filter(|_| self.to.starts_with('/') || self.to.is_empty());
        to.is_some_and(|(to, _)| to.starts_with(&self.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(from: &str, to: &str, path: &str) -> Option<String> {
        let (components, slash) = uri::split(path).expect("a path");
        Redirect::new(from, to, true)
            .expect("a redirect")
            .target(&components, slash)
    }

    #[test]
    fn the_rest_of_the_path_is_kept() {
        let url = "https://new.example.org/svn/";
        assert_eq!(
            target("/old", url, "/old").as_deref(),
            Some("https://new.example.org/svn")
        );
        assert_eq!(
            target("/old", url, "/old/").as_deref(),
            Some("https://new.example.org/svn/")
        );
        assert_eq!(
            target("/old", url, "//old/./a%20b/%C3%A9;").as_deref(),
            Some("https://new.example.org/svn/a%20b/%C3%A9%3B")
        );
        assert_eq!(target("/old", url, "/older"), None);
        assert_eq!(target("/old", url, "/x/old"), None);
        assert_eq!(target("/", "/new", "/a/b").as_deref(), Some("/new/a/b"));
        assert_eq!(target("/old", "/", "/old").as_deref(), Some("/"));
        assert_eq!(
            target("/a b", "/x", "/a%20b/y%0d%0az").as_deref(),
            Some("/x/y%0D%0Az")
        );
    }

    #[test]
    fn invalid_paths_and_urls_are_refused() {
        for (from, to) in [
            ("old", "/new"),
            ("/a/../b", "/new"),
            ("/old", "new"),
            ("/old", "ftp://x/y"),
            ("/old", "http://"),
            ("/old", "http:///x"),
            ("/old", "//host/x"),
            ("/old", "/a b"),
            ("/old", "/new?x"),
            ("/old", "/a\r\nX: y"),
        ] {
            assert!(Redirect::new(from, to, true).is_err(), "{from} {to}");
        }
        let circle = |from: &str, to: &str| Redirect::new(from, to, false).expect("a redirect").is_circle();
        assert!(circle("/a", "/a") && circle("/a", "/a/b") && circle("/", "/x"));
        assert!(!circle("/a", "/ab") && !circle("/a", "http://other/a") && !circle("/a/b", "/a"));
    }
}
