//! Finds directories that a commit moves as a whole.

use std::collections::BTreeMap;

use super::directories::{DirectoryChanges, parent};
use super::log::{Commit, Origin};

/// Returns the moved directories: new path and old path.
///
/// A directory is moved if it disappears, and the files below a new directory are those that were below it.
pub fn moved_directories(commit: &Commit, changes: &DirectoryChanges) -> BTreeMap<String, String> {
    let sources: BTreeMap<&str, &str> = commit
        .written
        .iter()
        .filter_map(|file| match &file.origin {
            Origin::Copied { from, .. } => Some((file.path.as_str(), from.as_str())),
            _ => None,
        })
        .collect();
    // The last copy of a removed file is its new place.
    let targets: BTreeMap<&str, &str> = sources.iter().map(|(path, from)| (*from, *path)).collect();
    let mut moves = BTreeMap::new();
    let tops = changes.removed.iter().filter(|dir| {
        let above = parent(dir);
        above.is_none_or(|above| !changes.removed.contains(above))
    });
    for old in tops {
        let gone = || commit.removed.iter().filter_map(|path| below(path, old));
        let Some(new) = gone().next().and_then(|rest| {
            let target = targets.get(format!("{old}/{rest}").as_str())?;
            target.strip_suffix(rest)?.strip_suffix('/')
        }) else {
            continue;
        };
        let written = || commit.written.iter().filter_map(|file| below(&file.path, new));
        let is_same = written().all(|rest| {
            let from = sources.get(format!("{new}/{rest}").as_str());
            from.and_then(|from| below(from, old)) == Some(rest)
        });
        if changes.made.contains(new) && is_same && written().count() == gone().count() {
            moves.insert(new.to_owned(), old.clone());
        }
    }
    moves
}

/// Returns the rest of the path below a directory.
pub fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    path.strip_prefix(directory)?.strip_prefix('/')
}
