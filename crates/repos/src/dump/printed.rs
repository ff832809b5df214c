//! Node records in memory: a part of a dump that waits to be written.

use std::io::{self, Write};

use base::checksum::{Md5, md5_many};
use base::{Error, Result};

use crate::dump::Warning;
use crate::dump::record::{Printer, RecordStyle, UncheckedText};

/// Node records in memory.
pub(super) struct PrintedRecords {
    pub bytes: Vec<u8>,
    pub warnings: Vec<Warning>,
    pub ended: PrintEnd,
    /// Texts in `bytes` whose digests must still be checked.
    pub deferred: Vec<UncheckedText>,
}

/// How printing into memory ended.
pub(super) enum PrintEnd {
    Well,
    /// It failed. The bytes are those before the failure.
    Failed(Error),
    /// The limit was reached: the bytes are useless.
    TooLarge,
}

impl PrintedRecords {
    /// Collects what `print` prints, up to `limit` bytes; about `expected` bytes are expected.
    pub fn make(
        style: RecordStyle<'_>,
        expected: u64,
        limit: u64,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        Self::make_with(style, expected, limit, false, print)
    }

    /// As [`PrintedRecords::make`], but leaves the digests of texts to [`are_sound`].
    pub fn make_unchecked(
        style: RecordStyle<'_>,
        limit: u64,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        Self::make_with(style, 0, limit, true, print)
    }

    /// Returns the result of records that exceed the limit.
    pub fn too_large() -> PrintedRecords {
        PrintedRecords {
            bytes: Vec::new(),
            warnings: Vec::new(),
            ended: PrintEnd::TooLarge,
            deferred: Vec::new(),
        }
    }

    fn make_with(
        style: RecordStyle<'_>,
        expected: u64,
        limit: u64,
        defer: bool,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
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
            Ok(()) => PrintEnd::Well,
            Err(_) if overflowed || sink.overflowed => {
                sink.bytes = Vec::new();
                deferred.clear();
                PrintEnd::TooLarge
            }
            Err(error) => PrintEnd::Failed(error),
        };
        PrintedRecords {
            bytes: sink.bytes,
            warnings,
            ended,
            deferred,
        }
    }
}

/// Checks the texts of all revisions against their digests, many side by side; returns for each revision whether all
/// are correct.
pub(super) fn are_sound(printed_revisions: &[PrintedRecords]) -> Vec<bool> {
    let mut texts: Vec<(usize, &[u8], &Md5)> = Vec::new();
    for (at, printed) in printed_revisions.iter().enumerate() {
        let of_piece = printed.deferred.iter();
        texts.extend(of_piece.map(|text| (at, &printed.bytes[text.bytes.clone()], &text.md5)));
    }
    // Texts of similar length make the best use of the lanes.
    texts.sort_by_key(|(_, text, _)| text.len());
    let slices: Vec<&[u8]> = texts.iter().map(|(_, text, _)| *text).collect();
    let mut sound = vec![true; printed_revisions.len()];
    for ((at, _, expected), actual) in texts.iter().zip(md5_many(&slices)) {
        sound[*at] &= expected.matches(&actual);
    }
    sound
}

/// Memory with a limit.
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
        let printed = |texts: &[(&str, &str)]| {
            let mut printed = PrintedRecords {
                bytes: b"headers".to_vec(),
                warnings: Vec::new(),
                ended: PrintEnd::Well,
                deferred: Vec::new(),
            };
            for (text, hashed) in texts {
                let start = printed.bytes.len();
                printed.bytes.extend_from_slice(text.as_bytes());
                printed.deferred.push(UncheckedText {
                    bytes: start..printed.bytes.len(),
                    md5: Md5::of(hashed.as_bytes()),
                });
            }
            printed
        };
        let printed_revisions = [
            printed(&[("a", "a"), ("longer", "longer")]),
            printed(&[("b", "b"), ("c", "d")]),
            printed(&[]),
        ];
        assert_eq!(are_sound(&printed_revisions), [true, false, true]);
        assert_eq!(are_sound(&[]), []);
    }
}
