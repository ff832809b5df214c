//! Directories. Source: sections 6 and 19 of the description of FSX.
//!
//! A directory is the number of its entries, then for each entry the name, a NUL, the kind (1 a file, 2 a directory), the
//! change set and the number of the child's node-revision. The change set is signed; all integers have the high bits first
//! ([`Cursor::be`]). Entries are sorted by the bytes of their names, and readers depend on it.
//!
//! The file of a directory that a transaction has changed begins with the directory as it was. Entries that were changed
//! later are appended: each replaces the entry of its name, or removes it if its change set is -1. The count is that of
//! the beginning.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::NodeKind;
use base::number::{signed, unsigned};
use delta::svndiff::varint;

use super::cursor::{Cursor, DecodeError, Subject};
use super::id::{ChangeSet, FsxId};
use crate::format::dir::{DirEntries, DirError};

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FsxDirEntry {
    /// The name.
    pub(crate) name: Box<str>,
    /// File or directory.
    pub(crate) kind: NodeKind,
    /// The ID of the node-revision.
    pub(crate) id: FsxId,
}

/// The entries of a directory, sorted by the bytes of the name. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FsxDirEntries(Arc<[FsxDirEntry]>);

const SUBJECT: Subject = Subject::file("Directory");

/// A name, a NUL, a kind, a change set and a number take at least this many bytes.
const SHORTEST_ENTRY: usize = 5;

impl FsxDirEntries {
    /// Decodes a committed directory, which takes all of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, SUBJECT);
        let count = cursor.be_count(SHORTEST_ENTRY)?;
        let mut entries: Vec<FsxDirEntry> = Vec::with_capacity(count);
        for _ in 0..count {
            let entry = match entry(&mut cursor)? {
                (name, Some((kind, id))) => FsxDirEntry { name, kind, id },
                (_, None) => return Err(cursor.fault("a removed entry in a revision")),
            };
            if entries.last().is_some_and(|last| last.name >= entry.name) {
                return Err(cursor.fault("entries are not sorted"));
            }
            entries.push(entry);
        }
        cursor.finish()?;
        Ok(FsxDirEntries(entries.into()))
    }

    /// Decodes the file of a directory that a transaction has changed.
    pub(crate) fn decode_children(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, SUBJECT);
        let count = cursor.be_count(SHORTEST_ENTRY)?;
        let mut entries = BTreeMap::new();
        let mut at = 0;
        while at < count || !cursor.is_empty() {
            match entry(&mut cursor)? {
                (name, Some((kind, id))) => entries.insert(name, (kind, id)),
                (name, None) => entries.remove(&name),
            };
            at += 1;
        }
        let entries = entries.into_iter();
        Ok(FsxDirEntries(
            entries
                .map(|(name, (kind, id))| FsxDirEntry { name, kind, id })
                .collect(),
        ))
    }

    /// Appends the form of a committed directory.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        varint::write(self.0.len() as u64, out);
        for entry in self.iter() {
            encode_change(&entry.name, Some((entry.kind, entry.id)), out);
        }
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &FsxDirEntry> {
        self.0.iter()
    }

    /// The entries in the form of the storage layer.
    pub(crate) fn entries(&self) -> Result<DirEntries, DirError> {
        let entries = self
            .iter()
            .map(|entry| (&*entry.name, Some((entry.kind, entry.id.noderev_id()))));
        DirEntries::default().with_changes(entries)
    }
}

/// Appends the form of a directory of the storage layer.
///
/// # Errors
/// Those of malformed entries, which decoders exclude.
pub(crate) fn encode_entries(entries: &DirEntries, out: &mut Vec<u8>) -> base::Result<()> {
    varint::write(entries.len() as u64, out);
    for entry in entries.iter() {
        encode_change(entry.name, Some((entry.kind, FsxId::of(&entry.id()?))), out);
    }
    Ok(())
}

/// Appends an entry to the file of a directory that a transaction has changed. `None` removes the name.
pub(crate) fn encode_change(name: &str, node: Option<(NodeKind, FsxId)>, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    let (kind, change_set, number) = match node {
        Some((NodeKind::Dir, id)) => (DIR, id.change_set.number(), id.number),
        Some((_, id)) => (FILE, id.change_set.number(), id.number),
        None => (REMOVED, -1, 0),
    };
    varint::write(kind, out);
    varint::write(unsigned(change_set), out);
    varint::write(number, out);
}

/// A name with the kind and the ID of its node; without them if the entry removes the name.
type NamedNode = (Box<str>, Option<(NodeKind, FsxId)>);

fn entry(cursor: &mut Cursor<'_>) -> Result<NamedNode, DecodeError> {
    let name = match std::str::from_utf8(cursor.until(0)?) {
        Ok(name) if base::is_component(name) => name.into(),
        _ => return Err(cursor.fault("invalid name of an entry")),
    };
    let kind = cursor.be()?;
    let change_set = signed(cursor.be()?);
    let number = cursor.be()?;
    if change_set == -1 {
        return Ok((name, None));
    }
    let change_set = ChangeSet::from_number(change_set).ok_or(cursor.fault("invalid change set"))?;
    let kind = match kind {
        FILE => NodeKind::File,
        DIR => NodeKind::Dir,
        _ => return Err(cursor.fault("invalid kind of an entry")),
    };
    Ok((name, Some((kind, FsxId { change_set, number }))))
}

const FILE: u64 = 1;
const DIR: u64 = 2;
const REMOVED: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::id::NodeRevId;
    use base::Revnum;
    use proptest::prelude::*;

    #[test]
    fn the_sample_of_the_description() {
        let sample = b"\x01\x66\x00\x01\x83\x10\x03";
        let entries = FsxDirEntries::decode(sample).expect("a directory");
        let shared = entries.entries().expect("short");
        assert_eq!(format!("{shared:?}"), "[f file 3+5k]");
        let entry = shared.find("f").expect("an entry");
        assert_eq!((entry.rev(), entry.is_uncommitted()), (Some(Revnum(200)), false));
        assert_eq!(entry.id().expect("an ID"), NodeRevId::of_item(Revnum(200), 3));
        let mut out = Vec::new();
        entries.encode(&mut out);
        encode_entries(&shared, &mut out).expect("IDs");
        assert_eq!(out, sample.repeat(2));
        let empty = FsxDirEntries::decode(b"\x00").expect("empty");
        assert!(empty.entries().expect("short").is_empty());
    }

    #[test]
    fn entries_of_a_transaction_replace_and_remove_earlier_ones() {
        let children = b"\x01f\0\x01\x02\x03g\0\x02\x03\x04f\0\x03\x01\x00h\0\x01\x04\x05";
        let entries = FsxDirEntries::decode_children(children).expect("children");
        let names: Vec<_> = entries
            .iter()
            .map(|entry| (&*entry.name, entry.id.to_string()))
            .collect();
        assert_eq!(names, [("g", "4-2".to_owned()), ("h", "5+2".to_owned())]);
        let mut written = b"\x01f\0\x01\x02\x03g\0\x02\x03\x04".to_vec();
        encode_change("f", None, &mut written);
        encode_change("h", Some((NodeKind::File, entries.0[1].id)), &mut written);
        assert_eq!(written, children);
    }

    #[test]
    fn malformed_directories_are_refused() {
        for bad in [
            &b""[..],
            b"\x01",
            b"\x02f\0\x01\x02\x03",
            b"\x01f\0\x01\x02\x03x",
            b"\x01f\0\x03\x02\x03",
            b"\x01f\0\x01\x01\x03",
            b"\x01\0\x01\x02\x03",
            b"\x01a/b\0\x01\x02\x03",
            b"\x02b\0\x01\x02\x03a\0\x01\x02\x03",
            b"\xff\x7ff\0\x01\x02\x03",
        ] {
            assert!(FsxDirEntries::decode(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_directory_is_read_as_it_was_written(
            names in prop::collection::btree_map("[a-zé]{1,5}", (any::<bool>(), 0u64..1 << 40, any::<u64>()), 0..9),
            damage: (prop::sample::Index, u8),
        ) {
            let entries: Vec<_> = names
                .into_iter()
                .map(|(name, (is_dir, rev, number))| FsxDirEntry {
                    name: name.into(),
                    kind: if is_dir { NodeKind::Dir } else { NodeKind::File },
                    id: FsxId { change_set: ChangeSet::Revision(Revnum(rev)), number },
                })
                .collect();
            let entries = FsxDirEntries(entries.into());
            let mut bytes = Vec::new();
            entries.encode(&mut bytes);
            prop_assert_eq!(FsxDirEntries::decode(&bytes), Ok(entries.clone()));
            prop_assert_eq!(FsxDirEntries::decode_children(&bytes), Ok(entries));
            let at = damage.0.index(bytes.len());
            bytes[at] = damage.1;
            let _ = (FsxDirEntries::decode(&bytes), FsxDirEntries::decode_children(&bytes));
        }
    }
}
