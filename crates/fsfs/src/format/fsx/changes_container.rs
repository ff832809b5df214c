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
use super::string_table::StringTable;

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
