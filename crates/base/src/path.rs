//! Paths inside a repository, canonical by construction.
//!
//! There are two kinds: [`FsPath`] is absolute in the repository (`/trunk/a`, the root is `/`), [`RelPath`] is
//! relative to a directory (`trunk/a`; the directory itself is the empty path). Neither has a trailing slash, an
//! empty component, `.` or `..`. Untrusted text is checked ([`FsPath::parse`]) or made canonical
//! ([`FsPath::canonicalize`]) once and trusted then. Paths of the local disk are [`std::path::Path`]; URLs are [`crate::Url`].

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// An absolute path in a repository.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FsPath(Box<str>);

/// A path relative to some directory; may be empty.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Box<str>);

impl FsPath {
    /// The root directory, `/`.
    pub fn root() -> Self {
        FsPath("/".into())
    }

    /// Accepts a path that is canonical already.
    ///
    /// # Errors
    /// `FS_PATH_SYNTAX` otherwise.
    pub fn parse(text: &str) -> Result<Self> {
        if Self::is_canonical(text) {
            Ok(FsPath(text.into()))
        } else {
            Err(bad_path(text))
        }
    }

    /// True for what [`FsPath::parse`] accepts.
    pub fn is_canonical(text: &str) -> bool {
        text == "/" || text.strip_prefix('/').is_some_and(components_are_canonical)
    }

    /// Accepts a path that is canonical already, as bytes from disk.
    ///
    /// # Errors
    /// `FS_PATH_SYNTAX` if it is not UTF-8 or not canonical.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text),
            Err(_) => Err(bad_path(&String::from_utf8_lossy(bytes))),
        }
    }

    /// Makes a path from text typed by a person or sent by a peer: a missing leading slash, doubled and
    /// trailing slashes and `.` components are tolerated.
    ///
    /// # Errors
    /// `FS_PATH_SYNTAX` for `..` components and NUL bytes.
    pub fn canonicalize(text: &str) -> Result<Self> {
        Ok(Self::root().join(&RelPath::canonicalize(text)?))
    }

    /// The path as text, with its leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for `/`.
    pub fn is_root(&self) -> bool {
        &*self.0 == "/"
    }

    /// The same path relative to the root (without the leading slash).
    pub fn to_rel(&self) -> RelPath {
        RelPath(self.0[1..].into())
    }

    /// The path without its leading slash, as text: what log lines, dump streams and `get-location-segments` print.
    pub fn rel_str(&self) -> &str {
        &self.0[1..]
    }

    /// Appends a relative path.
    pub fn join(&self, rel: &RelPath) -> Self {
        self.join_str(rel.as_str())
    }

    /// Appends one name, which must be a single valid component (or already canonical relative text).
    pub fn join_str(&self, name: &str) -> Self {
        if name.is_empty() {
            return self.clone();
        }
        let mut text = String::with_capacity(self.0.len() + 1 + name.len());
        if !self.is_root() {
            text.push_str(&self.0);
        }
        text.push('/');
        text.push_str(name);
        FsPath(text.into())
    }

    /// The containing directory; `None` for the root.
    pub fn parent(&self) -> Option<FsPath> {
        match self.0.rfind('/') {
            _ if self.is_root() => None,
            Some(0) => Some(Self::root()),
            Some(at) => Some(FsPath(self.0[..at].into())),
            None => None,
        }
    }

    /// The last component; empty for the root.
    pub fn basename(&self) -> &str {
        &self.0[self.0.rfind('/').map_or(0, |at| at + 1)..]
    }

    /// The components, outermost first; none for the root.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|c| !c.is_empty())
    }

    /// The path relative to `ancestor` (empty if they are equal); `None` if it is not
    /// at or below `ancestor`.
    pub fn relative_to(&self, ancestor: &FsPath) -> Option<RelPath> {
        self.rel_str_below(ancestor).map(|rel| RelPath(rel.into()))
    }

    /// [`FsPath::relative_to`] as borrowed text.
    pub fn rel_str_below(&self, ancestor: &FsPath) -> Option<&str> {
        if ancestor.is_root() {
            return Some(&self.0[1..]);
        }
        let rest = self.0.strip_prefix(&*ancestor.0)?;
        if rest.is_empty() {
            Some("")
        } else {
            rest.strip_prefix('/')
        }
    }

    /// True if this path is `other` or contains it.
    pub fn contains(&self, other: &FsPath) -> bool {
        other.rel_str_below(self).is_some()
    }

    /// Orders paths so that children follow directly after their parent: `/` sorts below every other byte
    /// (`z`, `z/k`, `z.txt`).
    pub fn cmp_tree(&self, other: &FsPath) -> Ordering {
        cmp_tree(&self.0, &other.0)
    }
}

impl RelPath {
    /// The empty path.
    pub fn empty() -> Self {
        RelPath("".into())
    }

    /// Accepts a path that is canonical already.
    ///
    /// # Errors
    /// `FS_PATH_SYNTAX` otherwise.
    pub fn parse(text: &str) -> Result<Self> {
        let canonical = text.is_empty() || components_are_canonical(text);
        if canonical {
            Ok(RelPath(text.into()))
        } else {
            Err(bad_path(text))
        }
    }

    /// Makes a path from text typed by a person or sent by a peer; see [`FsPath::canonicalize`].
    ///
    /// # Errors
    /// `FS_PATH_SYNTAX` for `..` components and NUL bytes.
    pub fn canonicalize(text: &str) -> Result<Self> {
        if text.is_empty() || components_are_canonical(text) {
            return Ok(RelPath(text.into()));
        }
        let parts: Vec<&str> = text.split('/').filter(|c| !c.is_empty() && *c != ".").collect();
        if parts.iter().any(|c| *c == ".." || c.contains('\0')) {
            return Err(bad_path(text));
        }
        Ok(RelPath(parts.join("/").into()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the empty path.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends one name (or canonical relative text).
    pub fn join_str(&self, name: &str) -> Self {
        if self.0.is_empty() {
            return RelPath(name.into());
        }
        if name.is_empty() {
            return self.clone();
        }
        RelPath(format!("{}/{name}", self.0).into())
    }

    /// Appends a relative path.
    pub fn join(&self, rel: &RelPath) -> Self {
        self.join_str(&rel.0)
    }

    /// The containing directory (empty for a single component); `None` for the empty path.
    pub fn parent(&self) -> Option<RelPath> {
        if self.is_empty() {
            return None;
        }
        Some(RelPath(self.0.rfind('/').map_or("", |at| &self.0[..at]).into()))
    }

    /// The last component; empty for the empty path.
    pub fn basename(&self) -> &str {
        &self.0[self.0.rfind('/').map_or(0, |at| at + 1)..]
    }

    /// The components, outermost first.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|c| !c.is_empty())
    }

    /// The path relative to `ancestor`; `None` if it is not at or below it.
    pub fn relative_to(&self, ancestor: &RelPath) -> Option<RelPath> {
        if ancestor.is_empty() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(&*ancestor.0)?;
        if rest.is_empty() {
            Some(RelPath::empty())
        } else {
            rest.strip_prefix('/').map(|r| RelPath(r.into()))
        }
    }

    /// See [`FsPath::cmp_tree`].
    pub fn cmp_tree(&self, other: &RelPath) -> Ordering {
        cmp_tree(&self.0, &other.0)
    }
}

/// True if `name` can be one component of a path: not empty, not `.` or `..`, no slash, no NUL.
pub fn is_component(name: &str) -> bool {
    !name.contains('/') && components_are_canonical(name)
}

fn components_are_canonical(text: &str) -> bool {
    let bytes = text.as_bytes();
    if is_plain(bytes) {
        return true;
    }
    let mut start = 0;
    for end in memchr::memchr2_iter(b'/', 0, bytes) {
        if bytes[end] == 0 || is_empty_or_dots(&bytes[start..end]) {
            return false;
        }
        start = end + 1;
    }
    !is_empty_or_dots(&bytes[start..])
}

/// True for paths in which no component is empty or begins with a dot, without NUL. Nearly all paths are such, and
/// vector instructions check it: a log of a million paths checks each of them, and a commit checks paths of any
/// depth.
fn is_plain(bytes: &[u8]) -> bool {
    let [first, .., last] = bytes else {
        return false;
    };
    let mut odd = u8::from(matches!(first, b'/' | b'.')) | u8::from(matches!(last, b'/' | 0));
    for (byte, next) in bytes.iter().zip(&bytes[1..]) {
        let begins_oddly = u8::from(*next == b'/') | u8::from(*next == b'.');
        odd |= u8::from(*byte == 0) | (u8::from(*byte == b'/') & begins_oddly);
    }
    odd == 0
}

fn is_empty_or_dots(component: &[u8]) -> bool {
    matches!(component, b"" | b"." | b"..")
}

pub(crate) fn cmp_tree(a: &str, b: &str) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0u16 } else { u16::from(*byte) + 1 };
    // The common prefix of deep paths is skipped quickly.
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.chunks(64).zip(b.chunks(64)).take_while(|(a, b)| a == b).count() * 64;
    let rest = |text: &[u8]| -> usize { same.min(text.len()) };
    a[rest(a)..].iter().map(key).cmp(b[rest(b)..].iter().map(key))
}

fn bad_path(text: &str) -> Error {
    Error::new(
        Code::FS_PATH_SYNTAX,
        format!("Path '{text}' is not in UTF-8 or not canonical"),
    )
}

macro_rules! path_traits {
    ($($type:ident)*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
        impl Deref for $type {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}
path_traits!(FsPath RelPath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_text_parses() {
        for good in ["/", "/a", "/a/b c", "/..a"] {
            assert_eq!(FsPath::parse(good).expect("canonical").as_str(), good);
        }
        for bad in ["", "a", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a\0"] {
            assert_eq!(
                FsPath::parse(bad).expect_err("not canonical").code(),
                Code::FS_PATH_SYNTAX
            );
        }
    }

    #[test]
    fn canonical_is_what_has_proper_components() {
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            for at in 0..texts.len() {
                texts.extend(["/", ".", "\0", "a"].map(|more| format!("{}{more}", texts[at])));
            }
            texts.sort();
            texts.dedup();
        }
        for text in texts {
            let mut components = text.split('/');
            let proper = components.all(|c| !matches!(c, "" | "." | "..") && !c.contains('\0'));
            assert_eq!(components_are_canonical(&text), proper, "{text:?}");
        }
    }

    #[test]
    fn typed_text_is_made_canonical() {
        for (typed, path) in [("", "/"), ("a/", "/a"), ("//a/./b//", "/a/b"), ("/", "/")] {
            assert_eq!(FsPath::canonicalize(typed).expect("tolerated").as_str(), path);
        }
        assert!(FsPath::canonicalize("/a/../b").is_err());
    }

    #[test]
    fn ancestry_is_by_component() {
        let a = FsPath::parse("/a").expect("canonical");
        let ab = FsPath::parse("/a/b").expect("canonical");
        let abc = FsPath::parse("/ab").expect("canonical");
        assert!(a.contains(&ab) && a.contains(&a) && !a.contains(&abc) && FsPath::root().contains(&a));
        assert_eq!(ab.relative_to(&a).expect("below").as_str(), "b");
        assert_eq!(ab.parent(), Some(a.clone()));
        assert_eq!(a.parent(), Some(FsPath::root()));
        assert_eq!(FsPath::root().parent(), None);
    }

    #[test]
    fn tree_order_keeps_children_with_their_parent() {
        let mut paths = ["/z.txt", "/z/k.txt", "/z", "/"].map(|p| FsPath::parse(p).expect("canonical"));
        paths.sort_by(FsPath::cmp_tree);
        assert_eq!(
            paths.each_ref().map(FsPath::as_str),
            ["/", "/z", "/z/k.txt", "/z.txt"]
        );
    }
}
