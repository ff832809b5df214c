//! The indexes as text: SKELETON (agreed signatures; the bodies are being written).

use base::{Code, Error, Result, Revnum};

use crate::fs::Fs;

/// What a range of bytes of a revision or pack file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// `none`, `frep`, `drep`, `fprop`, `dprop`, `node`, `chgs`: 0 to 6.
    pub kind: u8,
    /// The revision that it belongs to.
    pub rev: Revnum,
    /// Its number there.
    pub item: u64,
    /// Checksum of the bytes.
    pub checksum: u32,
}

impl Entry {
    /// Names of the kinds, by number.
    pub const KINDS: [&'static str; 7] = ["none", "frep", "drep", "fprop", "dprop", "node", "chgs"];
}

/// Calls `each` for what the file that holds `rev` contains, in order of place.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `UNSUPPORTED_FEATURE` without logical addressing; what reading indexes may say.
pub fn dump(fs: &Fs, rev: Revnum, each: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
    let _ = (fs, rev, each);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}

/// Writes the indexes of the file that holds `rev` anew, from these entries.
///
/// # Errors
/// As [`dump`]; the system's.
pub fn load(fs: &Fs, rev: Revnum, entries: &[Entry]) -> Result<()> {
    let _ = (fs, rev, entries);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
