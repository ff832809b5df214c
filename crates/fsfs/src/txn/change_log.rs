//! The log of a transaction: the changed paths in the order of the changes.
//!
//! Later changes may still be added to the last entry. The log of an ordinary transaction is in memory. A long log is spilled to
//! a file in runs: each run is sorted by path, and each entry has its number. So the log can be read in the order of the changes,
//! one run at a time, and merged by path (`folded_log`), one entry of each run at a time.

use std::path::Path;

use base::Result;

use super::spill::SpillFile;
use crate::format::changes::RawChange;
use crate::format::fs_format::BackEnd;
use crate::tree::Fs;

/// The log.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    back_end: BackEnd,
    /// The entries that are not in the file.
    recent: Vec<RawChange>,
    /// Bytes of their paths.
    recent_bytes: usize,
    /// Number of entries in the file.
    spilled: usize,
    runs: Vec<SpilledRun>,
    /// Number of entries in memory at which a run is spilled.
    max_in_memory: usize,
    spill_file: Option<SpillFile>,
}

/// A run of entries in the file.
#[derive(Clone, Copy, Debug)]
struct SpilledRun {
    offset: u64,
    length: u64,
    entries: usize,
}

impl ChangeLog {
    /// Makes an empty log.
    pub(super) fn new(back_end: BackEnd, max_in_memory: usize) -> ChangeLog {
        ChangeLog {
            back_end,
            recent: Vec::new(),
            recent_bytes: 0,
            spilled: 0,
            runs: Vec::new(),
            max_in_memory: max_in_memory.max(1),
            spill_file: None,
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.spilled + self.recent.len()
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, change: RawChange) {
        self.recent_bytes += change.info.path.len();
        self.recent.push(change);
    }

    /// True if a run should be spilled.
    pub(super) fn is_large(&self) -> bool {
        self.recent.len() >= self.max_in_memory || self.recent_bytes >= MAX_PATH_BYTES
    }

    /// True if there is a spill file.
    pub(super) fn has_spilled(&self) -> bool {
        self.spill_file.is_some()
    }

    /// Returns the last entry if it can still be changed.
    pub(super) fn last_mut(&mut self) -> Option<&mut RawChange> {
        self.recent.last_mut()
    }

    /// Returns the entries if all are in memory.
    pub(super) fn in_memory(&self) -> Option<&[RawChange]> {
        self.runs.is_empty().then_some(&self.recent[..])
    }

    /// Calls `each` for the entries from number `start` on, oldest first.
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
                let mut reader = RunReader::new(*run);
                let mut entries = Vec::with_capacity(run.entries);
                while let Some(entry) = self.next_of(&mut reader)? {
                    entries.push(entry);
                }
                entries.sort_unstable_by_key(|entry| entry.number);
                let wanted = entries.iter().filter(|entry| entry.number >= start as u64);
                wanted.map(|entry| &entry.change).try_for_each(&mut *each)?;
            }
        }
        let known = start.saturating_sub(self.spilled).min(self.recent.len());
        self.recent[known..].iter().try_for_each(each)
    }

    /// Spills the entries if there are many. If the file cannot be written, they stay in memory.
    pub(super) fn spill_excess(&mut self, fs: &Fs, dir: &Path) {
        if self.is_large() {
            _ = self.spill(fs, dir);
        }
    }

    fn spill(&mut self, fs: &Fs, dir: &Path) -> Result<()> {
        let mut order: Vec<usize> = (0..self.recent.len()).collect();
        order.sort_by(|a, b| self.recent[*a].info.path.cmp(&self.recent[*b].info.path));
        let mut text = Vec::new();
        for at in order {
            let head = text.len();
            text.extend_from_slice(&((self.spilled + at) as u64).to_le_bytes());
            text.extend_from_slice(&[0; 8]);
            self.back_end.encode_change(&self.recent[at], &mut text);
            let length = (text.len() - head - HEADER_LEN) as u64;
            text[head + 8..head + HEADER_LEN].copy_from_slice(&length.to_le_bytes());
        }
        let spill_file = match &mut self.spill_file {
            Some(spill_file) => spill_file,
            none => none.insert(SpillFile::create(fs, &dir.join("scratch.changes"))?),
        };
        self.runs.push(SpilledRun {
            offset: spill_file.append(&text)?,
            length: text.len() as u64,
            entries: self.recent.len(),
        });
        self.spilled += self.recent.len();
        self.recent.clear();
        self.recent_bytes = 0;
        Ok(())
    }

    /// Returns the runs, each sorted by path and, for equal paths, by number: those of the file, and at last the entries in
    /// memory.
    pub(super) fn sorted_runs(&self) -> Vec<RunEntries<'_>> {
        let mut recent: Vec<(u64, &RawChange)> = (self.spilled as u64..).zip(&self.recent).collect();
        // Descending, because `RunEntries::InMemory` takes the last entry first.
        recent.sort_by(|a, b| b.1.info.path.cmp(&a.1.info.path).then(b.0.cmp(&a.0)));
        let runs = self
            .runs
            .iter()
            .map(|run| RunEntries::Spilled(self, RunReader::new(*run)));
        runs.chain([RunEntries::InMemory(recent)]).collect()
    }

    fn next_of(&self, reader: &mut RunReader) -> Result<Option<ChangeLogEntry>> {
        let spill_file = self.spill_file.as_ref();
        reader.next(self.back_end, spill_file.expect("because runs are in the file"))
    }
}

/// A log entry and its number.
#[derive(Debug)]
pub(super) struct ChangeLogEntry {
    pub(super) number: u64,
    pub(super) change: RawChange,
}

/// The entries of a run.
pub(super) enum RunEntries<'a> {
    /// A run in the file.
    Spilled(&'a ChangeLog, RunReader),
    /// The entries in memory; the next one is the last.
    InMemory(Vec<(u64, &'a RawChange)>),
}

impl RunEntries<'_> {
    /// Returns the next entry.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(&mut self) -> Result<Option<ChangeLogEntry>> {
        match self {
            RunEntries::Spilled(log, reader) => log.next_of(reader),
            RunEntries::InMemory(list) => Ok(list.pop().map(|(number, change)| ChangeLogEntry {
                number,
                change: change.clone(),
            })),
        }
    }
}

/// Reads a run from front to back.
pub(super) struct RunReader {
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    position: usize,
}

impl RunReader {
    fn new(run: SpilledRun) -> RunReader {
        RunReader {
            at: run.offset,
            end: run.offset + run.length,
            buffer: Vec::new(),
            position: 0,
        }
    }

    fn next(&mut self, back_end: BackEnd, spill_file: &SpillFile) -> Result<Option<ChangeLogEntry>> {
        if self.at == self.end && self.position == self.buffer.len() {
            return Ok(None);
        }
        let [number, length] = {
            let (words, _) = self.take(spill_file, HEADER_LEN)?.as_chunks::<8>();
            [0, 1].map(|at| u64::from_le_bytes(words[at]))
        };
        let length = usize::try_from(length).map_err(|_| spill_file.is_damaged())?;
        let change = back_end.parse_change_log(self.take(spill_file, length)?)?.pop();
        let change = change.ok_or_else(|| spill_file.is_damaged())?;
        Ok(Some(ChangeLogEntry { number, change }))
    }

    /// Returns the next `length` bytes.
    fn take(&mut self, spill_file: &SpillFile, length: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.position < length {
            self.buffer.drain(..self.position);
            self.position = 0;
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let more = (length - self.buffer.len()).max(READ_SIZE).min(left);
            self.buffer.extend(spill_file.read(self.at, more)?);
            self.at += more as u64;
            if self.buffer.len() < length {
                return Err(spill_file.is_damaged());
            }
        }
        self.position += length;
        Ok(&self.buffer[self.position - length..self.position])
    }
}

/// Most bytes of paths in memory before some are spilled: paths of deep directories are long.
pub(super) const MAX_PATH_BYTES: usize = 64 << 20;

/// Length of what precedes an entry in the file, bytes: its number and its length.
const HEADER_LEN: usize = 16;

/// Bytes of a run that are read with one call.
const READ_SIZE: usize = 16 << 10;
