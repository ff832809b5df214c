//! The file in the destination of a conversion that names its source and its options.
//!
//! It is the first file of a new destination and the last one to be removed. Its lines: UUID of the source, name of the back end, number
//! of FSFS's format for the oldest release that must be able to use the repository, revisions per shard or `default`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::{Error, Result};
use fsfs::CreateOptions;
use fsfs::disk::{Disk as _, RealDisk};

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker(String);

impl Marker {
    /// Returns that of a conversion to a filesystem with these options, the source's UUID among them.
    pub(super) fn of(create: &CreateOptions) -> Marker {
        let uuid = create.uuid.as_deref().unwrap_or_default();
        let (name, number) = (create.back_end.name(), create.format);
        let shard = create
            .shard_size
            .map_or("default".to_owned(), |size| size.to_string());
        Marker(format!("{uuid}\n{name}\n{number}\n{shard}\n"))
    }

    /// Reads that of an earlier run; `None` if there is none. One that a crash has cut equals no other.
    pub(super) fn read(destination: &Path) -> Result<Option<Marker>> {
        let path = path(destination);
        match RealDisk.read_small(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read
                .map(|bytes| Some(Marker(String::from_utf8_lossy(&bytes).into_owned())))
                .map_err(|e| Error::io("Can't open file", &path, &e)),
        }
    }

    /// Writes the file, durably, unless it is there.
    pub(super) fn write(&self, destination: &Path) -> Result<()> {
        if Marker::read(destination)?.as_ref() == Some(self) {
            return Ok(());
        }
        let path = path(destination);
        let failed = |e: io::Error| Error::io("Can't write to file", &path, &e);
        let temporary = path.with_file_name(TEMPORARY);
        let written = fs::write(&temporary, &self.0)
            .and_then(|()| fs::File::open(&temporary)?.sync_all())
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            _ = fs::remove_file(&temporary);
        }
        written.map_err(failed)
    }

    /// Removes the file.
    pub(super) fn remove(destination: &Path) -> Result<()> {
        let path = path(destination);
        fs::remove_file(&path).map_err(|e| Error::io("Can't remove file", &path, &e))
    }
}

fn path(destination: &Path) -> PathBuf {
    destination.join("sven-convert")
}

/// The name of the file until it is complete.
pub(super) const TEMPORARY: &str = "sven-convert.new";
