//! Writing the history index.
//!
//! One writer at a time holds the index's own lock file. It encodes the nodes of the revisions that the index lacks as a
//! new segment, merged with the youngest segments that are not much larger, so that there are few: each segment is more
//! than [`GROWTH`] times as large as the next younger one. Then it removes the files that are not used any more.
//!
//! The youngest segment may be a tail: it has fewer than [`TAIL_REVISIONS`] revisions, and each commit writes it again. A
//! segment file gets its name when it is complete. A tail is not durable then: after a power failure it may be damaged,
//! its checksums say so, and the next writer makes it again from few revisions. All other segments are durable first.
//!
//! Writers of revisions extend an index that exists, after the commit and without the write lock. A failure to do so is
//! no failure of the commit.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Result, Revnum};

use crate::format::history_index::encode::SegmentEncoder;
use crate::format::history_index::footer::SegmentIdentity;
use crate::format::history_index::merge::{Merge, RecordSource};
use crate::format::history_index::record::{Record, RecordEncoder, RecordReader};
use crate::store::disk::create_unique;
use crate::store::guard::FileLock;
use crate::store::history_index::{HistoryIndex, Segment, SegmentRecords, file_name, list};
use crate::tree::Fs;

/// The right to change the history index of a filesystem.
pub(crate) struct IndexWriter<'a> {
    fs: &'a Fs,
    _lock: FileLock,
    /// The segments of the repository that can be used, oldest first.
    segments: Vec<Arc<Segment>>,
}

/// How much a writer does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeLimit {
    /// Segments that are larger are not merged, bytes.
    pub(crate) bytes: u64,
}

/// What a commit does: what takes longer is done by `sven index` or by a server when it opens the repository.
const AFTER_COMMIT: MergeLimit = MergeLimit { bytes: 1 << 20 };

/// Revisions that a commit adds to the index at most, its own included.
const MOST_AFTER_COMMIT: u64 = 64;

impl Fs {
    /// Adds new revisions to the history index, if there is one that lacks not many more than `own` revisions, those that
    /// were just committed.
    pub(crate) fn extend_history_index(&self, own: u64) {
        if self.is_group_view() || self.disk().metadata(&self.layout().history_index()).is_err() {
            return;
        }
        // Another writer may hold the lock, and any failure leaves an index that covers fewer revisions.
        if let Ok(Some(mut writer)) = IndexWriter::acquire(self, false) {
            _ = writer.extend(own.max(MOST_AFTER_COMMIT), AFTER_COMMIT);
        }
    }
}

impl<'a> IndexWriter<'a> {
    /// Takes the lock of the index, whose directory exists. `None` if `wait` is false and another writer holds it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn acquire(fs: &'a Fs, wait: bool) -> Result<Option<Self>> {
        let directory = fs.layout().history_index();
        let Some(lock) = FileLock::take(fs, &directory.join(LOCK), wait)? else {
            return Ok(None);
        };
        if wait {
            fs.refresh_names(&directory)?;
        }
        let youngest = fs.youngest()?;
        // What is open already need not be opened and compared again.
        let known = fs.history_index()?;
        let index = HistoryIndex::open(fs, known.as_ref().map_or(&[], |index| index.segments()));
        let segments = index.segments().iter();
        let is_usable = |segment: &&Arc<Segment>| {
            segment.last() <= youngest && fs.is_of_repository(segment).is_ok_and(|is| is)
        };
        Ok(Some(IndexWriter {
            fs,
            segments: segments.take_while(is_usable).cloned().collect(),
            _lock: lock,
        }))
    }

    /// The first revision that the index lacks.
    pub(crate) fn next(&self) -> Revnum {
        self.segments
            .last()
            .map_or(Revnum::ZERO, |segment| segment.last().next())
    }

    /// Does not use any segment: the next one begins with revision 0.
    pub(crate) fn forget_all(&mut self) {
        self.segments.clear();
    }

    /// Adds the revisions up to the youngest one, if they are at most `most`.
    fn extend(&mut self, most: u64, limit: MergeLimit) -> Result<()> {
        let (next, youngest) = (self.next(), self.fs.youngest()?);
        let lacks = (youngest.0 + 1).saturating_sub(next.0);
        if lacks == 0 || lacks > most {
            return Ok(());
        }
        let run = encode_run(self.fs, next, youngest)?;
        self.add(vec![run], youngest, limit)
    }

    /// Adds a segment for the revisions up to `last`: `runs` are the records of their nodes, each of a range of revisions.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub(crate) fn add(&mut self, runs: Vec<Vec<u8>>, last: Revnum, limit: MergeLimit) -> Result<()> {
        let mut bytes: u64 = runs.iter().map(|run| run.len() as u64).sum();
        let mut first = self.next();
        let mut kept = self.segments.len();
        for segment in self.segments.iter().rev() {
            let is_small =
                segment.bytes() <= GROWTH.saturating_mul(bytes) && segment.bytes() + bytes <= limit.bytes;
            let is_merged = match is_tail(segment.first(), segment.last(), segment.bytes()) {
                true => true,
                // A tail is not merged with a durable segment, because that would then be one that is not durable.
                false => is_small && !is_tail(first, last, bytes),
            };
            if !is_merged {
                break;
            }
            bytes += segment.bytes();
            first = segment.first();
            kept -= 1;
        }
        let mut sources: Vec<Box<dyn RecordSource>> = Vec::new();
        for segment in &self.segments[kept..] {
            sources.push(Box::new(SegmentRecords::new(self.fs, segment.clone())));
        }
        for run in runs {
            sources.push(Box::new(RecordReader::new(run)));
        }
        let identity = SegmentIdentity {
            uuid: self.fs.uuid(),
            first,
            last,
            fingerprint: self.fs.fingerprint(last)?,
        };
        write_segment(self.fs, sources, identity, !is_tail(first, last, bytes))?;
        let segment = Segment::open(self.fs, first, last, &[])?;
        _ = segment.is_of_repository.set(true);
        self.segments.truncate(kept);
        self.segments.push(segment);
        self.remove_unused();
        Ok(())
    }

    /// Removes all files that are no segment in use. One that stays has no effect.
    pub(crate) fn remove_unused(&self) {
        let directory = self.fs.layout().history_index();
        let is_used = |first, last| {
            let range = |segment: &Arc<Segment>| (segment.first(), segment.last());
            self.segments
                .iter()
                .any(|segment| range(segment) == (first, last))
        };
        for (first, last) in list(self.fs) {
            if !is_used(first, last) {
                _ = self
                    .fs
                    .disk()
                    .remove_file(&directory.join(file_name(first, last)));
            }
        }
        for name in self.fs.disk().list(&directory).unwrap_or_default() {
            if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) {
                _ = self.fs.disk().remove_file(&directory.join(name));
            }
        }
    }
}

/// Encodes the nodes that the revisions from `first` to `last` made, as records in their order.
///
/// # Errors
/// `FS_CORRUPT`; the system's.
pub(crate) fn encode_run(fs: &Fs, first: Revnum, last: Revnum) -> Result<Vec<u8>> {
    let mut sources: Vec<Box<dyn RecordSource>> = Vec::new();
    for rev in first.0..=last.0 {
        let mut records = RecordEncoder::default();
        fs.encode_own_nodes(Revnum(rev), &mut records)?;
        if first == last {
            return Ok(records.bytes);
        }
        sources.push(Box::new(RecordReader::new(records.bytes)));
    }
    let mut merge = Merge::new(sources)?;
    let mut run = RecordEncoder::default();
    let mut pending: Option<Record> = None;
    while let Some(record) = merge.next_record()? {
        match &mut pending {
            Some(same) if same.path == record.path => same.entries.extend(record.entries),
            _ => {
                if let Some(ended) = pending.replace(record) {
                    run.push_record(&ended);
                }
            }
        }
    }
    if let Some(ended) = pending {
        run.push_record(&ended);
    }
    Ok(run.bytes)
}

/// Writes the file of a segment.
fn write_segment(
    fs: &Fs,
    sources: Vec<Box<dyn RecordSource>>,
    identity: SegmentIdentity,
    is_durable: bool,
) -> Result<()> {
    let directory = fs.layout().history_index();
    let name = directory.join(file_name(identity.first, identity.last));
    let mut merge = Merge::new(sources)?;
    let (temporary, mut file) = create_unique(fs.disk(), &directory)?;
    let mut encoder = SegmentEncoder::new(identity);
    let write = || -> Result<()> {
        let mut append = |bytes: &[u8]| {
            let wrote = file.append(bytes);
            wrote.map_err(|e| Error::io("Can't write to file", &temporary, &e))
        };
        while let Some(record) = merge.next_record()? {
            encoder.add(&record);
            if encoder.output_len() >= WRITE_SIZE {
                append(&encoder.take_output())?;
            }
        }
        append(&encoder.finish())?;
        if is_durable {
            file.sync()
                .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        }
        drop(file);
        publish(fs, &temporary, &name)
    };
    if let Err(e) = write() {
        _ = fs.disk().remove_file(&temporary);
        return Err(e);
    }
    match is_durable {
        // A crash before it leaves the segments that were merged, or a shorter index.
        true => sync_dir(fs, &directory),
        false => Ok(()),
    }
}

/// True for the segment that commits write again: of these revisions, with this many bytes.
fn is_tail(first: Revnum, last: Revnum, bytes: u64) -> bool {
    last.0.saturating_sub(first.0) < TAIL_REVISIONS && bytes <= TAIL_BYTES
}

/// Gives a complete file its name, with the permissions of the other files that every commit replaces.
fn publish(fs: &Fs, temporary: &Path, name: &Path) -> Result<()> {
    let like = fs.layout().file("current");
    let copied = fs.disk().copy_permissions(&like, temporary);
    copied.map_err(|e| Error::io("Can't set permissions on file", temporary, &e))?;
    let renamed = fs.disk().rename(temporary, name);
    renamed.map_err(|e| Error::io("Can't move a file to", name, &e))
}

fn sync_dir(fs: &Fs, directory: &Path) -> Result<()> {
    let synced = fs.disk().sync_dir(directory);
    synced.map_err(|e| Error::io("Can't flush directory", directory, &e))
}

/// The lock file of the index.
pub(crate) const LOCK: &str = "lock";

/// The prefix of temporary files, see [`create_unique`].
const TEMPORARY: &str = "svn-";

/// A segment is merged with the next younger ones if it is at most this many times as large.
const GROWTH: u64 = 4;

/// Most revisions of a tail.
const TAIL_REVISIONS: u64 = 64;

/// Longest tail, bytes.
const TAIL_BYTES: u64 = 32 << 10;

/// Bytes that are written at once.
const WRITE_SIZE: usize = 1 << 20;
