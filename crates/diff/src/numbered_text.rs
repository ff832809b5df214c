//! A text that changes step by step, as numbers of its lines.
//!
//! [`changes()`](crate::changes()) splits and numbers all lines of both texts. Between two revisions of a file, few of them changed, and
//! the lines of the older one are known from the step before. So a [`NumberedText`] keeps the places and the numbers of the lines, and
//! each step looks at those that changed:
//!
//! - What the comparison sets aside at both ends depends on bytes alone. It is found before the text is split.
//! - In between, a line of the new text that stands where it is expected has the number of the old line. Only the other lines are
//!   searched for their end and in the table of numbers.
//!
//! The changes are those of [`changes()`](crate::changes()) for both whole texts.

use std::collections::HashMap;
use std::ops::Range;

use base::{common_prefix, common_suffix};

use crate::changes::{Change, KEPT, changes_of_numbers};
use crate::lines::{compared_part, line_len};
use crate::options::DiffOptions;

/// The lines of a text, while the text changes. Starts with the empty text.
#[derive(Clone, Debug)]
pub struct NumberedText {
    options: DiffOptions,
    /// The byte at which each line starts.
    starts: Vec<usize>,
    /// The number of each line. Lines that the options call equal have equal numbers.
    numbers: Vec<u32>,
    known: KnownLines,
}

impl NumberedText {
    /// Returns the empty text. `options` say which lines are equal.
    pub fn new(options: DiffOptions) -> NumberedText {
        NumberedText {
            options,
            starts: Vec::new(),
            numbers: Vec::new(),
            known: KnownLines::default(),
        }
    }

    /// Follows a change of the text from `old`, which is the text of the step before, to `new`. Returns the changed lines.
    pub fn advance(&mut self, old: &[u8], new: &[u8]) -> Vec<Change> {
        if old == new {
            return Vec::new();
        }
        let head = equal_head(old, new);
        let (old_len, new_len) = unequal_part(&old[head..], &new[head..]);
        let (old_end, new_end) = (head + old_len, head + new_len);
        let first = self.starts.partition_point(|start| *start < head);
        let last = self.starts.partition_point(|start| *start < old_end);
        let (starts, numbers) = self.number(old, first..last, new, head..new_end);
        let mut changes = changes_of_numbers(&self.numbers[first..last], &numbers);
        for change in &mut changes {
            change.shift(first);
        }
        let added = starts.len();
        self.starts.splice(first..last, starts);
        self.numbers.splice(first..last, numbers);
        for start in &mut self.starts[first + added..] {
            *start = *start - old_end + new_end;
        }
        self.forget_old_lines(new);
        changes
    }

    /// Returns the starts and the numbers of the lines in some bytes of the new text. `lines` are the lines of the old text that they are
    /// compared with.
    fn number(
        &mut self,
        old: &[u8],
        lines: Range<usize>,
        new: &[u8],
        bytes: Range<usize>,
    ) -> (Vec<usize>, Vec<u32>) {
        let mut starts = Vec::with_capacity(lines.len() + 8);
        let mut numbers = Vec::with_capacity(lines.len() + 8);
        let mut expected = lines.start;
        let mut at = bytes.start;
        while at < bytes.end {
            starts.push(at);
            if expected < lines.end
                && let Some(len) = self.line_stands_at(old, expected, &new[at..])
            {
                numbers.push(self.numbers[expected]);
                expected += 1;
                at += len;
                continue;
            }
            let len = line_len(&new[at..]);
            let number = self.known.number(&new[at..at + len], &self.options);
            numbers.push(number);
            at += len;
            let near = expected.saturating_sub(NEAR).max(lines.start)..(expected + NEAR).min(lines.end);
            let found = self.numbers[near.clone()].iter().position(|old| *old == number);
            if let Some(found) = found {
                expected = near.start + found + 1;
            }
        }
        (starts, numbers)
    }

    /// Returns the length of a line of the old text, if the new text from some byte on begins with the same line.
    fn line_stands_at(&self, old: &[u8], line: usize, new: &[u8]) -> Option<usize> {
        let end = self.starts.get(line + 1).copied().unwrap_or(old.len());
        let line = &old[self.starts[line]..end];
        let rest = new.strip_prefix(line)?;
        let is_whole = match line.last() {
            Some(b'\n') => true,
            Some(b'\r') => rest.first() != Some(&b'\n'),
            _ => rest.is_empty(),
        };
        is_whole.then_some(line.len())
    }

    /// Numbers the lines of the text from 0, once most of the known lines are lines of earlier texts.
    fn forget_old_lines(&mut self, text: &[u8]) {
        let is_large = self.known.numbers.len() > 2 * self.starts.len() + FEW_LINES;
        if !is_large && self.known.bytes <= 2 * text.len() + FEW_BYTES {
            return;
        }
        self.known = KnownLines::default();
        let ends = self.starts.iter().skip(1).copied().chain([text.len()]);
        let lines = self
            .starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| &text[start..end]);
        self.numbers.clear();
        self.numbers
            .extend(lines.map(|line| self.known.number(line, &self.options)));
    }
}

/// The numbers of lines.
#[derive(Clone, Debug, Default)]
struct KnownLines {
    numbers: HashMap<Box<[u8]>, u32>,
    /// The bytes of all keys.
    bytes: usize,
}

impl KnownLines {
    fn number(&mut self, line: &[u8], options: &DiffOptions) -> u32 {
        let key = compared_part(line, options);
        if let Some(number) = self.numbers.get(&*key) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.bytes += key.len();
        self.numbers.insert(key.into(), number);
        number
    }
}

/// How far from where it is expected a line is searched.
const NEAR: usize = 64;
/// Fewer known lines and bytes of known lines are never forgotten. Tests forget all the time.
const FEW_LINES: usize = if cfg!(test) { 4 } else { 1 << 12 };
const FEW_BYTES: usize = if cfg!(test) { 64 } else { 1 << 18 };

/// Returns the bytes of the equal lines at the front of two texts that differ.
fn equal_head(old: &[u8], new: &[u8]) -> usize {
    let same = common_prefix(old, new);
    let is_end = |at: &usize| is_line_start(old, *at) && is_line_start(new, *at);
    (0..=same).rev().find(is_end).unwrap_or(0)
}

/// Returns the lengths of the texts without the equal lines at their ends that need no comparison.
fn unequal_part(old: &[u8], new: &[u8]) -> (usize, usize) {
    let same = common_suffix(old, new);
    let is_start =
        |left: &usize| is_line_start(old, old.len() - left) && is_line_start(new, new.len() - left);
    let equal = (0..=same).rev().find(is_start).unwrap_or(0);
    // As for `changes`, which compares the last bytes before the equal lines.
    let between_lines = match (old[..old.len() - equal].last(), new[..new.len() - equal].last()) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    };
    let mut rest = &old[old.len() - equal..];
    for _ in 0..KEPT + usize::from(between_lines) {
        rest = &rest[line_len(rest)..];
    }
    (old.len() - rest.len(), new.len() - rest.len())
}

/// True if no line of the text continues over this byte.
fn is_line_start(text: &[u8], at: usize) -> bool {
    match text[..at].last() {
        None | Some(b'\n') => true,
        Some(b'\r') => text.get(at) != Some(&b'\n'),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changes::changes;
    use crate::lines::{Lines, split};

    /// Lines of few kinds, with all ends, the last one perhaps without.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = (0..4u8, 0..6u8).prop_map(|(kind, end)| {
            let content: &[u8] = [&b"a"[..], b" b", b"", b"c  d"][usize::from(kind)];
            let end: &[u8] = [&b"\n"[..], b"\r\n", b"\r", b"\n", b"\n", b"\n"][usize::from(end)];
            [content, end].concat()
        });
        (
            prop::collection::vec(line, 0..140),
            prop::option::of(Just(b"end".to_vec())),
        )
            .prop_map(|(lines, last)| [lines.concat(), last.unwrap_or_default()].concat())
    }

    /// A text and another one with some bytes of it replaced.
    fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        (
            text(),
            text(),
            any::<prop::sample::Index>(),
            0..40usize,
            0..40usize,
        )
            .prop_map(|(old, other, at, gone, come)| {
                let at = at.index(old.len() + 1);
                let gone = gone.min(old.len() - at);
                let come = &other[..come.min(other.len())];
                let new = [&old[..at], come, &old[at + gone..]].concat();
                (old, new)
            })
    }

    /// Compares each step with the comparison of whole texts.
    fn check(texts: &[Vec<u8>], options: &DiffOptions) {
        let mut numbered = NumberedText::new(*options);
        let mut old: &[u8] = b"";
        for new in texts {
            let whole = changes(&Lines::new(old, new, options));
            assert_eq!(numbered.advance(old, new), whole);
            let starts: Vec<usize> = split(new)
                .iter()
                .scan(0, |at, line| {
                    *at += line.len();
                    Some(*at - line.len())
                })
                .collect();
            assert_eq!(numbered.starts, starts);
            old = new;
        }
    }

    fn options(which: usize) -> DiffOptions {
        let words = ["", "-w", "-b --ignore-eol-style"][which];
        DiffOptions::parse(words.split_whitespace()).expect("good options")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn parts_have_the_changes_of_the_whole((old, new) in pair(), which in 0..3usize) {
            check(&[old, new], &options(which));
        }

        #[test]
        fn so_have_texts_with_little_in_common((old, new) in (text(), text())) {
            check(&[old, new], &DiffOptions::default());
        }

        #[test]
        fn steps_have_the_changes_of_whole_texts(
            start in text(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, text(), 0..40usize), 0..12),
            which in 0..3usize,
        ) {
            let mut texts = vec![start];
            for (at, gone, other, come) in edits {
                let old = texts.last().expect("there is a first one");
                let at = at.index(old.len() + 1);
                let gone = gone.min(old.len() - at);
                let new = [&old[..at], &other[..come.min(other.len())], &old[at + gone..]].concat();
                texts.push(new);
            }
            check(&texts, &options(which));
        }
    }
}
