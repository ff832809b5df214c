//! Which lines of long texts changed, without a look at most of the lines that did not.
//!
//! [`changes()`] splits and numbers all lines of both texts. Between two revisions of a file, few of them changed. What that
//! function sets aside at both ends depends on bytes alone, so it can be left out before the texts are split: the result is
//! the same.

use std::ops::Range;

use base::{common_prefix, common_suffix};

use crate::changes::{Change, KEPT, changes};
use crate::lines::Lines;
use crate::options::DiffOptions;

/// The changes from one text to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextChanges {
    /// The bytes of the old text whose lines were compared. Before and after them both texts have the same lines.
    pub old: Range<usize>,
    /// The bytes of the new text whose lines were compared. They start at the same byte as those of the old text.
    pub new: Range<usize>,
    /// The number of lines in [`TextChanges::old`].
    pub old_lines: usize,
    /// The number of lines in [`TextChanges::new`].
    pub new_lines: usize,
    /// The changes, in order. Lines are counted from the first one that was compared.
    pub changes: Vec<Change>,
}

/// Finds the changes. They are those of [`changes()`] for both whole texts.
pub fn changes_of_texts(old: &[u8], new: &[u8], options: &DiffOptions) -> TextChanges {
    if old == new {
        return TextChanges::default();
    }
    let head = equal_head(old, new);
    let kept = unequal_part(&old[head..], &new[head..]);
    let (old_end, new_end) = (head + kept.0, head + kept.1);
    let lines = Lines::new(&old[head..old_end], &new[head..new_end], options);
    TextChanges {
        old: head..old_end,
        new: head..new_end,
        old_lines: lines.old.len(),
        new_lines: lines.new.len(),
        changes: changes(&lines),
    }
}

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
        rest = &rest[first_line(rest)..];
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

/// Returns the length of the first line with its end.
fn first_line(text: &[u8]) -> usize {
    match text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        None => text.len(),
        Some(at) if text[at..].starts_with(b"\r\n") => at + 2,
        Some(at) => at + 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lines::split;

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

    fn check(old: &[u8], new: &[u8], options: &DiffOptions) {
        let whole = changes(&Lines::new(old, new, options));
        let found = changes_of_texts(old, new, options);
        let before = split(&old[..found.old.start]).len();
        let shifted: Vec<Change> = found
            .changes
            .iter()
            .map(|change| Change {
                old: change.old.start + before..change.old.end + before,
                new: change.new.start + before..change.new.end + before,
            })
            .collect();
        assert_eq!(shifted, whole);
        assert_eq!(old[..found.old.start], new[..found.new.start]);
        assert_eq!(old[found.old.end..], new[found.new.end..]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn parts_have_the_changes_of_the_whole((old, new) in pair(), which in 0..3usize) {
            let words = ["", "-w", "-b --ignore-eol-style"][which];
            let options = DiffOptions::parse(words.split_whitespace()).expect("good options");
            check(&old, &new, &options);
        }

        #[test]
        fn so_have_texts_with_little_in_common((old, new) in (text(), text())) {
            check(&old, &new, &DiffOptions::default());
        }
    }
}
