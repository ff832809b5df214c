//! Records in memory: a part of a dump that waits for its turn.

use std::io::{self, Write};

use base::checksum::{Md5, md5_many};
use base::{Error, Result};

use crate::dump::Warning;
use crate::dump::record::{Deferred, Printer, Style};

/// Records in memory.
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    pub warnings: Vec<Warning>,
    pub ended: Ended,
    /// Texts in `bytes` that must still be checked.
    pub deferred: Vec<Deferred>,
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
        Self::make_with(style, expected, limit, false, print)
    }

    /// As [`Piece::make`], but the texts are left to be checked; see [`are_sound`].
    pub fn make_unchecked(
        style: Style<'_>,
        limit: u64,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> Piece {
        Self::make_with(style, 0, limit, true, print)
    }

    /// A piece that must be made in another way.
    pub fn too_large() -> Piece {
        Piece {
            bytes: Vec::new(),
            warnings: Vec::new(),
            ended: Ended::TooLarge,
            deferred: Vec::new(),
        }
    }

    fn make_with(
        style: Style<'_>,
        expected: u64,
        limit: u64,
        defer: bool,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> Piece {
        let limit = limit.min(usize::MAX as u64);
        let mut sink = Bounded {
            bytes: Vec::with_capacity(expected.min(limit) as usize),
            limit: limit as usize,
            overflowed: false,
        };
        let mut printer = Printer::new(&mut sink, style, limit);
        if defer {
            printer = printer.defer();
        }
        let result = print(&mut printer);
        let warnings = std::mem::take(&mut printer.warnings);
        let overflowed = printer.overflowed;
        let mut deferred = printer.take_deferred();
        let ended = match result {
            Ok(()) => Ended::Well,
            Err(_) if overflowed || sink.overflowed => {
                sink.bytes = Vec::new();
                deferred.clear();
                Ended::TooLarge
            }
            Err(error) => Ended::Failed(error),
        };
        Piece {
            bytes: sink.bytes,
            warnings,
            ended,
            deferred,
        }
    }
}

/// Checks the texts of all pieces against their digests, many side by side; tells for each piece whether all are good.
pub(super) fn are_sound(pieces: &[Piece]) -> Vec<bool> {
    let mut texts: Vec<(usize, &[u8], &Md5)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let of_piece = piece.deferred.iter();
        texts.extend(of_piece.map(|text| (at, &piece.bytes[text.bytes.clone()], &text.md5)));
    }
    // Texts of like length make the best use of the lanes.
    texts.sort_by_key(|(_, text, _)| text.len());
    let slices: Vec<&[u8]> = texts.iter().map(|(_, text, _)| *text).collect();
    let mut sound = vec![true; pieces.len()];
    for ((at, _, expected), actual) in texts.iter().zip(md5_many(&slices)) {
        sound[*at] &= expected.matches(&actual);
    }
    sound
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_text_is_put_down_to_its_piece() {
        let piece = |texts: &[(&str, &str)]| {
            let mut piece = Piece {
                bytes: b"headers".to_vec(),
                warnings: Vec::new(),
                ended: Ended::Well,
                deferred: Vec::new(),
            };
            for (text, hashed) in texts {
                let start = piece.bytes.len();
                piece.bytes.extend_from_slice(text.as_bytes());
                piece.deferred.push(Deferred {
                    bytes: start..piece.bytes.len(),
                    md5: Md5::of(hashed.as_bytes()),
                });
            }
            piece
        };
        let pieces = [
            piece(&[("a", "a"), ("longer", "longer")]),
            piece(&[("b", "b"), ("c", "d")]),
            piece(&[]),
        ];
        assert_eq!(are_sound(&pieces), [true, false, true]);
        assert_eq!(are_sound(&[]), []);
    }
}
