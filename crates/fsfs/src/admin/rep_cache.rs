//! Filling the rep-cache for existing revisions: SKELETON (agreed signatures; the bodies are being written).

use base::{Cancel, Code, Error, Result, Revnum};

use crate::fs::Fs;

/// Enters the contents that the revisions `start` to `end` stored.
///
/// # Errors
/// `FS_REP_SHARING_NOT_SUPPORTED`, `FS_REP_SHARING_NOT_ALLOWED`, `CANCELLED`; what reading may say; SQLite's.
pub fn build(
    fs: &Fs,
    start: Revnum,
    end: Revnum,
    progress: &mut dyn FnMut(Revnum),
    cancel: &Cancel,
) -> Result<()> {
    let _ = (fs, start, end, progress, cancel);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
