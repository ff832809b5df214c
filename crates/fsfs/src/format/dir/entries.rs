//! [`DirEntries`]: the stored text of a directory, and a table that says where its entries are in it.
//!
//! A history has many versions of a directory that differ in one or two entries. So parsing starts from another version,
//! if the caller has one: where both texts begin and end with the same bytes, the table is copied, and only the bytes in
//! between are parsed. The text is shared with the cached content, against which the next version is a delta. Names and
//! IDs stay in the text: a directory of any size takes two blocks of memory.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use base::hashdump::{Reader, Terminator};
use base::{NodeKind, Result, Revnum, common_prefix, common_suffix};

use super::{DirError, EntryChange, encode_entry, split_value};
use crate::format::fsx::id::FsxId;
use crate::format::id::NodeRevId;
use base::number::take_decimal;

/// One entry of a directory.
#[derive(Clone, Copy)]
pub struct DirEntry<'d> {
    /// One path component.
    pub name: &'d str,
    /// File or directory.
    pub kind: NodeKind,
    /// The ID of the node-revision as it is stored.
    id: &'d [u8],
}

impl DirEntry<'_> {
    /// True if both have the same node-revision.
    pub fn has_id_of(&self, other: &DirEntry<'_>) -> bool {
        self.id == other.id || matches!((self.id(), other.id()), (Ok(id), Ok(other)) if id == other)
    }

    /// The revision that made the node-revision; `None` for one of a transaction.
    pub fn rev(&self) -> Option<Revnum> {
        match self.tail() {
            Some(tail) => {
                let mut location = tail.strip_prefix(b"r")?;
                take_decimal(&mut location).map(Revnum)
            }
            None => FsxId::parse(self.id).ok()?.change_set.revision(),
        }
    }

    /// True if the node-revision belongs to a transaction.
    pub(crate) fn is_uncommitted(&self) -> bool {
        match self.tail() {
            Some(tail) => tail.starts_with(b"t"),
            None => FsxId::parse(self.id).is_ok_and(|id| id.change_set.revision().is_none()),
        }
    }

    /// The part of the ID after its last period, which IDs of FSX do not have.
    fn tail(&self) -> Option<&[u8]> {
        let dot = self.id.iter().rposition(|byte| *byte == b'.')?;
        self.id.get(dot + 1..)
    }

    /// The ID of the node-revision. It prints as `svnlook tree --show-ids` shows it.
    ///
    /// # Errors
    /// `FS_CORRUPT` if it is malformed, which [`DirEntries::parse`] has excluded.
    pub fn id(&self) -> Result<NodeRevId> {
        match NodeRevId::parse(self.id) {
            Ok(id) => Ok(id),
            Err(_) => Ok(FsxId::parse(self.id).map_err(|_| DirError::Id)?.noderev_id()),
        }
    }
}

impl PartialEq for DirEntry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind && self.has_id_of(other)
    }
}

impl Eq for DirEntry<'_> {}

impl fmt::Debug for DirEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = String::from_utf8_lossy(self.id);
        write!(f, "{} {} {id}", self.name, self.kind.word())
    }
}

/// The entries of a directory, sorted by the bytes of the name. Cheap to clone.
#[derive(Clone, Default)]
pub struct DirEntries(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The entries in the form of a complete directory.
    text: Arc<Vec<u8>>,
    /// Where the entries are in the text, sorted by name.
    table: Box<[EntryOffsets]>,
    /// True if the entries follow each other in the text in the order of `table`, from its start.
    is_sorted: bool,
}

/// Where an entry is in the text: offsets and lengths, bytes.
#[derive(Clone, Copy)]
struct EntryOffsets {
    name: u32,
    name_length: u32,
    id: u32,
    id_length: u16,
    kind: NodeKind,
}

impl EntryOffsets {
    /// The end of the entry, with its last line feed.
    fn end(&self) -> usize {
        self.id as usize + usize::from(self.id_length) + 1
    }

    fn name<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.name as usize..][..self.name_length as usize]
    }

    fn id<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.id as usize..][..usize::from(self.id_length)]
    }

    /// The same entry elsewhere in another text.
    fn moved(self, from: usize, to: usize) -> Self {
        let moved = |at: u32| (at as usize - from + to) as u32;
        EntryOffsets {
            name: moved(self.name),
            id: moved(self.id),
            ..self
        }
    }
}

impl DirEntries {
    /// Parses a committed directory, whatever the order of its entries. `like` is another version of it, or none.
    pub(crate) fn parse(text: Arc<Vec<u8>>, like: Option<&DirEntries>) -> Result<Self, DirError> {
        let mut parser = Parser::new(&text)?;
        match like {
            Some(like) if like.0.is_sorted => parser.parse_like(&like.0)?,
            _ => parser.parse_to_end()?,
        }
        let (table, is_sorted) = parser.finish()?;
        Ok(DirEntries(Arc::new(Inner {
            text,
            table,
            is_sorted,
        })))
    }

    /// Parses the directory at the front of `text`. Returns its length, too.
    pub(super) fn parse_front(text: &[u8]) -> Result<(Self, usize), DirError> {
        let mut parser = Parser::new(text)?;
        parser.parse_to_end()?;
        let length = parser.reader.consumed();
        let (table, is_sorted) = parser.finish()?;
        let entries = DirEntries(Arc::new(Inner {
            text: Arc::new(text[..length].to_vec()),
            table,
            is_sorted,
        }));
        Ok((entries, length))
    }

    /// The directory after changes, which come sorted by name.
    ///
    /// # Errors
    /// [`DirError::Length`].
    pub(crate) fn with_changes<'n>(
        &self,
        changes: impl Iterator<Item = (&'n str, EntryChange)>,
    ) -> Result<Self, DirError> {
        let mut builder = Builder::default();
        let mut at = 0;
        for (name, change) in changes {
            let before = |offsets: &EntryOffsets| offsets.name(&self.0.text) < name.as_bytes();
            let next = self.0.table.partition_point(before);
            builder.copy(&self.0, at..next)?;
            at = next + usize::from(self.get(next).is_some_and(|entry| entry.name == name));
            if let Some((kind, id)) = change {
                builder.push(name.as_bytes(), kind, id.to_string().as_bytes())?;
            }
        }
        builder.copy(&self.0, at..self.len())?;
        Ok(builder.finish())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.table.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.table.is_empty()
    }

    /// The entry at an index, counted from 0 in the order of names.
    pub fn get(&self, index: usize) -> Option<DirEntry<'_>> {
        self.0.table.get(index).map(|offsets| self.0.entry(offsets))
    }

    /// The entry with this name.
    pub fn find(&self, name: &str) -> Option<DirEntry<'_>> {
        let Inner { text, table, .. } = &*self.0;
        let at = table.binary_search_by(|offsets| offsets.name(text).cmp(name.as_bytes()));
        self.get(at.ok()?)
    }

    /// The kind and the ID of the entry with this name.
    ///
    /// # Errors
    /// Those of [`DirEntry::id`].
    pub(crate) fn find_owned(&self, name: &str) -> Result<EntryChange> {
        let found = self.find(name);
        found.map(|entry| Ok((entry.kind, entry.id()?))).transpose()
    }

    /// The entries in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntry<'_>> + DoubleEndedIterator + Clone {
        self.0.table.iter().map(|offsets| self.0.entry(offsets))
    }

    /// Returns the entries that differ from those of `before`, sorted by name: the old entry, the new one, or both.
    pub(crate) fn differences<'d>(
        &'d self,
        before: &'d DirEntries,
    ) -> Vec<(Option<DirEntry<'d>>, Option<DirEntry<'d>>)> {
        let (front, back) = before.0.same_edges(&self.0);
        let between = |dir: &'d DirEntries| {
            let table = &dir.0.table[front..dir.len() - back];
            table.iter().map(|offsets| dir.0.entry(offsets)).peekable()
        };
        let (mut before, mut after) = (between(before), between(self));
        let mut pairs = Vec::new();
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return pairs,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.name.cmp(new.name),
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { after.next() } else { None };
            if old != new {
                pairs.push((old, new));
            }
        }
    }

    /// The directory in its stored form.
    pub(crate) fn text(&self) -> &Arc<Vec<u8>> {
        &self.0.text
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Inner>() + 64 + self.0.text.capacity() + size_of_val(&*self.0.table)
    }
}

impl PartialEq for DirEntries {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && other.differences(self).is_empty()
    }
}

impl Eq for DirEntries {}

impl fmt::Debug for DirEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Inner {
    fn entry(&self, offsets: &EntryOffsets) -> DirEntry<'_> {
        DirEntry {
            // The parser has checked that it is UTF-8.
            name: std::str::from_utf8(offsets.name(&self.text)).unwrap_or_default(),
            kind: offsets.kind,
            id: offsets.id(&self.text),
        }
    }

    /// The start of an entry in the text, bytes; for the number of entries, the end of the last. Only for sorted
    /// texts.
    fn start(&self, index: usize) -> usize {
        let last = index.checked_sub(1).and_then(|last| self.table.get(last));
        last.map_or(0, EntryOffsets::end)
    }

    /// The index of the first entry that starts at `at` or behind it. Only for sorted texts.
    fn first_from(&self, at: usize) -> usize {
        // The entry at `index` ends behind `at`: it may have started before.
        let index = self.table.partition_point(|offsets| offsets.end() <= at);
        let index = index + usize::from(self.start(index) < at);
        index.min(self.table.len())
    }

    /// Returns the numbers of entries at the front and at the back that are the same bytes in both.
    fn same_edges(&self, other: &Inner) -> (usize, usize) {
        if !self.is_sorted || !other.is_sorted {
            return (0, 0);
        }
        let same = common_prefix(&self.text, &other.text);
        let front = self.table.partition_point(|offsets| offsets.end() <= same);
        let at = self.start(front);
        let same = common_suffix(&self.text[at..], &other.text[at..]);
        let back = self.first_from(self.text.len() - same);
        // A name may contain what looks like an entry: the same bytes need not start one in both.
        let start = self.start(back) + other.text.len() - self.text.len();
        let is_entry = other.start(other.first_from(start)) == start;
        (front, if is_entry { self.table.len() - back } else { 0 })
    }
}

/// Parses a directory into a table.
struct Parser<'t> {
    text: &'t [u8],
    reader: Reader<'t>,
    table: Vec<EntryOffsets>,
    is_sorted: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t [u8]) -> Result<Self, DirError> {
        if u32::try_from(text.len()).is_err() {
            return Err(DirError::Length);
        }
        Ok(Parser {
            text,
            reader: Reader::new(text, Terminator::End, false),
            table: Vec::new(),
            is_sorted: true,
        })
    }

    fn parse_to_end(&mut self) -> Result<(), DirError> {
        // An entry takes at least 25 bytes, usually 50 to 80.
        self.table.reserve(self.text.len() / 64);
        while self.parse_entry()? {}
        Ok(())
    }

    /// Parses up to the end, and copies that part of the table that is the same in another version. The entries of that are
    /// sorted.
    fn parse_like(&mut self, like: &Inner) -> Result<(), DirError> {
        let same = common_prefix(&like.text, self.text);
        let front = like.table.partition_point(|offsets| offsets.end() <= same);
        self.table.reserve_exact(like.table.len() + 1);
        self.table.extend_from_slice(&like.table[..front]);
        let at = like.start(front);
        self.reader.move_to(at);
        let same = common_suffix(&like.text[at..], &self.text[at..]);
        // What follows the same bytes at the end is parsed in the same way, if an entry starts there in both.
        let mut back = like.first_from(like.text.len() - same);
        loop {
            let at = self.reader.consumed();
            while back < like.table.len() && like.start(back) + self.text.len() < at + like.text.len() {
                back += 1;
            }
            if like.table.get(back).is_some() && like.start(back) + self.text.len() == at + like.text.len() {
                let moved = |offsets: &EntryOffsets| offsets.moved(like.start(back), at);
                self.push(moved(&like.table[back]));
                self.table.extend(like.table[back + 1..].iter().map(moved));
                return Ok(());
            }
            if !self.parse_entry()? {
                return Ok(());
            }
        }
    }

    /// Parses one entry; false at the end.
    fn parse_entry(&mut self) -> Result<bool, DirError> {
        let Some(found) = self.reader.next_place().map_err(|_| DirError::Hash)? else {
            return Ok(false);
        };
        let name = std::str::from_utf8(&self.text[found.key.clone()]).map_err(|_| DirError::Name)?;
        if !base::is_component(name) {
            return Err(DirError::Name);
        }
        let value = found.value.unwrap_or_default();
        let (kind, id) = split_value(&self.text[value.clone()])?;
        NodeRevId::parse(id).map_err(|_| DirError::Id)?;
        // The length of the text fits into 32 bits.
        let offsets = EntryOffsets {
            name: found.key.start as u32,
            name_length: name.len() as u32,
            id: (value.end - id.len()) as u32,
            id_length: u16::try_from(id.len()).map_err(|_| DirError::Id)?,
            kind,
        };
        self.push(offsets);
        Ok(true)
    }

    fn push(&mut self, offsets: EntryOffsets) {
        let last = self.table.last().map(|last| last.name(self.text));
        self.is_sorted &= last.is_none_or(|last| last < offsets.name(self.text));
        self.table.push(offsets);
    }

    /// Returns the table sorted by name, and whether they were.
    fn finish(mut self) -> Result<(Box<[EntryOffsets]>, bool), DirError> {
        let text = self.text;
        if !self.is_sorted {
            self.table.sort_by_key(|offsets| offsets.name(text));
            if self
                .table
                .windows(2)
                .any(|pair| pair[0].name(text) == pair[1].name(text))
            {
                return Err(DirError::Duplicate);
            }
        }
        Ok((self.table.into(), self.is_sorted))
    }
}

/// Writes a directory, in the order of names.
#[derive(Default)]
struct Builder {
    text: Vec<u8>,
    table: Vec<EntryOffsets>,
}

impl Builder {
    fn push(&mut self, name: &[u8], kind: NodeKind, id: &[u8]) -> Result<(), DirError> {
        let start = self.text.len();
        encode_entry(&mut self.text, name, kind, id);
        let end = u32::try_from(self.text.len()).map_err(|_| DirError::Length)?;
        let id_length = u16::try_from(id.len()).map_err(|_| DirError::Id)?;
        let digits = name.len().checked_ilog10().unwrap_or(0) as usize + 1;
        self.table.push(EntryOffsets {
            name: (start + b"K \n".len() + digits) as u32,
            name_length: name.len() as u32,
            id: end - 1 - u32::from(id_length),
            id_length,
            kind,
        });
        Ok(())
    }

    /// Appends entries of another directory.
    fn copy(&mut self, dir: &Inner, range: Range<usize>) -> Result<(), DirError> {
        if !dir.is_sorted {
            let entries = dir.table[range].iter().map(|offsets| dir.entry(offsets));
            return { entries }.try_for_each(|entry| self.push(entry.name.as_bytes(), entry.kind, entry.id));
        }
        let (from, to) = (dir.start(range.start), self.text.len());
        self.text.extend_from_slice(&dir.text[from..dir.start(range.end)]);
        if u32::try_from(self.text.len()).is_err() {
            return Err(DirError::Length);
        }
        self.table
            .extend(dir.table[range].iter().map(|offsets| offsets.moved(from, to)));
        Ok(())
    }

    fn finish(mut self) -> DirEntries {
        self.text.extend_from_slice(b"END\n");
        DirEntries(Arc::new(Inner {
            text: Arc::new(self.text),
            table: self.table.into(),
            is_sorted: true,
        }))
    }
}
