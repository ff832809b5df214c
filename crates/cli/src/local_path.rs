//! Paths of the local disk as they are typed.
//!
//! Subversion prints and uses them without doubled or trailing slashes and without `.` components; the current
//! directory is the empty path, shown as `.`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Takes out what says nothing.
pub fn canonical(typed: &OsStr) -> PathBuf {
    let bytes = typed.as_bytes();
    let parts: Vec<&[u8]> = bytes
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .collect();
    let mut path = Vec::with_capacity(bytes.len());
    if bytes.first() == Some(&b'/') {
        path.push(b'/');
    }
    path.extend(parts.join(&b'/'));
    PathBuf::from(OsStr::from_bytes(&path))
}

/// The path as it is printed.
pub fn shown(path: &std::path::Path) -> String {
    if path.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        path.display().to_string()
    }
}

/// True for `scheme://…`.
pub fn is_url(typed: &OsStr) -> bool {
    let bytes = typed.as_bytes();
    let Some(colon) = bytes.iter().position(|b| *b == b':') else {
        return false;
    };
    let scheme = &bytes[..colon];
    let letters = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    !scheme.is_empty() && scheme.iter().all(letters) && bytes[colon..].starts_with(b"://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_dots_go() {
        for (typed, path) in [
            ("./r//", "r"),
            (".", ""),
            ("/", "/"),
            ("//a/./b/", "/a/b"),
            ("db/..", "db/.."),
        ] {
            assert_eq!(canonical(OsStr::new(typed)), PathBuf::from(path));
        }
        assert!(is_url(OsStr::new("file:///x")) && !is_url(OsStr::new("/a://b")));
    }
}
