//! The budget: which files of the cache are removed, and when.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Shared, TEMPORARY};

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
            shared.sweep();
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

    /// Removes the files that were not opened for the longest time, if there are too many bytes, and temporary files that a killed process
    /// has left. Works in two passes, so that no list of all files is needed.
    pub(super) fn sweep(&self) {
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
        let Some(mut excess) = total.checked_sub(target).filter(|excess| *excess > 0) else {
            return;
        };
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

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

/// Seconds after which such a file was left by a process that has ended.
const TEMPORARY_AGE: u64 = 3600;
