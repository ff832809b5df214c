//! Containers of changed-path lists. Source: section 16 of the description of FSX.
//!
//! A container is a [string table](super::string_table) and [packed data](super::packed_data) with two top-level integer
//! streams:
//!
//! | stream | content |
//! |---|---|
//! | integers 0 | for n lists n + 1 positions in the table: list i is from position i to position i + 1 |
//! | integers 1 | a table of changes: flags, path, revision and path of the copy source |
//!
//! Paths are indexes of the string table. Without a copy source, the revision is -1.
//!
//! | flag | meaning |
//! |---|---|
//! | 1, 2, 4 | the text, the properties, `svn:mergeinfo` changed |
//! | bits 3 and 4 | 1 a file, 2 a directory |
//! | bits 5 and 6 | 0 modified, 1 added, 2 deleted, 3 replaced |

use crate::format::changes::{ChangeKind, ChangedPath};
use base::{Code, NodeKind, Revnum};

use super::cursor::{DecodeError, Subject};
use super::packed_data::PackedData;
use super::packed_writer::{Coding, PackedWriter};
use super::string_table::StringTable;
use super::string_table_writer::StringTableWriter;

const SUBJECT: Subject = Subject::file("Changes container");

/// A decoded container.
#[derive(Debug)]
pub(crate) struct ChangesContainer {
    strings: StringTable,
    offsets: Vec<u64>,
    changes: [Vec<u64>; 4],
}

impl ChangesContainer {
    /// Decodes a container, which takes all of `bytes`.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, DecodeError> {
        let strings = StringTable::decode(&mut bytes)?;
        let data = PackedData::decode(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(DecodeError::new(SUBJECT, "data follows the end", 0));
        }
        let (offsets, changes) = (data.column(0)?.values()?, data.column(1)?.table::<4>()?);
        let rows = changes[0].len() as u64;
        let is_ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        match (offsets.first(), offsets.last()) {
            (Some(0), Some(&last)) if last == rows && is_ascending => Ok(ChangesContainer {
                strings,
                offsets,
                changes,
            }),
            _ => Err(DecodeError::new(SUBJECT, "the lists do not fill the table", 0)),
        }
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// A list by its number in the container.
    pub(crate) fn get(&self, sub_item: u64) -> Result<Vec<ChangedPath>, DecodeError> {
        const OUTSIDE: Subject = Subject {
            name: "Changes container",
            code: Code::FS_CONTAINER_INDEX,
        };
        let at = usize::try_from(sub_item).ok().filter(|at| *at < self.len());
        let at = at.ok_or(DecodeError::new(OUTSIDE, "no such list", sub_item))?;
        (self.offsets[at]..self.offsets[at + 1])
            .map(|row| self.change(row as usize))
            .collect()
    }

    /// Makes a container of lists. `None` if they are too long for readers.
    pub(crate) fn encode(lists: &[&[ChangedPath]]) -> Option<Vec<u8>> {
        let rows: usize = lists.iter().map(|list| list.len()).sum();
        if rows > MAX_CHANGES {
            return None;
        }
        let mut strings = StringTableWriter::new();
        let (mut offsets, mut columns) = (vec![0], [const { Vec::new() }; 4]);
        for list in lists {
            for change in *list {
                let row = row_of(change, &mut strings)?;
                columns
                    .iter_mut()
                    .zip(row)
                    .for_each(|(column, value)| column.push(value));
            }
            offsets.push(columns[0].len() as u64);
        }
        let mut out = Vec::new();
        strings.finish(&mut out);
        let mut writer = PackedWriter::default();
        writer.column(&offsets, true);
        let [flags, paths, revs, sources] = &columns;
        writer.table(&[
            (flags, Coding::Differences),
            (paths, Coding::Differences),
            (revs, Coding::SignedDifferences),
            (sources, Coding::Differences),
        ]);
        writer.finish(&mut out);
        Some(out)
    }

    fn change(&self, row: usize) -> Result<ChangedPath, DecodeError> {
        let fault = |what| DecodeError::new(SUBJECT, what, row as u64);
        let [flags, path, rev, from] = self.changes.each_ref().map(|column| column[row]);
        let copyfrom = match rev as i64 {
            -1 => None,
            0.. => Some((Revnum(rev), self.strings.path(from)?)),
            _ => return Err(fault("invalid revision of a copy source")),
        };
        Ok(ChangedPath {
            path: self.strings.path(path)?,
            change: match flags >> 5 {
                0 => ChangeKind::Modify,
                1 => ChangeKind::Add,
                2 => ChangeKind::Delete,
                3 => ChangeKind::Replace,
                _ => return Err(fault("invalid kind of change")),
            },
            node_kind: match flags >> 3 & 3 {
                1 => NodeKind::File,
                2 => NodeKind::Dir,
                _ => return Err(fault("invalid node kind")),
            },
            text_mod: flags & 1 != 0,
            prop_mod: flags & 2 != 0,
            mergeinfo_mod: Some(flags & 4 != 0),
            copyfrom,
        })
    }

    /// The memory that the container takes, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.strings.bytes() + 8 * (self.offsets.len() + 4 * self.changes[0].len())
    }
}

/// Returns the row of a change.
fn row_of<'s>(change: &'s ChangedPath, strings: &mut StringTableWriter<'s>) -> Option<[u64; 4]> {
    let kind = if change.node_kind == NodeKind::Dir { 2 } else { 1 };
    let action = match change.change {
        ChangeKind::Modify => 0,
        ChangeKind::Add => 1,
        ChangeKind::Delete => 2,
        ChangeKind::Replace => 3,
    };
    let mergeinfo_mod = change.mergeinfo_mod.unwrap_or_default();
    let flags = [change.text_mod, change.prop_mod, mergeinfo_mod];
    let flags = flags
        .iter()
        .rev()
        .fold(0, |bits, flag| bits << 1 | u64::from(*flag));
    let path = strings.add(change.path.as_str().as_bytes())?;
    let (rev, source) = match &change.copyfrom {
        Some((rev, path)) => (rev.0, strings.add(path.as_str().as_bytes())?),
        None => (u64::MAX, 0),
    };
    Some([flags | kind << 3 | action << 5, path, rev, source])
}

/// The most changes of a container: its columns stay far below what [`PackedData`] accepts.
pub(crate) const MAX_CHANGES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::changes;
    use super::*;

    #[test]
    fn lists_are_read_as_they_were_written() {
        let texts = [
            "add-dir false false false /a b\n\nreplace-file true false false /c\n4 /d \x1bA\n\n",
            "\n",
            "delete-dir false false false /e\n\nmodify-dir false true true /f\n\n\n",
        ];
        let lists = texts.map(|text| changes::parse(text.as_bytes()).expect("a list"));
        let bytes = ChangesContainer::encode(&lists.each_ref().map(Vec::as_slice)).expect("short");
        let container = ChangesContainer::decode(&bytes).expect("what was written");
        assert_eq!(container.len(), 3);
        for (at, list) in (0..).zip(lists) {
            assert_eq!(container.get(at), Ok(list));
        }
    }
}
