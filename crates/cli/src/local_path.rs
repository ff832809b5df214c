//! Paths of the local disk in argument lists.
//!
//! Subversion prints and uses them without doubled or trailing slashes and without `.` components. The current
//! directory is the empty path, shown as `.`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base::disk_path;

/// Returns the path without doubled and trailing slashes and `.` components.
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

/// Returns the path as messages show it.
pub fn shown(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => disk_path::shown(path).into_owned(),
    }
}

/// Returns the path of a text, in the character set of the locale if that has the characters.
pub fn of_text(text: &str) -> PathBuf {
    disk_path::of_text(text).unwrap_or_else(|_| PathBuf::from(text))
}

/// Returns the path as the progress of a command shows it: relative to the current directory `here`, if it is an absolute path inside of that.
pub fn shown_from(here: &Path, path: &Path) -> String {
    // An unknown current directory is empty.
    let inside = path.strip_prefix(here).ok().filter(|_| here.is_absolute());
    shown(inside.unwrap_or(path))
}

/// True if the operand begins with `scheme://`.
pub fn is_url(typed: &OsStr) -> bool {
    let bytes = typed.as_bytes();
    let Some(colon) = bytes.iter().position(|b| *b == b':') else {
        return false;
    };
    let scheme = &bytes[..colon];
    let letters = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    !scheme.is_empty() && scheme.iter().all(letters) && bytes[colon..].starts_with(b"://")
}

/// Returns a canonical path in which `..` follows no other component.
pub fn without_parents(path: impl AsRef<OsStr>) -> PathBuf {
    let mut out = PathBuf::new();
    for component in canonical(path.as_ref()).components() {
        use std::path::Component;
        match (component, out.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => _ = out.pop(),
            (Component::ParentDir, Some(Component::RootDir)) => {}
            _ => out.push(component),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_slashes_and_dots_are_removed() {
        for (typed, path) in [
            ("./r//", "r"),
            (".", ""),
            ("/", "/"),
            ("//a/./b/", "/a/b"),
            ("db/..", "db/.."),
        ] {
            assert_eq!(canonical(OsStr::new(typed)), PathBuf::from(path));
        }
        for (path, expected) in [
            ("/a/b", "b"),
            ("/a", "."),
            ("/ab", "/ab"),
            ("b", "b"),
            ("../a", "../a"),
        ] {
            assert_eq!(shown_from(Path::new("/a"), Path::new(path)), expected);
        }
        assert_eq!(shown_from(Path::new(""), Path::new("/a")), "/a");
        assert!(is_url(OsStr::new("file:///x")) && !is_url(OsStr::new("/a://b")));
    }
}
