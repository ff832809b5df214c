//! [`LogRecord`]s: the changed paths and the properties of a revision as one cached value.
//!
//! A log of all revisions needs both, for thousands of revisions. Looking them up and caching them one by one takes
//! twice the time in the cache and more memory. Unusual cases (a packed revision, physical addressing, damage, the
//! first files of a directory) have no record. The caller then reads both by the general functions, which also make
//! the error messages. A revision that is read both ways is in the cache twice, within the budget.

use std::cell::RefCell;
use std::sync::Arc;

use base::{PropList, Revnum};

use crate::store::cache::Key;
use crate::store::cache::values::LogRecord;
use crate::store::disk::DiskDir;
use crate::store::shard_dirs::ShardKind;
use crate::tree::Fs;
use crate::tree::changes_tail;

/// The open directories of one shard.
struct Dirs {
    shard: u64,
    revs: Arc<dyn DiskDir>,
    revprops: Arc<dyn DiskDir>,
}

impl Fs {
    /// The records of revisions that exist; `None` for each that needs the general functions.
    pub fn log_records(&self, revs: &[Revnum]) -> Vec<Option<LogRecord>> {
        let mut dirs = None;
        revs.iter()
            .map(
                |rev| match self.format().has_list_at_end() && !self.is_packed(*rev) {
                    true => self.log_record(&mut dirs, *rev),
                    false => None,
                },
            )
            .collect()
    }

    fn log_record(&self, dirs: &mut Option<Dirs>, rev: Revnum) -> Option<LogRecord> {
        let dirs = self.log_dirs(dirs, rev)?;
        let name = rev.to_string();
        let key = Key::new::<LogRecord>(self.instance(), rev.0, 0);
        let cached = self.cache().get::<LogRecord>(&key);
        if let Some(cached) = &cached
            && dirs.revprops.metadata(&name).ok()? == cached.meta()
        {
            return Some(cached.clone());
        }
        self.check_may_wait().ok()?;
        let changes = match cached {
            Some(cached) => cached.changes().clone(),
            None => changes_tail::read(&*dirs.revs, &name, rev)?,
        };
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let (revprops, meta) = BUFFER.with_borrow_mut(|buffer| {
            let meta = dirs.revprops.read_small_into(&name, buffer).ok()?;
            let revprops = PropList::read(buffer).ok()?;
            if buffer.capacity() > MAX_IDLE_BUFFER {
                *buffer = Vec::new();
            }
            Some((revprops, meta))
        })?;
        let record = LogRecord::new(changes, revprops, meta);
        self.cache().insert(key, record.clone());
        Some(record)
    }

    fn log_dirs<'a>(&self, dirs: &'a mut Option<Dirs>, rev: Revnum) -> Option<&'a Dirs> {
        let shard = self.layout().shard(rev)?;
        if dirs.as_ref().is_none_or(|dirs| dirs.shard != shard) {
            let dir = |kind, path: &dyn Fn() -> _| self.shard_dir(kind, shard, path);
            let revs = dir(ShardKind::Revs, &|| self.rev_path(rev));
            let revprops = dir(ShardKind::Revprops, &|| self.layout().revprops(rev));
            *dirs = Some(Dirs {
                shard,
                revs: revs?,
                revprops: revprops?,
            });
        }
        dirs.as_ref()
    }
}

/// The largest buffer that a thread keeps between reads, bytes.
const MAX_IDLE_BUFFER: usize = 64 << 10;
