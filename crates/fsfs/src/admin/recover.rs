//! Making `current` agree with the revisions: SKELETON (agreed signatures; the bodies are being written).

use base::{Cancel, Code, Error, Result};

use crate::fs::Fs;

/// Finds the youngest revision by looking for it and writes `current` anew.
///
/// # Errors
/// `FS_CORRUPT` if `current` names a revision that is not there; what reading may say; the system's.
pub fn run(fs: &Fs, cancel: &Cancel) -> Result<()> {
    let _ = (fs, cancel);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
