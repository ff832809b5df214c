//! What a long log tells of a revision, changes and properties, as one thing: found at once and cached at once.
//!
//! A log of everything asks for both of thousands of revisions. Finding and keeping them one by one would take the cache twice
//! the time and more memory. What is out of the ordinary (a packed revision, an old format, damage, a first look) has no
//! record: then both are asked for one by one, by the ways that also know what to say about what is wrong. What was asked for
//! in both manners is in the cache twice, within its budget.

use std::cell::RefCell;
use std::sync::Arc;

use base::{PropList, Revnum};

use crate::store::cache::Key;
use crate::store::cache::values::LogRecord;
use crate::store::disk::DiskDir;
use crate::store::read_mode::check_may_wait;
use crate::store::shard_dirs::ShardKind;
use crate::tree::Fs;
use crate::tree::changes_tail;

/// Directories in which a walk goes on.
struct Dirs {
    shard: u64,
    revs: Arc<dyn DiskDir>,
    revprops: Arc<dyn DiskDir>,
}

impl Fs {
    /// What a log tells of revisions that exist; `None` for each that is not to be had this way.
    pub fn log_records(&self, revs: &[Revnum]) -> Vec<Option<LogRecord>> {
        let mut dirs = None;
        revs.iter()
            .map(|rev| match self.format().logical && !self.is_packed(*rev) {
                true => self.log_record(&mut dirs, *rev),
                false => None,
            })
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
        check_may_wait().ok()?;
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

/// The most memory that a thread keeps to read lists into, bytes.
const MAX_IDLE_BUFFER: usize = 64 << 10;
