//! Differences in the unified form.

use std::io::Write as _;

use crate::changes::{Change, changes_while};
use crate::lines::{Lines, content_len};
use crate::options::DiffOptions;

/// The marks of hunks.
pub(crate) struct Style {
    /// The text before and after a hunk's ranges.
    pub mark: &'static str,
    /// The line printed after a last line without an end.
    pub no_end: &'static str,
}

const TEXT: Style = Style {
    mark: "@@",
    no_end: "\n\\ No newline at end of file\n",
};

/// The texts after `---` and `+++`.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// The old text.
    pub old: &'a [u8],
    /// The new text.
    pub new: &'a [u8],
}

/// Prints the difference between two texts; nothing at all if none counts.
pub fn unified(old: &[u8], new: &[u8], labels: Labels<'_>, options: &DiffOptions) -> Vec<u8> {
    unified_while(old, new, labels, options, &|| true).unwrap_or_default()
}

/// As [`unified`]; `None` as soon as `go_on`, which is called at intervals, returns false.
pub fn unified_while(
    old: &[u8],
    new: &[u8],
    labels: Labels<'_>,
    options: &DiffOptions,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let hunks = hunks_while(old, new, options, go_on)?;
    if hunks.is_empty() {
        return Some(out);
    }
    for (mark, label) in [(b"--- ", labels.old), (b"+++ ", labels.new)] {
        out.extend_from_slice(mark);
        out.extend_from_slice(label);
        out.push(b'\n');
    }
    out.extend_from_slice(&hunks);
    Some(out)
}

/// As [`unified_while`], without the labels.
pub fn hunks_while(
    old: &[u8],
    new: &[u8],
    options: &DiffOptions,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<u8>> {
    styled_hunks_while(old, new, options, &TEXT, go_on)
}

/// As [`hunks_while`], with the marks of a style.
pub(crate) fn styled_hunks_while(
    old: &[u8],
    new: &[u8],
    options: &DiffOptions,
    style: &Style,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    if old == new {
        return Some(out);
    }
    let lines = Lines::new(old, new, options);
    let changes = changes_while(&lines, go_on)?;
    let mut rest = &changes[..];
    let mut function = Function::default();
    while let Some(first) = rest.first() {
        let mut count = 1;
        while rest
            .get(count)
            .is_some_and(|next| next.old.start - rest[count - 1].old.end < options.context.saturating_mul(2))
        {
            count += 1;
        }
        let (together, after) = rest.split_at(count);
        let name = options
            .show_c_function
            .then(|| function.before(&lines, &changes, first.old.start.saturating_sub(options.context)));
        hunk(&mut out, &lines, together, options.context, name.flatten(), style);
        rest = after;
    }
    Some(out)
}

fn hunk(
    out: &mut Vec<u8>,
    lines: &Lines<'_>,
    changes: &[Change],
    context: usize,
    function: Option<&[u8]>,
    style: &Style,
) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let lead = context.min(first.old.start);
    let trail = context.min(lines.old.len() - last.old.end);
    let old = first.old.start - lead..last.old.end + trail;
    let new = first.new.start - lead..last.new.end + trail;
    // Writing to a vector cannot fail.
    let _ = write!(out, "{0} -{1} +{2} {0}", style.mark, range(&old), range(&new));
    if let Some(name) = function {
        out.push(b' ');
        out.extend_from_slice(name);
    }
    out.push(b'\n');
    let mut at = old.start;
    for change in changes {
        for line in &lines.old[at..change.old.start] {
            print(out, b' ', line, style);
        }
        for line in &lines.old[change.old.clone()] {
            print(out, b'-', line, style);
        }
        for line in &lines.new[change.new.clone()] {
            print(out, b'+', line, style);
        }
        at = change.old.end;
    }
    for line in &lines.old[at..old.end] {
        print(out, b' ', line, style);
    }
}

fn range(lines: &std::ops::Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        n => format!("{},{n}", lines.start + 1),
    }
}

fn print(out: &mut Vec<u8>, mark: u8, line: &[u8], style: &Style) {
    out.push(mark);
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") && !line.ends_with(b"\r") {
        out.extend_from_slice(style.no_end.as_bytes());
    }
}

/// Finds the last line, of those in both texts, that looks like the head of a function.
#[derive(Default)]
struct Function<'t> {
    /// Lines read so far.
    seen: usize,
    name: Option<&'t [u8]>,
}

impl<'t> Function<'t> {
    /// Continues to the old text's line `end` (not included); `done` are the changes before it.
    fn before(&mut self, lines: &Lines<'t>, done: &[Change], end: usize) -> Option<&'t [u8]> {
        let mut gone = done[done.partition_point(|change| change.old.end <= self.seen)..].iter();
        let mut next = gone.next();
        let mut at = self.seen;
        while at < end {
            match next {
                Some(change) if change.old.start <= at => {
                    at = at.max(change.old.end);
                    next = gone.next();
                    continue;
                }
                _ => {}
            }
            if is_function(lines.old[at]) {
                self.name = Some(shortened(lines.old[at]));
            }
            at += 1;
        }
        self.seen = self.seen.max(end);
        self.name
    }
}

fn is_function(line: &[u8]) -> bool {
    let starts = line
        .first()
        .is_some_and(|b| b.is_ascii_alphabetic() || b"_$".contains(b));
    starts && !LABELS.iter().any(|label| line.starts_with(label))
}

fn shortened(line: &[u8]) -> &[u8] {
    let content = &line[..content_len(line)];
    let cut = &content[..content.len().min(FUNCTION_LENGTH)];
    // Does not cut a character.
    let cut = &cut[..std::str::from_utf8(cut).map_or_else(|e| e.valid_up_to(), str::len)];
    let end = cut.iter().rposition(|b| !b.is_ascii_whitespace());
    &cut[..end.map_or(0, |at| at + 1)]
}

/// Bytes of a function's head that are shown.
const FUNCTION_LENGTH: usize = 50;
/// Lines that begin like a name but are not a function's head.
const LABELS: [&[u8]; 3] = [b"public:", b"private:", b"protected:"];
