//! Holds a text delta whose length must be written before it.
//!
//! The bytes are held in blocks, which a buffer of records takes as they are. If they go to a stream, long deltas are in a
//! nameless temporary file, so that memory does not grow with a text.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use base::{Error, Result};

use crate::dump::memory::BLOCK;
use crate::dump::record::Output;

/// Bytes that can be read back once all are written: those in the file, then those in blocks, then the tail.
#[derive(Default)]
pub(super) struct Spool {
    file: Option<File>,
    in_file: u64,
    blocks: Vec<Box<[u8]>>,
    /// The bytes that do not fill a block yet.
    tail: Vec<u8>,
}

impl Spool {
    /// Drops the bytes and keeps the buffer.
    pub fn clear(&mut self) {
        self.file = None;
        self.in_file = 0;
        self.blocks.clear();
        self.tail.clear();
    }

    pub fn len(&self) -> u64 {
        self.in_file + (self.blocks.len() * BLOCK + self.tail.len()) as u64
    }

    /// The buffer to append to; call [`Spool::end_piece`] after each piece.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Makes blocks of what was appended. If they go to a stream, moves them to disk if there are too many.
    pub fn end_piece(&mut self, output: &Output<'_>) -> Result<()> {
        let whole = self.tail.chunks_exact(BLOCK);
        let rest = self.tail.len() - whole.remainder().len();
        self.blocks.extend(whole.map(Box::from));
        self.tail.drain(..rest);
        if matches!(output, Output::Stream(_)) && self.blocks.len() > BLOCKS_IN_MEMORY {
            self.spill()
                .map_err(|e| Error::os(&e, "Can't write to a temporary file"))?;
        }
        Ok(())
    }

    /// Passes all bytes to `output`. The blocks are moved: call it once.
    pub fn pass_to(&mut self, output: &mut Output<'_>) -> Result<()> {
        if let Some(file) = &mut self.file {
            let failed = |e: &io::Error| Error::os(e, "Can't read a temporary file");
            file.seek(SeekFrom::Start(0)).map_err(|e| failed(&e))?;
            let mut chunk = vec![0; BLOCK];
            loop {
                let length = file.read(&mut chunk).map_err(|e| failed(&e))?;
                if length == 0 {
                    break;
                }
                output.write(&chunk[..length])?;
            }
        }
        for block in self.blocks.drain(..) {
            output.write_block(block)?;
        }
        output.write(&self.tail)
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        for block in self.blocks.drain(..) {
            file.write_all(&block)?;
            self.in_file += block.len() as u64;
        }
        Ok(())
    }
}

/// The most blocks in memory of bytes that go to a stream: 1 MiB.
const BLOCKS_IN_MEMORY: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::memory::{BoundedBuffer, Position, RecordBuffer};

    #[test]
    fn short_and_long_come_back_whole() {
        let mut spool = Spool::default();
        for (pieces, length) in [
            (0, 0),
            (1, 100_000),
            (2, BLOCK),
            (10, 100_000),
            (40, 70_001),
            (900, 1000),
        ] {
            let expected: Vec<u8> = (0..pieces * length)
                .map(|at| (at / 999).to_le_bytes()[0])
                .collect();
            let mut streamed = Vec::new();
            let mut buffer = RecordBuffer::default();
            for is_stream in [true, false] {
                let mut output = match is_stream {
                    true => Output::Stream(&mut streamed),
                    false => Output::Memory(BoundedBuffer::new(&mut buffer, 1 << 30, false)),
                };
                spool.clear();
                for at in 0..pieces {
                    spool
                        .buffer()
                        .extend_from_slice(&expected[at * length..][..length]);
                    spool.end_piece(&output).expect("a temporary file");
                    assert!(spool.tail.len() < BLOCK);
                    assert!(!is_stream || spool.blocks.len() <= BLOCKS_IN_MEMORY);
                }
                assert_eq!(spool.len(), expected.len() as u64);
                let spilled = is_stream && expected.len() > (BLOCKS_IN_MEMORY + 1) * BLOCK;
                assert_eq!(spool.file.is_some(), spilled);
                spool.pass_to(&mut output).expect("read back");
            }
            let mut written = Vec::new();
            let all = Position::default()..buffer.end();
            buffer.write_to(&all, &mut written).expect("memory");
            assert!(streamed == expected && written == expected);
        }
    }
}
