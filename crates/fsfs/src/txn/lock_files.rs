//! Writing the files of users' locks: the changes of one call to lock or unlock, in the right order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base::checksum::Md5;
use base::{Error, FsPath, Lock, Result, Revnum};

use crate::format::lock_digest::{LockDigest, file_name};
use crate::store::disk::{DiskWriter, create_unique, is_missing};
use crate::store::guard::WriteLock;
use crate::tree::Fs;

/// Changes of digest files; each file is read once.
pub(super) struct LockDigestChanges<'a> {
    fs: &'a Fs,
    /// Files of directories above locks: written before the locks are, changed after they are removed.
    above: BTreeMap<Md5, DigestChange>,
    locked: BTreeMap<Md5, DigestChange>,
    is_removing: bool,
}

/// A digest file before and after the change.
#[derive(Clone)]
struct DigestChange {
    before: LockDigest,
    after: LockDigest,
}

impl<'a> LockDigestChanges<'a> {
    pub(super) fn new(fs: &'a Fs) -> Self {
        LockDigestChanges {
            fs,
            above: BTreeMap::new(),
            locked: BTreeMap::new(),
            is_removing: false,
        }
    }

    /// Adds a lock.
    pub(super) fn add(&mut self, lock: &Lock) -> Result<()> {
        let digest = Md5::of(lock.path.as_str().as_bytes());
        self.for_each_parent(&lock.path, |above| {
            if !above.children.contains(&digest) {
                above.children.push(digest);
            }
        })?;
        Self::change_of(self.fs, &mut self.locked, &lock.path)?.lock = Some(lock.clone());
        Ok(())
    }

    /// Removes the lock of a path.
    pub(super) fn remove(&mut self, path: &FsPath) -> Result<()> {
        self.is_removing = true;
        let digest = Md5::of(path.as_str().as_bytes());
        self.for_each_parent(path, |above| above.children.retain(|child| *child != digest))?;
        Self::change_of(self.fs, &mut self.locked, path)?.lock = None;
        Ok(())
    }

    fn for_each_parent(&mut self, path: &FsPath, mut change: impl FnMut(&mut LockDigest)) -> Result<()> {
        let mut above = path.parent();
        while let Some(path) = above {
            change(Self::change_of(self.fs, &mut self.above, &path)?);
            above = path.parent();
        }
        Ok(())
    }

    fn change_of<'d>(
        fs: &Fs,
        digests: &'d mut BTreeMap<Md5, DigestChange>,
        path: &FsPath,
    ) -> Result<&'d mut LockDigest> {
        use std::collections::btree_map::Entry;
        let change_of = match digests.entry(Md5::of(path.as_str().as_bytes())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (folder, _) = file_name(new.key());
                fs.refresh_names(&fs.layout().file("locks").join(folder))?;
                let before = fs.lock_digest(new.key(), path)?.unwrap_or_default();
                let after = before.clone();
                new.insert(DigestChange { before, after })
            }
        };
        Ok(&mut change_of.after)
    }

    /// Writes the changes.
    pub(super) fn write(mut self, lock: &WriteLock) -> Result<()> {
        let (mut above, mut locked) = (std::mem::take(&mut self.above), std::mem::take(&mut self.locked));
        // A path that has a lock and (from a time when it was a directory) locks below it has one file: it is written once, with
        // both.
        for (digest, own) in &mut locked {
            if let Some(other) = above.remove(digest) {
                own.after.children = other.after.children;
            }
        }
        let steps = if self.is_removing {
            [locked, above]
        } else {
            [above, locked]
        };
        steps.into_iter().try_for_each(|step| self.write_step(step, lock))
    }

    /// Writes the files of one step. All are durable before the first gets its name, so their order does not matter.
    fn write_step(&self, step: BTreeMap<Md5, DigestChange>, lock: &WriteLock) -> Result<()> {
        let mut temporaries: Vec<(PathBuf, PathBuf)> = Vec::new();
        let result = self.write_files(step, lock, &mut temporaries);
        if result.is_err() {
            for (temporary, _) in &temporaries {
                _ = self.fs.disk().remove_file(temporary);
            }
        }
        result
    }

    fn write_files(
        &self,
        step: BTreeMap<Md5, DigestChange>,
        lock: &WriteLock,
        temporaries: &mut Vec<(PathBuf, PathBuf)>,
    ) -> Result<()> {
        let disk = self.fs.disk();
        let permissions = self.fs.data_file(Revnum::ZERO, lock);
        let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
        let locks = self.fs.layout().file("locks");
        for (digest, DigestChange { before, after }) in step {
            if before == after {
                continue;
            }
            let (folder, name) = file_name(&digest);
            let folder = locks.join(folder);
            let path = folder.join(name);
            if after == LockDigest::default() {
                let removed = disk.remove_file(&path);
                match removed.map_err(|e| Error::io("Can't remove file", &path, &e)) {
                    Err(e) if !is_missing(&e) => return Err(e),
                    _ => {}
                }
            } else {
                for directory in [&locks, &folder] {
                    if self.create_dir(directory)? {
                        directories.extend(directory.parent().map(PathBuf::from));
                    }
                }
                let (temporary, file) = create_unique(disk, &folder)?;
                temporaries.push((temporary.clone(), path));
                self.write_digest(&temporary, file, &after, &permissions)?;
            }
            directories.insert(folder);
        }
        for (temporary, path) in &*temporaries {
            disk.rename(temporary, path)
                .map_err(|e| Error::io("Can't move a file to", path, &e))?;
        }
        for directory in &directories {
            disk.sync_dir(directory)
                .map_err(|e| Error::io("Can't flush directory", directory, &e))?;
        }
        Ok(())
    }

    fn write_digest(
        &self,
        path: &Path,
        mut file: Box<dyn DiskWriter>,
        digest: &LockDigest,
        permissions: &Path,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        digest.encode(&mut bytes);
        file.append(&bytes)
            .map_err(|e| Error::io("Can't write to file", path, &e))?;
        file.sync().map_err(|e| Error::io("Can't flush file", path, &e))?;
        drop(file);
        self.fs
            .disk()
            .copy_permissions(permissions, path)
            .map_err(|e| Error::io("Can't set permissions on file", path, &e))
    }

    /// Creates a directory with the permissions of its parent, so that the same users can lock and unlock there. Returns true if
    /// it did not exist.
    fn create_dir(&self, path: &Path) -> Result<bool> {
        match self.fs.disk().create_dir(path) {
            Ok(()) => {
                let above = path.parent().unwrap_or(Path::new("."));
                let copied = self.fs.disk().copy_permissions(above, path);
                copied.map_err(|e| Error::io("Can't set permissions on", path, &e))?;
                Ok(true)
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(Error::io("Can't create directory", path, &e)),
        }
    }
}
