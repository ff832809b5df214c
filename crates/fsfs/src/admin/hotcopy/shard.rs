//! Copying revisions: a packed shard, or a number of unpacked revisions, at a time.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use base::{Cancel, Error, Result, ResultExt as _, Revnum};

use super::CopiedRevisions;
use super::copier::{Existing, FileCopier};
use crate::format::fsx;
use crate::format::revprops_pack::RevpropsManifest;
use crate::store::disk::{ATTEMPTS, is_missing, read_replaced, write_atomic};
use crate::store::layout::Layout;
use crate::tree::Fs;
use crate::txn::revprops_write::pack_file_name;
use crate::txn::strays::set_aside;

/// The unit of work of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CopyJob {
    /// A packed shard.
    Packed(u64),
    /// Unpacked revisions, all of one shard.
    Unpacked(Range<u64>),
}

impl CopyJob {
    /// Returns the first revision after those of the job.
    pub(super) fn end(&self, shard_size: u64) -> Revnum {
        match self {
            CopyJob::Packed(shard) => Revnum((shard + 1) * shard_size),
            CopyJob::Unpacked(revs) => Revnum(revs.end),
        }
    }

    /// Returns the jobs that copy all revisions up to `youngest`; those below `packed` are packed.
    pub(super) fn all(shard_size: u64, packed: Revnum, youngest: Revnum) -> impl Iterator<Item = CopyJob> {
        let shards = 0..packed.0.checked_div(shard_size).unwrap_or(0);
        let end = youngest.0 + 1;
        let mut start = packed.0;
        let unpacked = std::iter::from_fn(move || {
            if start >= end {
                return None;
            }
            let shard_end = match shard_size {
                0 => end,
                size => (start / size + 1) * size,
            };
            let first = start;
            start = (start + REVISIONS_PER_JOB).min(shard_end).min(end);
            Some(CopyJob::Unpacked(first..start))
        });
        shards.map(CopyJob::Packed).chain(unpacked)
    }
}

/// Revisions per job: enough to make the overhead of a job negligible.
const REVISIONS_PER_JOB: u64 = 50;

/// Copies revisions from one filesystem to another.
pub(super) struct RevisionCopier<'a> {
    pub(super) src: &'a Fs,
    pub(super) dst: &'a Layout,
    pub(super) copier: FileCopier<'a>,
    /// The revisions that the filesystem in the destination has, if there is one.
    pub(super) named: NamedRevisions,
    pub(super) cancel: &'a Cancel,
}

/// The revisions that the files of a destination name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamedRevisions {
    /// The youngest of `current`; `None` without one.
    pub(super) youngest: Option<Revnum>,
    /// The revisions before this one are in packs.
    pub(super) min_unpacked: Revnum,
}

impl RevisionCopier<'_> {
    /// Does a job; returns the revisions that the destination did not have.
    pub(super) fn copy(&self, job: CopyJob) -> Result<Vec<CopiedRevisions>> {
        self.cancel.check()?;
        let copied = match job {
            CopyJob::Packed(shard) => self.packed(shard),
            CopyJob::Unpacked(revs) => self.unpacked(revs),
        };
        // A disk that notices the cancellation fails with another error.
        copied.map_err(|e| self.cancel.check().err().unwrap_or(e))
    }

    /// Returns the copier for a file: `is_named` if the filesystem in the destination names its revisions.
    fn copier(&self, is_named: bool) -> FileCopier<'_> {
        match self.copier.existing {
            Existing::Copies if !is_named => FileCopier {
                existing: Existing::Unnamed,
                ..self.copier
            },
            _ => self.copier,
        }
    }

    fn copier_of_revision(&self, rev: Revnum) -> FileCopier<'_> {
        self.copier(self.named.youngest.is_some_and(|youngest| rev <= youngest))
    }

    fn copier_of_pack(&self, shard: u64) -> FileCopier<'_> {
        self.copier((shard + 1) * self.src.format().shard_size <= self.named.min_unpacked.0)
    }

    fn packed(&self, shard: u64) -> Result<Vec<CopiedRevisions>> {
        let size = self.src.format().shard_size;
        let revs = shard * size..(shard + 1) * size;
        let from = self.src.layout();
        let mut is_copied = self.pack_dir(shard, &from.pack(shard), &self.dst.pack(shard))?;
        if self.src.format().has_packed_revprops() {
            if shard == 0 && !self.src.format().is_fsx() {
                self.directory_of(&self.dst.revprops(Revnum::ZERO))?;
                is_copied |= self.revprops(Revnum::ZERO)?;
            }
            is_copied |= self.packed_revprops(shard)?;
        } else {
            self.directory_of(&self.dst.revprops(Revnum(revs.start)))?;
            for rev in revs.clone() {
                is_copied |= self.revprops(Revnum(rev))?;
            }
        }
        let copied = CopiedRevisions {
            start: Revnum(revs.start),
            end: Revnum(revs.end - 1),
        };
        Ok(is_copied.then_some(copied).into_iter().collect())
    }

    fn unpacked(&self, revs: Range<u64>) -> Result<Vec<CopiedRevisions>> {
        let mut copied = Vec::new();
        let first = Revnum(revs.start);
        self.directory_of(&self.dst.rev(first))?;
        self.directory_of(&self.dst.revprops(first))?;
        for rev in revs.map(Revnum) {
            self.cancel.check()?;
            let (from, to) = (self.src.layout().rev(rev), self.dst.rev(rev));
            let copier = self.copier_of_revision(rev);
            if copier.set_other_aside(&from, &to, self.dst.db(), &format!("r{rev}"))? {
                self.set_revprops_aside(rev)?;
            }
            // The properties get their name first: without them a revision is not complete. Both are copied: no short circuit.
            let is_copied = self.revprops(rev)? | copier.file(&from, &to)?;
            copied.extend(is_copied.then_some(CopiedRevisions { start: rev, end: rev }));
        }
        Ok(copied)
    }

    /// Copies one unpacked property list into a directory that exists.
    fn revprops(&self, rev: Revnum) -> Result<bool> {
        let (from, to) = (self.src.layout().revprops(rev), self.dst.revprops(rev));
        let copier = self.copier_of_revision(rev);
        match rev {
            Revnum::ZERO => copier.changeable_if_there(&from, &to),
            _ => copier.changeable(&from, &to),
        }
    }

    /// Renames the property list of a revision that was not a copy.
    fn set_revprops_aside(&self, rev: Revnum) -> Result<()> {
        let path = self.dst.revprops(rev);
        match self.copier.metadata(&path)? {
            Some(meta) if !meta.is_dir => {
                let name = format!("revprops-r{rev}");
                set_aside(self.copier.disk, self.dst.db(), &path, &name).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Copies a pack file and its manifest, which never change.
    fn pack_dir(&self, shard: u64, pack: &Path, to: &Path) -> Result<bool> {
        self.directory_of(to)?;
        let copier = self.copier_of_pack(shard);
        let mut is_copied = false;
        if !self.src.format().logical {
            let manifest = OsString::from("manifest");
            is_copied |= copier.file(&pack.with_file_name(&manifest), &to.with_file_name(&manifest))?;
        }
        let name = format!("{shard}.pack.file");
        copier.set_other_aside(pack, to, self.dst.db(), &name)?;
        Ok(is_copied | copier.file(pack, to)?)
    }

    /// Copies the packed properties of a shard: the files that the manifest names, and then that manifest. If a file is gone, it
    /// was replaced by others, which the new manifest names: then everything is tried again.
    fn packed_revprops(&self, shard: u64) -> Result<bool> {
        let (from, to) = (
            self.src.layout().revprops_pack_dir(shard),
            self.dst.revprops_pack_dir(shard),
        );
        self.copier.directory(&to)?;
        let mut attempt = 1;
        loop {
            match self.packed_revprops_once(shard, &from, &to) {
                Err(e) if is_missing(&e) && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn packed_revprops_once(&self, shard: u64, from: &Path, to: &Path) -> Result<bool> {
        let size = self.src.format().shard_size;
        let count = size - u64::from(shard == 0);
        let text = read_replaced(self.copier.disk, &from.join("manifest"))?;
        let names: BTreeSet<String> = if self.src.format().is_fsx() {
            let manifest = fsx::revprops_pack::RevpropsManifest::decode(&text, Revnum(shard * size), size);
            let manifest =
                manifest.context(|| format!("Revprop manifest file of shard {shard} is corrupt"))?;
            // The properties of revision 0 are in a file of their own.
            let own = (shard == 0).then(|| "p0".to_owned());
            manifest.file_names().chain(own).collect()
        } else {
            let manifest = RevpropsManifest::parse(&text, count).map_err(|e| {
                let message = format!("Packed revprop manifest of shard {shard} {}", e.text());
                Error::new(e.code(), message)
            })?;
            let names = (0..count).filter_map(|at| manifest.name(at));
            names.map(pack_file_name).collect()
        };
        let copier = self.copier_of_pack(shard);
        let mut is_copied = false;
        for name in &names {
            is_copied |= copier.file(&from.join(name), &to.join(name))?;
        }
        is_copied |= self.revprops_manifest(copier, &text, &from.join("manifest"), &to.join("manifest"))?;
        // Files that no manifest names any more are useless.
        if copier.existing != Existing::None {
            for name in self.copier.names(to)?.unwrap_or_default() {
                if name
                    .to_str()
                    .is_some_and(|name| !["manifest", "pack"].contains(&name) && !names.contains(name))
                {
                    copier.pending.remove(to.join(&name));
                }
            }
        }
        Ok(is_copied)
    }

    /// Writes the list of the files that have packed properties, after these files.
    fn revprops_manifest(&self, copier: FileCopier<'_>, text: &[u8], from: &Path, to: &Path) -> Result<bool> {
        let disk = copier.disk;
        let is_there = || disk.read_small(to).is_ok_and(|old| old == text);
        match copier.existing {
            Existing::None => copier.write(to, text, from)?,
            Existing::Untrusted => write_atomic(disk, to, text, from)?,
            Existing::Copies | Existing::Durable if is_there() => return Ok(false),
            _ => copier.pending.write(disk, to, text, from)?,
        }
        Ok(true)
    }

    /// Creates the directory of a file.
    fn directory_of(&self, to: &Path) -> Result<()> {
        match to.parent() {
            Some(to) => self.copier.directory(to),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_cover_all_revisions_once_and_keep_to_shards() {
        for (size, packed, youngest) in [(0, 0, 120), (4, 8, 10), (4, 8, 7), (1000, 0, 2150), (1, 0, 0)] {
            let mut next = 0;
            for job in CopyJob::all(size, Revnum(packed), Revnum(youngest)) {
                let revs = match job {
                    CopyJob::Packed(shard) => shard * size..(shard + 1) * size,
                    CopyJob::Unpacked(revs) => revs,
                };
                assert_eq!(revs.start, next);
                assert!(size == 0 || revs.start / size == (revs.end - 1) / size);
                next = revs.end;
            }
            assert_eq!(next, youngest + 1);
        }
    }
}
