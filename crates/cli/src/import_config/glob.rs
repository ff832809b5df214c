//! Expands file names with `*`, `?` and `[…]`, for `Include`.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The largest number of files that one pattern expands to.
const MAX_FILES: usize = 4096;

/// Returns the files that match `pattern`, sorted. A directory stands for all files below it.
pub fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let part = match component {
            Component::Normal(part) => part.to_string_lossy().into_owned(),
            other => {
                found.iter_mut().for_each(|path| path.push(other));
                continue;
            }
        };
        if !part.contains(['*', '?', '[']) {
            found.iter_mut().for_each(|path| path.push(&part));
            found.retain(|path| path.exists());
            continue;
        }
        let mut next: Vec<PathBuf> = Vec::new();
        for folder in &found {
            let names = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = names.map(|entry| entry.file_name());
            next.extend(
                names
                    .filter(|name| matches(part.as_bytes(), name.to_string_lossy().as_bytes()))
                    .map(|name| folder.join(name))
                    .take(MAX_FILES),
            );
        }
        next.sort();
        next.truncate(MAX_FILES);
        found = next;
    }
    let mut files = Vec::new();
    for path in found {
        below(path, &mut files, 0);
    }
    files
}

/// Appends a file, or all files below a directory.
fn below(path: PathBuf, files: &mut Vec<PathBuf>, depth: usize) {
    const MAX_DEPTH: usize = 8;
    if files.len() >= MAX_FILES {
        return;
    }
    if !path.is_dir() {
        files.push(path);
        return;
    }
    if depth < MAX_DEPTH {
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        inside.sort();
        for path in inside {
            below(path, files, depth + 1);
        }
    }
}

/// True if `name` matches `pattern`. A leading dot must be matched literally.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    // The positions to continue at after the last `*`, if the rest does not match.
    let (mut p, mut n, mut retry) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(_) if one(&pattern[p..], name[n]).is_some() => {
                p += one(&pattern[p..], name[n]).unwrap_or(1);
                n += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    (p, n) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

/// Returns the length of the first element of `pattern` if it matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', rest @ ..] => {
            let end = 1 + rest.iter().skip(1).position(|b| *b == b']')?;
            let (negated, set) = match rest[..end].split_first() {
                Some((b'!' | b'^', set)) => (true, set),
                _ => (false, &rest[..end]),
            };
            let mut at = 0;
            let mut inside = false;
            while at < set.len() {
                if set.get(at + 1) == Some(&b'-') && at + 2 < set.len() {
                    inside |= (set[at]..=set[at + 2]).contains(&byte);
                    at += 3;
                } else {
                    inside |= set[at] == byte;
                    at += 1;
                }
            }
            (inside != negated).then_some(end + 2)
        }
        [first, ..] => (*first == byte).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_patterns() {
        for (pattern, name, fits) in [
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf.bak", false),
            ("*.conf", ".conf", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?[a-c]", "xb", true),
            ("?[!a-c]", "xb", false),
            ("[", "[", false),
            ("*", "", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                fits,
                "{pattern} {name}"
            );
        }
    }
}
