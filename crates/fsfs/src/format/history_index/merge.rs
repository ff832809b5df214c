//! The sorted union of several sources of records.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use base::{Result, Revnum};

use super::cmp_paths;
use super::record::Record;

/// A source: its records ascend by path and revision.
pub(crate) trait RecordSource {
    /// Returns the next record.
    ///
    /// # Errors
    /// `FS_CORRUPT` for a damaged source; the system's.
    fn next_record(&mut self) -> Result<Option<Record>>;
}

impl RecordSource for super::record::RecordReader {
    fn next_record(&mut self) -> Result<Option<Record>> {
        Ok(self.next_record()?)
    }
}

/// The records of several sources, which have no revision in common.
pub(crate) struct Merge<'a> {
    sources: Vec<Box<dyn RecordSource + 'a>>,
    next: BinaryHeap<NextRecord>,
}

/// The next record of a source. The greatest one is that with the least path and revision.
struct NextRecord {
    record: Record,
    source: usize,
}

impl<'a> Merge<'a> {
    /// Starts at the first record.
    ///
    /// # Errors
    /// Those of the sources.
    pub(crate) fn new(sources: Vec<Box<dyn RecordSource + 'a>>) -> Result<Self> {
        let mut merge = Merge {
            next: BinaryHeap::with_capacity(sources.len()),
            sources,
        };
        for source in 0..merge.sources.len() {
            merge.refill(source)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, source: usize) -> Result<()> {
        if let Some(record) = self.sources[source].next_record()? {
            self.next.push(NextRecord { record, source });
        }
        Ok(())
    }
}

impl RecordSource for Merge<'_> {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let Some(NextRecord { record, source }) = self.next.pop() else {
            return Ok(None);
        };
        self.refill(source)?;
        Ok(Some(record))
    }
}

impl NextRecord {
    fn first(&self) -> Revnum {
        self.record
            .entries
            .first()
            .map_or(Revnum::ZERO, |entry| entry.rev)
    }
}

impl Ord for NextRecord {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = cmp_paths(&self.record.path, &other.record.path);
        order.then(self.first().cmp(&other.first())).reverse()
    }
}

impl PartialOrd for NextRecord {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextRecord {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NextRecord {}
