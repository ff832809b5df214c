//! Upgrading a filesystem to the newest format: `svnadmin upgrade`.
//!
//! Revisions are not rewritten; layout and addressing stay. Files that the newer format needs are created first, then `format` is
//! replaced, and files that only the older format needs are removed last. So a crash leaves a filesystem of one format or the
//! other, and the next run finishes the upgrade. Open transactions of formats 1 and 2 cannot be continued afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

use super::pack::{pack_revprops, remove_unpacked_revprops};
use crate::admin::create::EXPLAINED_CONF;
use crate::format::fs_format::FsFormat;
use crate::store::cache::Cache;
use crate::store::disk::{Disk, RealDisk, is_missing, write_atomic};
use crate::store::guard::WriteLock;
use crate::tree::Fs;
use crate::txn::revprops_write::write_new;

/// The progress of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeEvent {
    /// The revision properties of this shard are packed.
    PackedRevprops(u64),
    /// The filesystem has this format now.
    Format(u32),
    /// The unpacked revision properties of this shard are removed.
    RemovedRevprops(u64),
}

/// Upgrades the filesystem in `db`. One with the newest format gets its `fsfs.conf` back, if that is missing.
///
/// # Errors
/// As [`Fs::open`]; the system's.
pub fn run(db: &Path, notify: &mut dyn FnMut(UpgradeEvent)) -> Result<()> {
    run_on(db, Arc::new(RealDisk), notify)
}

/// Upgrades a filesystem on another disk than the machine's.
///
/// # Errors
/// As [`run`].
pub fn run_on(db: &Path, disk: Arc<dyn Disk>, notify: &mut dyn FnMut(UpgradeEvent)) -> Result<()> {
    let fs = Fs::open_on(db, &Cache::new(SMALL_CACHE), disk)?;
    let locks = fs.all_locks()?;
    let format = fs.read_format()?;
    if format != *fs.format() {
        // Another process was quicker.
        drop(locks);
        return run_on(db, fs.disk_handle(), notify);
    }
    if format.is_fsx() {
        // There is one format only.
        return Ok(());
    }
    Upgrade {
        fs: &fs,
        format,
        lock: locks.write(),
    }
    .run(notify)
}

struct Upgrade<'a> {
    fs: &'a Fs,
    format: FsFormat,
    lock: &'a WriteLock,
}

impl Upgrade<'_> {
    fn run(&self, notify: &mut dyn FnMut(UpgradeEvent)) -> Result<()> {
        let (disk, layout) = (self.fs.disk(), self.fs.layout());
        self.create("fsfs.conf", EXPLAINED_CONF.as_bytes())?;
        if self.format.number == FsFormat::NEWEST {
            return Ok(());
        }
        if !self.format.has_protorevs_dir() {
            self.create("txn-current", b"0\n")?;
            self.create("txn-current-lock", b"")?;
            let protorevs = layout.file("txn-protorevs");
            match disk.create_dir(&protorevs) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("Can't create directory", &protorevs, &e));
                }
                _ => {}
            }
        }
        if !self.format.has_packing() {
            self.create("min-unpacked-rev", b"0\n")?;
        }
        for shard in self.shards() {
            // These have no reader before `format` is replaced. Files of an interrupted run are written again.
            pack_revprops(self.fs, shard, PACK_SIZE, false, self.lock)?;
            notify(UpgradeEvent::PackedRevprops(shard));
        }
        let newest = FsFormat {
            number: FsFormat::NEWEST,
            ..self.format
        };
        self.fs.write_uuid(&self.fs.uuid(), &newest, self.lock)?;
        let mut text = Vec::new();
        newest.encode(&mut text);
        let path = layout.file("format");
        // The oldest filesystems have no `format` file: then the permissions are those of `current`.
        let like = match disk.metadata(&path) {
            Ok(_) => path.clone(),
            Err(_) => layout.file("current"),
        };
        write_atomic(disk, &path, &text, &like)?;
        disk.set_read_only(&path)
            .map_err(|e| Error::io("Can't set permissions on file", &path, &e))?;
        notify(UpgradeEvent::Format(FsFormat::NEWEST));
        for shard in self.shards() {
            remove_unpacked_revprops(self.fs, shard, self.lock)?;
            notify(UpgradeEvent::RemovedRevprops(shard));
        }
        Ok(())
    }

    /// Returns the packed shards whose revision properties are not packed yet.
    fn shards(&self) -> std::ops::Range<u64> {
        if self.format.has_packed_revprops() || self.format.shard_size == 0 {
            return 0..0;
        }
        0..self.lock.min_unpacked_rev().0 / self.format.shard_size
    }

    /// Creates a file in `db/` unless it exists. It is written under a temporary name first: the incumbent fails on an empty one.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let disk = self.fs.disk();
        let path: PathBuf = self.fs.layout().file(name);
        match disk
            .metadata(&path)
            .map_err(|e| Error::io("Can't stat", &path, &e))
        {
            Ok(_) => Ok(()),
            Err(e) if is_missing(&e) => write_new(disk, &path, bytes),
            Err(e) => Err(e),
        }
    }
}

/// Cache budget of a handle that reads small files only, bytes.
const SMALL_CACHE: u64 = 1 << 20;

/// Size limit of pack files with revision properties, for formats that have no option for it, bytes.
const PACK_SIZE: u64 = 64 << 10;
