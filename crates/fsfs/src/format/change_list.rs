//! [`ChangeList`]: the changed paths of a revision in memory, in one allocation.
//!
//! A log reads the lists of thousands of revisions, front to back, and caches each of them. So a list is one string:
//!
//! | part | encoding |
//! |---|---|
//! | start | `k` if the kind of every node is known, else `u` |
//! | each change | one letter for kind of change and kind of node, one letter for the three flags |
//! | | path, NUL |
//! | | copy source `<rev> <path>` or nothing, NUL |
//!
//! No path contains a NUL. The form is not stored and never leaves the process. A caller that keeps a change makes a
//! [`ChangedPath`] of it.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use base::{FsPath, NodeKind, Revnum};

use super::changes::{ChangeKind, ChangedPath};

/// The changes of a revision, one entry for each path, sorted by the bytes of the path. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChangeList(Arc<str>);

/// One change of a list, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The path, canonical like an [`FsPath`].
    pub path: &'a str,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The kind of the node; `Unknown` in revisions that were written in a format below 4.
    pub node_kind: NodeKind,
    /// True if the text changed.
    pub text_mod: bool,
    /// True if the properties changed.
    pub prop_mod: bool,
    /// True if `svn:mergeinfo` changed; `None` if it is not recorded (formats below 7).
    pub mergeinfo_mod: Option<bool>,
    /// The copy source, canonical as well.
    pub copyfrom: Option<(Revnum, &'a str)>,
}

impl Change<'_> {
    /// Copies the change into a value of its own.
    pub fn to_owned(self) -> ChangedPath {
        let path = |path| FsPath::parse(path).expect("because a list holds canonical paths");
        ChangedPath {
            path: path(self.path),
            change: self.change,
            node_kind: self.node_kind,
            text_mod: self.text_mod,
            prop_mod: self.prop_mod,
            mergeinfo_mod: self.mergeinfo_mod,
            copyfrom: self.copyfrom.map(|(rev, source)| (rev, path(source))),
        }
    }
}

impl ChangedPath {
    /// Borrows the change.
    pub(crate) fn as_change(&self) -> Change<'_> {
        Change {
            path: self.path.as_str(),
            change: self.change,
            node_kind: self.node_kind,
            text_mod: self.text_mod,
            prop_mod: self.prop_mod,
            mergeinfo_mod: self.mergeinfo_mod,
            copyfrom: self.copyfrom.as_ref().map(|(rev, path)| (*rev, path.as_str())),
        }
    }
}

impl ChangeList {
    /// Iterates over the changes in the order of their paths.
    pub fn iter(&self) -> Changes<'_> {
        Changes(self.0.get(1..).unwrap_or_default())
    }

    /// True if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.0.len() <= 1
    }

    /// True if the kind of each node is known.
    pub fn has_all_kinds(&self) -> bool {
        !self.0.starts_with(SOME_UNKNOWN)
    }

    /// The memory of the list, bytes.
    pub fn bytes(&self) -> usize {
        16 + self.0.len()
    }

    /// Copies all changes.
    pub fn to_vec(&self) -> Vec<ChangedPath> {
        self.iter().map(Change::to_owned).collect()
    }
}

impl<'a> FromIterator<&'a ChangedPath> for ChangeList {
    /// The changes must be sorted by path.
    fn from_iter<T: IntoIterator<Item = &'a ChangedPath>>(changes: T) -> Self {
        let mut list = ChangeListBuilder::new(String::new());
        for change in changes {
            list.push(&change.as_change());
        }
        list.finish()
    }
}

impl fmt::Debug for ChangeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The iterator over a list.
#[derive(Clone, Debug)]
pub struct Changes<'a>(&'a str);

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        let &[kinds, flags, ..] = self.0.as_bytes() else {
            return None;
        };
        let (path, rest) = split_at_nul(self.0.get(2..)?)?;
        let (source, rest) = split_at_nul(rest)?;
        self.0 = rest;
        let (change, node_kind) = kinds_of(kinds)?;
        let (text_mod, prop_mod, mergeinfo_mod) = flags_of(flags);
        let copyfrom = match source.split_once(' ') {
            None => None,
            Some((rev, path)) => Some((Revnum::parse(rev.as_bytes())?, path)),
        };
        Some(Change {
            path,
            change,
            node_kind,
            text_mod,
            prop_mod,
            mergeinfo_mod,
            copyfrom,
        })
    }
}

fn split_at_nul(text: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(0, text.as_bytes())?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// The start of a list with a node of unknown kind.
const SOME_UNKNOWN: char = 'u';
/// The start of any other list.
const ALL_KNOWN: char = 'k';

/// A list that is being made.
pub(crate) struct ChangeListBuilder(String);

impl ChangeListBuilder {
    /// Starts a list in the memory of `buffer`, whose content is dropped.
    pub(crate) fn new(mut buffer: String) -> Self {
        buffer.clear();
        buffer.push(ALL_KNOWN);
        ChangeListBuilder(buffer)
    }

    /// Adds a change, whose path comes after all earlier ones.
    pub(crate) fn push(&mut self, change: &Change<'_>) {
        if change.node_kind == NodeKind::Unknown {
            self.0.replace_range(..1, SOME_UNKNOWN.encode_utf8(&mut [0; 4]));
        }
        self.0.push(kinds_letter(change.change, change.node_kind));
        self.0.push(flags_letter(change));
        self.0.push_str(change.path);
        self.0.push('\0');
        if let Some((rev, path)) = change.copyfrom {
            // Writing to a string cannot fail.
            _ = write!(self.0, "{rev} {path}");
        }
        self.0.push('\0');
    }

    /// Returns the list, and the buffer for the next one.
    pub(crate) fn finish_with_buffer(self) -> (ChangeList, String) {
        (ChangeList(self.0.as_str().into()), self.0)
    }

    /// Returns the list.
    pub(crate) fn finish(self) -> ChangeList {
        self.finish_with_buffer().0
    }
}

/// The smallest letter of a change; all letters are ASCII.
const LETTERS: u8 = b'A';

/// The kinds of changes and nodes, in the order of declaration.
const CHANGE_KINDS: [ChangeKind; 4] = [
    ChangeKind::Modify,
    ChangeKind::Add,
    ChangeKind::Delete,
    ChangeKind::Replace,
];
const NODE_KINDS: [NodeKind; 5] = [
    NodeKind::None,
    NodeKind::File,
    NodeKind::Dir,
    NodeKind::Symlink,
    NodeKind::Unknown,
];

fn kinds_letter(change: ChangeKind, kind: NodeKind) -> char {
    char::from(LETTERS + change as u8 * NODE_KINDS.len() as u8 + kind as u8)
}

fn kinds_of(letter: u8) -> Option<(ChangeKind, NodeKind)> {
    let number = usize::from(letter.wrapping_sub(LETTERS));
    Some((
        *CHANGE_KINDS.get(number / NODE_KINDS.len())?,
        NODE_KINDS[number % NODE_KINDS.len()],
    ))
}

fn flags_letter(change: &Change<'_>) -> char {
    let mergeinfo = match change.mergeinfo_mod {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    };
    char::from(LETTERS + mergeinfo * 4 + u8::from(change.text_mod) * 2 + u8::from(change.prop_mod))
}

fn flags_of(letter: u8) -> (bool, bool, Option<bool>) {
    let number = letter.wrapping_sub(LETTERS);
    let mergeinfo = match number / 4 {
        0 => None,
        1 => Some(false),
        _ => Some(true),
    };
    (number & 2 != 0, number & 1 != 0, mergeinfo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_round_trips() {
        let path = |text: &str| FsPath::parse(text).expect("canonical");
        let mut all = Vec::new();
        for change in CHANGE_KINDS {
            for node_kind in NODE_KINDS {
                for flags in 0..12u8 {
                    let (text_mod, prop_mod) = (flags & 1 != 0, flags & 2 != 0);
                    let mergeinfo_mod = [None, Some(false), Some(true)][usize::from(flags / 4)];
                    let copyfrom = match all.len() % 3 {
                        0 => None,
                        1 => Some((Revnum(0), path("/"))),
                        _ => Some((Revnum(u64::MAX >> 1), path("/ä b/ü"))),
                    };
                    all.push(ChangedPath {
                        path: path(&format!("/ö {:04}", all.len())),
                        change,
                        node_kind,
                        text_mod,
                        prop_mod,
                        mergeinfo_mod,
                        copyfrom,
                    });
                }
            }
        }
        let list: ChangeList = all.iter().collect();
        assert_eq!(list.to_vec(), all);
        assert!(!list.has_all_kinds() && !list.is_empty());
        for change in &all {
            let list: ChangeList = [change].into_iter().collect();
            assert_eq!(list.has_all_kinds(), change.node_kind != NodeKind::Unknown);
            assert_eq!(list.to_vec(), std::slice::from_ref(change));
        }
    }

    #[test]
    fn an_empty_list_has_no_changes() {
        for list in [ChangeList::default(), [].into_iter().collect()] {
            assert!(list.is_empty() && list.has_all_kinds() && list.iter().next().is_none());
        }
    }
}
