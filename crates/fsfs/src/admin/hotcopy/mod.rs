//! Copying a filesystem that is in use: `svnadmin hotcopy`.
//!
//! The source is only read and never locked: revisions do not change, and everything else is replaced by rename. If a shard is
//! packed meanwhile, missing files are read from the pack. The destination of an incremental copy is held by all its locks.
//! Revisions are copied on all cores, and made durable before `current` names them. `format`, without which a directory is no
//! filesystem, is written last. So an interrupted copy is no filesystem yet, or the one that it was, and the next copy continues
//! it. A first copy leaves a checkpoint, so that the next one knows which files it can rely on. An incremental copy gives a file its
//! name only when it is durable, see [`pending`], so every file that has its name can be relied on.

pub(crate) mod checkpoint;
mod copier;
mod first_copy;
mod packs;
mod pending;
mod shard;

use std::path::Path;
use std::time::Duration;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Code, Error, Result, Revnum};

use self::checkpoint::CheckpointFile;
use self::copier::{Existing, FileCopier};
use self::pending::{PendingFiles, PublishInterval};
use self::shard::{CopyJob, NamedRevisions, RevisionCopier};
use crate::format::short_line::leading_revision;
use crate::store::cache::Cache;
use crate::store::disk::{ATTEMPTS, Volumes, is_missing, read_replaced, write_atomic};
use crate::store::layout::Layout;
use crate::store::rep_cache::RepCache;
use crate::tree::Fs;

/// Options of a copy.
#[derive(Clone, Copy, Debug)]
pub struct HotcopyOptions {
    /// True to copy only what the destination lacks: everything, if it has no filesystem.
    pub incremental: bool,
    /// The time between two checkpoints of a first copy, or after which an incremental copy gives names to the files that it has
    /// copied. It grows where that takes long. Zero to do it after each job.
    pub checkpoint_interval: Duration,
}

impl Default for HotcopyOptions {
    fn default() -> Self {
        HotcopyOptions {
            incremental: false,
            checkpoint_interval: Duration::from_secs(10),
        }
    }
}

/// A range of revisions that were copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedRevisions {
    /// The first.
    pub start: Revnum,
    /// The last, included; different from the first if they were copied as a pack.
    pub end: Revnum,
}

/// Creates the `db` directory `dst`, whose parent exists, and the checkpoint of a copy in it. Does nothing if the directory has
/// files.
///
/// # Errors
/// The system's.
pub fn begin(src: &Fs, dst: &Path) -> Result<()> {
    src.check_not_shared("'hotcopy'")?;
    let pending = PendingFiles::new(dst);
    let copier = FileCopier {
        disk: src.disk(),
        existing: Existing::Untrusted,
        pending: &pending,
    };
    copier.directory(dst)?;
    match copier.names(dst)?.is_none_or(|names| names.is_empty()) {
        true => {
            let created = CheckpointFile::create(src, dst, Duration::ZERO).map(drop);
            // Without it, the next attempt would find a directory that is not that of a copy.
            created.inspect_err(|_| {
                _ = checkpoint::remove(src.disk(), dst);
                _ = src.disk().remove_dir(dst);
            })
        }
        false => Ok(()),
    }
}

/// Returns whether `dst` is a `db` directory that an interrupted copy has left, so that [`run`] continues that copy.
///
/// # Errors
/// The system's.
pub fn is_interrupted(src: &Fs, dst: &Path) -> Result<bool> {
    src.check_not_shared("'hotcopy'")?;
    let pending = PendingFiles::new(dst);
    let probe = FileCopier {
        disk: src.disk(),
        existing: Existing::Copies,
        pending: &pending,
    };
    let is_there = |name: &str| Ok::<_, Error>(probe.metadata(&dst.join(name))?.is_some());
    // A copy that ends between `format` and the removal of the checkpoint has both.
    Ok(is_there(checkpoint::NAME)? || is_there("format")?)
}

/// Copies the filesystem to the `db` directory `dst`, whose parent exists. Continues a first copy that was interrupted.
///
/// # Errors
/// Those of reading the source; `UNSUPPORTED_FEATURE` or `RA_UUID_MISMATCH` if the destination of an incremental copy does not
/// fit; `INCORRECT_PARAMS` if the interrupted copy has another source; `CANCELLED`; the system's.
pub fn run(
    src: &Fs,
    dst: &Path,
    options: HotcopyOptions,
    notify: &mut dyn FnMut(CopiedRevisions),
    cancel: &Cancel,
) -> Result<()> {
    src.check_not_shared("'hotcopy'")?;
    let layout = Layout::new(dst, *src.format());
    let pending = PendingFiles::new(dst);
    let copier = |existing| FileCopier {
        disk: src.disk(),
        existing,
        pending: &pending,
    };
    let copy = |existing, volumes| Hotcopy {
        src,
        dst: &layout,
        copier: copier(existing),
        volumes,
        interval: options.checkpoint_interval,
        cancel,
    };
    let probe = copier(Existing::Copies);
    let is_there = probe.metadata(&layout.file("format"))?.is_some();
    if options.incremental && is_there {
        let volumes = Volumes::open(src.disk(), dst)?;
        let copy = copy(Existing::Copies, &volumes);
        return copy.bring_up_to_date(notify);
    }
    if is_there {
        let message = format!("'{}' is a filesystem already", dst.display());
        return Err(Error::new(Code::FS_ALREADY_EXISTS, message));
    }
    let interval = options.checkpoint_interval;
    let (mut checkpoint, existing) = match CheckpointFile::open(src, dst, interval)? {
        Some(begun) if probe.names(dst)?.is_some_and(|names| names.len() == 1) => {
            (Some(begun), Existing::None)
        }
        Some(interrupted) => (Some(interrupted), Existing::Untrusted),
        None if probe.names(dst)?.is_some_and(|names| !names.is_empty()) => (None, Existing::Copies),
        None => {
            probe.directory(dst)?;
            let new = CheckpointFile::create(src, dst, interval)?;
            (Some(new), Existing::None)
        }
    };
    let volumes = Volumes::open(src.disk(), dst)?;
    let copy = |existing| copy(existing, &volumes);
    if existing == Existing::Untrusted {
        copy(existing).remove_remains()?;
    }
    let first = copy(existing);
    first.create_skeleton()?;
    first.with_pending(|| {
        first.revisions(notify, checkpoint.as_mut())?;
        let existing = match existing {
            Existing::None => Existing::Untrusted,
            other => other,
        };
        copy(existing).other_files()
    })?;
    first.format()?;
    // A crash here leaves a complete filesystem with a checkpoint, which the next copy to it removes.
    checkpoint::remove(src.disk(), dst)
}

/// Checks that `old` can be brought up to date from `src`.
fn check_compatible(src: &Fs, old: &Fs) -> Result<()> {
    let refuse = |message: String| Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    if src.format().number != old.format().number {
        return refuse(format!(
            "The FSFS format ({}) of the hotcopy source does not match the FSFS format ({}) of the hotcopy destination; please \
             upgrade both repositories to the same format",
            src.format().number,
            old.format().number
        ));
    }
    if src.uuid() != old.uuid() {
        let message = "The UUID of the hotcopy source does not match the UUID of the hotcopy destination";
        return Err(Error::new(Code::RA_UUID_MISMATCH, message));
    }
    if src.format() != old.format() {
        return refuse(
            "The sharding layout configuration of the hotcopy source does not match the sharding layout configuration of the \
             hotcopy destination"
                .to_owned(),
        );
    }
    let (youngest, old_youngest) = (src.youngest()?, old.youngest()?);
    if old_youngest > youngest {
        return refuse(format!(
            "The hotcopy destination already contains more revisions ({old_youngest}) than the hotcopy source contains \
             ({youngest}); are source and destination swapped?"
        ));
    }
    src.refresh_min_unpacked_rev()?;
    old.refresh_min_unpacked_rev()?;
    // Damage is not reported here but by the copy.
    if let Ok(false) = src.has_same_history(old, old_youngest) {
        return refuse(format!(
            "Revision {old_youngest} of the hotcopy destination is not the one of the hotcopy source: the source was restored or \
             rebuilt, and the destination may hold the only copy of revisions that the source has lost. Copy to another place"
        ));
    }
    let packed = |fs: &Fs| fs.min_unpacked_rev().0.saturating_sub(1);
    if old.min_unpacked_rev() > src.min_unpacked_rev() {
        return refuse(format!(
            "The hotcopy destination already contains more packed revisions ({}) than the hotcopy source contains ({})",
            packed(old),
            packed(src)
        ));
    }
    Ok(())
}

/// One copy operation.
struct Hotcopy<'a> {
    src: &'a Fs,
    dst: &'a Layout,
    copier: FileCopier<'a>,
    /// The file systems of the destination, open before anything is written.
    volumes: &'a Volumes,
    /// See [`HotcopyOptions::checkpoint_interval`].
    interval: Duration,
    cancel: &'a Cancel,
}

impl Hotcopy<'_> {
    /// Copies what a destination that is a filesystem lacks.
    fn bring_up_to_date(&self, notify: &mut dyn FnMut(CopiedRevisions)) -> Result<()> {
        let (src, dst) = (self.src, self.dst.db());
        self.write_missing_fs_type()?;
        let cache = Cache::new(SMALL_CACHE);
        let old = Fs::open_on(dst, &cache, src.disk_handle())?;
        // Before the locks, to refuse quickly, and under the locks, to be right.
        check_compatible(src, &old)?;
        let _locks = old.all_locks()?;
        check_compatible(src, &old)?;
        // Files of shards that are packed now are removed, and network file systems keep the directories of open ones.
        cache.close_files();
        self.with_pending(|| {
            self.revisions(notify, None)?;
            self.other_files()
        })?;
        if self.copier.metadata(&self.dst.file(checkpoint::NAME))?.is_some() {
            // The first copy was interrupted in its last step.
            self.protect_format()?;
        }
        checkpoint::remove(src.disk(), dst)
    }

    /// Copies files that may be pending meanwhile.
    fn with_pending(&self, copy: impl FnOnce() -> Result<()>) -> Result<()> {
        let (copier, dir) = (self.copier, self.copier.pending.dir());
        // What a killed copy has left is incomplete.
        copier.remove_tree(dir)?;
        copier.directory(dir)?;
        let copied = copy();
        let removed = copier.remove_tree(dir);
        copied.and(removed)
    }

    /// Copies revisions with their properties, and makes them visible.
    fn revisions(
        &self,
        notify: &mut dyn FnMut(CopiedRevisions),
        mut checkpoint: Option<&mut CheckpointFile<'_>>,
    ) -> Result<()> {
        let disk = self.copier.disk;
        let conf = format!("{}.conf", self.src.format().back_end.name());
        self.copier
            .changeable_if_there(&self.src.layout().file(&conf), &self.dst.file(&conf))?;
        // Revisions that are committed from here on belong to the next copy.
        let current = read_replaced(disk, &self.src.layout().file("current"))?;
        let youngest = leading_revision(&current)?;
        let named = self.named();
        let mut attempt = 1;
        let mut copier = self.copier;
        let packed = loop {
            self.src.refresh_min_unpacked_rev()?;
            let packed = self.src.min_unpacked_rev();
            match self.copy_all(
                copier,
                named,
                (packed, youngest),
                notify,
                checkpoint.as_deref_mut(),
            ) {
                Ok(()) => break packed,
                // A shard was packed meanwhile.
                Err(e) if is_missing(&e) && attempt < ATTEMPTS => {
                    self.src.refresh_min_unpacked_rev()?;
                    if self.src.min_unpacked_rev() == packed {
                        return Err(e);
                    }
                    attempt += 1;
                    self.publish()?;
                    if let Some(checkpoint) = &mut checkpoint {
                        checkpoint.save(self.volumes)?;
                    }
                    if copier.existing == Existing::None {
                        copier.existing = Existing::Untrusted;
                    }
                }
                Err(e) => return Err(e),
            }
        };
        self.publish()?;
        // A crash from here on leaves a destination with the old revisions, or with all.
        if self.src.format().has_packing() {
            self.switch_to_packs(named, packed, checkpoint.is_some())?;
        }
        let text = match self.src.format().has_ids_in_current() {
            // With the IDs that belong to this revision.
            true => current,
            false => format!("{youngest}\n").into_bytes(),
        };
        let path = self.dst.file("current");
        let like = match self.copier.metadata(&path)? {
            Some(_) => path.clone(),
            // With the permissions that the umask gives.
            None => self.dst.file("write-lock"),
        };
        write_atomic(disk, &path, &text, &like)
    }

    /// Copies every revision up to `youngest`, those below `packed` as packs.
    fn copy_all(
        &self,
        copier: FileCopier<'_>,
        named: NamedRevisions,
        (packed, youngest): (Revnum, Revnum),
        notify: &mut dyn FnMut(CopiedRevisions),
        mut checkpoint: Option<&mut CheckpointFile<'_>>,
    ) -> Result<()> {
        let durable = checkpoint
            .as_ref()
            .map_or(Revnum::ZERO, |checkpoint| checkpoint.next());
        let shard_size = self.src.format().shard_size;
        let copy = |job: CopyJob| {
            let end = job.end(shard_size);
            let existing = match end <= durable {
                true => Existing::Durable,
                false => copier.existing,
            };
            let pending = self.copier.pending.of_job();
            let shards = RevisionCopier {
                src: self.src,
                dst: self.dst,
                copier: FileCopier {
                    existing,
                    pending: &pending,
                    ..copier
                },
                named,
                cancel: self.cancel,
            };
            let copied = shards.copy(job);
            (end, copied, pending)
        };
        let mut names = PublishInterval::new(self.interval);
        let threads = cores().min(MAX_WORKERS);
        let limits = Limits {
            tasks: 4 * threads,
            bytes: usize::MAX,
        };
        let jobs = CopyJob::all(shard_size, packed, youngest);
        in_order(
            threads,
            limits,
            jobs,
            |job| (copy(job), 0),
            |(end, copied, pending)| {
                copied?.into_iter().for_each(&mut *notify);
                self.copier.pending.append(pending);
                names.publish(self.copier.pending, self.copier.disk, self.volumes)?;
                match &mut checkpoint {
                    Some(checkpoint) => checkpoint.copied(end, self.volumes),
                    None => Ok(()),
                }
            },
        )
    }

    /// Copies what belongs to no revision.
    fn other_files(&self) -> Result<()> {
        let from = self.src.layout();
        self.copier.remove_tree(&self.dst.file("locks"))?;
        self.copier.tree(&from.file("locks"), &self.dst.file("locks"))?;
        self.copier
            .tree(&from.file("node-origins"), &self.dst.file("node-origins"))?;
        self.rep_cache()?;
        if self.src.format().is_fsx() {
            // The instance ID makes the number that other processes know invalid.
            let path = self.dst.file("revprop-generation");
            write_atomic(self.copier.disk, &path, b"0\n", &self.dst.file("current"))?;
        }
        if self.src.format().has_protorevs_dir() {
            self.copier
                .changeable(&from.file("txn-current"), &self.dst.file("txn-current"))?;
        }
        self.publish()
    }

    fn rep_cache(&self) -> Result<()> {
        if !self.src.format().has_rep_sharing() {
            return Ok(());
        }
        let (from, to) = (
            self.src.layout().file("rep-cache.db"),
            self.dst.file("rep-cache.db"),
        );
        let Some(rows) = RepCache::open(&from)? else {
            return Ok(());
        };
        rows.copy_to(&to)?;
        self.copier
            .disk
            .copy_permissions(&from, &to)
            .and_then(|()| self.copier.disk.set_writable(&to))
            .map_err(|e| Error::io("Can't set permissions on file", &to, &e))?;
        // Rows of revisions that are not in the copy would make commits to it fail.
        let current = read_replaced(self.copier.disk, &self.dst.file("current"))?;
        match RepCache::open(&to)? {
            Some(mut rows) => rows.delete_younger(leading_revision(&current)?),
            None => Ok(()),
        }
    }

    /// Makes durable what was copied, and gives the files their names.
    fn publish(&self) -> Result<()> {
        self.copier.pending.publish(self.copier.disk, self.volumes)
    }
}

/// Cache budget of a handle that reads small files only, bytes.
const SMALL_CACHE: u64 = 1 << 20;

/// More threads only make a disk seek.
const MAX_WORKERS: usize = 8;
