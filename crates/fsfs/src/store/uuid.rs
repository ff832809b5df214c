//! The UUID of a filesystem, and its instance ID.
//!
//! Copies of a repository have the same UUID. The instance ID (format 7 and later) changes with every operation that
//! may replace data that another process has cached.

use base::{Code, Error, Result};

use crate::format::fs_format::FsFormat;
use crate::store::Store;
use crate::store::disk::write_atomic;
use crate::store::guard::WriteLock;

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

    /// Writes the file `uuid` for a filesystem of this format, with a new instance ID if the format has one.
    pub(crate) fn write_uuid(&self, uuid: &str, format: &FsFormat, _: &WriteLock) -> Result<()> {
        let text = match format.has_instance_id() {
            false => format!("{uuid}\n"),
            true => format!("{uuid}\n{}\n", new_uuid()),
        };
        // The new file gets the permissions of `current`.
        let current = self.layout().file("current");
        write_atomic(
            self.disk(),
            &self.layout().file("uuid"),
            text.as_bytes(),
            &current,
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
