//! Packing shards: SKELETON (agreed signatures; the bodies are being written).

mod logical;
mod place;
mod source;

use base::{Cancel, Code, Error, Result};

use crate::fs::Fs;

/// How a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackEvent {
    /// This shard is being packed.
    Start(u64),
    /// This shard is packed.
    End(u64),
}

/// Packs every complete shard. Without shards (linear layout) or without a complete one, nothing happens.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` below format 4; `CANCELLED`; what reading may say; the system's.
pub fn run(fs: &Fs, notify: &mut dyn FnMut(PackEvent), cancel: &Cancel) -> Result<()> {
    let _ = (fs, notify, cancel);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
