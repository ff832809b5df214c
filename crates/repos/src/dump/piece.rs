//! Records in memory: a part of a dump that waits for its turn.

use std::io::{self, Write};

use base::{Error, Result};

use crate::dump::Warning;
use crate::dump::record::{Printer, Style};

/// Records in memory.
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    pub warnings: Vec<Warning>,
    pub ended: Ended,
}

/// What became of a piece.
pub(super) enum Ended {
    Well,
    /// The bytes are those before the failure.
    Failed(Error),
    /// It is larger than its share: nothing of this piece is of use.
    TooLarge,
}

impl Piece {
    /// Takes what `print` prints, up to `limit` bytes; about `expected` bytes are expected.
    pub fn make(
        style: Style<'_>,
        expected: u64,
        limit: u64,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> Piece {
        let limit = limit.min(usize::MAX as u64);
        let mut sink = Bounded {
            bytes: Vec::with_capacity(expected.min(limit) as usize),
            limit: limit as usize,
            overflowed: false,
        };
        let mut printer = Printer::new(&mut sink, style, limit);
        let result = print(&mut printer);
        let warnings = std::mem::take(&mut printer.warnings);
        let overflowed = printer.overflowed;
        let ended = match result {
            Ok(()) => Ended::Well,
            Err(_) if overflowed || sink.overflowed => {
                sink.bytes = Vec::new();
                Ended::TooLarge
            }
            Err(error) => Ended::Failed(error),
        };
        Piece {
            bytes: sink.bytes,
            warnings,
            ended,
        }
    }
}

/// Memory that refuses to grow beyond its limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            self.overflowed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
