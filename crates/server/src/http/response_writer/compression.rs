//! Compression of a response's body with gzip.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::PIECE;
use super::head::ResponseHead;

/// The compression of one body.
pub(super) struct BodyCompression {
    /// The level, if the client accepts gzip.
    level: Option<u32>,
    /// Set once compression has begun.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl BodyCompression {
    /// Returns a compression that has not begun; `None` never compresses.
    pub(super) fn new(level: Option<u32>) -> BodyCompression {
        BodyCompression { level, encoder: None }
    }

    /// Returns whether a body with this head is compressed for this client.
    pub(super) fn is_wanted(&self, head: &ResponseHead) -> bool {
        self.level.is_some() && head.is_compressible()
    }

    /// Begins to compress, and changes the head accordingly.
    pub(super) fn begin(&mut self, head: &mut ResponseHead) {
        self.encoder = self.level.map(|level| {
            head.set_gzip();
            GzEncoder::new(Vec::with_capacity(PIECE), Compression::new(level.min(9)))
        });
    }

    /// Compresses a piece. Without compression the piece stays as it is.
    pub(super) fn compress(&mut self, bytes: Bytes) -> io::Result<Bytes> {
        match &mut self.encoder {
            None => Ok(bytes),
            Some(encoder) => {
                encoder.write_all(&bytes)?;
                Ok(std::mem::take(encoder.get_mut()).into())
            }
        }
    }

    /// Compresses a whole body.
    pub(super) fn compress_whole(&mut self, head: &mut ResponseHead, body: &Bytes) -> io::Result<Bytes> {
        self.begin(head);
        match self.encoder.take() {
            None => Ok(body.clone()),
            Some(mut encoder) => {
                encoder.write_all(body)?;
                Ok(encoder.finish()?.into())
            }
        }
    }

    /// Returns the bytes that the encoder holds, if compression has begun.
    pub(super) fn flush(&mut self) -> io::Result<Option<Bytes>> {
        let Some(encoder) = &mut self.encoder else {
            return Ok(None);
        };
        encoder.flush()?;
        Ok(Some(std::mem::take(encoder.get_mut()).into()))
    }

    /// Ends the compression; returns its last bytes, if it has begun.
    pub(super) fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let encoder = self.encoder.take();
        let rest = encoder.map(GzEncoder::finish).transpose()?;
        Ok(rest.map(Bytes::from))
    }

    /// Ends the compression without its last bytes.
    pub(super) fn cancel(&mut self) {
        self.encoder = None;
    }
}
