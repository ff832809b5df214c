//! Containers of representations. Source: section 17 of the description of FSX.
//!
//! The texts of a container are cut from a corpus that they share. A container is [packed data](super::packed_data):
//!
//! | stream | content |
//! |---|---|
//! | integers 0 | a table of external bases, always empty |
//! | integers 1 | for n texts n + 1 positions: text i is made by the instructions from position i to position i + 1 |
//! | integers 2 | a table of instructions: offset, count |
//! | integers 3 | one number, the length of a base text, always 0 |
//! | bytes 0 | one string, the corpus |
//!
//! An instruction with offset 0 or above copies `count` bytes of the corpus from there on. One with a negative offset runs
//! the `count` instructions from -offset on; the incumbent reads such instructions but writes none. A text is not in delta
//! form: it has no base.

use base::Code;

use super::cursor::{DecodeError, Subject};
use super::packed_data::PackedData;

const SUBJECT: Subject = Subject::file("Representation container");

/// The most instructions that are run for one range of a text: twice as many as a container of the incumbent has.
const MAX_STEPS: u64 = 4 << 20;

/// The most bytes of a text: more than the incumbent puts into a container.
const MAX_TEXT: u64 = 64 << 20;

/// The most instructions within each other.
const MAX_DEPTH: usize = 64;

/// A decoded container.
#[derive(Debug)]
pub(crate) struct RepContainer {
    corpus: Vec<u8>,
    starts: Vec<u64>,
    instructions: [Vec<u64>; 2],
}

impl RepContainer {
    /// Decodes a container, which takes all of `bytes`.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, DecodeError> {
        let fault = |what| DecodeError::new(SUBJECT, what, 0);
        let data = PackedData::decode(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(fault("data follows the end"));
        }
        let bases = data.column(0)?.table::<4>()?;
        if !bases[0].is_empty() || data.column(3)?.values()? != [0] {
            return Err(fault("external bases are not supported"));
        }
        let (starts, instructions) = (data.column(1)?.values()?, data.column(2)?.table::<2>()?);
        let is_ascending = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if starts.last() != Some(&(instructions[0].len() as u64)) || !is_ascending {
            return Err(fault("the texts do not fill the instructions"));
        }
        match data.strings(0)?[..] {
            [corpus] => Ok(RepContainer {
                corpus: corpus.to_vec(),
                starts,
                instructions,
            }),
            _ => Err(fault("not one corpus")),
        }
    }

    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// At most `length` bytes of a text from `offset` on; fewer only at its end.
    pub(crate) fn read(&self, sub_item: u64, offset: u64, length: usize) -> Result<Vec<u8>, DecodeError> {
        if offset > MAX_TEXT {
            return Err(DecodeError::new(SUBJECT, "text too long", sub_item));
        }
        let (mut skipped, mut text) = (0u64, Vec::new());
        self.each(sub_item, |bytes| {
            let before = (offset - skipped).min(bytes.len() as u64);
            skipped += before;
            let wanted = &bytes[before as usize..];
            text.extend_from_slice(&wanted[..wanted.len().min(length - text.len())]);
            text.len() < length
        })?;
        Ok(text)
    }

    /// The length of a text, bytes.
    pub(crate) fn text_len(&self, sub_item: u64) -> Result<u64, DecodeError> {
        let mut length = 0;
        self.each(sub_item, |bytes| {
            length += bytes.len() as u64;
            length <= MAX_TEXT
        })?;
        Ok(length)
    }

    /// Calls `each` with the pieces of a text, until it returns false.
    fn each(&self, sub_item: u64, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), DecodeError> {
        const OUTSIDE: Subject = Subject {
            name: "Representation container",
            code: Code::FS_CONTAINER_INDEX,
        };
        let at = usize::try_from(sub_item).ok().filter(|at| *at < self.len());
        let at = at.ok_or(DecodeError::new(OUTSIDE, "no such text", sub_item))?;
        let fault = |what| DecodeError::new(SUBJECT, what, sub_item);
        let mut ranges = vec![(self.starts[at], self.starts[at + 1])];
        for _ in 0..MAX_STEPS {
            let Some((next, end)) = ranges.last_mut() else {
                return Ok(());
            };
            if next == end {
                ranges.pop();
                continue;
            }
            let row = usize::try_from(*next).ok();
            let row = row.filter(|row| *row < self.instructions[0].len());
            let row = row.ok_or(fault("no such instruction"))?;
            *next += 1;
            let (from, count) = (self.instructions[0][row] as i64, self.instructions[1][row]);
            if from < 0 {
                let start = from.unsigned_abs();
                let end = start.checked_add(count).ok_or(fault("no such instruction"))?;
                if ranges.len() == MAX_DEPTH {
                    return Err(fault("instructions are too deep"));
                }
                ranges.push((start, end));
                continue;
            }
            let bytes = usize::try_from(from)
                .ok()
                .and_then(|from| self.corpus.get(from..));
            let bytes = bytes.filter(|bytes| bytes.len() as u64 >= count);
            let bytes = &bytes.ok_or(fault("instruction outside of the corpus"))?[..count as usize];
            if !each(bytes) {
                return Ok(());
            }
        }
        Err(fault("too many instructions"))
    }

    /// The memory that the container takes, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.corpus.len() + 8 * (self.starts.len() + 2 * self.instructions[0].len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(starts: &[u64], instructions: &[(i64, u64)]) -> RepContainer {
        RepContainer {
            corpus: b"abcdefgh".to_vec(),
            starts: starts.to_vec(),
            instructions: [
                instructions.iter().map(|&(offset, _)| offset as u64).collect(),
                instructions.iter().map(|&(_, count)| count).collect(),
            ],
        }
    }

    #[test]
    fn ranges_of_texts() {
        // The second text runs the instructions of the first between its own.
        let texts = container(&[0, 0, 3, 5], &[(0, 2), (4, 3), (1, 1), (7, 1), (-1, 2)]);
        let read = |text, offset, length| {
            let bytes = texts.read(text, offset, length).expect("a text");
            String::from_utf8(bytes).expect("letters")
        };
        assert_eq!(
            (read(0, 0, 9), read(1, 0, 9), read(2, 0, 9)),
            ("".into(), "abefgb".into(), "hefgb".into())
        );
        for (offset, length, expect) in [
            (1, 3, "bef"),
            (2, 1, "e"),
            (5, 9, "b"),
            (6, 9, ""),
            (99, 1, ""),
            (0, 0, ""),
        ] {
            assert_eq!(read(1, offset, length), expect);
        }
        assert_eq!(
            texts.read(3, 0, 1).map_err(|e| e.code()),
            Err(Code::FS_CONTAINER_INDEX)
        );
    }

    #[test]
    fn instructions_that_lead_nowhere_are_refused() {
        for instructions in [
            [(0, 9), (0, 1)],
            [(i64::MAX, 1), (0, 1)],
            [(-1, 1), (-1, 1)],
            [(-1, 2), (-1, 0)],
            [(-2, 1), (0, 1)],
            [(i64::MIN, u64::MAX), (0, 1)],
        ] {
            let texts = container(&[0, 2], &instructions);
            assert!(texts.read(0, 0, 100).is_err(), "{instructions:?}");
        }
        assert!(container(&[0, 0], &[]).read(0, u64::MAX, 1).is_err());
        // A tree of instructions that makes no byte.
        let empty: Vec<_> = (1..40).map(|at| (-at, 2)).chain([(0, 0), (0, 0)]).collect();
        assert!(container(&[0, 41], &empty).read(0, 0, 1).is_err());
    }
}
