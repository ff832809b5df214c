//! Copying a filesystem that is in use: SKELETON (agreed signatures; the bodies are being written).

use std::path::Path;

use base::{Cancel, Code, Error, Result, Revnum};

use crate::fs::Fs;

/// How to copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Only what the destination lacks.
    pub incremental: bool,
}

/// Revisions that were copied, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// First.
    pub start: Revnum,
    /// Last.
    pub end: Revnum,
}

/// Copies the filesystem to the `db` folder `dst`, whose parent exists.
///
/// # Errors
/// Those of reading the source; `UNSUPPORTED_FEATURE`, `FS_…` where an incremental copy does not fit; the system's.
pub fn run(
    src: &Fs,
    dst: &Path,
    options: Options,
    notify: &mut dyn FnMut(Copied),
    cancel: &Cancel,
) -> Result<()> {
    let _ = (src, dst, options, notify, cancel);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
