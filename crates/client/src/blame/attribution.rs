//! The revision of each line of a text, while the text changes.

use std::ops::Range;

use diff::{DiffOptions, TextChanges, changes_of_texts};

/// The revision of each line. Revisions are indexes into a list of the caller; `None` is a revision that does not count.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    spans: Vec<Span>,
    places: LinePlaces,
}

/// Successive lines of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How many lines.
    pub lines: usize,
    /// Their revision.
    pub rev: Option<u32>,
}

impl Attribution {
    /// Follows a change of the text in a revision.
    pub fn advance(&mut self, old: &[u8], new: &[u8], options: &DiffOptions, rev: Option<u32>) {
        let found = changes_of_texts(old, new, options);
        let first = self.places.lines_before(old, found.old.start);
        self.places.replace(first, &found);
        if found.changes.is_empty() {
            return;
        }
        let mut builder = SpanBuilder::new(std::mem::take(&mut self.spans));
        for change in &found.changes {
            builder.keep_to(first + change.old.start);
            builder.replace(change.old.len(), change.new.len(), rev);
        }
        self.spans = builder.finish();
    }

    /// The revisions, line by line.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}

/// Builds a list of spans from another one, in one pass.
struct SpanBuilder {
    old: std::vec::IntoIter<Span>,
    /// What is left of the old span that is being read.
    rest: Option<Span>,
    /// The lines of the old list that were read.
    passed: usize,
    new: Vec<Span>,
}

impl SpanBuilder {
    fn new(old: Vec<Span>) -> SpanBuilder {
        SpanBuilder {
            new: Vec::with_capacity(old.len() + 2),
            old: old.into_iter(),
            rest: None,
            passed: 0,
        }
    }

    /// Keeps the lines up to a line of the old list.
    fn keep_to(&mut self, line: usize) {
        while self.passed < line {
            match self.take(line - self.passed) {
                Some(span) => self.push(span),
                None => break,
            }
        }
    }

    fn replace(&mut self, gone: usize, lines: usize, rev: Option<u32>) {
        let end = self.passed + gone;
        while self.passed < end && self.take(end - self.passed).is_some() {}
        if lines > 0 {
            self.push(Span { lines, rev });
        }
    }

    /// Takes lines of one revision, at most so many.
    fn take(&mut self, most: usize) -> Option<Span> {
        let span = self.rest.take().or_else(|| self.old.next())?;
        let lines = span.lines.min(most);
        if lines < span.lines {
            self.rest = Some(Span {
                lines: span.lines - lines,
                ..span
            });
        }
        self.passed += lines;
        Some(Span { lines, ..span })
    }

    fn push(&mut self, span: Span) {
        match self.new.last_mut() {
            Some(last) if last.rev == span.rev => last.lines += span.lines,
            _ => self.new.push(span),
        }
    }

    fn finish(mut self) -> Vec<Span> {
        if let Some(rest) = self.rest.take() {
            self.push(rest);
        }
        // Only the first of the others can belong to the last span.
        if let Some(next) = self.old.next() {
            self.push(next);
        }
        self.new.extend(self.old);
        self.new
    }
}

/// Line numbers of some bytes of a text, so that lines need not be counted from its beginning. They outlive changes.
#[derive(Clone, Debug, Default)]
struct LinePlaces {
    marks: Vec<Mark>,
}

/// A byte at which a line starts, and the number of lines before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    byte: usize,
    lines: usize,
}

impl LinePlaces {
    /// Returns the number of lines before a byte at which a line starts.
    fn lines_before(&mut self, text: &[u8], byte: usize) -> usize {
        let next = self.marks.partition_point(|mark| mark.byte <= byte);
        let mut at = match next {
            0 => Mark { byte: 0, lines: 0 },
            next => self.marks[next - 1],
        };
        let mut found = Vec::new();
        let mut last = at.byte;
        while at.byte < byte {
            at.byte += line_len(&text[at.byte..byte]);
            at.lines += 1;
            if at.byte - last >= MARK_BYTES {
                last = at.byte;
                found.push(at);
            }
        }
        self.marks.splice(next..next, found);
        at.lines
    }

    /// Follows a change of the text. `first` is the number of lines before what was compared.
    fn replace(&mut self, first: usize, change: &TextChanges) {
        let Range { start, end } = change.old;
        self.marks.retain_mut(|mark| {
            if mark.byte >= end && mark.byte > start {
                mark.byte = mark.byte - end + change.new.end;
                mark.lines = mark.lines - change.old_lines + change.new_lines;
                debug_assert!(mark.lines >= first);
                return true;
            }
            mark.byte <= start
        });
    }
}

/// Returns the length of the first line with its end.
fn line_len(text: &[u8]) -> usize {
    match memchr::memchr2(b'\n', b'\r', text) {
        None => text.len(),
        Some(at) if text[at..].starts_with(b"\r\n") => at + 2,
        Some(at) => at + 1,
    }
}

/// The distance of marks.
const MARK_BYTES: usize = if cfg!(test) { 16 } else { 16 << 10 };

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// As [`Attribution`], from whole texts.
    fn advance_plainly(lines: &mut Vec<u32>, old: &[u8], new: &[u8], options: &DiffOptions, rev: u32) {
        let found = diff::changes(&diff::Lines::new(old, new, options));
        for change in found.into_iter().rev() {
            lines.splice(change.old, vec![rev; change.new.len()]);
        }
    }

    #[test]
    fn changes_of_parts_have_the_effect_of_changes_of_wholes() {
        for seed in 0..200 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let words = ["", "-w", "--ignore-eol-style"][random.random_range(0..3)];
            let options = DiffOptions::parse(words.split_whitespace()).expect("good options");
            let (mut text, mut plain, mut kept) = (Vec::new(), Vec::new(), Attribution::default());
            for rev in 0..40u32 {
                let mut new = text.clone();
                let start = random.random_range(0..=new.len());
                let end = random.random_range(start..=new.len().min(start + 60));
                let come: Vec<u8> = (0..random.random_range(0..80))
                    .map(|_| b"ab \n\n\r"[random.random_range(0..6)])
                    .collect();
                new.splice(start..end, come);
                advance_plainly(&mut plain, &text, &new, &options, rev);
                kept.advance(&text, &new, &options, Some(rev));
                let all: Vec<u32> = kept
                    .spans()
                    .iter()
                    .flat_map(|span| vec![span.rev.expect("a revision"); span.lines])
                    .collect();
                assert_eq!(all, plain, "seed {seed}, revision {rev}");
                text = new;
            }
        }
    }
}
