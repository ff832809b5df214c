//! Memory that records are printed into.
//!
//! A text of one chunk is not copied: the cache and the buffer share it. A text of several chunks gets memory of its own, of its
//! exact size. So the buffer itself holds headers and properties, and stays short.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;

use base::checksum::Md5;
use base::{Error, Result};
use fsfs::TextPiece;

use crate::dump::write_error;

/// Printed records: bytes, and texts between them.
#[derive(Default)]
pub(super) struct RecordBuffer {
    bytes: Vec<u8>,
    texts: Vec<PlacedText>,
    /// Bytes of all texts.
    text_bytes: usize,
}

/// A text and its place among the bytes of its buffer.
struct PlacedText {
    /// The number of bytes before it.
    at: usize,
    text: Text,
}

/// A text that is not among the bytes of its buffer.
pub(super) enum Text {
    /// A text of one chunk.
    Shared(TextPiece),
    /// A text of several chunks.
    Joined(Vec<u8>),
}

impl Text {
    fn bytes(&self) -> &[u8] {
        match self {
            Text::Shared(piece) => piece.bytes(),
            Text::Joined(bytes) => bytes,
        }
    }
}

/// A position in a [`RecordBuffer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    bytes: usize,
    texts: usize,
}

/// A text that was printed without a check of its digest.
pub(super) struct UncheckedText {
    at: TextPlace,
    pub md5: Md5,
}

/// Where a text is in its buffer.
enum TextPlace {
    /// Among the bytes.
    Bytes(Range<usize>),
    /// The text of this number.
    Text(usize),
}

impl RecordBuffer {
    /// The position of what is printed next.
    pub fn end(&self) -> Position {
        Position {
            bytes: self.bytes.len(),
            texts: self.texts.len(),
        }
    }

    /// Bytes of memory.
    pub fn footprint(&self) -> usize {
        self.bytes.capacity() + self.texts.capacity() * size_of::<PlacedText>() + self.text_bytes
    }

    /// The bytes of a text.
    pub fn text(&self, text: &UncheckedText) -> &[u8] {
        match &text.at {
            TextPlace::Bytes(range) => &self.bytes[range.clone()],
            TextPlace::Text(number) => self.texts[*number].text.bytes(),
        }
    }

    /// Drops what was printed from `end` on.
    fn truncate(&mut self, end: Position) {
        self.bytes.truncate(end.bytes);
        let dropped = self.texts.drain(end.texts..);
        self.text_bytes -= dropped.map(|placed| placed.text.bytes().len()).sum::<usize>();
    }

    /// Writes the records between two positions to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, records: &Range<Position>, out: &mut dyn Write) -> io::Result<()> {
        let texts = &self.texts[records.start.texts..records.end.texts];
        let mut slices = Vec::with_capacity(2 * texts.len() + 1);
        let mut done = records.start.bytes;
        for placed in texts {
            slices.push(IoSlice::new(&self.bytes[done..placed.at]));
            slices.push(IoSlice::new(placed.text.bytes()));
            done = placed.at;
        }
        slices.push(IoSlice::new(&self.bytes[done..records.end.bytes]));
        write_slices(&mut slices, out)
    }
}

/// Writes all slices with as few calls as possible.
fn write_slices(mut slices: &mut [IoSlice<'_>], out: &mut dyn Write) -> io::Result<()> {
    // Drops empty slices at the start: a call that writes nothing is an error.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match out.write_vectored(slices) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => IoSlice::advance_slices(&mut slices, length),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The end of a buffer, with a limit for what is printed there.
pub(super) struct BoundedBuffer<'b> {
    buffer: &'b mut RecordBuffer,
    start: Position,
    /// Bytes that may still be printed.
    left: u64,
    overflowed: bool,
    /// Full texts whose digests the caller checks; `None` if the reader of the text checks them.
    unchecked: Option<Vec<UncheckedText>>,
}

impl<'b> BoundedBuffer<'b> {
    /// Lets `limit` bytes be appended to `buffer`. With `defer`, the caller checks the digests of full texts.
    pub fn new(buffer: &'b mut RecordBuffer, limit: u64, defer: bool) -> Self {
        BoundedBuffer {
            start: buffer.end(),
            buffer,
            left: limit,
            overflowed: false,
            unchecked: defer.then(Vec::new),
        }
    }

    /// Ends the printing. Returns the texts whose digests were not checked; `None` if the limit was exceeded: what was printed
    /// is dropped then.
    pub fn finish(self) -> Option<Vec<UncheckedText>> {
        if self.overflowed {
            self.buffer.truncate(self.start);
            return None;
        }
        Some(self.unchecked.unwrap_or_default())
    }

    /// True if the caller checks the digests of full texts.
    pub fn defers_checks(&self) -> bool {
        self.unchecked.is_some()
    }

    /// Checks that `length` more bytes are within the limit.
    ///
    /// # Errors
    /// One that is never shown: [`BoundedBuffer::finish`] returns that the limit was exceeded.
    pub fn admit(&mut self, length: u64) -> Result<()> {
        self.overflowed |= length > self.left;
        match self.overflowed {
            true => Err(too_long()),
            false => Ok(()),
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// As [`BoundedBuffer::admit`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.admit(bytes.len() as u64)?;
        self.left -= bytes.len() as u64;
        self.buffer.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends a text. `unchecked` is its digest, if it was not compared.
    ///
    /// # Errors
    /// As [`BoundedBuffer::admit`].
    pub fn write_text(&mut self, text: Text, unchecked: Option<Md5>) -> Result<()> {
        let length = text.bytes().len();
        let before = self.buffer.bytes.len();
        let at = if length < MIN_SHARED {
            self.write(text.bytes())?;
            TextPlace::Bytes(before..before + length)
        } else {
            self.admit(length as u64)?;
            self.left -= length as u64;
            self.buffer.text_bytes += length;
            self.buffer.texts.push(PlacedText { at: before, text });
            TextPlace::Text(self.buffer.texts.len() - 1)
        };
        if let (Some(md5), Some(list)) = (unchecked, &mut self.unchecked) {
            list.push(UncheckedText { at, md5 });
        }
        Ok(())
    }
}

/// The error is never shown: a caller with a limit asks whether it was exceeded.
fn too_long() -> Error {
    write_error(&ErrorKind::FileTooLarge.into())
}

/// Shorter texts are copied, bytes: a slice of its own costs a write more than a copy.
const MIN_SHARED: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes at most 700 bytes a call, and only those of one slice.
    struct SlowWriter(Vec<u8>);

    impl Write for SlowWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = bytes.len().min(700);
            self.0.extend_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn text(byte: u8, length: usize) -> Text {
        Text::Joined(vec![byte; length])
    }

    #[test]
    fn bytes_and_texts_are_written_in_order() {
        let mut buffer = RecordBuffer::default();
        let mut expected = Vec::new();
        let mut ranges = Vec::new();
        for (number, length) in [
            (0, 0),
            (1, 1),
            (2, MIN_SHARED),
            (3, 0),
            (4, 5000),
            (5, MIN_SHARED - 1),
        ] {
            let mut out = BoundedBuffer::new(&mut buffer, 1 << 20, false);
            for part in 0..3 {
                let byte = number * 3 + part;
                let head = vec![b'a' + byte; usize::from(part)];
                out.write(&head).expect("within the limit");
                out.write_text(text(byte, length), None)
                    .expect("within the limit");
                expected.extend_from_slice(&head);
                expected.extend(vec![byte; length]);
            }
            let start = out.start;
            assert!(out.finish().is_some());
            ranges.push(start..buffer.end());
        }
        assert!(buffer.texts.len() > 5);
        let mut written = SlowWriter(Vec::new());
        for range in &ranges {
            buffer.write_to(range, &mut written).expect("memory");
        }
        assert!(written.0 == expected);
        let mut whole = Vec::new();
        let all = Position::default()..buffer.end();
        buffer.write_to(&all, &mut whole).expect("memory");
        assert!(whole == expected);
    }

    #[test]
    fn what_exceeds_the_limit_is_dropped() {
        let mut buffer = RecordBuffer::default();
        let mut out = BoundedBuffer::new(&mut buffer, 5000, true);
        out.write(b"head").expect("within the limit");
        out.write_text(text(1, 2000), None).expect("within the limit");
        assert_eq!(out.finish().map(|texts| texts.len()), Some(0));
        let (end, footprint) = (buffer.end(), buffer.footprint());
        for too_long in [2997, 500_000] {
            let mut out = BoundedBuffer::new(&mut buffer, 5000, true);
            out.write(b"abc").expect("within the limit");
            let md5 = Md5::of(b"");
            out.write_text(text(2, 2000), Some(md5))
                .expect("within the limit");
            assert!(out.admit(2998).is_err() || too_long == 2997);
            assert!(out.write_text(text(3, too_long + 1), Some(md5)).is_err());
            assert!(out.finish().is_none());
            assert_eq!(buffer.end(), end);
            assert_eq!(buffer.text_bytes, 2000);
        }
        assert!(buffer.footprint() < footprint + 1000);
    }
}
