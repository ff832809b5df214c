//! Copying files from one filesystem to another, except those that the destination has already.
//!
//! A copy has the time of its source. A file with the size and the time of its source is a copy of it. So is a revision file that is
//! younger than its source: copies of Subversion have the time of the copying. Property lists change, and such a copy may have been
//! made while a change was written, so their contents are compared then. All that holds only where no power cut may have left a file
//! with its length but without its bytes, see [`Existing`].

use std::path::{Path, PathBuf};

use base::{Error, Result};

use super::pending::PendingFiles;
use crate::store::disk::{Create, Disk, DiskFile, FileMeta, is_missing, remove_file_in};
use crate::txn::strays::{STRAY_PREFIX, set_aside};

/// Copies files.
#[derive(Clone, Copy)]
pub(super) struct FileCopier<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) existing: Existing,
    /// The files that are not durable yet.
    pub(super) pending: &'a PendingFiles,
}

/// The files that are in the destination already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// There are none.
    None,
    /// They are a filesystem or an earlier copy. Complete copies stay; a file that is no part of a copy may be all that is left
    /// of a revision.
    Copies,
    /// As `Copies`, but no filesystem names them: they may be what an interrupted copy of another program has left. Those with the
    /// time of their source stay, as they are durable.
    Unnamed,
    /// They are what an interrupted copy has left. They are replaced.
    Untrusted,
    /// They are what an interrupted copy had made durable. Complete copies stay.
    Durable,
}

impl FileCopier<'_> {
    /// Copies a file with its permissions; false if the destination has it already.
    ///
    /// # Errors
    /// The system's; "no such file" if the source is missing.
    pub(super) fn file(&self, from: &Path, to: &Path) -> Result<bool> {
        if self.existing == Existing::None {
            return self.store(from, to, false);
        }
        let source = self.metadata(from)?.ok_or_else(|| missing(from))?;
        let there = self.metadata(to)?;
        match there.is_some_and(|there| self.is_copy(&source, &there)) {
            true => Ok(false),
            false => self.store(from, to, there.is_some()),
        }
    }

    /// Copies a file; true.
    fn store(&self, from: &Path, to: &Path, exists: bool) -> Result<bool> {
        match (self.existing, exists) {
            (Existing::None, _) | (Existing::Untrusted, false) => {
                let copied = self.disk.copy(from, to);
                copied.map_err(|e| Error::io("Can't copy file", from, &e))?;
            }
            // The existing file may be open or read-only: it is replaced by rename.
            (Existing::Untrusted, true) => self.replace(from, to)?,
            (Existing::Copies | Existing::Unnamed | Existing::Durable, _) => {
                self.pending.copy(self.disk, from, to)?;
            }
        }
        Ok(true)
    }

    /// True if an existing file counts as a copy of its source.
    fn is_copy(&self, source: &FileMeta, there: &FileMeta) -> bool {
        let is_like = source.is_dir == there.is_dir && source.len == there.len;
        match self.existing {
            Existing::None | Existing::Untrusted => false,
            Existing::Unnamed => is_like && source.modified == there.modified,
            Existing::Copies | Existing::Durable => is_like && source.modified <= there.modified,
        }
    }

    /// Writes a file that is not read before the whole copy is made durable.
    pub(super) fn write(&self, path: &Path, bytes: &[u8], perms_like: &Path) -> Result<()> {
        let write = || {
            self.disk.write(path, Create::Replace)?.append(bytes)?;
            self.disk.copy_permissions(perms_like, path)
        };
        write().map_err(|e| Error::io("Can't write to file", path, &e))
    }

    /// Copies a file over another one in one step.
    fn replace(&self, from: &Path, to: &Path) -> Result<()> {
        let mut name = std::ffi::OsString::from(format!("svn-{:x}-", std::process::id()));
        name.push(to.file_name().unwrap_or_default());
        let temporary = to.with_file_name(name);
        let copy = || {
            let copied = self.disk.copy(from, &temporary);
            copied.map_err(|e| Error::io("Can't copy file", from, &e))?;
            let renamed = self.disk.rename(&temporary, to);
            renamed.map_err(|e| Error::io("Can't move a file to", to, &e))
        };
        copy().inspect_err(|_| _ = self.disk.remove_file(&temporary))
    }

    /// As [`FileCopier::file`], for a small file that changes: the contents are compared if only the times differ. Subversion's copy
    /// first makes some files as of a new filesystem, which are younger than their sources.
    pub(super) fn changeable(&self, from: &Path, to: &Path) -> Result<bool> {
        let (Some(source), Some(there)) = (self.metadata(from)?, self.metadata(to)?) else {
            return self.file(from, to);
        };
        let is_like = source.is_dir == there.is_dir && source.len == there.len;
        let is_relied_on = matches!(self.existing, Existing::Copies | Existing::Durable);
        if !is_relied_on || !is_like || source.modified == there.modified {
            return self.file(from, to);
        }
        let read = |path: &Path| {
            let read = self.disk.read_small(path);
            read.map_err(|e| Error::io("Can't open file", path, &e))
        };
        if read(from)? != read(to)? {
            return self.store(from, to, true);
        }
        // The next copy need not compare them. The owner of the file may be another user.
        _ = self.disk.set_modified(to, source.modified);
        Ok(false)
    }

    /// As [`FileCopier::changeable`]; a missing source is ignored.
    pub(super) fn changeable_if_there(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.changeable(from, to) {
            Err(e) if is_missing(&e) && self.metadata(from)?.is_none() => Ok(false),
            result => result,
        }
    }

    /// Does what comes before the copying of a revision or pack file. If the destination has a file that is no part of a copy, it may
    /// be the only copy of acknowledged revisions: it is renamed to a name in `db`, and the result is true.
    pub(super) fn set_other_aside(&self, from: &Path, to: &Path, db: &Path, name: &str) -> Result<bool> {
        let may_be_other = matches!(self.existing, Existing::Copies | Existing::Unnamed);
        let is_other = may_be_other && self.is_other(from, to)?;
        if is_other {
            set_aside(self.disk, db, to, name)?;
        }
        Ok(is_other)
    }

    /// True if the file `to` exists and is not a beginning of the file `from`.
    fn is_other(&self, from: &Path, to: &Path) -> Result<bool> {
        let (Some(source), Some(copy)) = (self.metadata(from)?, self.metadata(to)?) else {
            return Ok(false);
        };
        if self.is_copy(&source, &copy) || copy.is_dir {
            return Ok(false);
        }
        if copy.len > source.len {
            return Ok(true);
        }
        let open = |path: &Path| {
            let opened = self.disk.open(path);
            opened.map_err(|e| Error::io("Can't open file", path, &e))
        };
        let (source, copy) = (open(from)?, open(to)?);
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        let mut at = 0;
        loop {
            let read = |file: &dyn DiskFile, path: &Path, bytes: &mut Vec<u8>| {
                bytes.clear();
                let read = file.append_at(bytes, COMPARE_SIZE, at);
                read.map_err(|e| Error::io("Can't read file", path, &e))
            };
            let length = read(&*copy, to, &mut ours)?;
            read(&*source, from, &mut theirs)?;
            if length == 0 {
                return Ok(false);
            }
            if !theirs.starts_with(&ours) {
                return Ok(true);
            }
            at += length as u64;
        }
    }

    /// Creates a directory if it does not exist. It gets the permissions that the umask gives, as the incumbent's: the source's
    /// may be read-only, or for another group.
    pub(super) fn directory(&self, path: &Path) -> Result<()> {
        match self.disk.create_dir(path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(Error::io("Can't create directory", path, &e))
            }
            _ => Ok(()),
        }
    }

    /// Copies a directory tree, if it exists. Files that vanish meanwhile are ignored.
    pub(super) fn tree(&self, from: &Path, to: &Path) -> Result<()> {
        let mut left: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = left.pop() {
            let Some(names) = self.names(&from)? else {
                continue;
            };
            self.directory(&to)?;
            for name in names {
                let (from, to) = (from.join(&name), to.join(&name));
                match self.metadata(&from)? {
                    Some(meta) if meta.is_dir => left.push((from, to)),
                    // A temporary file of another process.
                    _ if name.to_string_lossy().starts_with("svn-") => {}
                    _ => drop(self.changeable_if_there(&from, &to)?),
                }
            }
        }
        Ok(())
    }

    /// Removes a directory tree, if it exists.
    pub(super) fn remove_tree(&self, path: &Path) -> Result<()> {
        // A directory is removed after its contents.
        let (mut found, mut at) = (vec![path.to_owned()], 0);
        while let Some(directory) = found.get(at).cloned() {
            at += 1;
            let Some(names) = self.names(&directory)? else {
                return Ok(());
            };
            for name in names {
                let path = directory.join(name);
                match self.metadata(&path)? {
                    Some(meta) if meta.is_dir => found.push(path),
                    _ => remove_file_in(self.disk, &directory, &path)
                        .map_err(|e| Error::io("Can't remove file", &path, &e))?,
                }
            }
        }
        for directory in found.iter().rev() {
            self.disk
                .remove_dir(directory)
                .map_err(|e| Error::io("Can't remove directory", directory, &e))?;
        }
        Ok(())
    }

    /// Removes the temporary files that a killed process has left in a directory.
    pub(super) fn remove_temporary(&self, dir: &Path) -> Result<()> {
        for name in self.names(dir)?.unwrap_or_default() {
            let shown = name.to_string_lossy();
            if shown.starts_with("svn-") && !shown.starts_with(STRAY_PREFIX) {
                let path = dir.join(&name);
                let removed = self.disk.remove_file(&path);
                removed.map_err(|e| Error::io("Can't remove file", &path, &e))?;
            }
        }
        Ok(())
    }

    /// Returns the names in a directory; `None` if it does not exist.
    pub(super) fn names(&self, path: &Path) -> Result<Option<Vec<std::ffi::OsString>>> {
        match self
            .disk
            .list(path)
            .map_err(|e| Error::io("Can't open directory", path, &e))
        {
            Ok(names) => Ok(Some(names)),
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the metadata of a file; `None` if it does not exist.
    pub(super) fn metadata(&self, path: &Path) -> Result<Option<FileMeta>> {
        match self
            .disk
            .metadata(path)
            .map_err(|e| Error::io("Can't stat", path, &e))
        {
            Ok(meta) => Ok(Some(meta)),
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

fn missing(path: &Path) -> Error {
    let e = std::io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
    Error::io("Can't copy file", path, &e)
}

/// Bytes that are compared at once.
const COMPARE_SIZE: usize = 64 << 10;
