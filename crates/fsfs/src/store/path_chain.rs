//! The directories on the way of the last look-up in a tree.
//!
//! Look-ups in one tree are close to each other: most are in the directory of the one before, directly below it, or
//! in one above it. So a tree keeps a *chain*: the IDs of the nested directories of the last look-up. The next
//! look-up starts at the deepest directory that both paths share. This makes a walk through a tree of any depth and
//! shape linear in the number of its steps.
//!
//! A chain holds IDs and not node-revisions, because the node-revisions of N nested directories contain N paths:
//! memory quadratic in the depth.

use std::sync::Arc;

use base::{FsPath, Revnum};

use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;

/// Nested directories. The first one is in the root, which is not listed.
#[derive(Debug, Default)]
pub(crate) struct PathChain {
    /// The path of the last directory, empty for the root.
    path: String,
    dirs: Vec<Link>,
    /// The node-revision of the last directory, in trees that do not change.
    last: Option<Arc<NodeRev>>,
    /// The number of directories at the beginning that the transaction is known to have changed already.
    pub(crate) owned: usize,
}

/// A directory of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) id: NodeRevId,
    /// The length of its path, in bytes.
    pub(crate) end: usize,
    /// The youngest copy among those that the directory and its ancestors belong to; see [`youngest`].
    pub(crate) copy: Option<CopyRef>,
}

/// A copy: its revision, and a node-revision with its copy root.
pub(crate) type CopyRef = (Revnum, NodeRevId);

/// Returns the younger one of `copy` and the copy that a node-revision belongs to, the latter if both are of the same
/// revision.
pub(crate) fn youngest(copy: Option<CopyRef>, noderev: &NodeRev) -> Option<CopyRef> {
    match noderev.copyroot() {
        (Some(rev), _) if copy.is_none_or(|(youngest, _)| rev >= youngest) => Some((rev, noderev.id)),
        _ => copy,
    }
}

/// The start of a look-up.
pub(crate) struct ChainStart {
    /// The number of directories of the chain that lead there.
    pub(crate) known: usize,
    /// The last of them; `None` for the root.
    pub(crate) link: Option<Link>,
    /// Its node-revision, if the chain has it.
    pub(crate) dir: Option<Arc<NodeRev>>,
}

impl PathChain {
    /// The deepest directory that is at or above `path`.
    pub(crate) fn start(&self, path: &str) -> ChainStart {
        let known = self.shared_with(path);
        ChainStart {
            known,
            link: known.checked_sub(1).map(|at| self.dirs[at]),
            dir: self.last.clone().filter(|_| known == self.dirs.len()),
        }
    }

    /// Adds the directories `passed` on the way to `path` after its first `known` ones. `last` is the node-revision
    /// of the last of them, if the tree does not change.
    pub(crate) fn extend(&mut self, path: &str, known: usize, passed: &[Link], last: Option<Arc<NodeRev>>) {
        // Another thread may have changed the chain meanwhile, to another path or further on the same one.
        let now = self.shared_with(path);
        if let Some(new) = now.checked_sub(known).and_then(|more| passed.get(more..))
            && let Some(end) = new.last().map(|link| link.end)
        {
            self.truncate(now);
            self.dirs.extend_from_slice(new);
            self.path.push_str(&path[self.path.len()..end]);
            self.last = last;
        }
    }

    /// Removes all directories but those above `path`. Returns their number.
    pub(crate) fn cut_above(&mut self, path: &str) -> usize {
        let count = self.shared_with(path);
        let is_there = count > 0 && self.dirs[count - 1].end == path.len();
        self.truncate(count - usize::from(is_there));
        self.dirs.len()
    }

    /// The directories.
    pub(crate) fn links(&self) -> &[Link] {
        &self.dirs
    }

    /// Gives a directory a new ID.
    pub(crate) fn replace(&mut self, at: usize, id: NodeRevId) {
        self.dirs[at].id = id;
        self.last = None;
    }

    /// The length of the path of the last directory, 0 for the root.
    pub(crate) fn end(&self) -> usize {
        self.dirs.last().map_or(0, |link| link.end)
    }

    /// The number of directories that lead to `path`, itself included.
    fn shared_with(&self, path: &str) -> usize {
        let same = shared_length(&self.path, path);
        if same == self.path.len() && matches!(path.as_bytes().get(same), None | Some(b'/')) {
            return self.dirs.len();
        }
        let near = self.dirs.partition_point(|link| link.end <= same);
        // The last one may be a name that only begins like a component of the path.
        match self.dirs[..near].last() {
            Some(link) if !matches!(path.as_bytes().get(link.end), None | Some(b'/')) => near - 1,
            _ => near,
        }
    }

    fn truncate(&mut self, length: usize) {
        if length < self.dirs.len() {
            self.dirs.truncate(length);
            self.path.truncate(self.end());
            self.last = None;
            self.owned = self.owned.min(length);
        }
    }
}

/// The first `length` bytes of a path, which end before a slash.
pub(crate) fn prefix(path: &FsPath, length: usize) -> FsPath {
    match length {
        0 => FsPath::root(),
        _ if length == path.as_str().len() => path.clone(),
        _ => FsPath::parse(&path.as_str()[..length]).expect("because a path cut before a slash is canonical"),
    }
}

/// The number of bytes at the beginning of both texts that are the same.
fn shared_length(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.chunks(64).zip(b.chunks(64)).take_while(|(a, b)| a == b).count() * 64;
    let same = same.min(a.len()).min(b.len());
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::id::{IdPart, IdTail};

    fn link(path: &str) -> Link {
        Link {
            id: NodeRevId {
                node: IdPart::ROOT,
                copy: IdPart::ROOT,
                tail: IdTail::Rev(Revnum(1), path.len() as u64),
            },
            end: path.len(),
            copy: None,
        }
    }

    #[test]
    fn a_look_up_starts_at_the_deepest_shared_directory() {
        let mut chain = PathChain::default();
        let passed = ["/a", "/a/bb", "/a/bb/c"].map(link);
        chain.extend("/a/bb/c/d", 0, &passed, None);
        for (path, known) in [
            ("/", 0),
            ("/b", 0),
            ("/aa", 0),
            ("/a", 1),
            ("/a/b", 1),
            ("/a/bbb", 1),
            ("/a/bb", 2),
            ("/a/bb/d", 2),
            ("/a/bb/c", 3),
            ("/a/bb/c/d/e", 3),
            ("/a/bb/c.d", 2),
        ] {
            let start = chain.start(path);
            assert_eq!(start.known, known, "{path}");
            let ends = start.link.map_or(0, |link| link.end);
            assert_eq!(ends, [0, 2, 5, 7][known], "{path}");
        }
    }

    #[test]
    fn a_change_by_another_thread_is_kept() {
        let passed = ["/a", "/a/b", "/a/b/c"].map(link);
        let mut chain = PathChain::default();
        chain.extend("/a/b/c/d", 1, &passed[1..], None);
        assert_eq!(chain.links().len(), 0, "the beginning is not there");
        chain.extend("/a/b/c/d", 0, &passed, None);
        chain.extend("/a/b/c/d", 1, &passed[1..2], None);
        assert_eq!(chain.end(), 6, "it goes further");
        chain.extend("/a/x/d", 1, &[link("/a/x")], None);
        assert_eq!((chain.links().len(), chain.start("/a/x/e").known), (2, 2));
        assert_eq!(chain.cut_above("/a/x"), 1);
        assert_eq!(chain.cut_above("/"), 0);
    }
}
