//! Copying files from one filesystem to another, except those that the destination has already.
//!
//! A file with the size of its source that is not older counts as a copy of it: a copy's time is that of the copying. That holds
//! only where no power cut may have left a file with its length but without its bytes, see [`Existing`].

use std::path::{Path, PathBuf};

use base::{Error, Result};

use crate::store::disk::{Create, Disk, DiskFile, FileMeta, Volumes, is_missing, remove_file_in};
use crate::txn::strays::{STRAY_PREFIX, set_aside};

/// Copies files.
#[derive(Clone, Copy)]
pub(super) struct FileCopier<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) existing: Existing,
}

/// The files that are in the destination already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// There are none.
    None,
    /// They are a filesystem or an earlier copy. Complete copies stay; a file that is no part of a copy may be all that is left
    /// of a revision.
    Copies,
    /// They are what an interrupted copy has left. They are replaced.
    Untrusted,
    /// They are what an interrupted copy had made durable. Complete copies stay; what replaces them is durable before it has its
    /// name.
    Durable,
}

impl FileCopier<'_> {
    /// Copies a file with its permissions; false if the destination has it already.
    ///
    /// # Errors
    /// The system's; "no such file" if the source is missing.
    pub(super) fn file(&self, from: &Path, to: &Path) -> Result<bool> {
        let failed = |e| Error::io("Can't copy file", from, &e);
        if self.existing == Existing::None {
            self.disk.copy(from, to).map_err(failed)?;
            return Ok(true);
        }
        let source = self.metadata(from)?.ok_or_else(|| missing(from))?;
        match self.metadata(to)? {
            Some(copy) if self.existing != Existing::Untrusted && is_copy(&source, &copy) => {
                return Ok(false);
            }
            None if self.existing != Existing::Durable => self.disk.copy(from, to).map_err(failed)?,
            // The existing file may be open or read-only: it is replaced by rename.
            _ => self.replace(from, to)?,
        }
        Ok(true)
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
        let volumes = match (self.existing, to.parent()) {
            // Such a file is rare. It may be read-only, so that it cannot be opened to sync it alone.
            (Existing::Durable, Some(dir)) => Some(Volumes::open(self.disk, dir)?),
            _ => None,
        };
        let copy = || {
            let copied = self.disk.copy(from, &temporary);
            copied.map_err(|e| Error::io("Can't copy file", from, &e))?;
            volumes.as_ref().map_or(Ok(()), Volumes::sync)?;
            let renamed = self.disk.rename(&temporary, to);
            renamed.map_err(|e| Error::io("Can't move a file to", to, &e))
        };
        copy().inspect_err(|_| _ = self.disk.remove_file(&temporary))
    }

    /// As [`FileCopier::file`], for a small file that Subversion's copy first makes as of a new filesystem: such a file is younger
    /// than its source, and may have the same length. So the contents are compared. A missing source is ignored.
    pub(super) fn by_content(&self, from: &Path, to: &Path) -> Result<bool> {
        if self.existing == Existing::Copies
            && let (Ok(source), Ok(copy)) = (self.disk.read_small(from), self.disk.read_small(to))
        {
            return match source == copy {
                true => Ok(false),
                false => self.replace(from, to).map(|()| true),
            };
        }
        self.file_if_there(from, to)
    }

    /// As [`FileCopier::file`]; a missing source is ignored.
    pub(super) fn file_if_there(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.file(from, to) {
            Err(e) if is_missing(&e) && self.metadata(from)?.is_none() => Ok(false),
            result => result,
        }
    }

    /// As [`FileCopier::file`], for a revision or pack file. If the destination has a file that is no part of a copy, it may be
    /// the only copy of acknowledged revisions: it is renamed to a name in `db`, and the second result is true.
    pub(super) fn revisions(&self, from: &Path, to: &Path, db: &Path, name: &str) -> Result<(bool, bool)> {
        let is_other = self.existing == Existing::Copies && self.is_other(from, to)?;
        if is_other {
            set_aside(self.disk, db, to, name)?;
        }
        Ok((self.file(from, to)?, is_other))
    }

    /// True if the file `to` exists and is not a beginning of the file `from`.
    fn is_other(&self, from: &Path, to: &Path) -> Result<bool> {
        let (Some(source), Some(copy)) = (self.metadata(from)?, self.metadata(to)?) else {
            return Ok(false);
        };
        if is_copy(&source, &copy) || copy.is_dir {
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
                    _ => drop(self.file_if_there(&from, &to)?),
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

fn is_copy(source: &FileMeta, copy: &FileMeta) -> bool {
    source.is_dir == copy.is_dir && source.len == copy.len && source.modified <= copy.modified
}

fn missing(path: &Path) -> Error {
    let e = std::io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
    Error::io("Can't copy file", path, &e)
}

/// Bytes that are compared at once.
const COMPARE_SIZE: usize = 64 << 10;
