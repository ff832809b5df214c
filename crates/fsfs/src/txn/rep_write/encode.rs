//! Encoding the body of a representation: windows of the content as deltas against the base, compressed.

use std::sync::Arc;

use ::delta::svndiff::{write_header, write_insertion, write_window};
use ::delta::window::WINDOW_SIZE;
use base::{Code, Error, Result};

use crate::format::rep_header::RepHeader;
use crate::format::rep_line::{Rep, RepLocation};
use crate::store::conf::Compression;
use crate::store::encoder_buffers::{EncoderBuffers, SpareBuffers};
use crate::tree::Fs;
use crate::tree::rep::TextReader;

/// Encodes a delta, window by window.
pub(super) struct Encoder {
    /// The base, read one window at a time; `None` for a self-delta.
    source: Option<TextReader>,
    source_offset: u64,
    version: u8,
    level: u8,
    /// Always present; the drop takes them.
    buffers: Option<EncoderBuffers>,
    /// Where they go back to.
    spare: Arc<SpareBuffers>,
}

impl Encoder {
    /// Starts a delta against `base`. Returns the header line too.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the base is not a committed content; those of opening it.
    pub(super) fn new(fs: &Fs, base: Option<&Rep>) -> Result<(Encoder, RepHeader)> {
        let header = match base {
            None => RepHeader::SelfDelta,
            Some(&Rep {
                location: RepLocation::Rev(rev, item),
                length,
                ..
            }) => RepHeader::Delta { rev, item, length },
            Some(_) => {
                return Err(Error::new(
                    Code::FS_CORRUPT,
                    "Only committed contents can be the base of a delta",
                ));
            }
        };
        // The digest of the base is not checked: the delta is made against the content as it is.
        let source = base
            .map(|base| TextReader::new(fs, Some(base), None).map(TextReader::unchecked))
            .transpose()?;
        let (version, level) = match fs.conf().compression {
            Compression::None => (0, 0),
            Compression::Zlib(level) => (1, level),
            Compression::Lz4 => (2, 1),
        };
        let encoder = Encoder {
            source,
            source_offset: 0,
            version,
            level,
            buffers: Some(fs.cache().spare_buffers.take()),
            spare: fs.cache().spare_buffers.clone(),
        };
        Ok((encoder, header))
    }

    /// True if this encoder writes svndiff version 2 without a base. Such windows of a client can be stored as they came.
    pub(super) fn makes_lz4_insertions(&self) -> bool {
        self.source.is_none() && self.version == 2
    }

    /// Returns the svndiff header.
    pub(super) fn start(&mut self) -> &[u8] {
        let out = &mut self.buffers.get_or_insert_default().out;
        out.clear();
        write_header(self.version, out);
        out
    }

    /// Encodes the next window: [`WINDOW_SIZE`] bytes except for the last.
    ///
    /// # Errors
    /// Those of reading the base.
    pub(super) fn window(&mut self, target: &[u8]) -> Result<&[u8]> {
        debug_assert!(target.len() <= WINDOW_SIZE);
        let EncoderBuffers {
            matcher,
            codec,
            window,
            out,
        } = self.buffers.get_or_insert_default();
        out.clear();
        match &mut self.source {
            None => write_insertion(target, self.version, self.level, codec, out),
            Some(source) => {
                let source = source.next_piece()?;
                matcher.window_into(self.source_offset, source.bytes(), target, window);
                write_window(window, self.version, self.level, codec, out);
                self.source_offset += source.bytes().len() as u64;
            }
        }
        Ok(out)
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if let Some(buffers) = self.buffers.take() {
            self.spare.give_back(buffers);
        }
    }
}
