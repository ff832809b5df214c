//! The location of an authz or groups file: on disk, or inside a repository.
//!
//! Files on disk are read here. The caller fetches a file inside a repository ([`FetchRevisioned`]), from the
//! youngest revision. `^/path` needs a repository; [`Source::within`] makes it a URL.

use std::path::{Path, PathBuf};

use base::percent::{self, AsciiSet};
use base::{Code, Error, Result, disk_path};

use crate::config_file::{read_limited, shown};

/// The location of an authz or groups file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A file on disk.
    File(PathBuf),
    /// `^/path`, in the repository that is served. Holds the text after the `^`.
    InRepository(Vec<u8>),
    /// `file:///…`, in a repository on this machine. Any other URL is refused on use.
    Url(Vec<u8>),
}

/// Fetches the text of a file in the youngest revision of a repository. Its argument is the path of a `file://` URL,
/// URI-decoded: the repository is the nearest one at or above it, the rest is the path inside.
///
/// Returns `None` if there is no such repository or path, or if it is not a file.
pub type FetchRevisioned<'a> = dyn Fn(&[u8]) -> Result<Option<Vec<u8>>> + 'a;

impl Source {
    /// Parses a location in a configuration file; relative names are relative to `folder`.
    pub fn new(name: &[u8], folder: &Path) -> Self {
        if let Some(path) = name.strip_prefix(b"^").filter(|rest| rest.starts_with(b"/")) {
            Source::InRepository(path.to_vec())
        } else if is_url(name) {
            Source::Url(canonical_url(name))
        } else {
            Source::File(crate::config_file::located(name, folder))
        }
    }

    /// Returns the location for the repository at `root`: `^/path` becomes a URL.
    pub fn within(&self, root: &Path) -> Source {
        match self {
            Source::InRepository(path) => {
                let mut url = b"file://".to_vec();
                append_encoded(&bytes_of(root), percent::URL_PATH, &mut url);
                let path = path.strip_suffix(b"/").unwrap_or(path);
                append_encoded(path, percent::URL_PATH_AND_PERCENT, &mut url);
                Source::Url(url)
            }
            Source::File(_) | Source::Url(_) => self.clone(),
        }
    }

    /// Returns the location as messages show it.
    pub fn shown(&self) -> String {
        match self {
            Source::File(path) => disk_path::shown(path).to_string(),
            Source::InRepository(path) => format!("^{}", shown(path)),
            Source::Url(url) => shown(url),
        }
    }

    /// Reads the text.
    ///
    /// # Errors
    /// `ILLEGAL_TARGET` `'X' is not a file`; the system's number; `RA_ILLEGAL_URL` for a URL that is not `file://`;
    /// those of `fetch`.
    pub fn load(&self, fetch: &FetchRevisioned<'_>) -> Result<Vec<u8>> {
        let found = match self {
            // Devices and pipes are read as well: `/dev/null` has no rules.
            Source::File(path) if path.exists() && !path.is_dir() => Some(read_limited(path)?),
            Source::File(_) => None,
            // The repository is unknown.
            Source::InRepository(_) => None,
            Source::Url(url) => fetch(&percent::decode(local_path_of(url)?))?,
        };
        found.ok_or_else(|| Error::new(Code::ILLEGAL_TARGET, format!("'{}' is not a file", self.shown())))
    }
}

/// Returns the path in a `file://` URL, still URI-encoded.
fn local_path_of(url: &[u8]) -> Result<&[u8]> {
    let illegal = |what: &str| {
        let message = format!("Local URL '{}' {what}", shown(url));
        Err(Error::new(Code::RA_ILLEGAL_URL, message))
    };
    let Some(rest) = url.strip_prefix(b"file://") else {
        return illegal("does not contain 'file://' prefix");
    };
    let path = rest.strip_prefix(b"localhost").unwrap_or(rest);
    match path.first() {
        Some(b'/') => Ok(path),
        Some(_) => illegal("contains unsupported hostname"),
        None => illegal("contains only a hostname, no path"),
    }
}

/// Makes a URL canonical: scheme in lower case, no doubled and trailing slashes, encoded where it must be.
fn canonical_url(url: &[u8]) -> Vec<u8> {
    let scheme_end = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(scheme_end);
    let mut out = scheme.to_ascii_lowercase();
    for (at, part) in rest.split(|b| *b == b'/').enumerate() {
        if at == 0 {
            append_encoded(part, percent::URL_PATH_AND_PERCENT, &mut out);
        } else if !part.is_empty() && part != b"." {
            out.push(b'/');
            append_encoded(part, percent::URL_PATH_AND_PERCENT, &mut out);
        }
    }
    out
}

fn append_encoded(text: &[u8], set: &'static AsciiSet, out: &mut Vec<u8>) {
    percent::encode(text, set).for_each(|part| out.extend_from_slice(part.as_bytes()));
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

/// True for `scheme://` with a scheme of letters, digits, `+`, `-`, `.`.
fn is_url(name: &[u8]) -> bool {
    let scheme = name
        .iter()
        .position(|b| !b.is_ascii_alphanumeric() && !b"+-.".contains(b));
    scheme.is_some_and(|end| end > 0 && name[end..].starts_with(b"://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let source = |name: &str| Source::new(name.as_bytes(), Path::new("/r/conf"));
        assert_eq!(source("authz"), Source::File("/r/conf/authz".into()));
        assert_eq!(source(""), Source::File("/r/conf".into()));
        assert_eq!(source("/a//b"), Source::File("/a/b".into()));
        assert_eq!(source("^x"), Source::File("/r/conf/^x".into()));
        assert_eq!(source("^/x"), Source::InRepository(b"/x".to_vec()));
        assert_eq!(source("file:///x/y"), Source::Url(b"file:///x/y".to_vec()));
        assert_eq!(
            source("FILE:///x//y z/"),
            Source::Url(b"file:///x/y%20z".to_vec())
        );
        assert_eq!(source("file:/x"), Source::File("/r/conf/file:/x".into()));
    }

    #[test]
    fn inside_a_repository() {
        let within = |name: &str| Source::new(name.as_bytes(), Path::new("/c")).within(Path::new("/r/a%b"));
        assert_eq!(within("^/sp ace").shown(), "file:///r/a%25b/sp%20ace");
        assert_eq!(within("^/sp%20ace").shown(), "file:///r/a%25b/sp%20ace");
        assert_eq!(within("^/").shown(), "file:///r/a%25b");
        assert_eq!(within("x").shown(), "/c/x");
        let asked = std::cell::RefCell::new(Vec::new());
        let fetch = |path: &[u8]| {
            asked.borrow_mut().extend_from_slice(path);
            Ok(Some(b"text".to_vec()))
        };
        assert_eq!(
            within("^/sp ace%").load(&fetch).ok().as_deref(),
            Some(&b"text"[..])
        );
        assert_eq!(asked.into_inner(), b"/r/a%b/sp ace%");
    }

    #[test]
    fn refusals() {
        let refused = |name: &[u8]| {
            let source = Source::new(name, Path::new("/nosuch"));
            let e = source.load(&|_| Ok(None)).expect_err("there is none");
            (e.code(), e.message())
        };
        assert_eq!(
            refused(b"authz"),
            (Code::ILLEGAL_TARGET, "'/nosuch/authz' is not a file".into())
        );
        assert_eq!(refused(b"/"), (Code::ILLEGAL_TARGET, "'/' is not a file".into()));
        assert_eq!(
            refused(b"^/x"),
            (Code::ILLEGAL_TARGET, "'^/x' is not a file".into())
        );
        assert_eq!(
            refused(b"http://foo/x"),
            (
                Code::RA_ILLEGAL_URL,
                "Local URL 'http://foo/x' does not contain 'file://' prefix".into()
            )
        );
        assert_eq!(
            refused(b"file://host/x"),
            (
                Code::RA_ILLEGAL_URL,
                "Local URL 'file://host/x' contains unsupported hostname".into()
            )
        );
    }
}
