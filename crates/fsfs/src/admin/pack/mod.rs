//! Packing: the files of a complete shard become one pack file, and its revision properties a few. `svnadmin pack`.
//!
//! Each shard is packed in two steps. First the pack file is written next to the directory of the shard and made durable; readers
//! and commits are not affected, and a crash leaves a directory that the next run removes. Then, under the write lock: the
//! revision properties are packed, `min-unpacked-rev` is replaced, which makes the pack valid, and the unpacked files are
//! removed. Readers that miss a file read `min-unpacked-rev` again.
//!
//! While one shard is made durable and valid, the next is being written on another thread. That needs room for two packs. When the disk is full,
//! both are removed, and the shards are packed one after the other. A run that fails leaves no pack that is not valid.
//!
//! In FSX, the packed revision properties are in the directory of the pack file, and the unpacked ones in that of the shard.
//!
//! The revisions of a shared filesystem are not files. For its storage, [`write_shard`] writes a pack to a directory of the machine,
//! and [`packed_revprops`] returns what packed property lists look like in a filesystem of files.

mod fsx;
mod logical;
mod order;
mod pack_file;
mod physical;
mod range;
mod revprops;
mod source;

use std::ops::Range;
use std::path::{Path, PathBuf};

use base::{Cancel, Code, Error, Result, Revnum};

pub use self::revprops::packed_revprops;
pub(super) use self::revprops::{pack as pack_revprops, remove_unpacked as remove_unpacked_revprops};
use crate::format::fs_format::BackEnd;
use crate::store::disk::{Disk, DiskWriter, is_missing, is_out_of_space, remove_file_in, write_atomic};
use crate::store::guard::{PackLock, WriteLock};
use crate::tree::Fs;
use crate::tree::lineage::has_same_revision;
use crate::txn::strays::set_aside;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackEvent {
    /// The packing of this shard begins.
    Start(u64),
    /// This shard is packed.
    End(u64),
    /// A pack of this shard with other revisions existed. It has a name now that begins with `svn-stray-`.
    SetAside(u64),
}

/// Packs every complete shard. Does nothing in a linear layout or without a complete shard.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` below format 4; `CANCELLED`; those of reading; the system's. Shards packed before the error stay packed.
pub fn run(fs: &Fs, notify: &mut dyn FnMut(PackEvent), cancel: &Cancel) -> Result<()> {
    fs.check_not_shared("'pack'")?;
    run_with_max_items(fs, MAX_ITEMS, notify, cancel)
}

/// As [`run`], with at most `max_items` items in memory: a shard with more is placed in several ranges. An item takes about 200
/// bytes.
///
/// # Errors
/// As [`run`].
pub fn run_with_max_items(
    fs: &Fs,
    max_items: usize,
    notify: &mut dyn FnMut(PackEvent),
    cancel: &Cancel,
) -> Result<()> {
    fs.check_not_shared("'pack'")?;
    // No lock without a complete shard: this must work for a user who can only read.
    if complete_shards(fs)?.is_empty() {
        return Ok(());
    }
    let lock = fs.pack_lock()?;
    if fs.read_format()? != *fs.format() {
        // Upgraded since it was opened: the new format may have another lock.
        drop(lock);
        return run_with_max_items(&fs.reopen(SMALL_CACHE)?, max_items, notify, cancel);
    }
    let shards = complete_shards(fs)?;
    let several = shards.end - shards.start > 1;
    let mut run = PackRun {
        fs,
        lock: &lock,
        max_items,
        notify,
        started: None,
        cancel,
    };
    match run.overlapping(shards) {
        Err(e) if several && is_out_of_space(&e) => run.one_by_one(complete_shards(fs)?),
        outcome => outcome,
    }
}

/// A run under the lock.
struct PackRun<'a> {
    fs: &'a Fs,
    lock: &'a PackLock,
    max_items: usize,
    notify: &'a mut dyn FnMut(PackEvent),
    /// The shard whose beginning was reported last.
    started: Option<u64>,
    cancel: &'a Cancel,
}

impl PackRun<'_> {
    /// Packs shards, of which the next one is written while one is made valid.
    fn overlapping(&mut self, shards: Range<u64>) -> Result<()> {
        let (fs, max_items, cancel) = (self.fs, self.max_items, self.cancel);
        std::thread::scope(|scope| {
            // A rendezvous channel: with room for one, a third shard would be begun before the first is done, for twice the disk
            // space and no gain.
            let (give, take) = crossbeam_channel::bounded(0);
            let written = shards.clone();
            scope.spawn(move || {
                for shard in written {
                    let prepared = PreparedPack::write(fs, shard, max_items, cancel);
                    let failed = prepared.is_err();
                    if let Err(crossbeam_channel::SendError(Ok(unwanted))) = give.send(prepared) {
                        unwanted.discard(fs);
                        return;
                    }
                    if failed {
                        return;
                    }
                }
            });
            // Moved into this closure: an early return drops it, which stops the other thread.
            let take = take;
            for shard in shards {
                self.start(shard);
                let prepared = take.recv().map_err(|_| Error::bare(Code::CANCELLED))??;
                self.finish(prepared)?;
            }
            Ok(())
        })
    }

    fn one_by_one(&mut self, shards: Range<u64>) -> Result<()> {
        for shard in shards {
            self.start(shard);
            let prepared = PreparedPack::write(self.fs, shard, self.max_items, self.cancel)?;
            self.finish(prepared)?;
        }
        Ok(())
    }

    /// Reports the beginning of a shard, unless that was done before its first attempt.
    fn start(&mut self, shard: u64) {
        if self.started.replace(shard) != Some(shard) {
            (self.notify)(PackEvent::Start(shard));
        }
    }

    fn finish(&mut self, prepared: PreparedPack) -> Result<()> {
        let (shard, dir) = (prepared.shard, prepared.dir.clone());
        if prepared.set_aside {
            (self.notify)(PackEvent::SetAside(shard));
        }
        prepared
            .switch_over(self.fs, self.lock, self.cancel)
            .inspect_err(|_| remove_invalid(self.fs, shard, &dir))?;
        (self.notify)(PackEvent::End(shard));
        Ok(())
    }
}

/// Returns the complete shards that are not packed; none in a linear layout.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` below format 4; those of reading; the system's.
pub fn complete_shards(fs: &Fs) -> Result<Range<u64>> {
    let number = fs.format().number;
    if !fs.format().has_packing() {
        let message = format!("FSFS format ({number}) too old to pack; please upgrade the filesystem.");
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    }
    let size = fs.format().shard_size;
    if size == 0 {
        return Ok(0..0);
    }
    fs.refresh_min_unpacked_rev()?;
    let first = fs.min_unpacked_rev().0 / size;
    let end = fs.youngest()?.0.saturating_add(1) / size;
    Ok(first..end)
}

/// A pack that [`write_shard`] has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardPack {
    /// The pack file.
    pub pack: PathBuf,
    /// The manifest, with physical addressing.
    pub manifest: Option<PathBuf>,
}

/// Writes the pack of a complete shard to the directory `to`, which exists and is empty. The filesystem does not change, and nothing is
/// made durable. The files are those that [`run`] makes, byte for byte.
///
/// # Errors
/// `CANCELLED`; those of reading; the system's. The directory may have incomplete files then.
pub fn write_shard(fs: &Fs, shard: u64, to: &Path, cancel: &Cancel) -> Result<ShardPack> {
    let (pack, manifest) = (to.join("pack"), to.join("manifest"));
    let files = write_files(fs, shard, &pack, &manifest, MAX_ITEMS, cancel)?;
    Ok(ShardPack {
        pack,
        manifest: (files.len() > 1).then_some(manifest),
    })
}

/// Files that are written and not durable, and their paths.
type WrittenFiles = Vec<(PathBuf, Box<dyn DiskWriter>)>;

fn write_files(
    fs: &Fs,
    shard: u64,
    pack: &Path,
    manifest: &Path,
    max_items: usize,
    cancel: &Cancel,
) -> Result<WrittenFiles> {
    let first = Revnum(shard * fs.format().shard_size);
    let file = match (fs.format().back_end, fs.format().logical) {
        (BackEnd::Fsx, _) => fsx::write(fs, first, pack, max_items, cancel)?,
        (BackEnd::Fsfs, true) => logical::write(fs, first, pack, max_items, cancel)?,
        (BackEnd::Fsfs, false) => return physical::write(fs, first, pack, manifest, cancel),
    };
    Ok(vec![(pack.to_owned(), file)])
}

/// Default limit for items in memory.
const MAX_ITEMS: usize = 300_000;

/// Cache budget of a handle that reads small files only, bytes.
const SMALL_CACHE: u64 = 1 << 20;

/// A pack that is written, but neither durable nor valid.
struct PreparedPack {
    shard: u64,
    dir: PathBuf,
    files: WrittenFiles,
    /// True if another pack was renamed.
    set_aside: bool,
}

impl PreparedPack {
    fn write(fs: &Fs, shard: u64, max_items: usize, cancel: &Cancel) -> Result<PreparedPack> {
        let pack = fs.layout().pack(shard);
        let dir = pack.parent().unwrap_or(Path::new(".")).to_owned();
        let first = Revnum(shard * fs.format().shard_size);
        check_sources(fs, first)?;
        let set_aside = clear_pack_dir(fs, first, &dir)?;
        create_dir(fs.disk(), &dir)?;
        let files = write_files(fs, shard, &pack, &fs.layout().manifest(shard), max_items, cancel)
            .inspect_err(|_| _ = remove_dir(fs.disk(), &dir))?;
        Ok(PreparedPack {
            shard,
            dir,
            files,
            set_aside,
        })
    }

    /// Makes the pack durable and then valid.
    fn switch_over(self, fs: &Fs, lock: &PackLock, cancel: &Cancel) -> Result<()> {
        let disk = fs.disk();
        let shard_dir = fs.layout().file("revs").join(self.shard.to_string());
        for (path, mut file) in self.files {
            file.sync()
                .map_err(|e| Error::io("Can't flush file", &path, &e))?;
            drop(file);
            disk.set_read_only(&path)
                .map_err(|e| Error::io("Can't set permissions on file", &path, &e))?;
        }
        disk.copy_permissions(&shard_dir, &self.dir)
            .map_err(|e| Error::io("Can't set permissions on directory", &self.dir, &e))?;
        sync_dir(disk, &self.dir)?;
        sync_dir(disk, &fs.layout().file("revs"))?;
        cancel.check()?;
        // A crash up to here leaves a directory that has no reader.
        let write_lock = lock.write_lock()?;
        if fs.format().has_packed_revprops() {
            let (aim, compress) = (fs.conf().revprop_pack_size, fs.conf().compress_packed_revprops);
            revprops::pack(fs, self.shard, aim, compress, &write_lock)?;
        }
        set_min_unpacked_rev(fs, Revnum((self.shard + 1) * fs.format().shard_size), &write_lock)?;
        // From here on the pack is valid; a crash leaves unpacked files that have no reader.
        remove_dir(disk, &shard_dir)?;
        // In FSX the property lists were in the same directory.
        if fs.format().has_packed_revprops() && !fs.format().is_fsx() {
            revprops::remove_unpacked(fs, self.shard, &write_lock)?;
            // Left by interrupted runs.
            for shard in (1..self.shard).rev() {
                if !revprops::is_packed(fs, shard) || !revprops::remove_unpacked(fs, shard, &write_lock)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes the files. The next run removes those that cannot be removed now.
    fn discard(self, fs: &Fs) {
        drop(self.files);
        _ = remove_dir(fs.disk(), &self.dir);
    }
}

/// Removes what a failed attempt has written, if it is certain that it is not valid. The next run removes what cannot be removed now.
fn remove_invalid(fs: &Fs, shard: u64, dir: &Path) {
    if fs.refresh_min_unpacked_rev().is_err() || fs.min_unpacked_rev().0 > shard * fs.format().shard_size {
        return;
    }
    _ = remove_dir(fs.disk(), dir);
    if fs.format().has_packed_revprops() && !fs.format().is_fsx() {
        _ = remove_dir(fs.disk(), &fs.layout().revprops_pack_dir(shard));
    }
}

/// Checks that all files of a shard exist, before anything is removed.
fn check_sources(fs: &Fs, first: Revnum) -> Result<()> {
    for rev in (first.0..first.0 + fs.format().shard_size).map(Revnum) {
        let mut paths = vec![fs.layout().rev(rev)];
        if fs.format().has_packed_revprops() {
            paths.push(fs.layout().revprops(rev));
        }
        for path in paths {
            let there = fs.disk().metadata(&path);
            there.map_err(|e| Error::io("Can't open file", &path, &e))?;
        }
    }
    Ok(())
}

/// Removes what an interrupted run has left. A complete pack with other revisions than those to be packed is renamed: then the
/// result is true.
fn clear_pack_dir(fs: &Fs, first: Revnum, dir: &Path) -> Result<bool> {
    if !holds_other_revisions(fs, first) {
        return remove_dir(fs.disk(), dir).map(|_| false);
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    set_aside(fs.disk(), fs.path(), dir, &name).map(|_| true)
}

/// True if the pack of the shard that begins with `first` can be read, and is not a pack of the existing revision files.
fn holds_other_revisions(fs: &Fs, first: Revnum) -> bool {
    let size = fs.format().shard_size;
    if fs.disk().metadata(&fs.layout().pack(first.0 / size)).is_err() {
        return false;
    }
    let last = Revnum(first.0 + size - 1);
    let view = fs.group_view(last);
    view.assume_packed(last.next());
    (first.0..=last.0).map(Revnum).any(|rev| {
        if view.root_noderev(rev).is_err() {
            return false;
        }
        match has_same_revision(fs, &view, rev) {
            Ok(is_same) => !is_same,
            // An incomplete pack is of no use; without the revision file it may be the only copy.
            Err(_) => fs.root_noderev(rev).is_err(),
        }
    })
}

fn set_min_unpacked_rev(fs: &Fs, rev: Revnum, _: &WriteLock) -> Result<()> {
    let path = fs.layout().file("min-unpacked-rev");
    write_atomic(fs.disk(), &path, format!("{rev}\n").as_bytes(), &path)?;
    fs.refresh_min_unpacked_rev()
}

/// Removes a directory with the files in it; false if there is none.
pub(super) fn remove_dir(disk: &dyn Disk, path: &Path) -> Result<bool> {
    let names = match disk.list(path) {
        Ok(names) => names,
        Err(e) => {
            let error = Error::io("Can't open directory", path, &e);
            return if is_missing(&error) { Ok(false) } else { Err(error) };
        }
    };
    for name in names {
        let file = path.join(name);
        remove_file_in(disk, path, &file).map_err(|e| Error::io("Can't remove file", &file, &e))?;
    }
    disk.remove_dir(path)
        .map_err(|e| Error::io("Can't remove directory", path, &e))?;
    Ok(true)
}

fn create_dir(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.create_dir(path)
        .map_err(|e| Error::io("Can't create directory", path, &e))
}

fn sync_dir(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_dir(path)
        .map_err(|e| Error::io("Can't flush directory", path, &e))
}
