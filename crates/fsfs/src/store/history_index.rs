//! The history index on disk: its segments, opened and read.
//!
//! `db/sven-history-index/` contains one file for each segment, named `FIRST-LAST` after its revisions. The segments in
//! use begin with revision 0 and follow each other without a gap; of several that begin with the same revision, the
//! longest is used. Other files there are left over from a merge or a crash, and have no effect.
//!
//! A segment that cannot be read counts as missing. Whether a segment describes the revisions that the repository has
//! is decided by the layer above (`tree::history_index`).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use base::{Code, Error, Result, Revnum};
use parking_lot::Mutex;

use super::Store;
use super::cache::{Instance, Key};
use super::disk::FileMeta;
use crate::format::history_index::block::{BlockPlace, IndexBlock, Salt};
use crate::format::history_index::footer::{Footer, TAIL_LENGTH};
use crate::format::history_index::merge::RecordSource;
use crate::format::history_index::record::{Record, RecordReader};
use crate::format::history_index::{HistoryEntry, MAX_BLOCK};

/// The segments of one history index.
#[derive(Debug)]
pub(crate) struct HistoryIndex {
    /// Ascending, without gaps, from revision 0.
    segments: Vec<Arc<Segment>>,
    /// True after the index was found to differ from the repository.
    is_disabled: AtomicBool,
}

/// One open segment. The file is opened for each block that is not in the cache, so an index holds no descriptor.
#[derive(Debug)]
pub(crate) struct Segment {
    path: PathBuf,
    meta: FileMeta,
    footer: Footer,
    salt: Salt,
    /// The part of the cache's keys that tells its blocks from those of other files.
    key: u64,
    /// Whether it describes the revisions of the repository; set when it is first asked.
    pub(crate) is_of_repository: OnceLock<bool>,
}

/// The index as it was last opened.
#[derive(Default)]
pub(crate) struct HistoryIndexSlot(Mutex<Option<OpenIndex>>);

struct OpenIndex {
    /// The instance and the metadata of the directory from before it was listed.
    state: (Instance, FileMeta),
    index: Arc<HistoryIndex>,
}

impl Store {
    /// Returns the history index, if there is one that can be read.
    ///
    /// # Errors
    /// That of a handle that may not wait for the disk, if the index was not opened before.
    pub(crate) fn history_index(&self) -> Result<Option<Arc<HistoryIndex>>> {
        if self.is_group_view() {
            return Ok(None);
        }
        let slot = &self.history_index_slot().0;
        if !self.read_mode().may_wait() {
            return match &*slot.lock() {
                Some(open) if open.state.0 == self.instance() => Ok(open.index.enabled()),
                _ => self.check_may_wait().map(|()| None),
            };
        }
        // No lock is held while files are read: two threads may open the same index.
        let Ok(meta) = self.disk().metadata(&self.layout().history_index()) else {
            *slot.lock() = None;
            return Ok(None);
        };
        let state = (self.instance(), meta);
        let mut known = Vec::new();
        if let Some(open) = &*slot.lock() {
            if open.state == state {
                return Ok(open.index.enabled());
            }
            if open.state.0 == state.0 {
                known.clone_from(&open.index.segments);
            }
        }
        let index = Arc::new(HistoryIndex::open(self, &known));
        *slot.lock() = Some(OpenIndex {
            state,
            index: index.clone(),
        });
        Ok(index.enabled())
    }
}

impl Store {
    /// How many revisions the history index lacks, as far as it was last opened; `None` if it was not. Reads nothing.
    pub fn history_index_lag(&self) -> Option<u64> {
        let slot = self.history_index_slot().0.try_lock()?;
        let last = slot.as_ref()?.index.segments.last()?.last();
        Some(self.last_youngest().0.saturating_sub(last.0))
    }
}

impl HistoryIndex {
    /// Opens the segments; those in `known` whose files are the same stay open.
    pub(crate) fn open(store: &Store, known: &[Arc<Segment>]) -> Self {
        let mut files: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (first, last) in list(store) {
            files.entry(first.0).or_default().push(last.0);
        }
        let mut segments: Vec<Arc<Segment>> = Vec::new();
        let mut next = 0;
        while let Some(lasts) = files.get_mut(&next) {
            lasts.sort_unstable_by(|a, b| b.cmp(a));
            let opened = lasts
                .iter()
                .find_map(|last| Segment::open(store, Revnum(next), Revnum(*last), known).ok());
            let Some(segment) = opened else { break };
            let after = segment.last().0.checked_add(1);
            segments.push(segment);
            match after {
                Some(after) => next = after,
                None => break,
            }
        }
        HistoryIndex {
            segments,
            is_disabled: AtomicBool::new(false),
        }
    }

    fn enabled(self: &Arc<Self>) -> Option<Arc<Self>> {
        (!self.segments.is_empty() && !self.is_disabled.load(Ordering::Relaxed)).then(|| self.clone())
    }

    /// The segments, oldest first.
    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Does not use the index any more, until its files change.
    pub(crate) fn disable(&self) {
        self.is_disabled.store(true, Ordering::Relaxed);
    }

    /// The segment that covers a revision.
    pub(crate) fn segment(&self, rev: Revnum) -> Option<&Arc<Segment>> {
        let at = self.segments.partition_point(|segment| segment.last() < rev);
        self.segments.get(at)
    }
}

/// Returns the ranges of the files that have the name of a segment.
pub(crate) fn list(store: &Store) -> Vec<(Revnum, Revnum)> {
    let names = store
        .disk()
        .list(&store.layout().history_index())
        .unwrap_or_default();
    let range = |name: &str| {
        let (first, last) = name.split_once('-')?;
        let range = (Revnum::parse(first.as_bytes())?, Revnum::parse(last.as_bytes())?);
        (file_name(range.0, range.1) == name).then_some(range)
    };
    names.iter().filter_map(|name| range(name.to_str()?)).collect()
}

/// The name of the file of a segment.
pub(crate) fn file_name(first: Revnum, last: Revnum) -> String {
    format!("{first}-{last}")
}

impl Segment {
    /// Opens the segment of these revisions.
    ///
    /// # Errors
    /// `FS_CORRUPT` if it is damaged or of another repository, `FS_UNSUPPORTED_FORMAT` for another version; the
    /// system's.
    pub(crate) fn open(
        store: &Store,
        first: Revnum,
        last: Revnum,
        known: &[Arc<Segment>],
    ) -> Result<Arc<Segment>> {
        let path = store.layout().history_index().join(file_name(first, last));
        let failed = |e: &std::io::Error| Error::io("Can't open file", &path, e);
        let meta = store.disk().metadata(&path).map_err(|e| failed(&e))?;
        if let Some(same) = known
            .iter()
            .find(|segment| segment.path == path && segment.meta == meta)
        {
            return Ok(same.clone());
        }
        let start = meta.len.saturating_sub(TAIL_LENGTH as u64);
        let tail = read_range(store, &path, start, meta.len - start)?;
        let footer = Footer::parse(&tail, meta.len).map_err(|e| damaged(&path, e.into()))?;
        let identity = &footer.identity;
        if identity.uuid != store.uuid() || (identity.first, identity.last) != (first, last) {
            let message = format!(
                "History index segment '{}' is of another repository",
                path.display()
            );
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        let salt = footer.identity.salt();
        let mut key = DefaultHasher::new();
        (salt, meta.identity, meta.modified).hash(&mut key);
        Ok(Arc::new(Segment {
            path,
            meta,
            salt,
            footer,
            key: key.finish(),
            is_of_repository: OnceLock::new(),
        }))
    }

    /// The first revision.
    pub(crate) fn first(&self) -> Revnum {
        self.footer.identity.first
    }

    /// The last revision.
    pub(crate) fn last(&self) -> Revnum {
        self.footer.identity.last
    }

    /// The fingerprint of the last revision.
    pub(crate) fn fingerprint(&self) -> &[u8; 16] {
        &self.footer.identity.fingerprint
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.meta.len
    }

    /// The number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.footer.entries
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The entries of the last record of a path that begins at or before a revision; empty if there is none.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub(crate) fn record(&self, store: &Store, path: &[u8], rev: Revnum) -> Result<Vec<HistoryEntry>> {
        let mut place = self.footer.root;
        for level in (0..self.footer.levels).rev() {
            let block = self.cached_block(store, level, place)?;
            let Some((at, is_path)) = block.find(path, rev) else {
                return Ok(Vec::new());
            };
            if block.is_leaf() {
                return match is_path {
                    true => block.entries(at).map_err(|e| damaged(&self.path, e.into())),
                    false => Ok(Vec::new()),
                };
            }
            place = block.child(at).map_err(|e| damaged(&self.path, e.into()))?;
        }
        Ok(Vec::new())
    }

    fn cached_block(&self, store: &Store, level: usize, place: BlockPlace) -> Result<Arc<IndexBlock>> {
        let key = Key::new::<Arc<IndexBlock>>(store.instance(), self.key, place.offset);
        store.cache().get_or_load(store.read_mode(), key, || {
            self.read_block(store, level, place).map(Arc::new)
        })
    }

    fn read_block(&self, store: &Store, level: usize, place: BlockPlace) -> Result<IndexBlock> {
        if place.length > MAX_BLOCK {
            let message = format!("History index segment '{}' is damaged", self.path.display());
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        let bytes = read_range(store, &self.path, place.offset, place.length)?;
        let block = IndexBlock::parse(&self.salt, place.offset, level, &bytes);
        block.map_err(|e| damaged(&self.path, e.into()))
    }
}

/// All records of a segment, in their order, read without the cache.
pub(crate) struct SegmentRecords {
    store: Store,
    segment: Arc<Segment>,
    /// The blocks above the current leaf, with the next record of each.
    open: Vec<(IndexBlock, usize)>,
    leaf: RecordReader,
    is_started: bool,
}

impl RecordSource for SegmentRecords {
    fn next_record(&mut self) -> Result<Option<Record>> {
        self.next()
    }
}

impl SegmentRecords {
    /// Starts at the first record.
    pub(crate) fn new(store: &Store, segment: Arc<Segment>) -> Self {
        SegmentRecords {
            store: store.clone(),
            segment,
            open: Vec::new(),
            leaf: RecordReader::new(Vec::new()),
            is_started: false,
        }
    }

    fn next(&mut self) -> Result<Option<Record>> {
        loop {
            let record = self.leaf.next_record();
            if let Some(record) = record.map_err(|e| damaged(&self.segment.path, e.into()))? {
                return Ok(Some(record));
            }
            if !self.next_leaf()? {
                return Ok(None);
            }
        }
    }

    /// Opens the next leaf; false at the end.
    fn next_leaf(&mut self) -> Result<bool> {
        let top = self.segment.footer.levels - 1;
        let mut place = (!self.is_started).then_some(self.segment.footer.root);
        self.is_started = true;
        loop {
            if let Some(place) = place.take() {
                let level = top - self.open.len();
                let block = self.segment.read_block(&self.store, level, place)?;
                if block.is_leaf() {
                    self.leaf = RecordReader::new(block.records().to_vec());
                    return Ok(true);
                }
                self.open.push((block, 0));
            }
            let Some((block, at)) = self.open.last_mut() else {
                return Ok(false);
            };
            if *at < block.len() {
                let child = block.child(*at);
                place = Some(child.map_err(|e| damaged(&self.segment.path, e.into()))?);
                *at += 1;
            } else {
                self.open.pop();
            }
        }
    }
}

fn read_range(store: &Store, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
    let failed = |e: &std::io::Error| Error::io("Can't read file", path, e);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let file = store.disk().open(path).map_err(|e| failed(&e))?;
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let (at, left) = (offset + bytes.len() as u64, length - bytes.len());
        let read = file.append_at(&mut bytes, left, at);
        if read.map_err(|e| failed(&e))? == 0 {
            let message = format!("History index segment '{}' ends early", path.display());
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
    }
    Ok(bytes)
}

fn damaged(path: &Path, e: Error) -> Error {
    e.context(format!("History index segment '{}' is damaged", path.display()))
}
