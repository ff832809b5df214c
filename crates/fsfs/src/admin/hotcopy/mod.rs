//! Copying a filesystem that is in use: `svnadmin hotcopy`.
//!
//! The source is only read and never locked: revisions do not change, and everything else is replaced by rename. If a shard is
//! packed meanwhile, missing files are read from the pack. The destination of an incremental copy is held by all its locks.
//! Revisions are copied on all cores, and made durable before `current` names them. `format`, without which a directory is no
//! filesystem, is written last. So an interrupted copy is no filesystem yet, or the one that it was, and the next copy continues
//! it. A first copy leaves a checkpoint, so that the next one knows which files it can rely on.

pub(crate) mod checkpoint;
mod copier;
mod first_copy;
mod shard;

use std::path::Path;
use std::time::Duration;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Code, Error, Result, Revnum};

use self::checkpoint::CheckpointFile;
use self::copier::{Existing, FileCopier};
use self::shard::{CopyJob, RevisionCopier};
use crate::format::short_line::leading_revision;
use crate::store::cache::Cache;
use crate::store::disk::{ATTEMPTS, Volumes, is_missing, read_replaced, write_atomic};
use crate::store::layout::Layout;
use crate::store::rep_cache::RepCache;
use crate::tree::Fs;
use crate::txn::strays::set_aside;

/// Options of a copy.
#[derive(Clone, Copy, Debug)]
pub struct HotcopyOptions {
    /// True to copy only what the destination lacks: everything, if it has no filesystem.
    pub incremental: bool,
    /// The time between two checkpoints of a first copy. It grows where checkpoints take long. Zero for one after each job.
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
    let copier = FileCopier {
        disk: src.disk(),
        existing: Existing::Untrusted,
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
    let probe = FileCopier {
        disk: src.disk(),
        existing: Existing::Copies,
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
    let copier = |existing| FileCopier {
        disk: src.disk(),
        existing,
    };
    let copy = |existing, volumes| Hotcopy {
        src,
        dst: &layout,
        copier: copier(existing),
        volumes,
        cancel,
    };
    let probe = copier(Existing::Copies);
    let is_there = probe.metadata(&layout.file("format"))?.is_some();
    if options.incremental && is_there {
        let volumes = Volumes::open(src.disk(), dst)?;
        let copy = copy(Existing::Copies, &volumes);
        copy.write_missing_fs_type()?;
        let cache = Cache::new(SMALL_CACHE);
        let old = Fs::open_on(dst, &cache, src.disk_handle())?;
        // Before the locks, to refuse quickly, and under the locks, to be right.
        check_compatible(src, &old)?;
        let _locks = old.all_locks()?;
        check_compatible(src, &old)?;
        // Files of shards that are packed now are removed, and network file systems keep the directories of open ones.
        cache.close_files();
        copy.revisions(notify, None)?;
        copy.other_files()?;
        if probe.metadata(&layout.file(checkpoint::NAME))?.is_some() {
            // The first copy was interrupted in its last step.
            copy.protect_format()?;
        }
        return checkpoint::remove(src.disk(), dst);
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
    copy(existing).create_skeleton()?;
    copy(existing).revisions(notify, checkpoint.as_mut())?;
    let existing = match existing {
        Existing::None => Existing::Untrusted,
        other => other,
    };
    copy(existing).other_files()?;
    copy(existing).format()?;
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
    cancel: &'a Cancel,
}

impl Hotcopy<'_> {
    /// Copies revisions with their properties, and makes them visible.
    fn revisions(
        &self,
        notify: &mut dyn FnMut(CopiedRevisions),
        mut checkpoint: Option<&mut CheckpointFile<'_>>,
    ) -> Result<()> {
        let disk = self.copier.disk;
        let conf = format!("{}.conf", self.src.format().back_end.name());
        self.copier
            .by_content(&self.src.layout().file(&conf), &self.dst.file(&conf))?;
        // Revisions that are committed from here on belong to the next copy.
        let current = read_replaced(disk, &self.src.layout().file("current"))?;
        let youngest = leading_revision(&current)?;
        let mut attempt = 1;
        let mut copier = self.copier;
        let packed = loop {
            self.src.refresh_min_unpacked_rev()?;
            let packed = self.src.min_unpacked_rev();
            match self.copy_all(copier, youngest, packed, notify, checkpoint.as_deref_mut()) {
                Ok(()) => break packed,
                // A shard was packed meanwhile.
                Err(e) if is_missing(&e) && attempt < ATTEMPTS => {
                    self.src.refresh_min_unpacked_rev()?;
                    if self.src.min_unpacked_rev() == packed {
                        return Err(e);
                    }
                    attempt += 1;
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
        self.sync()?;
        // A crash from here on leaves a destination with the old revisions, or with all.
        if self.src.format().has_packing() {
            self.switch_to_packs(packed, checkpoint.is_some())?;
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
        youngest: Revnum,
        packed: Revnum,
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
            let shards = RevisionCopier {
                src: self.src,
                dst: self.dst,
                copier: FileCopier { existing, ..copier },
                cancel: self.cancel,
            };
            (end, shards.copy(job))
        };
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
            |(end, copied)| {
                copied?.into_iter().for_each(&mut *notify);
                match &mut checkpoint {
                    Some(checkpoint) => checkpoint.copied(end, self.volumes),
                    None => Ok(()),
                }
            },
        )
    }

    /// Makes the packs at the destination valid, and removes the unpacked files. In a first copy all files are copies.
    fn switch_to_packs(&self, packed: Revnum, is_first: bool) -> Result<()> {
        let path = self.dst.file("min-unpacked-rev");
        let disk = self.copier.disk;
        let text = read_replaced(disk, &path)?;
        let old = Revnum::parse(text.trim_ascii_end()).unwrap_or(Revnum::ZERO);
        if old >= packed {
            return Ok(());
        }
        write_atomic(disk, &path, format!("{packed}\n").as_bytes(), &path)?;
        let size = self.src.format().shard_size;
        let youngest = self.old_youngest();
        for shard in old.0 / size..packed.0 / size {
            let unpacked = self.dst.file("revs").join(shard.to_string());
            // Files beyond the youngest revision were not copied.
            let is_stray = |rev| self.copier.metadata(&self.dst.rev(Revnum(rev)));
            let mut beyond = (youngest.0 + 1).max(shard * size)..(shard + 1) * size;
            if self.copier.metadata(&unpacked)?.is_some() {
                let has_strays = !is_first
                    && beyond.try_fold(false, |found, rev| {
                        Ok::<_, Error>(found || is_stray(rev)?.is_some())
                    })?;
                match has_strays {
                    true => drop(set_aside(
                        disk,
                        self.dst.db(),
                        &unpacked,
                        &format!("shard-{shard}"),
                    )?),
                    false => self.copier.remove_tree(&unpacked)?,
                }
            }
            // In FSX, property lists are in the directories of the revisions.
            if !self.src.format().has_packed_revprops() || self.src.format().is_fsx() {
                continue;
            }
            if shard > 0 {
                self.copier
                    .remove_tree(&self.dst.file("revprops").join(shard.to_string()))?;
                continue;
            }
            // The properties of revision 0 are never packed.
            let dir = self.dst.file("revprops").join("0");
            for name in self.copier.names(&dir)?.unwrap_or_default() {
                let rev = name.to_str().and_then(|name| name.parse::<u64>().ok());
                if !rev.is_some_and(|rev| (1..size).contains(&rev)) {
                    continue;
                }
                let path = dir.join(name);
                match disk
                    .remove_file(&path)
                    .map_err(|e| Error::io("Can't remove file", &path, &e))
                {
                    Err(e) if !is_missing(&e) => return Err(e),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the youngest revision of the destination before this copy.
    fn old_youngest(&self) -> Revnum {
        let text = read_replaced(self.copier.disk, &self.dst.file("current"));
        let rev = text.ok().and_then(|text| leading_revision(&text).ok());
        rev.unwrap_or(Revnum::ZERO)
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
                .file(&from.file("txn-current"), &self.dst.file("txn-current"))?;
        }
        self.sync()
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

    fn sync(&self) -> Result<()> {
        self.volumes.sync()
    }
}

/// Cache budget of a handle that reads small files only, bytes.
const SMALL_CACHE: u64 = 1 << 20;

/// More threads only make a disk seek.
const MAX_WORKERS: usize = 8;
