//! The steps of a first copy that an incremental one does not have: its beginning and its end.

use std::path::Path;

use base::{Error, Result};

use super::Hotcopy;
use crate::store::disk::{Create, is_missing, write_atomic};
use crate::store::uuid::new_uuid;

impl Hotcopy<'_> {
    /// Removes what an interrupted copy has left and this one will not replace.
    pub(super) fn remove_remains(&self) -> Result<()> {
        self.copier.remove_tree(self.copier.pending.dir())?;
        self.copier.remove_temporary(self.dst.db())?;
        for name in ["revs", "revprops", "node-origins"] {
            let dir = self.dst.file(name);
            self.copier.remove_temporary(&dir)?;
            let is_sharded = self.src.format().shard_size > 0;
            for shard in self.copier.names(&dir)?.unwrap_or_default() {
                let shard = dir.join(shard);
                if is_sharded && self.copier.metadata(&shard)?.is_some_and(|meta| meta.is_dir) {
                    self.copier.remove_temporary(&shard)?;
                }
            }
        }
        // SQLite would refuse or repair a database that a power cut has damaged.
        for name in ["rep-cache.db", "rep-cache.db-journal", "rep-cache.db-wal"] {
            let path = self.dst.file(name);
            let removed = self.copier.disk.remove_file(&path);
            match removed.map_err(|e| Error::io("Can't remove file", &path, &e)) {
                Err(e) if !is_missing(&e) => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Creates the directories and the small files that are not copied. They make no filesystem yet.
    pub(super) fn create_skeleton(&self) -> Result<()> {
        let from = self.src.layout();
        self.copier.directory(self.dst.db())?;
        self.copier
            .disk
            .share_group(self.dst.db())
            .map_err(|e| Error::io("Can't set permissions on directory", self.dst.db(), &e))?;
        let mut directories = vec!["revs", "transactions"];
        if !self.src.format().is_fsx() {
            directories.push("revprops");
        }
        if self.src.format().has_protorevs_dir() {
            directories.push("txn-protorevs");
        }
        for name in directories {
            self.copier.directory(&self.dst.file(name))?;
        }
        let mut files = vec![("write-lock", Vec::new())];
        if self.src.format().has_protorevs_dir() {
            files.push(("txn-current-lock", Vec::new()));
        }
        let uuid = match self.src.format().has_instance_id() {
            true => format!("{}\n{}\n", self.src.uuid(), new_uuid()),
            false => format!("{}\n", self.src.uuid()),
        };
        files.push(("uuid", uuid.into_bytes()));
        if self.src.format().has_packing() {
            files.push(("min-unpacked-rev", b"0\n".to_vec()));
        }
        for (name, bytes) in files {
            let path = self.dst.file(name);
            let mut file = self
                .copier
                .disk
                .write(&path, Create::Replace)
                .map_err(|e| Error::io("Can't create file", &path, &e))?;
            file.append(&bytes)
                .map_err(|e| Error::io("Can't write to file", &path, &e))?;
        }
        if self.src.format().has_packing() {
            let (like, path) = (from.file("min-unpacked-rev"), self.dst.file("min-unpacked-rev"));
            self.copier
                .disk
                .copy_permissions(&like, &path)
                .map_err(|e| Error::io("Can't set permissions on file", &path, &e))?;
        }
        // Never empty: the incumbent's hotcopy continues without this file, but not with an empty one.
        self.fs_type(&self.dst.file("write-lock"))
    }

    /// Writes `fs-type` if a copy of Subversion, which writes it last, was interrupted before.
    pub(super) fn write_missing_fs_type(&self) -> Result<()> {
        match self.copier.metadata(&self.dst.file("fs-type"))? {
            Some(there) if there.len > 0 => Ok(()),
            _ => self.fs_type(&self.dst.file("format")),
        }
    }

    /// Writes `fs-type`, with the permissions of the file `like`.
    fn fs_type(&self, like: &Path) -> Result<()> {
        let fs_type = format!("{}\n", self.src.format().back_end.name());
        let path = self.dst.file("fs-type");
        write_atomic(self.copier.disk, &path, fs_type.as_bytes(), like)
    }

    /// Writes `format`, which makes the copy a filesystem.
    pub(super) fn format(&self) -> Result<()> {
        let mut text = Vec::new();
        self.src.format().encode(&mut text);
        let (disk, path) = (self.copier.disk, self.dst.file("format"));
        write_atomic(disk, &path, &text, &self.dst.file("current"))?;
        self.protect_format()
    }

    /// Makes `format` read-only.
    pub(super) fn protect_format(&self) -> Result<()> {
        let path = self.dst.file("format");
        let protected = self.copier.disk.set_read_only(&path);
        protected.map_err(|e| Error::io("Can't set permissions on file", &path, &e))
    }
}
