//! The history index, for administrators: build, extend, check, remove, and describe it.

use std::io;
use std::sync::Arc;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Code, Error, Result, Revnum};

use crate::format::history_index::HistoryEntry;
use crate::format::history_index::merge::RecordSource;
use crate::format::history_index::record::{Record, RecordReader};
use crate::store::disk::Create;
use crate::store::history_index::{HistoryIndex, Segment, SegmentRecords, list};
use crate::tree::Fs;
use crate::txn::history_index::{IndexWriter, LOCK, MergeLimit, encode_run};

/// How to build an index.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Starts from revision 0, also if there is an index.
    pub rebuild: bool,
    /// Budget of the run's own cache, bytes.
    pub cache_budget: u64,
    /// Number of threads; 0 is the number of cores.
    pub jobs: usize,
    /// True to make an index if there is none, false to extend one that exists.
    pub creates: bool,
    /// True to wait for another run, false to do nothing if another one extends the index.
    pub waits: bool,
    /// Stops the run. What is written then stays, and the next run goes on from there.
    pub cancel: Cancel,
}

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions {
            rebuild: false,
            cache_budget: 64 << 20,
            jobs: 0,
            creates: true,
            waits: true,
            cancel: Cancel::new(),
        }
    }
}

/// What there is of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// The last revision that the index covers; `None` if it covers none.
    pub last: Option<Revnum>,
    /// The number of segments in use.
    pub segments: usize,
    /// The number of node-revisions in them.
    pub entries: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// The number of segments that are not used: damaged, of other revisions, or left over.
    pub unused: usize,
}

/// Makes the index cover all revisions; makes one if there is none. `progress` is called with the last revision that was read,
/// from time to time.
///
/// # Errors
/// `CANCELLED`; `FS_CORRUPT`; the system's.
pub fn build(fs: &Fs, options: &BuildOptions, progress: &mut dyn FnMut(Revnum)) -> Result<()> {
    if options.creates {
        fs.check_not_shared("The history index")?;
        make_directory(fs)?;
    } else if fs.disk().metadata(&fs.layout().history_index()).is_err() {
        return Ok(());
    }
    let fs = fs.reopen(options.cache_budget)?;
    let Some(mut writer) = IndexWriter::acquire(&fs, options.waits)? else {
        return Ok(());
    };
    if options.rebuild {
        writer.forget_all();
    }
    writer.remove_unused();
    let threads = if options.jobs == 0 { cores() } else { options.jobs };
    loop {
        let (first, youngest) = (writer.next(), fs.youngest()?);
        if first > youngest {
            return Ok(());
        }
        let last = Revnum(youngest.0.min(first.0.saturating_add(REVISIONS_PER_SEGMENT - 1)));
        add_range(&fs, &mut writer, (first, last), threads, options, progress)?;
    }
}

/// Adds revisions as one segment, or as several if they are large.
fn add_range(
    fs: &Fs,
    writer: &mut IndexWriter<'_>,
    (first, last): (Revnum, Revnum),
    threads: usize,
    options: &BuildOptions,
    progress: &mut dyn FnMut(Revnum),
) -> Result<()> {
    let limits = Limits {
        tasks: 4 * threads,
        bytes: RUN_BYTES,
    };
    let groups = (first.0..=last.0)
        .step_by(REVISIONS_AT_ONCE as usize)
        .map(|start| {
            (
                Revnum(start),
                Revnum(last.0.min(start.saturating_add(REVISIONS_AT_ONCE - 1))),
            )
        });
    let read = |(start, end): (Revnum, Revnum)| {
        let run = options.cancel.check().and_then(|()| encode_run(fs, start, end));
        let bytes = run.as_ref().map_or(0, Vec::len);
        ((end, run), bytes)
    };
    let unlimited = MergeLimit { bytes: u64::MAX };
    let (mut runs, mut bytes, mut read_to) = (Vec::new(), 0, first);
    let read = in_order(threads, limits, groups, read, |(end, run)| {
        let run = run?;
        bytes += run.len();
        runs.push(run);
        read_to = end;
        progress(end);
        if bytes >= RUN_BYTES {
            bytes = 0;
            writer.add(std::mem::take(&mut runs), end, unlimited)?;
        }
        Ok(())
    });
    // Also what was read before a cancellation or an error.
    if !runs.is_empty() {
        writer.add(runs, read_to, unlimited)?;
    }
    read
}

/// Describes the index; `None` if there is no directory of one.
///
/// # Errors
/// The system's.
pub fn status(fs: &Fs) -> Result<Option<IndexStatus>> {
    if fs.disk().metadata(&fs.layout().history_index()).is_err() {
        return Ok(None);
    }
    let segments = usable(fs)?;
    Ok(Some(IndexStatus {
        last: segments.last().map(|segment| segment.last()),
        segments: segments.len(),
        entries: segments.iter().map(|segment| segment.entries()).sum(),
        bytes: segments.iter().map(|segment| segment.bytes()).sum(),
        unused: list(fs).len() - segments.len(),
    }))
}

/// Removes the index.
///
/// # Errors
/// The system's.
pub fn remove(fs: &Fs) -> Result<()> {
    let directory = fs.layout().history_index();
    if fs.disk().metadata(&directory).is_err() {
        return Ok(());
    }
    if let Some(mut writer) = IndexWriter::acquire(fs, true)? {
        writer.forget_all();
        writer.remove_unused();
    }
    let removed = fs.disk().remove_file(&directory.join(LOCK));
    removed.map_err(|e| Error::io("Can't remove file", &directory.join(LOCK), &e))?;
    let removed = fs.disk().remove_dir(&directory);
    removed.map_err(|e| Error::io("Can't remove directory", &directory, &e))
}

/// Compares the index with the repository: each node-revision of a covered revision has its entry, and there are no others.
/// Returns the last revision that the index covers; `None` if there is no index.
///
/// # Errors
/// `FS_CORRUPT` for a difference, and for a damaged index; `CANCELLED`; the system's.
pub fn check(fs: &Fs, cancel: &Cancel, progress: &mut dyn FnMut(Revnum)) -> Result<Option<Revnum>> {
    let Some(found) = status(fs)? else {
        return Ok(None);
    };
    let fs = fs.reopen(BuildOptions::default().cache_budget)?;
    if found.unused > 0 {
        return Err(differs(
            &fs,
            "it has segments that do not belong to the repository".to_owned(),
        ));
    }
    for segment in usable(&fs)? {
        check_segment(&fs, &segment, cancel, progress)?;
    }
    Ok(found.last)
}

fn check_segment(
    fs: &Fs,
    segment: &Arc<Segment>,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Revnum),
) -> Result<()> {
    let mut records = SegmentRecords::new(fs, segment.clone());
    let mut stored = 0;
    while let Some(record) = records.next_record()? {
        cancel.check()?;
        stored += record.entries.len() as u64;
    }
    if stored != segment.entries() {
        let message = format!("segment '{}' has {stored} entries", segment.path().display());
        return Err(differs(fs, message));
    }
    let limits = Limits {
        tasks: 4 * cores(),
        bytes: usize::MAX,
    };
    let (first, last) = (segment.first().0, segment.last().0);
    let groups = (first..=last)
        .step_by(REVISIONS_AT_ONCE as usize)
        .map(|start| (start, last.min(start.saturating_add(REVISIONS_AT_ONCE - 1))));
    let compare = |(start, end): (u64, u64)| {
        let compared = cancel
            .check()
            .and_then(|()| compare(fs, segment, Revnum(start), Revnum(end)));
        ((Revnum(end), compared), 0)
    };
    let mut total = 0;
    in_order(cores(), limits, groups, compare, |(end, compared)| {
        total += compared?;
        progress(end);
        Ok::<(), Error>(())
    })?;
    match total == stored {
        true => Ok(()),
        false => Err(differs(
            fs,
            format!(
                "segment '{}' has {} entries too many",
                segment.path().display(),
                stored.saturating_sub(total)
            ),
        )),
    }
}

/// Compares some revisions with a segment; returns the number of their entries.
fn compare(fs: &Fs, segment: &Segment, start: Revnum, end: Revnum) -> Result<u64> {
    let mut records = RecordReader::new(encode_run(fs, start, end)?);
    let mut count = 0;
    while let Some(Record { path, entries }) = records.next_record()? {
        count += entries.len() as u64;
        let mut stored: Vec<HistoryEntry> = Vec::new();
        for entry in entries.iter().rev() {
            if stored.first().is_none_or(|first| first.rev > entry.rev) {
                stored = segment.record(fs, &path, entry.rev)?;
            }
            let found = stored.binary_search_by_key(&entry.rev, |stored| stored.rev);
            if found.is_ok_and(|at| stored[at] == *entry) {
                continue;
            }
            let path = String::from_utf8_lossy(&path);
            return Err(differs(fs, format!("path '/{path}' in revision {}", entry.rev)));
        }
    }
    Ok(count)
}

fn differs(fs: &Fs, what: String) -> Error {
    let db = fs.path().display();
    Error::new(
        Code::FS_CORRUPT,
        format!("History index of '{db}' differs from the repository: {what}; run 'sven index --rebuild'"),
    )
}

/// The segments that describe the repository, up to the first that does not.
fn usable(fs: &Fs) -> Result<Vec<Arc<Segment>>> {
    let mut usable = Vec::new();
    for segment in HistoryIndex::open(fs, &[]).segments() {
        if segment.last() > fs.youngest()? || !fs.is_of_repository(segment)? {
            break;
        }
        usable.push(segment.clone());
    }
    Ok(usable)
}

/// Makes the directory of the index, with the permissions of the directory that it is in.
fn make_directory(fs: &Fs) -> Result<()> {
    let directory = fs.layout().history_index();
    match fs.disk().create_dir(&directory) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made.map_err(|e| Error::io("Can't create directory", &directory, &e))?,
    }
    let lock = directory.join(LOCK);
    let file = fs.disk().write(&lock, Create::Append);
    file.map_err(|e| Error::io("Can't create file", &lock, &e))?;
    // All who may commit may extend the index.
    for (like, path) in [(fs.path(), &directory), (&fs.layout().file("current"), &lock)] {
        let copied = fs.disk().copy_permissions(like, path);
        copied.map_err(|e| Error::io("Can't set permissions on", path, &e))?;
    }
    Ok(())
}

/// Revisions that a thread reads at once.
const REVISIONS_AT_ONCE: u64 = 64;

/// Revisions after which a run writes a segment, so that an interrupted one loses little.
const REVISIONS_PER_SEGMENT: u64 = 100_000;

/// Bytes of records after which a run writes a segment.
const RUN_BYTES: usize = 32 << 20;
