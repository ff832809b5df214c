//! The svndiff format, versions 0, 1 and 2.
//!
//! (The delta helper completes this: incremental decoder, encoder.)

/// A window as stored: its header fields decoded, its two sections as they are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedWindow<'a> {
    /// svndiff version of the document it comes from: 0, 1 or 2.
    pub version: u8,
    /// Where the source view starts, bytes.
    pub source_offset: u64,
    /// Length of the source view, bytes.
    pub source_len: u32,
    /// Length of the target made, bytes.
    pub target_len: u32,
    /// The instruction section as stored (in versions 1 and 2 with its length prefix).
    pub instructions: &'a [u8],
    /// The new-data section as stored (in versions 1 and 2 with its length prefix).
    pub new_data: &'a [u8],
    /// The whole window as stored: header and both sections.
    pub raw: &'a [u8],
}
