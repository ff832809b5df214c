//! Upgrading the format: SKELETON (agreed signatures; the bodies are being written).

use std::path::Path;

use base::{Code, Error, Result};

/// What an upgrade did, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeEvent {
    /// The revision properties of this shard are packed.
    PackedRevprops(u64),
    /// The filesystem has this format now.
    Format(u32),
    /// What was left unpacked of this shard's revision properties is gone.
    RemovedRevprops(u64),
}

/// Gives the filesystem in REPOS/db the newest format.
///
/// # Errors
/// As [`crate::Fs::open`]; the system's.
pub fn run(db: &Path, notify: &mut dyn FnMut(UpgradeEvent)) -> Result<()> {
    let _ = (db, notify);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
