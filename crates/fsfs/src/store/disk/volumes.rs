//! Making everything durable that was written to the file systems of a `db` directory.
//!
//! Linux reports a failed write to those descriptors that were open when it failed. A descriptor that is opened later gets the
//! error only if no process has received it before. So the volumes are opened before the first write that [`Volumes::sync`]
//! has to make durable.

use std::io;
use std::path::{Path, PathBuf};

use base::{Error, Result};

use super::{Disk, is_missing};

/// An open file system.
pub trait DiskVolume: Send + Sync {
    /// Makes all data durable that was written to the file system.
    ///
    /// # Errors
    /// The system's. That of a write which failed since the file system was opened is returned once.
    fn sync(&self) -> io::Result<()>;
}

impl<F: Fn() -> io::Result<()> + Send + Sync> DiskVolume for F {
    fn sync(&self) -> io::Result<()> {
        self()
    }
}

/// The file systems of a `db` directory, whose directories `revs` and `revprops` may be on others.
pub struct Volumes(Vec<(PathBuf, Box<dyn DiskVolume>)>);

impl Volumes {
    /// Opens the file systems.
    ///
    /// # Errors
    /// The system's.
    pub fn open(disk: &dyn Disk, db: &Path) -> Result<Volumes> {
        let (mut devices, mut volumes) = (Vec::new(), Vec::new());
        for path in [db.to_owned(), db.join("revs"), db.join("revprops")] {
            let meta = disk.metadata(&path);
            let device = match meta.map_err(|e| Error::io("Can't stat", &path, &e)) {
                // FSX has no directory of its own for revision properties. A directory that is made later is on the same one.
                Err(e) if is_missing(&e) => continue,
                meta => meta?.identity.0,
            };
            if !devices.contains(&device) {
                devices.push(device);
                let opened = disk.open_volume(&path);
                let opened = opened.map_err(|e| Error::io("Can't open directory", &path, &e))?;
                volumes.push((path, opened));
            }
        }
        Ok(Volumes(volumes))
    }

    /// Makes all data durable that was written since the file systems were opened.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> Result<()> {
        self.0.iter().try_for_each(|(path, volume)| {
            let synced = volume.sync();
            synced.map_err(|e| Error::io("Can't flush filesystem of", path, &e))
        })
    }
}
