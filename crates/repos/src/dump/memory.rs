//! Memory that records are printed into.
//!
//! The chunks of a text are not copied: the cache and the buffer share them. Long differences and properties are blocks. So the bytes
//! of a buffer are headers, short properties and short texts; no piece of memory grows by doubling, and all have sizes that the
//! allocator uses again.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;

use base::checksum::Md5;
use base::{Error, Result};
use fsfs::TextPiece;

use crate::dump::write_error;

/// Printed records: bytes, and pieces between them.
#[derive(Default)]
pub(super) struct RecordBuffer {
    bytes: Vec<u8>,
    pieces: Vec<PlacedPiece>,
    /// Bytes of all pieces.
    piece_bytes: usize,
}

/// A piece and its place among the bytes of its buffer.
struct PlacedPiece {
    /// The number of bytes before it.
    at: usize,
    piece: Piece,
}

/// Bytes that are not among the bytes of their buffer.
enum Piece {
    /// A chunk of a text.
    Chunk(TextPiece),
    /// A part of a difference or of properties.
    Block(Box<[u8]>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Chunk(chunk) => chunk.bytes(),
            Piece::Block(bytes) => bytes,
        }
    }
}

/// A position in a [`RecordBuffer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    bytes: usize,
    pieces: usize,
}

/// A text that was printed without a check of its digest.
pub(super) struct UncheckedText {
    pub at: Range<Position>,
    pub md5: Md5,
}

impl RecordBuffer {
    /// The position of what is printed next.
    pub fn end(&self) -> Position {
        Position {
            bytes: self.bytes.len(),
            pieces: self.pieces.len(),
        }
    }

    /// Bytes of memory.
    pub fn footprint(&self) -> usize {
        self.bytes.capacity() + self.pieces.capacity() * size_of::<PlacedPiece>() + self.piece_bytes
    }

    /// The bytes between two positions, in order. No slice is empty.
    pub fn slices(&self, range: &Range<Position>) -> impl Iterator<Item = &[u8]> {
        let pieces = &self.pieces[range.start.pieces..range.end.pieces];
        let last = [(range.end.bytes, &[][..])];
        let ends = pieces.iter().map(|placed| (placed.at, placed.piece.bytes()));
        let mut done = range.start.bytes;
        let both = move |(end, piece)| [&self.bytes[std::mem::replace(&mut done, end)..end], piece];
        ends.chain(last).flat_map(both).filter(|slice| !slice.is_empty())
    }

    /// Writes the records between two positions to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, records: &Range<Position>, out: &mut dyn Write) -> io::Result<()> {
        let mut slices: Vec<_> = self.slices(records).map(IoSlice::new).collect();
        write_slices(&mut slices, out)
    }

    /// Drops what was printed from `end` on.
    fn truncate(&mut self, end: Position) {
        self.bytes.truncate(end.bytes);
        let dropped = self.pieces.drain(end.pieces..);
        self.piece_bytes -= dropped.map(|placed| placed.piece.bytes().len()).sum::<usize>();
    }

    fn push(&mut self, piece: Piece) {
        self.piece_bytes += piece.bytes().len();
        let at = self.bytes.len();
        self.pieces.push(PlacedPiece { at, piece });
    }
}

/// Writes all slices with as few calls as possible.
fn write_slices(mut slices: &mut [IoSlice<'_>], out: &mut dyn Write) -> io::Result<()> {
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
        if bytes.len() < MIN_BLOCK {
            self.buffer.bytes.extend_from_slice(bytes);
        } else {
            for block in bytes.chunks(BLOCK) {
                self.buffer.push(Piece::Block(block.into()));
            }
        }
        Ok(())
    }

    /// Appends a block without a copy.
    ///
    /// # Errors
    /// As [`BoundedBuffer::admit`].
    pub fn write_block(&mut self, block: Box<[u8]>) -> Result<()> {
        self.append(Piece::Block(block))
    }

    /// Appends a chunk of a text.
    ///
    /// # Errors
    /// As [`BoundedBuffer::admit`].
    pub fn write_chunk(&mut self, chunk: TextPiece) -> Result<()> {
        if chunk.bytes().len() < MIN_SHARED {
            return self.write(chunk.bytes());
        }
        self.append(Piece::Chunk(chunk))
    }

    fn append(&mut self, piece: Piece) -> Result<()> {
        let length = piece.bytes().len() as u64;
        self.admit(length)?;
        self.left -= length;
        self.buffer.push(piece);
        Ok(())
    }

    /// The position of what is printed next.
    pub fn end(&self) -> Position {
        self.buffer.end()
    }

    /// Records that the text from `start` to the end was not compared with its digest. Only with [`BoundedBuffer::defers_checks`].
    pub fn leave_unchecked(&mut self, start: Position, md5: Md5) {
        if let Some(unchecked) = &mut self.unchecked {
            let at = start..self.buffer.end();
            unchecked.push(UncheckedText { at, md5 });
        }
    }
}

/// The error is never shown: a caller with a limit asks whether it was exceeded.
fn too_long() -> Error {
    write_error(&ErrorKind::FileTooLarge.into())
}

/// Shorter chunks are copied, bytes: a slice of its own costs a write more than a copy.
const MIN_SHARED: usize = 1 << 10;

/// Longer pieces of bytes are copied into blocks, bytes.
const MIN_BLOCK: usize = 16 << 10;

/// The length of a block, bytes. The last block of something may be shorter.
pub(super) const BLOCK: usize = 64 << 10;

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

    #[test]
    fn bytes_and_blocks_are_written_in_order() {
        let mut buffer = RecordBuffer::default();
        let mut expected = Vec::new();
        let mut ranges = Vec::new();
        for (number, length) in [0, 1, MIN_BLOCK, 0, 3 * BLOCK + 1, MIN_BLOCK - 1, MIN_BLOCK]
            .into_iter()
            .enumerate()
        {
            let mut out = BoundedBuffer::new(&mut buffer, 1 << 20, false);
            for part in 0..3 {
                let byte = u8::try_from(number * 3 + part).expect("a small number");
                for bytes in [vec![b'a' + byte; part], vec![byte; length]] {
                    out.write(&bytes).expect("within the limit");
                    expected.extend_from_slice(&bytes);
                }
            }
            let start = out.start;
            assert!(out.finish().is_some());
            ranges.push(start..buffer.end());
        }
        assert!(buffer.pieces.len() > 5);
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
        const LIMIT: usize = 5 * MIN_BLOCK;
        let mut buffer = RecordBuffer::default();
        let mut out = BoundedBuffer::new(&mut buffer, LIMIT as u64, true);
        out.write(b"head").expect("within the limit");
        out.write(&[1; MIN_BLOCK]).expect("within the limit");
        assert_eq!(out.finish().map(|texts| texts.len()), Some(0));
        let (end, footprint) = (buffer.end(), buffer.footprint());
        for rest in [LIMIT - 3 - MIN_BLOCK, 9 * LIMIT] {
            let mut out = BoundedBuffer::new(&mut buffer, LIMIT as u64, true);
            out.write(b"abc").expect("within the limit");
            let start = out.end();
            out.write(&[2; MIN_BLOCK]).expect("within the limit");
            out.leave_unchecked(start, Md5::of(b""));
            assert!(out.write(&vec![3; rest + 1]).is_err());
            assert!(out.write(b"d").is_err(), "the limit stays exceeded");
            assert!(out.finish().is_none());
            assert_eq!(buffer.end(), end);
            assert_eq!(buffer.piece_bytes, MIN_BLOCK);
        }
        assert!(buffer.footprint() < footprint + 1000);
        let mut out = BoundedBuffer::new(&mut buffer, LIMIT as u64, true);
        out.write(&vec![4; LIMIT]).expect("exactly the limit");
        assert!(out.finish().is_some());
    }
}
