//! URLs of repositories, canonical by construction.
//!
//! `scheme://[user@]host[:port][/path]`: scheme and host in lower case, without the default port, the path without empty
//! components, `.` and a trailing slash, and with exactly the escapes that Subversion writes. Two URLs are the same
//! resource for a client exactly if their texts are equal.

use std::fmt;

use crate::error::{Error, Result};
use crate::error_codes::Code;
use crate::path::RelPath;
use crate::percent::{self, AsciiSet};

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
    /// A host and a port that no server can have are kept, so that messages can show them: [`Url::check_authority`] refuses them.
    ///
    /// # Errors
    /// `BAD_URL` for text without a scheme, with a `..` component (escaped or not) or host, or with a path that is not UTF-8.
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
        if authority == ".." || decoded.split('/').any(|component| component == "..") {
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

    /// User, host and port, as they are in the URL. A `?` or `#` ends them, although it does not begin a path.
    pub fn authority(&self) -> &str {
        let all = &self.text[self.scheme + 3..self.path];
        &all[..all.find(['?', '#']).unwrap_or(all.len())]
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

    /// The port as a number, if it is not the scheme's default one. As with the incumbent it may have a sign, and of a number that is too
    /// large the lower 16 bits count.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for a port that is not a number.
    pub fn port_number(&self) -> Result<Option<u16>> {
        let Some(text) = self.port() else {
            return Ok(None);
        };
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.illegal());
        }
        let is_negative = text.starts_with('-');
        let number = text
            .parse::<i64>()
            .unwrap_or(if is_negative { i64::MIN } else { i64::MAX });
        Ok(Some((number & 0xffff) as u16))
    }

    /// Refuses a URL that cannot name a server.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for a port that is not a number, and for an address in brackets that has no end or is followed by anything but a port.
    pub fn check_authority(&self) -> Result<()> {
        let (host, _) = host_and_port(self.authority());
        if host.starts_with('[') && !host.ends_with(']') {
            return Err(self.illegal());
        }
        self.port_number().map(drop)
    }

    fn illegal(&self) -> Error {
        Error::new(Code::RA_ILLEGAL_URL, format!("Illegal repository URL '{self}'"))
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
    // The colons of an address in brackets are not before a port.
    let address = match host.starts_with('[') {
        true => host.find(']').unwrap_or(host.len()),
        false => 0,
    };
    match host[address..].find(':') {
        Some(at) => (&host[..address + at], Some(&host[address + at + 1..])),
        None => (host, None),
    }
}

fn canonical_authority(scheme: &str, authority: &str) -> String {
    let (user, host) = match authority.split_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let default = match scheme {
        "svn" => "3690",
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    let mut text = String::new();
    if let Some(user) = user {
        text.extend(percent::encode(user.as_bytes(), AUTHORITY));
        text.push('@');
    }
    let (host, rest) = host.split_at(end_of_host(host));
    let host: String = percent::encode(host.as_bytes(), AUTHORITY).collect();
    let host = host.to_ascii_lowercase();
    match host_and_port(&host) {
        (host, Some(port)) if port.is_empty() || port == default => text.push_str(host),
        _ => text.push_str(&host),
    }
    text.extend(percent::encode(
        &percent::decode(rest.as_bytes()),
        percent::URL_PATH,
    ));
    text
}

/// Returns where a host with its port ends: before what is in brackets and not an address, which gets the escapes of a path.
fn end_of_host(host: &str) -> usize {
    let Some(inner) = host.strip_prefix('[') else {
        return host.len();
    };
    let is_address = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    match inner.bytes().position(|byte| !is_address(byte)) {
        Some(at) if inner.as_bytes()[at] != b']' => at + 1,
        _ => host.len(),
    }
}

/// The bytes of users and hosts that stay.
const AUTHORITY: &AsciiSet = &AsciiSet::EMPTY
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

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
            ("svn+ssh://u é@h é/y", "svn+ssh://u%20%C3%A9@h%20%c3%a9/y"),
            (
                "svn+ssh://U%41@H%41;[]\\<\t/y",
                "svn+ssh://U%41@h%41;[]%5c%3c\t/y",
            ),
            ("svn+ssh://U@H@G/y", "svn+ssh://U@h@g/y"),
            ("svn+ssh://[FE80::A]:/y", "svn+ssh://[fe80::a]/y"),
            ("svn+ssh://[A:G%41]:22/y", "svn+ssh://[a:GA%5D:22/y"),
            ("svn+ssh://h?q/y", "svn+ssh://h?q/y"),
            ("svn://[::1]:3690/x", "svn://[::1]/x"),
            ("svn://h:1:3690/x", "svn://h:1:3690/x"),
            ("svn://h::/x", "svn://h::/x"),
            ("svn+ssh://u@../y", "svn+ssh://u@../y"),
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
            "svn://../x",
            "svn://..",
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
        assert_eq!(url("svn://u@h:1?x/y").authority(), "u@h:1");
    }

    #[test]
    fn ports_are_numbers() {
        for (text, port) in [
            ("svn://h", None),
            ("svn://h:01", Some(1)),
            ("svn://h:+1", Some(1)),
            ("svn://h:-1", Some(65535)),
            ("svn://h:65536", Some(0)),
            ("svn://h:99999999999999999999", Some(65535)),
            ("svn://[::1]:2#x", Some(2)),
        ] {
            assert_eq!(url(text).port_number().expect("a port"), port, "{text}");
            assert!(url(text).check_authority().is_ok(), "{text}");
        }
        for text in [
            "svn://h:x",
            "svn://h:1:2",
            "svn://h::2",
            "svn://h:+",
            "svn://::1",
            "svn://%5b::1%5d",
            "svn://[::1",
            "svn://[::1]:x",
            "svn://[::1]x",
            "svn://[h]",
        ] {
            let error = url(text).check_authority().expect_err(text);
            assert_eq!(error.code(), Code::RA_ILLEGAL_URL, "{text}");
        }
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
