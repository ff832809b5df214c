//! Deltas of whole texts: windows made from two streams, and windows applied to one.
//!
//! Window k pairs block k of the source with block k of the target, blocks of [`WINDOW_SIZE`] bytes; once the source
//! has ended, windows only insert. Neither direction holds more than one block of each text.

use base::{Code, Error, Result};

use crate::window::{WINDOW_SIZE, Window};
use crate::xdelta::Matcher;

/// Makes the windows that turn one text into another; reads both block by block. The closures fill the front of a
/// buffer and return how many bytes they wrote, 0 at the end of the text.
pub struct TextDelta<S, T> {
    source: Pieces<S>,
    target: Pieces<T>,
    source_offset: u64,
    matcher: Matcher,
    window: Window,
}

impl<S, T> TextDelta<S, T>
where
    S: FnMut(&mut [u8]) -> Result<usize>,
    T: FnMut(&mut [u8]) -> Result<usize>,
{
    /// Starts at the beginning of both texts.
    pub fn new(source: S, target: T) -> Self {
        TextDelta {
            source: Pieces::new(source),
            target: Pieces::new(target),
            source_offset: 0,
            matcher: Matcher::new(),
            window: Window::default(),
        }
    }

    /// Makes the next window; `None` at the end of the target.
    ///
    /// # Errors
    /// Those of the closures.
    pub fn next_window(&mut self) -> Result<Option<&Window>> {
        self.source_offset += self.source.buffer.len() as u64;
        self.source.next()?;
        if self.target.next()?.is_empty() {
            return Ok(None);
        }
        self.matcher.window_into(
            self.source_offset,
            &self.source.buffer,
            &self.target.buffer,
            &mut self.window,
        );
        Ok(Some(&self.window))
    }

    /// Returns the block of the target that the last window makes, for a caller that hashes or stores it.
    pub fn target_piece(&self) -> &[u8] {
        &self.target.buffer
    }
}

/// Reads a slice as if it were a stream: a source or target for [`TextDelta::new`].
pub fn slice_reader(mut text: &[u8]) -> impl FnMut(&mut [u8]) -> Result<usize> {
    move |buffer| {
        let (piece, rest) = text.split_at(text.len().min(buffer.len()));
        buffer[..piece.len()].copy_from_slice(piece);
        text = rest;
        Ok(piece.len())
    }
}

/// A stream in blocks of [`WINDOW_SIZE`] bytes.
struct Pieces<R> {
    read: R,
    buffer: Vec<u8>,
    ended: bool,
}

impl<R: FnMut(&mut [u8]) -> Result<usize>> Pieces<R> {
    fn new(read: R) -> Self {
        Pieces {
            read,
            buffer: Vec::new(),
            ended: false,
        }
    }

    fn next(&mut self) -> Result<&[u8]> {
        self.buffer.clear();
        let mut filled = 0;
        while !self.ended && filled < WINDOW_SIZE {
            if filled == self.buffer.len() {
                // Small texts, which most are, do not allocate a whole window.
                let more = self.buffer.capacity().max(2 * filled);
                self.buffer.resize(more.clamp(4_096, WINDOW_SIZE), 0);
            }
            match (self.read)(&mut self.buffer[filled..])? {
                0 => self.ended = true,
                count => filled += count,
            }
        }
        self.buffer.truncate(filled);
        Ok(&self.buffer)
    }
}

/// The source view of a delta's windows, one after the other. Views move forward only, so each byte of the source is
/// read once.
pub struct SourceView<S> {
    read: S,
    /// Bytes of the source from `offset` on.
    buffer: Vec<u8>,
    offset: u64,
}

impl<S: FnMut(&mut [u8]) -> Result<usize>> SourceView<S> {
    /// Starts at the beginning of the source.
    pub fn new(read: S) -> Self {
        SourceView {
            read,
            buffer: Vec::new(),
            offset: 0,
        }
    }

    /// Moves to the `len` bytes from `offset` on and returns them: less if the source ends before.
    ///
    /// # Errors
    /// E185002 for a view that starts before the last one (views without bytes are not counted), E200003 if the
    /// source ends before the view starts, and those of the closure.
    pub fn view(&mut self, offset: u64, len: u32) -> Result<&[u8]> {
        if len == 0 {
            return Ok(&[]);
        }
        let skip = offset
            .checked_sub(self.offset)
            .ok_or(crate::svndiff::SvndiffError::BackwardView)?;
        let kept = self.buffer.len();
        if skip < kept as u64 {
            self.buffer.drain(..skip as usize);
        } else {
            self.skip(skip - kept as u64)?;
        }
        self.offset = offset;
        let mut filled = self.buffer.len();
        let wanted = (len as usize).min(WINDOW_SIZE);
        if filled < wanted {
            self.buffer.resize(wanted, 0);
            while filled < wanted {
                match (self.read)(&mut self.buffer[filled..])? {
                    0 => break,
                    count => filled += count,
                }
            }
            self.buffer.truncate(filled);
        }
        Ok(&self.buffer[..wanted.min(filled)])
    }

    /// Skips bytes that no window needs.
    fn skip(&mut self, mut count: u64) -> Result<()> {
        self.buffer.resize(WINDOW_SIZE, 0);
        while count > 0 {
            let piece = self
                .buffer
                .len()
                .min(usize::try_from(count).unwrap_or(usize::MAX));
            match (self.read)(&mut self.buffer[..piece])? {
                0 => {
                    return Err(Error::new(
                        Code::INCOMPLETE_DATA,
                        "Delta source ended unexpectedly",
                    ));
                }
                read => count -= read as u64,
            }
        }
        self.buffer.clear();
        Ok(())
    }
}
