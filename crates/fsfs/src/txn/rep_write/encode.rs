//! Making the body of a representation: windows of the content against those of its base, compressed.

use ::delta::svndiff::{Codec, write_header, write_insertion, write_window};
use ::delta::window::{WINDOW_SIZE, Window};
use ::delta::xdelta::Matcher;
use base::{Code, Error, Result};
use parking_lot::Mutex;

use crate::format::rep_header::RepHeader;
use crate::format::rep_line::{Rep, RepPlace};
use crate::store::conf::Compression;
use crate::tree::Fs;
use crate::tree::rep::TextReader;

/// Makes a delta, one window's worth of the content at a time.
pub(super) struct Encoder {
    /// The base, read in step; `None` for a self-delta.
    source: Option<TextReader>,
    source_offset: u64,
    version: u8,
    level: u8,
    /// Taken only by the drop.
    buffers: Option<EncoderBuffers>,
}

/// What windows are made with.
#[derive(Default)]
struct EncoderBuffers {
    matcher: Matcher,
    codec: Codec,
    window: Window,
    out: Vec<u8>,
}

/// Tools that nobody uses at the moment. A connection has none while it idles.
static SPARE_BUFFERS: Mutex<Vec<EncoderBuffers>> = Mutex::new(Vec::new());

/// Spare tools kept.
const MAX_SPARE: usize = 16;

impl Encoder {
    /// Starts a delta against `base`, and says what its header line is.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the base is not a committed content; those of opening it.
    pub(super) fn new(fs: &Fs, base: Option<&Rep>) -> Result<(Encoder, RepHeader)> {
        let header = match base {
            None => RepHeader::SelfDelta,
            Some(&Rep {
                place: RepPlace::Rev(rev, item),
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
        // Nobody relies on the base's digest: the delta makes the new content out of the base as it is.
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
            buffers: Some(SPARE_BUFFERS.lock().pop().unwrap_or_default()),
        };
        Ok((encoder, header))
    }

    /// True if windows of version 2 that insert compressed text are what is made here.
    pub(super) fn makes_lz4_insertions(&self) -> bool {
        self.source.is_none() && self.version == 2
    }

    /// What the delta starts with.
    pub(super) fn start(&mut self) -> &[u8] {
        let out = &mut self.buffers.get_or_insert_default().out;
        out.clear();
        write_header(self.version, out);
        out
    }

    /// The next window: of [`WINDOW_SIZE`] bytes except for the last.
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
        let mut spare = SPARE_BUFFERS.lock();
        if spare.len() < MAX_SPARE {
            spare.extend(self.buffers.take());
        }
    }
}
