//! The directories of the tree, which Git does not have.

use std::collections::{BTreeSet, HashMap};

/// The existing directories with their number of entries. The root, which is the empty path, always exists.
#[derive(Default)]
pub struct Directories {
    entries: HashMap<String, usize>,
}

/// The directories that a commit makes and removes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DirectoryChanges {
    /// The new directories, parents first.
    pub made: BTreeSet<String>,
    /// The removed directories.
    pub removed: BTreeSet<String>,
}

impl Directories {
    /// Adds and removes files, and returns the directories that begin and cease to exist.
    pub fn apply<'a>(
        &mut self,
        added: impl Iterator<Item = &'a str>,
        removed: impl Iterator<Item = &'a str>,
    ) -> DirectoryChanges {
        let mut changes = DirectoryChanges::default();
        // Additions come first, so that a directory whose entries are all replaced stays.
        for path in added {
            self.add(path, &mut changes.made);
        }
        for path in removed {
            self.remove(path, &mut changes.removed);
        }
        changes
    }

    /// True if there is such a directory.
    pub fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    fn add(&mut self, path: &str, made: &mut BTreeSet<String>) {
        let mut below = path;
        while let Some(parent) = parent(below) {
            if let Some(count) = self.entries.get_mut(parent) {
                *count += 1;
                return;
            }
            self.entries.insert(parent.to_owned(), 1);
            made.insert(parent.to_owned());
            below = parent;
        }
    }

    fn remove(&mut self, path: &str, removed: &mut BTreeSet<String>) {
        let mut below = path;
        while let Some(parent) = parent(below) {
            match self.entries.get_mut(parent) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    return;
                }
                _ => {
                    self.entries.remove(parent);
                    removed.insert(parent.to_owned());
                }
            }
            below = parent;
        }
    }
}

/// Returns the directory of a path; `None` for paths in the root.
pub fn parent(path: &str) -> Option<&str> {
    path.rfind('/').map(|at| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::Directories;

    #[test]
    fn directories_live_as_long_as_they_have_entries() {
        let mut tree = Directories::default();
        let mut apply = |added: &[&str], removed: &[&str]| {
            let changes = tree.apply(added.iter().copied(), removed.iter().copied());
            let list =
                |set: std::collections::BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" ");
            (list(changes.made), list(changes.removed))
        };
        let is = |made: &str, removed: &str| (made.to_owned(), removed.to_owned());
        assert_eq!(apply(&["a/b/c", "a/b/d", "e"], &[]), is("a a/b", ""));
        assert_eq!(apply(&["a/b/f"], &["a/b/c", "a/b/d"]), is("", ""));
        // A file takes the place of a directory, and the other way round.
        assert_eq!(apply(&["a/b"], &["a/b/f"]), is("", "a/b"));
        assert_eq!(apply(&["a/b/c", "g/h"], &["a/b", "e"]), is("a/b g", ""));
        assert_eq!(apply(&[], &["a/b/c", "g/h"]), is("", "a a/b g"));
    }
}
