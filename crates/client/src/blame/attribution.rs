//! The revision of each line of a text, while the text changes.

use diff::{DiffOptions, NumberedText};

/// The revision of each line. Revisions are indexes into a list of the caller; `None` is a revision that does not count.
#[derive(Clone, Debug)]
pub struct Attribution {
    spans: Vec<Span>,
    lines: NumberedText,
    /// The first revision.
    first: Option<Option<u32>>,
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
    /// Returns the attribution of an empty text. `options` say which differences of lines count.
    pub fn new(options: DiffOptions) -> Attribution {
        Attribution {
            spans: Vec::new(),
            lines: NumberedText::new(options),
            first: None,
        }
    }

    /// Follows a change of the text in a revision.
    pub fn advance(&mut self, old: &[u8], new: &[u8], rev: Option<u32>) {
        self.first.get_or_insert(rev);
        let changes = self.lines.advance(old, new);
        if changes.is_empty() {
            return;
        }
        let mut builder = SpanBuilder::new(std::mem::take(&mut self.spans));
        for change in &changes {
            builder.keep_to(change.old.start);
            builder.replace(change.old.len(), change.new.len(), rev);
        }
        self.spans = builder.finish();
    }

    /// Returns the revisions, line by line. After the end of the text comes the first revision, without end: as in the incumbent, lines
    /// that only another text has are of that one.
    pub fn finish(mut self) -> Vec<Span> {
        self.spans.push(Span {
            lines: usize::MAX,
            rev: self.first.flatten(),
        });
        self.spans
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
            let (mut text, mut plain) = (Vec::new(), Vec::new());
            let mut kept = Attribution::new(options);
            for rev in 0..40u32 {
                let mut new = text.clone();
                let start = random.random_range(0..=new.len());
                let end = random.random_range(start..=new.len().min(start + 60));
                let come: Vec<u8> = (0..random.random_range(0..80))
                    .map(|_| b"ab \n\n\r"[random.random_range(0..6)])
                    .collect();
                new.splice(start..end, come);
                advance_plainly(&mut plain, &text, &new, &options, rev);
                kept.advance(&text, &new, Some(rev));
                let all: Vec<u32> = kept
                    .spans
                    .iter()
                    .flat_map(|span| vec![span.rev.expect("a revision"); span.lines])
                    .collect();
                assert_eq!(all, plain, "seed {seed}, revision {rev}");
                text = new;
            }
        }
    }
}
