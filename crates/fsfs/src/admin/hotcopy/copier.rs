//! Copying files from one filesystem to another, sparing those that are there already.
//!
//! A file with the size of its source that is not older counts as a copy of it: copies get the time at which they are made.

use std::path::{Path, PathBuf};

use base::{Error, Result};

use crate::disk::{Disk, FileMeta, is_missing};

/// Copies between two places on one disk.
pub(super) struct Copier<'a> {
    pub(super) disk: &'a dyn Disk,
    /// Nothing is at the destination yet: then nothing need be asked.
    pub(super) is_fresh: bool,
}

impl Copier<'_> {
    /// Copies a file with its permissions; false if the destination has it already.
    ///
    /// # Errors
    /// The system's; its "no such file" if the source is missing.
    pub(super) fn file(&self, from: &Path, to: &Path) -> Result<bool> {
        let failed = |e| Error::io("Can't copy file", from, &e);
        if self.is_fresh {
            self.disk.copy(from, to).map_err(failed)?;
            return Ok(true);
        }
        let source = self.metadata(from)?.ok_or_else(|| missing(from))?;
        match self.metadata(to)? {
            Some(copy) if is_copy(&source, &copy) => return Ok(false),
            // In the way: it may be in use, or read-only.
            Some(_) => {
                let mut name = std::ffi::OsString::from(format!("svn-{:x}-", std::process::id()));
                name.push(to.file_name().unwrap_or_default());
                let temporary = to.with_file_name(name);
                let copied = self.disk.copy(from, &temporary).map_err(failed).and_then(|()| {
                    self.disk
                        .rename(&temporary, to)
                        .map_err(|e| Error::io("Can't move a file to", to, &e))
                });
                if copied.is_err() {
                    _ = self.disk.remove_file(&temporary);
                }
                copied?;
            }
            None => self.disk.copy(from, to).map_err(failed)?,
        }
        Ok(true)
    }

    /// As [`Copier::file`]; a missing source is nothing to copy.
    pub(super) fn file_if_there(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.file(from, to) {
            Err(e) if is_missing(&e) && self.metadata(from)?.is_none() => Ok(false),
            result => result,
        }
    }

    /// Makes a directory with the permissions of another, unless it is there.
    pub(super) fn directory(&self, like: &Path, path: &Path) -> Result<()> {
        match self.disk.create_dir(path) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
            Err(e) => return Err(Error::io("Can't create directory", path, &e)),
        }
        self.disk
            .copy_permissions(like, path)
            .map_err(|e| Error::io("Can't set permissions on directory", path, &e))
    }

    /// Copies a directory of directories of files, if it is there. What vanishes meanwhile was not to be copied.
    pub(super) fn tree(&self, from: &Path, to: &Path) -> Result<()> {
        let mut left: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = left.pop() {
            let Some(names) = self.names(&from)? else {
                continue;
            };
            self.directory(&from, &to)?;
            for name in names {
                let (from, to) = (from.join(&name), to.join(&name));
                match self.metadata(&from)? {
                    Some(meta) if meta.is_dir => left.push((from, to)),
                    // Somebody's file that is not yet what it is to be.
                    _ if name.to_string_lossy().starts_with("svn-") => {}
                    _ => drop(self.file_if_there(&from, &to)?),
                }
            }
        }
        Ok(())
    }

    /// Removes a directory and all in it, if it is there.
    pub(super) fn remove_tree(&self, path: &Path) -> Result<()> {
        // Directories after what is in them.
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
                    _ => self
                        .disk
                        .remove_file(&path)
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

    /// Names in a directory; `None` if it is not there.
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

    /// What is known about a file; `None` if it is not there.
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
