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

/// A new random UUID.
pub(crate) fn new_uuid() -> String {
    let mut bytes = [0u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // The call fails only on systems that do not have it, which are older than all that this program supports.
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags).unwrap_or(0);
    }
    // Version 4, variant 1: "random".
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |range| hex.get(range).unwrap_or_default();
    format!(
        "{}-{}-{}-{}-{}",
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32)
    )
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
