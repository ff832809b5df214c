//! Holds a text delta whose length must be written before it.
//!
//! Short deltas stay in memory; longer ones go to a nameless temporary file, so that memory does not grow with a
//! text.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};

use base::{Error, Result};

/// Bytes that can be read back once all are written.
#[derive(Default)]
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    in_file: u64,
}

impl Spool {
    /// Drops the bytes and keeps the buffer.
    pub fn clear(&mut self) {
        self.memory.clear();
        self.file = None;
        self.in_file = 0;
    }

    pub fn len(&self) -> u64 {
        self.in_file + self.memory.len() as u64
    }

    /// The buffer to append to; call [`Spool::spill_if_large`] after each piece.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    /// Moves the bytes in memory to disk if there are too many.
    pub fn spill_if_large(&mut self) -> Result<()> {
        if self.memory.len() > IN_MEMORY {
            self.spill()
                .map_err(|e| Error::os(&e, "Can't write to a temporary file"))?;
        }
        Ok(())
    }

    /// Passes all bytes to `out`.
    pub fn copy_to(&mut self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(file) = &mut self.file {
            let failed = |e: &io::Error| Error::os(e, "Can't read a temporary file");
            file.seek(SeekFrom::Start(0)).map_err(|e| failed(&e))?;
            let mut chunk = vec![0; CHUNK];
            loop {
                let length = file.read(&mut chunk).map_err(|e| failed(&e))?;
                if length == 0 {
                    break;
                }
                out(&chunk[..length])?;
            }
        }
        out(&self.memory)
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.memory)?;
        self.in_file += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }
}

const IN_MEMORY: usize = 1 << 20;
const CHUNK: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_come_back_whole() {
        let mut spool = Spool::default();
        for printed_revisions in [0usize, 1, 10, 40] {
            spool.clear();
            let mut expected = Vec::new();
            for printed in 0..printed_revisions {
                let bytes = vec![printed.to_le_bytes()[0]; 100_000];
                expected.extend_from_slice(&bytes);
                spool.buffer().extend_from_slice(&bytes);
                spool.spill_if_large().expect("a temporary file");
            }
            assert_eq!(spool.len(), expected.len() as u64);
            assert!(spool.memory.len() <= IN_MEMORY);
            let mut out = Vec::new();
            let mut append = |bytes: &[u8]| {
                out.extend_from_slice(bytes);
                Ok(())
            };
            spool.copy_to(&mut append).expect("read back");
            assert!(out == expected);
        }
    }
}
