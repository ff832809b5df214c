//! The UUID of a filesystem, and its instance ID.
//!
//! Copies of a repository have the same UUID. The instance ID (format 7 and later) changes with every operation that
//! may replace data that another process has cached.

use std::time::UNIX_EPOCH;

use base::{Code, Error, Result};

use crate::format::fs_format::FsFormat;
use crate::store::Store;
use crate::store::disk::write_atomic;
use crate::store::guard::WriteLock;
use crate::store::small_files::read_ids;

impl Store {
    /// Gives the filesystem this UUID, or a new one, and a new instance ID. [`Store::uuid`] of this handle still returns the old one.
    ///
    /// # Errors
    /// `BAD_UUID` if `uuid` is malformed; the system's.
    pub fn set_uuid(&self, uuid: Option<&str>) -> Result<()> {
        let uuid = match uuid {
            Some(uuid) if !uuid.is_ascii() || uuid.contains('\n') => {
                return Err(Error::new(Code::BAD_UUID, format!("Malformed UUID '{uuid}'")));
            }
            Some(uuid) => uuid.to_owned(),
            None => new_uuid(),
        };
        let lock = self.write_lock()?;
        self.write_uuid(&uuid, self.format(), &lock)
    }

    /// Returns a text that identifies the filesystem for the next run of an interrupted operation: UUIDs, and the inode and time
    /// of the file with them. A copy that was put in the place of the filesystem has another text.
    ///
    /// # Errors
    /// The system's.
    pub fn identity(&self) -> Result<String> {
        let path = self.layout().file("uuid");
        let (uuid, instance_id) = read_ids(self.disk(), &path, self.format())?;
        let meta = self.disk().metadata(&path);
        let meta = meta.map_err(|e| Error::io("Can't stat", &path, &e))?;
        // The number of the device may change when the machine starts.
        let (inode, time) = (meta.identity.1, meta.modified.duration_since(UNIX_EPOCH));
        let time = time.map_or(0, |time| time.as_nanos());
        let instance_id = instance_id.unwrap_or_default();
        Ok(format!("{uuid} {instance_id} {inode} {time}"))
    }

    /// Writes the file `uuid` for a filesystem of this format, with a new instance ID if the format has one.
    pub(crate) fn write_uuid(&self, uuid: &str, format: &FsFormat, _: &WriteLock) -> Result<()> {
        let text = match format.has_instance_id() {
            false => format!("{uuid}\n"),
            true => format!("{uuid}\n{}\n", new_uuid()),
        };
        // The new file gets the permissions of `current`, which a machine has not that shares the filesystem.
        let like = match self.shared_fs() {
            Some(shared) => {
                shared.heads.set_uuid(&text)?;
                "format"
            }
            None => "current",
        };
        write_atomic(
            self.disk(),
            &self.layout().file("uuid"),
            text.as_bytes(),
            &self.layout().file(like),
        )
    }
}

/// Returns a new random UUID (version 4).
pub(crate) fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_uuids_are_random_ones() {
        let (one, other) = (new_uuid(), new_uuid());
        assert_ne!(one, other);
        assert_eq!(one.len(), 36);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(one.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{one}");
    }
}
