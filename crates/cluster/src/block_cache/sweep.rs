//! The budget and the reserve: which files of the cache are removed, and when.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::statvfs;

use super::{DiskSpace, Shared, TEMPORARY};

impl Shared {
    /// Counts written bytes, and starts the thread that removes files if a sixteenth of the budget was written.
    pub(super) fn sweep_if_due(self: &Arc<Self>, size: u64) {
        let written = self.written.fetch_add(size, Ordering::AcqRel) + size;
        if written < self.budget / 16 || self.is_sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        self.written.store(0, Ordering::Release);
        let shared = Arc::clone(self);
        let sweep = move || {
            shared.sweep(0);
            shared.is_sweeping.store(false, Ordering::Release);
        };
        if let Err(e) = std::thread::Builder::new()
            .name("cluster-cache".to_owned())
            .spawn(sweep)
        {
            tracing::warn!("can't start the thread that bounds the cache of objects: {e}");
            self.is_sweeping.store(false, Ordering::Release);
        }
    }

    /// Removes the files that were not opened for the longest time: as many as are above the budget, and at least `room` bytes. Removes temporary files that a killed
    /// process has left. Works in two passes, so that no list of all files is needed.
    pub(super) fn sweep(&self, room: u64) {
        let now = seconds(SystemTime::now());
        let mut total = 0;
        let mut by_age = BTreeMap::<u64, u64>::new();
        self.each_file(|path, size, opened| {
            if is_temporary(path) {
                if now.saturating_sub(opened) > TEMPORARY_AGE {
                    _ = fs::remove_file(path);
                }
                return;
            }
            total += size;
            *by_age.entry(opened).or_default() += size;
        });
        let target = self.budget / 8 * 7;
        let mut excess = total.saturating_sub(target).max(room.min(total));
        if excess == 0 {
            return;
        }
        // All files of earlier seconds go, and as many as needed of the last one.
        let mut last = 0;
        for (second, size) in by_age {
            last = second;
            match excess.checked_sub(size) {
                Some(rest) if rest > 0 => excess = rest,
                _ => break,
            }
        }
        self.each_file(|path, size, opened| {
            let goes = opened < last || (opened == last && excess > 0);
            if !is_temporary(path) && goes && fs::remove_file(path).is_ok() && opened == last {
                excess = excess.saturating_sub(size);
            }
        });
    }

    /// Calls `each` with the path, the size on disk and the time of each file. Errors are passed over.
    pub(super) fn each_file(&self, mut each: impl FnMut(&Path, u64, u64)) {
        let dirs = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for dir in dirs {
            for entry in fs::read_dir(dir.path()).into_iter().flatten().flatten() {
                if let Ok(meta) = entry.metadata()
                    && let Ok(opened) = meta.modified()
                {
                    each(&entry.path(), meta.blocks().saturating_mul(512), seconds(opened));
                }
            }
        }
    }
}

impl DiskSpace {
    /// That of the disk of a directory; `None` if the system does not say.
    pub(super) fn of(dir: &Path) -> Option<DiskSpace> {
        let stat = statvfs(dir).ok()?;
        Some(DiskSpace {
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            size: stat.f_blocks.saturating_mul(stat.f_frsize),
        })
    }

    /// The free bytes that the cache leaves to commits and to the configuration.
    fn reserve(&self) -> u64 {
        (self.size / 16).min(MOST_RESERVED)
    }

    /// True if a file of `size` bytes leaves the reserve free.
    pub(super) fn has_room(&self, size: u64) -> bool {
        self.free >= self.reserve().saturating_add(size)
    }

    /// The bytes that must be removed to have room for what is written until the next look. What the cache itself may still write is part of it: so it goes
    /// on to replace old blocks by new ones.
    pub(super) fn missing(&self) -> u64 {
        match self.free < 2 * self.reserve() {
            true => 3 * self.reserve() - self.free,
            false => 0,
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

/// The largest reserve, bytes.
const MOST_RESERVED: u64 = 1 << 30;

/// Seconds after which such a file was left by a process that has ended.
const TEMPORARY_AGE: u64 = 3600;
