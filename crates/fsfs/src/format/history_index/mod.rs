//! Segments of the history index: for each path the revisions that made a node-revision there.
//!
//! The index is a file set of this project, beside the files of FSFS, which no other program reads. Each segment is one
//! file that covers a range of revisions and never changes. `docs/decisions/history-index.md` describes the bytes.
//!
//! A segment is a tree of blocks. Its leaves contain records; a record has a path and a list of [`HistoryEntry`]s.
//! Records are sorted by path, as [`cmp_paths`] orders them, and by the revision of their first entry. A long list has
//! several records. Blocks of higher levels contain one record for each block of the level below: its first path and
//! revision, and where it is.
//!
//! | module | subject |
//! |---|---|
//! | [`list`] | the entries of a record |
//! | [`record`] | records with shared prefixes, one after the other |
//! | [`block`] | a block, as it is read |
//! | [`footer`] | the end of a segment: identity, range, root block |
//! | [`encode`] | writing a segment |
//! | [`merge`] | the sorted union of several sources |
//!
//! What is absent: files, and whether a segment belongs to the repository.

pub(crate) mod block;
pub(crate) mod encode;
pub(crate) mod footer;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod record;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use base::Revnum;

use super::decode_error;

decode_error! {
    /// Why a part of the history index is not usable.
    HistoryIndexError {
        Magic => FS_CORRUPT, "History index segment has another form";
        Version => FS_UNSUPPORTED_FORMAT, "History index segment has another version";
        Footer => FS_CORRUPT, "History index segment has a damaged footer";
        Checksum => FS_CORRUPT, "History index block has a wrong checksum";
        Level => FS_CORRUPT, "History index block has a wrong level";
        Record => FS_CORRUPT, "History index record is malformed";
        Order => FS_CORRUPT, "History index records do not ascend";
        List => FS_CORRUPT, "History index list is malformed";
    }
}

/// One node-revision of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    /// The revision that made it.
    pub(crate) rev: Revnum,
    /// Its item in that revision, as in its ID.
    pub(crate) item: u64,
    /// The number of its predecessors.
    pub(crate) count: u64,
    /// The revision of its predecessor, which may be at another path.
    pub(crate) predecessor: Option<Revnum>,
}

impl HistoryEntry {
    /// True if `before` can be the predecessor.
    pub(crate) fn follows(&self, before: &HistoryEntry) -> bool {
        self.predecessor == Some(before.rev) && before.count.checked_add(1) == Some(self.count)
    }
}

/// Orders paths so that what is below a directory follows it directly, as `FsPath::cmp_tree` does. Paths are relative
/// to the root of the repository.
pub(crate) fn cmp_paths(a: &[u8], b: &[u8]) -> Ordering {
    let same = shared_prefix(a, b);
    let key = |path: &[u8]| match path.get(same) {
        None => 0,
        Some(b'/') => 1,
        Some(byte) => u16::from(*byte) + 2,
    };
    key(a).cmp(&key(b))
}

/// The number of equal bytes at the beginning of both.
pub(crate) fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.chunks(64).zip(b.chunks(64)).take_while(|(a, b)| a == b);
    let start = (chunks.count() * 64).min(a.len()).min(b.len());
    let rest = a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b);
    start + rest.count()
}

/// Longest path in the index, bytes. Nodes at longer paths are left out.
pub(crate) const MAX_PATH: usize = 1 << 20;

/// Bytes of records after which a block ends. The first path of a block does not count.
const BLOCK_TARGET: usize = 4 << 10;

/// Bytes of a list after which a record ends.
const LIST_TARGET: usize = 1 << 10;

/// Longest block, bytes.
pub(crate) const MAX_BLOCK: u64 = 16 << 20;

/// Most levels of blocks.
const MAX_LEVELS: usize = 12;

#[cfg(test)]
mod order_tests {
    use super::*;
    use base::FsPath;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paths_are_ordered_as_the_tree_is(a in "/[a./-]{0,6}", b in "/[a./-]{0,6}") {
            if let (Ok(a), Ok(b)) = (FsPath::parse(&a), FsPath::parse(&b)) {
                let ours = cmp_paths(a.rel_str().as_bytes(), b.rel_str().as_bytes());
                prop_assert_eq!(ours, a.cmp_tree(&b));
            }
        }
    }

    #[test]
    fn long_prefixes_are_shared() {
        let a = vec![b'a'; 200];
        let mut b = a.clone();
        assert_eq!(shared_prefix(&a, &b), 200);
        b[130] = b'b';
        assert_eq!(shared_prefix(&a, &b), 130);
        assert_eq!(shared_prefix(&a, &a[..100]), 100);
        assert_eq!(cmp_paths(b"", b"a"), Ordering::Less);
    }
}
