//! The svndiff format, versions 0, 1 and 2: how deltas are stored and sent.
//!
//! A document is `SVN`, a version byte, and windows until its container ends. A window is five integers, an
//! instruction section and a new-data section; versions 1 and 2 compress sections by zlib and LZ4. There are two
//! readers: [`EncodedWindow::parse`] for windows in memory (files are read at random positions), and [`Decoder`] for
//! documents that arrive in parts. Both return [`EncodedWindow`]s, which borrow their bytes. These can be passed on
//! unchanged, framed for another version ([`EncodedWindow::write_as`]), applied without an instruction list
//! ([`EncodedWindow::apply`]) or decoded ([`EncodedWindow::decode`]). The writers are [`write_header`] and
//! [`write_window`].
//!
//! All lengths are checked before anything is allocated for them. What is absent: the end of a document, and full
//! texts: nothing here holds more than one window.

mod codec;
mod encode;
mod encoded;
mod instructions;
mod lz4_block;
mod stream;
pub mod varint;

pub use codec::Codec;
pub use encode::{write_header, write_insertion, write_window};
pub use encoded::{EncodedWindow, OwnedWindow, Parsed, WindowHeader};
pub use stream::Decoder;

pub use crate::svndiff_error::SvndiffError;
use crate::window::WINDOW_SIZE;

/// Length of a document's header, bytes.
pub const HEADER_LEN: usize = 4;

/// The compression level of 1.14 where none is configured.
pub const DEFAULT_LEVEL: u8 = 5;

/// Longest instruction section, stored or expanded: an instruction a byte, with the longest integers.
const MAX_INSTRUCTIONS: usize = WINDOW_SIZE * 21;

/// Longest new-data section as stored.
const MAX_STORED_NEW_DATA: usize = WINDOW_SIZE + varint::MAX_LEN;

/// Reads the version from the front of a document.
///
/// # Errors
/// E185000.
pub fn parse_header(bytes: &[u8]) -> Result<Parsed<u8>, SvndiffError> {
    let known = bytes.len().min(3);
    if bytes[..known] != b"SVN"[..known] {
        return Err(SvndiffError::Header);
    }
    match bytes.get(3) {
        // One byte more, not all four: wrong bytes are reported at once however they arrive.
        None => Ok(Parsed::Incomplete {
            need: bytes.len() + 1,
        }),
        Some(version @ 0..=2) => Ok(Parsed::Complete(*version)),
        Some(_) => Err(SvndiffError::Header),
    }
}
