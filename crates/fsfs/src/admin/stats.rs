//! What takes how much room: SKELETON (agreed signatures; the bodies are being written).

use base::{Cancel, Code, Error, Result, Revnum};

use crate::fs::Fs;

/// All figures of `svnfsfs stats`; `Display` prints them as the incumbent does (without the progress lines above).
#[derive(Clone, Debug, Default)]
pub struct Stats {}

impl std::fmt::Display for Stats {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

/// Reads everything and counts. `progress` is told the first revision of each shard as it is reached.
///
/// # Errors
/// `CANCELLED`; what reading may say.
pub fn run(fs: &Fs, progress: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<Stats> {
    let _ = (fs, progress, cancel);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
