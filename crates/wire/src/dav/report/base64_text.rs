//! A text delta in a response: an svndiff document, window by window, as base64 on one line.

use base::Result;
use delta::editor::TextChunk;
use delta::svndiff::{self, Codec};

use super::xml_writer::Base64;

/// The document that is being written.
#[derive(Debug)]
pub struct Base64Text {
    /// The highest svndiff version that the client accepts, and zlib's level.
    version: u8,
    level: u8,
    pen: Base64,
    /// The version of the document, once it was begun.
    begun: Option<u8>,
    window: Vec<u8>,
}

impl Base64Text {
    /// Documents of svndiff `version` at most; `level` is zlib's.
    pub fn new(version: u8, level: u8) -> Self {
        Base64Text {
            version,
            level,
            pen: Base64::default(),
            begun: None,
            window: Vec::new(),
        }
    }

    /// svndiff version that the client accepts.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// zlib's level.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Appends the next window.
    ///
    /// # Errors
    /// If a stored window that must be encoded again is corrupt.
    pub fn chunk(&mut self, chunk: TextChunk<'_>, codec: &mut Codec, out: &mut Vec<u8>) -> Result<()> {
        let wanted = match chunk {
            TextChunk::Encoded(window) if window.version <= self.version => window.version,
            _ => self.version,
        };
        let version = self.begin(wanted, out);
        match chunk {
            TextChunk::Encoded(window) if window.version == version => {
                self.pen.push(window.raw, out);
                return Ok(());
            }
            TextChunk::Encoded(window) => {
                self.window.clear();
                window.write_as(version, self.level, codec, &mut self.window)?;
            }
            TextChunk::Decoded(window) => {
                self.window.clear();
                svndiff::write_window(window, version, self.level, codec, &mut self.window);
            }
        }
        self.pen.push(&self.window, out);
        Ok(())
    }

    /// Ends the document; without any window it is only its header.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        self.begin(self.version, out);
        self.begun = None;
        self.pen.finish(out);
    }

    fn begin(&mut self, version: u8, out: &mut Vec<u8>) -> u8 {
        if self.begun.is_none() {
            self.pen.push(&[b'S', b'V', b'N', version], out);
        }
        *self.begun.get_or_insert(version)
    }
}
