//! Node records in memory: a part of a dump that waits to be written.

use std::io::{self, Write};
use std::ops::Range;

use base::checksum::{Md5, md5_many};
use base::{Error, Result};
use parking_lot::Mutex;

use crate::dump::Warning;
use crate::dump::record::{Printer, RecordStyle, UncheckedText};

/// Node records in memory.
pub(super) struct PrintedRecords {
    /// Where they are in the buffer that they were printed into.
    pub bytes: Range<usize>,
    pub warnings: Vec<Warning>,
    pub ended: PrintEnd,
    /// Texts in the buffer whose digests must still be checked.
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
    /// Appends what `print` prints to `buffer`, up to `limit` bytes.
    pub fn make(
        style: RecordStyle<'_>,
        limit: u64,
        buffer: &mut Vec<u8>,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        Self::make_with(style, limit, false, buffer, print)
    }

    /// As [`PrintedRecords::make`], but leaves the digests of texts to [`are_sound`].
    pub fn make_unchecked(
        style: RecordStyle<'_>,
        limit: u64,
        buffer: &mut Vec<u8>,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        Self::make_with(style, limit, true, buffer, print)
    }

    /// Returns the result of records that exceed the limit.
    pub fn too_large() -> PrintedRecords {
        PrintedRecords {
            bytes: 0..0,
            warnings: Vec::new(),
            ended: PrintEnd::TooLarge,
            deferred: Vec::new(),
        }
    }

    fn make_with(
        style: RecordStyle<'_>,
        limit: u64,
        defer: bool,
        buffer: &mut Vec<u8>,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        let start = buffer.len();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut sink = Bounded {
            end: start.saturating_add(limit),
            buffer,
            overflowed: false,
        };
        let mut printer = Printer::new(&mut sink, style, limit as u64);
        if defer {
            printer = printer.defer(start);
        }
        let result = print(&mut printer);
        let warnings = std::mem::take(&mut printer.warnings);
        let overflowed = printer.overflowed;
        let mut deferred = printer.take_deferred();
        let ended = match result {
            Ok(()) => PrintEnd::Well,
            Err(_) if overflowed || sink.overflowed => {
                sink.buffer.truncate(start);
                deferred.clear();
                PrintEnd::TooLarge
            }
            Err(error) => PrintEnd::Failed(error),
        };
        PrintedRecords {
            bytes: start..buffer.len(),
            warnings,
            ended,
            deferred,
        }
    }
}

/// The records of some revisions, printed one after the other into one buffer.
pub(super) struct PrintedGroup {
    pub buffer: Vec<u8>,
    pub revisions: Vec<PrintedRecords>,
}

/// Buffers of groups that were written, for the next groups: new memory would have to be cleared by the system.
#[derive(Default)]
pub(super) struct SpareBuffers(Mutex<Vec<Vec<u8>>>);

impl SpareBuffers {
    /// The bytes that most groups take: a buffer that grows leaves its smaller beginnings to the allocator.
    const EXPECTED: usize = 2 << 20;

    /// The most spare buffers.
    const MOST: usize = 2;

    /// Takes an empty buffer.
    pub fn take(&self) -> Vec<u8> {
        let spare = self.0.lock().pop();
        spare.unwrap_or_else(|| Vec::with_capacity(Self::EXPECTED))
    }

    /// Gives a buffer back, unless there are enough or it is longer than `limit` bytes.
    pub fn give(&self, mut buffer: Vec<u8>, limit: u64) {
        let mut spare = self.0.lock();
        if spare.len() < Self::MOST && buffer.capacity() as u64 <= limit {
            buffer.clear();
            spare.push(buffer);
        }
    }
}

/// Checks the texts of all revisions against their digests, many side by side; returns for each revision whether all
/// are correct.
pub(super) fn are_sound(group: &PrintedGroup) -> Vec<bool> {
    let mut texts: Vec<(usize, &[u8], &Md5)> = Vec::new();
    for (at, printed) in group.revisions.iter().enumerate() {
        let of_piece = printed.deferred.iter();
        texts.extend(of_piece.map(|text| (at, &group.buffer[text.bytes.clone()], &text.md5)));
    }
    // Texts of similar length make the best use of the lanes.
    texts.sort_by_key(|(_, text, _)| text.len());
    let slices: Vec<&[u8]> = texts.iter().map(|(_, text, _)| *text).collect();
    let mut sound = vec![true; group.revisions.len()];
    for ((at, _, expected), actual) in texts.iter().zip(md5_many(&slices)) {
        sound[*at] &= expected.matches(&actual);
    }
    sound
}

/// Memory with a limit.
struct Bounded<'b> {
    buffer: &'b mut Vec<u8>,
    /// The greatest length of the buffer.
    end: usize,
    overflowed: bool,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.end.saturating_sub(self.buffer.len()) {
            self.overflowed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.buffer.extend_from_slice(bytes);
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
        let mut group = PrintedGroup {
            buffer: b"headers".to_vec(),
            revisions: Vec::new(),
        };
        for texts in [
            &[("a", "a"), ("longer", "longer")][..],
            &[("b", "b"), ("c", "d")],
            &[],
        ] {
            let mut printed = PrintedRecords::too_large();
            for (text, hashed) in texts {
                let start = group.buffer.len();
                group.buffer.extend_from_slice(text.as_bytes());
                printed.deferred.push(UncheckedText {
                    bytes: start..group.buffer.len(),
                    md5: Md5::of(hashed.as_bytes()),
                });
            }
            group.revisions.push(printed);
        }
        assert_eq!(are_sound(&group), [true, false, true]);
        group.revisions.clear();
        assert_eq!(are_sound(&group), []);
    }
}
