//! Texts as lines, and lines as numbers.
//!
//! A line ends with `\n`, `\r\n` or `\r`, which belongs to it. Equal lines get equal numbers, where the options
//! define "equal"; everything after that compares numbers only.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::options::{DiffOptions, Whitespace};

/// Two texts as lines and as numbers.
pub struct Lines<'t> {
    /// The lines of the old text.
    pub old: Vec<&'t [u8]>,
    /// The lines of the new text.
    pub new: Vec<&'t [u8]>,
    /// A number for each line of the old text.
    pub old_ids: Vec<u32>,
    /// A number for each line of the new text.
    pub new_ids: Vec<u32>,
}

impl<'t> Lines<'t> {
    /// Splits both texts.
    pub fn new(old: &'t [u8], new: &'t [u8], options: &DiffOptions) -> Self {
        let (old, new) = (split(old), split(new));
        let mut known: HashMap<Cow<'t, [u8]>, u32> = HashMap::with_capacity(old.len());
        let mut ids = |lines: &[&'t [u8]]| -> Vec<u32> {
            let number = |line: &&'t [u8]| {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(compared_part(line, options)).or_insert(next)
            };
            lines.iter().map(number).collect()
        };
        let (old_ids, new_ids) = (ids(&old), ids(&new));
        Lines {
            old,
            new,
            old_ids,
            new_ids,
        }
    }
}

/// Splits a text into its lines, ends included.
pub fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_at(line_len(rest));
        lines.push(line);
        rest = after;
    }
    lines
}

/// Returns the length of the first line with its end.
pub(crate) fn line_len(text: &[u8]) -> usize {
    match memchr::memchr2(b'\n', b'\r', text) {
        None => text.len(),
        Some(at) if text[at..].starts_with(b"\r\n") => at + 2,
        Some(at) => at + 1,
    }
}

/// Returns the length of a line without its end.
pub(crate) fn content_len(line: &[u8]) -> usize {
    match line {
        [.., b'\r', b'\n'] => line.len() - 2,
        [.., b'\r' | b'\n'] => line.len() - 1,
        _ => line.len(),
    }
}

/// Returns the part of a line that is compared.
pub(crate) fn compared_part<'t>(line: &'t [u8], options: &DiffOptions) -> Cow<'t, [u8]> {
    if options.whitespace == Whitespace::Counts && !options.ignore_eol_style {
        return Cow::Borrowed(line);
    }
    let (content, end) = line.split_at(content_len(line));
    let mut kept = Vec::with_capacity(line.len());
    for &byte in content {
        match (is_space(byte), options.whitespace) {
            (false, _) | (true, Whitespace::Counts) => kept.push(byte),
            (true, Whitespace::AmountIgnored) if kept.last() != Some(&b' ') => kept.push(b' '),
            (true, _) => {}
        }
    }
    match end {
        [] => {}
        _ if options.ignore_eol_style => kept.push(b'\n'),
        _ => kept.extend_from_slice(end),
    }
    Cow::Owned(kept)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0b' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_end_ends_a_line() {
        assert_eq!(split(b"a\nb\r\nc\rd"), [&b"a\n"[..], b"b\r\n", b"c\r", b"d"]);
        assert!(split(b"").is_empty());
    }

    #[test]
    fn options_say_what_counts() {
        let same = |a: &[u8], b: &[u8], words: &str| {
            let options = DiffOptions::parse(words.split_whitespace()).expect("good options");
            compared_part(a, &options) == compared_part(b, &options)
        };
        assert!(same(b"a \t b\n", b"a b\n", "-b") && !same(b"ab\n", b"a b\n", "-b"));
        assert!(!same(b"a \n", b"a\n", "-b") && same(b"a \n", b"a\n", "-w"));
        assert!(!same(b"a\r\n", b"a\n", "-w") && same(b"a\r\n", b"a\r", "--ignore-eol-style"));
        assert!(!same(b"a", b"a\n", "-w --ignore-eol-style"));
    }
}
