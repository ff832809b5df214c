//! URLs of repositories, canonical by construction.
//!
//! `scheme://[user@]host[:port][/path]`: scheme and host in lower case, without the default port, the path without empty
//! components, `.` and a trailing slash, and with exactly the escapes that Subversion writes. Two URLs are the same
//! resource for a client exactly if their texts are equal.

use std::fmt;

use crate::error::{Error, Result};
use crate::error_codes::Code;
use crate::path::RelPath;
use crate::percent;

/// A URL.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Url {
    text: Box<str>,
    /// The length of the scheme.
    scheme: usize,
    /// Where the path begins: at its slash, or at the end.
    path: usize,
}

impl Url {
    /// Makes a URL from text that a person typed or a peer sent. Characters of the path that need an escape and have none
    /// get one, as a `%` without two hexadecimal digits does.
    ///
    /// # Errors
    /// `BAD_URL` for text without a scheme, with a `..` component (escaped or not), or with a path that is not UTF-8.
    pub fn canonicalize(text: &str) -> Result<Url> {
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            return Err(Error::new(Code::BAD_URL, format!("'{text}' is not a URL")));
        };
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let front = format!("{scheme}://{}", canonical_authority(&scheme, authority));
        let mut url = Url {
            scheme: scheme.len(),
            path: front.len(),
            text: front.into(),
        };
        let decoded = percent::decode(path.as_bytes());
        let Ok(decoded) = std::str::from_utf8(&decoded) else {
            return Err(Error::new(Code::BAD_URL, format!("URL '{text}' is not in UTF-8")));
        };
        if decoded.split('/').any(|component| component == "..") {
            let message = format!("URL '{text}' contains a '..' element");
            return Err(Error::new(Code::BAD_URL, message));
        }
        let path = RelPath::canonicalize(decoded)
            .map_err(|_| Error::new(Code::BAD_URL, format!("URL '{text}' is not valid")))?;
        url = url.join(&path);
        Ok(url)
    }

    /// Returns true for text that names a URL rather than a file: it begins with a scheme and `://`.
    pub fn is_url(text: &str) -> bool {
        text.split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme))
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme, as `svn+ssh`.
    pub fn scheme(&self) -> &str {
        &self.text[..self.scheme]
    }

    /// User, host and port, as they are in the URL.
    pub fn authority(&self) -> &str {
        &self.text[self.scheme + 3..self.path]
    }

    /// The user name, if there is one.
    pub fn user(&self) -> Option<&str> {
        self.authority().rsplit_once('@').map(|(user, _)| user)
    }

    /// The host, an IPv6 address without its brackets; may be empty.
    pub fn host(&self) -> &str {
        let host = host_and_port(self.authority()).0;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.unwrap_or(host)
    }

    /// The port as text, if it is not the scheme's default one.
    pub fn port(&self) -> Option<&str> {
        host_and_port(self.authority()).1
    }

    /// The path with its escapes; empty, or beginning with a slash.
    pub fn path(&self) -> &str {
        &self.text[self.path..]
    }

    /// The path without escapes, without its first slash.
    pub fn decoded_path(&self) -> RelPath {
        decoded(self.path())
    }

    /// Returns the URL of a path below this one.
    pub fn join(&self, path: &RelPath) -> Url {
        let mut text = String::from(&*self.text);
        if !path.is_empty() {
            text.push('/');
            text.extend(percent::encode(path.as_bytes(), percent::URL_PATH));
        }
        Url {
            text: text.into(),
            ..*self
        }
    }

    /// Returns the URL of the containing directory; `None` if there is no path.
    pub fn parent(&self) -> Option<Url> {
        let end = self.path + self.path().rfind('/')?;
        Some(Url {
            text: self.text[..end].into(),
            ..*self
        })
    }

    /// The last component of the path, without escapes; empty if there is no path.
    pub fn basename(&self) -> String {
        self.decoded_path().basename().to_owned()
    }

    /// Returns the path relative to `ancestor` (empty if they are equal); `None` if this URL is not at or below it.
    pub fn relative_to(&self, ancestor: &Url) -> Option<RelPath> {
        let rest = self.text.strip_prefix(&*ancestor.text)?;
        let is_component = rest.is_empty() || rest.starts_with('/');
        is_component.then(|| decoded(rest))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

/// Decodes a path of a canonical URL.
fn decoded(path: &str) -> RelPath {
    let bytes = percent::decode(path.as_bytes());
    let text = std::str::from_utf8(&bytes).expect("because the path was made of text");
    RelPath::canonicalize(text).expect("because the path is canonical")
}

fn is_scheme(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Splits an authority without its user into host and port.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (host, None),
    }
}

fn canonical_authority(scheme: &str, authority: &str) -> String {
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let (host, port) = host_and_port(authority);
    let default = match scheme {
        "svn" => "3690",
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    let mut text = String::new();
    if let Some(user) = user {
        text.push_str(user);
        text.push('@');
    }
    text.push_str(&host.to_ascii_lowercase());
    if let Some(port) = port.filter(|port| !port.is_empty() && *port != default) {
        text.push(':');
        text.push_str(port);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::canonicalize(text).expect("a URL")
    }

    #[test]
    fn urls_are_made_canonical_as_subversion_does() {
        // From the messages of `svn ls` 1.14.2.
        for (typed, canonical) in [
            (
                "SVN://LocalHost:3690//a/./b/%7e%41%2f%2F x/",
                "svn://localhost/a/b/~A/%20x",
            ),
            ("svn://localhost:1/a%c3%a9é", "svn://localhost:1/a%C3%A9%C3%A9"),
            (
                "svn://localhost:1/a b?c#d\"<>\\^`{|}[];=&+$,!*()%",
                "svn://localhost:1/a%20b%3Fc%23d%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D%3B=&+$,!*()%25",
            ),
            ("svn://User@LOCALHOST:1/r/", "svn://User@localhost:1/r"),
            ("svn://localhost:/x", "svn://localhost/x"),
            ("svn://localhost:01/x", "svn://localhost:01/x"),
            ("file://localhost/nosuch/x%20y", "file://localhost/nosuch/x%20y"),
            ("file:///a/", "file:///a"),
            ("svn://", "svn://"),
            ("svn://[::1]:1/x", "svn://[::1]:1/x"),
            (
                "svn://localhost:1/a//b;c%3B%3d%25%zz",
                "svn://localhost:1/a/b%3Bc%3B=%25%25zz",
            ),
            ("http://LocalHost:80/a", "http://localhost/a"),
        ] {
            assert_eq!(url(typed).as_str(), canonical);
            assert_eq!(url(canonical).as_str(), canonical);
        }
        for bad in [
            "",
            "a",
            "/a",
            "1:/",
            "1://x",
            "svn://h/a/../b",
            "svn://h/%2e%2e/x",
            "svn://h/%ff",
            "svn://h/%00",
        ] {
            assert_eq!(Url::canonicalize(bad).expect_err(bad).code(), Code::BAD_URL);
        }
    }

    #[test]
    fn the_parts_of_a_url() {
        let full = url("svn+ssh://me@Host:22/a%20b/c");
        assert_eq!(
            (full.scheme(), full.user(), full.host()),
            ("svn+ssh", Some("me"), "host")
        );
        assert_eq!((full.port(), full.path()), (Some("22"), "/a%20b/c"));
        assert_eq!(full.authority(), "me@host:22");
        assert_eq!(full.decoded_path().as_str(), "a b/c");
        assert_eq!(url("svn://[::1]:7").host(), "::1");
        assert_eq!(url("svn://[::1]:7").port(), Some("7"));
        assert_eq!(url("svn://[::1]").port(), None);
        assert_eq!(url("svn://h").path(), "");
    }

    #[test]
    fn relations_are_by_component() {
        let root = url("svn://h/r x");
        let below = root.join(&RelPath::canonicalize("a%/é").expect("a path"));
        assert_eq!(below.as_str(), "svn://h/r%20x/a%25/%C3%A9");
        assert_eq!(below.relative_to(&root).expect("below").as_str(), "a%/é");
        assert_eq!(root.relative_to(&root).expect("the same").as_str(), "");
        assert_eq!(url("svn://h/r x2").relative_to(&root), None);
        assert_eq!(below.parent().expect("a parent").basename(), "a%");
        assert_eq!(url("svn://h/r").parent(), Some(url("svn://h")));
        assert_eq!(url("svn://h").parent(), None);
    }
}
