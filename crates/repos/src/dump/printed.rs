//! Node records in memory: a part of a dump that waits to be written.

use std::ops::Range;

use base::checksum::{Md5, Md5Stream, md5_many};
use base::{Error, Result};

use crate::dump::Warning;
use crate::dump::memory::{BoundedBuffer, Position, RecordBuffer, UncheckedText};
use crate::dump::record::{Output, Printer, RecordStyle, Scratch};

/// Node records in memory.
pub(super) struct PrintedRecords {
    /// Where they are in the buffer that they were printed into.
    pub records: Range<Position>,
    pub warnings: Vec<Warning>,
    pub ended: PrintEnd,
    /// Texts in the buffer whose digests must still be checked.
    pub unchecked: Vec<UncheckedText>,
}

/// How printing into memory ended.
pub(super) enum PrintEnd {
    Well,
    /// It failed. The records are those before the failure.
    Failed(Error),
    /// The limit was reached: nothing was printed.
    TooLarge,
}

/// What is printed into a buffer, and how much of it.
#[derive(Clone, Copy)]
pub(super) struct PrintLimits<'a> {
    pub style: RecordStyle<'a>,
    /// The most bytes.
    pub bytes: u64,
    /// Leaves the digests of texts to [`are_sound`].
    pub defer_checks: bool,
}

impl PrintedRecords {
    /// Appends what `print` prints to `buffer`.
    pub fn make(
        limits: PrintLimits<'_>,
        buffer: &mut RecordBuffer,
        scratch: &mut Scratch,
        print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
    ) -> PrintedRecords {
        let start = buffer.end();
        let output = Output::Memory(BoundedBuffer::new(buffer, limits.bytes, limits.defer_checks));
        let mut printer = Printer::new(output, limits.style, scratch);
        let result = print(&mut printer);
        let Printer { output, warnings, .. } = printer;
        let (ended, unchecked) = match (output.finish(), result) {
            (Some(unchecked), Ok(())) => (PrintEnd::Well, unchecked),
            (Some(unchecked), Err(error)) => (PrintEnd::Failed(error), unchecked),
            (None, _) => (PrintEnd::TooLarge, Vec::new()),
        };
        PrintedRecords {
            records: start..buffer.end(),
            warnings,
            ended,
            unchecked,
        }
    }

    /// Returns the result of records that exceed the limit.
    pub fn too_large() -> PrintedRecords {
        PrintedRecords {
            records: Range::default(),
            warnings: Vec::new(),
            ended: PrintEnd::TooLarge,
            unchecked: Vec::new(),
        }
    }
}

/// The records of some revisions, printed one after the other into one buffer.
#[derive(Default)]
pub(super) struct PrintedGroup {
    pub buffer: RecordBuffer,
    pub revisions: Vec<PrintedRecords>,
}

/// Checks the texts of all revisions against their digests, many side by side; returns for each revision whether all
/// are correct.
pub(super) fn are_sound(group: &PrintedGroup) -> Vec<bool> {
    let mut texts = Vec::new();
    for (at, printed) in group.revisions.iter().enumerate() {
        texts.extend(printed.unchecked.iter().map(|text| (at, text)));
    }
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for (at, text) in texts {
        let slices: Vec<&[u8]> = group.buffer.slices(&text.at).collect();
        match slices[..] {
            [] => short.push((at, &[][..], &text.md5)),
            [slice] => short.push((at, slice, &text.md5)),
            _ => long.push((at, slices, &text.md5)),
        }
    }
    // Texts of similar length make the best use of the lanes.
    short.sort_by_key(|(_, text, _)| text.len());
    let slices: Vec<&[u8]> = short.iter().map(|(_, text, _)| *text).collect();
    let mut sound = vec![true; group.revisions.len()];
    for ((at, _, expected), actual) in short.iter().zip(md5_many(&slices)) {
        sound[*at] &= expected.matches(&actual);
    }
    let long_texts: Vec<&[&[u8]]> = long.iter().map(|(_, slices, _)| &slices[..]).collect();
    for ((at, _, expected), actual) in long.iter().zip(digests_of_slices(&long_texts)) {
        sound[*at] &= expected.matches(&actual);
    }
    sound
}

/// Digests texts of several slices side by side.
fn digests_of_slices(texts: &[&[&[u8]]]) -> Vec<Md5> {
    let mut streams = vec![Md5Stream::new(); texts.len()];
    let most = texts.iter().map(|slices| slices.len()).max().unwrap_or(0);
    for number in 0..most {
        let with_slices = streams.iter_mut().zip(texts);
        let mut next: Vec<_> = with_slices
            .filter_map(|(stream, slices)| Some((stream, *slices.get(number)?)))
            .collect();
        Md5Stream::update_many(&mut next);
    }
    streams.into_iter().map(Md5Stream::finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_text_is_put_down_to_its_revision() {
        let mut group = PrintedGroup::default();
        for texts in [
            &[("a", "a"), ("longer", "longer")][..],
            &[("b", "b"), ("c", "d")],
            &[],
        ] {
            // Short texts are one slice, long ones are several.
            for repeats in [1, 5000, 100_000] {
                let mut out = BoundedBuffer::new(&mut group.buffer, 1 << 20, true);
                for (text, hashed) in texts {
                    out.write(b"headers").expect("within the limit");
                    let start = out.end();
                    out.write(text.repeat(repeats).as_bytes())
                        .expect("within the limit");
                    out.leave_unchecked(start, Md5::of(hashed.repeat(repeats).as_bytes()));
                }
                let unchecked = out.finish().expect("within the limit");
                assert_eq!(unchecked.len(), texts.len());
                group.revisions.push(PrintedRecords {
                    ended: PrintEnd::Well,
                    unchecked,
                    ..PrintedRecords::too_large()
                });
            }
        }
        assert_eq!(
            are_sound(&group),
            [true, true, true, false, false, false, true, true, true]
        );
        group.revisions.clear();
        assert_eq!(are_sound(&group), Vec::<bool>::new());
    }
}
