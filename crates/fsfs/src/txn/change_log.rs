//! The log of a transaction: what happened to which path, in order.
//!
//! The entry that came last may still grow, and those of an ordinary transaction are all in memory. A long log goes to a file,
//! a run of entries at a time, each run sorted by path and each entry with its number: so it can be read in the order in which
//! things happened, a run at a time, and merged by path (`merged_log`), an entry of each run at a time.

use std::path::Path;

use base::Result;

use super::spill::SpillFile;
use crate::format::changes::{self, RawChange};
use crate::tree::Fs;

/// The log.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    /// The entries that are not in the file.
    recent: Vec<RawChange>,
    /// Bytes of their paths.
    recent_bytes: usize,
    /// How many are.
    away: usize,
    runs: Vec<Run>,
    /// Entries that are held in memory, before a run of them goes to the file.
    most: usize,
    scratch: Option<SpillFile>,
}

/// A run of entries in the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u64,
    length: u64,
    entries: usize,
}

impl ChangeLog {
    /// An empty one.
    pub(super) fn new(most: usize) -> ChangeLog {
        ChangeLog {
            recent: Vec::new(),
            recent_bytes: 0,
            away: 0,
            runs: Vec::new(),
            most: most.max(1),
            scratch: None,
        }
    }

    /// Entries.
    pub(super) fn len(&self) -> usize {
        self.away + self.recent.len()
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, change: RawChange) {
        self.recent_bytes += change.info.path.len();
        self.recent.push(change);
    }

    /// True if there is much that can go to the file.
    pub(super) fn is_heavy(&self) -> bool {
        self.recent.len() >= self.most || self.recent_bytes >= MOST_BYTES
    }

    /// The last entry, if it can still be changed.
    pub(super) fn last_mut(&mut self) -> Option<&mut RawChange> {
        self.recent.last_mut()
    }

    /// The entries, if all are in memory.
    pub(super) fn in_memory(&self) -> Option<&[RawChange]> {
        self.runs.is_empty().then_some(&self.recent[..])
    }

    /// Shows `each` the entries from number `start` on, in the order in which things happened.
    ///
    /// # Errors
    /// Those of `each`; those of reading.
    pub(crate) fn each_from(
        &self,
        start: usize,
        each: &mut dyn FnMut(&RawChange) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0;
        for run in &self.runs {
            first += run.entries;
            if first > start {
                let mut reader = Reader::new(*run);
                let mut entries = Vec::with_capacity(run.entries);
                while let Some(entry) = self.next_of(&mut reader)? {
                    entries.push(entry);
                }
                entries.sort_unstable_by_key(|entry| entry.number);
                let wanted = entries.iter().filter(|entry| entry.number >= start as u64);
                wanted.map(|entry| &entry.change).try_for_each(&mut *each)?;
            }
        }
        let known = start.saturating_sub(self.away).min(self.recent.len());
        self.recent[known..].iter().try_for_each(each)
    }

    /// Moves the entries to the file, if there are many. What cannot be moved stays.
    pub(super) fn put_some_away(&mut self, fs: &Fs, dir: &Path) {
        if self.is_heavy() {
            _ = self.put_away(fs, dir);
        }
    }

    fn put_away(&mut self, fs: &Fs, dir: &Path) -> Result<()> {
        let mut order: Vec<usize> = (0..self.recent.len()).collect();
        order.sort_by(|a, b| self.recent[*a].info.path.cmp(&self.recent[*b].info.path));
        let mut text = Vec::new();
        for at in order {
            let head = text.len();
            text.extend_from_slice(&((self.away + at) as u64).to_le_bytes());
            text.extend_from_slice(&[0; 8]);
            changes::encode_entry(&mut text, &self.recent[at]);
            let length = (text.len() - head - HEAD) as u64;
            text[head + 8..head + HEAD].copy_from_slice(&length.to_le_bytes());
        }
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            none => none.insert(SpillFile::create(fs, &dir.join("scratch.changes"))?),
        };
        self.runs.push(Run {
            offset: scratch.append(&text)?,
            length: text.len() as u64,
            entries: self.recent.len(),
        });
        self.away += self.recent.len();
        self.recent.clear();
        self.recent_bytes = 0;
        Ok(())
    }

    /// The entries by runs, each sorted by path and, of one path, by number: those of the file, and at last those in memory.
    pub(super) fn sorted_runs(&self) -> Vec<Entries<'_>> {
        let mut recent: Vec<(u64, &RawChange)> = (self.away as u64..).zip(&self.recent).collect();
        // Numbers ascend: a stable sort keeps them so.
        recent.sort_by(|a, b| b.1.info.path.cmp(&a.1.info.path).then(b.0.cmp(&a.0)));
        let runs = self.runs.iter().map(|run| Entries::Away(self, Reader::new(*run)));
        runs.chain([Entries::Here(recent)]).collect()
    }

    fn next_of(&self, reader: &mut Reader) -> Result<Option<Entry>> {
        let scratch = self.scratch.as_ref();
        reader.next(scratch.expect("because runs are in the file"))
    }
}

/// An entry and its number.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) change: RawChange,
}

/// The entries of a run.
pub(super) enum Entries<'a> {
    /// Of the file.
    Away(&'a ChangeLog, Reader),
    /// In memory, the next one last.
    Here(Vec<(u64, &'a RawChange)>),
}

impl Entries<'_> {
    /// The next one.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(&mut self) -> Result<Option<Entry>> {
        match self {
            Entries::Away(log, reader) => log.next_of(reader),
            Entries::Here(list) => Ok(list.pop().map(|(number, change)| Entry {
                number,
                change: change.clone(),
            })),
        }
    }
}

/// Reads a run forward.
pub(super) struct Reader {
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    position: usize,
}

impl Reader {
    fn new(run: Run) -> Reader {
        Reader {
            at: run.offset,
            end: run.offset + run.length,
            buffer: Vec::new(),
            position: 0,
        }
    }

    fn next(&mut self, scratch: &SpillFile) -> Result<Option<Entry>> {
        if self.at == self.end && self.position == self.buffer.len() {
            return Ok(None);
        }
        let [number, length] = {
            let (words, _) = self.take(scratch, HEAD)?.as_chunks::<8>();
            [0, 1].map(|at| u64::from_le_bytes(words[at]))
        };
        let length = usize::try_from(length).map_err(|_| scratch.is_damaged())?;
        let change = changes::parse(self.take(scratch, length)?, true)?.pop();
        let change = change.ok_or_else(|| scratch.is_damaged())?;
        Ok(Some(Entry { number, change }))
    }

    /// The next `length` bytes.
    fn take(&mut self, scratch: &SpillFile, length: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.position < length {
            self.buffer.drain(..self.position);
            self.position = 0;
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let more = (length - self.buffer.len()).max(PIECE).min(left);
            self.buffer.extend(scratch.read(self.at, more)?);
            self.at += more as u64;
            if self.buffer.len() < length {
                return Err(scratch.is_damaged());
            }
        }
        self.position += length;
        Ok(&self.buffer[self.position - length..self.position])
    }
}

/// Bytes of paths that are held in memory: those of deep directories are long.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// A number and a length.
const HEAD: usize = 16;

/// Bytes of a run that are read at once.
const PIECE: usize = 16 << 10;
