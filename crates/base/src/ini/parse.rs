//! The syntax itself: bytes in, events out.
//!
//! [`parse`] walks the text line by line and passes each section header and each value to an [`IniVisitor`], in the
//! order of the file and at once: an error of the visitor therefore precedes a syntax error further down, as in the
//! incumbent. Names and values are trimmed, continuation lines are joined, but not expanded ([`super::Ini`] expands).
//!
//! Line numbers are correct. (The incumbent does not count the lines of section headers, so that its number is often
//! too small; its texts are kept.)

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// Receives the events of [`parse`].
pub trait IniVisitor {
    /// The line, counted from 1, on which the next event begins.
    fn line(&mut self, _number: u64) {}
    /// A section header. A section may occur more than once.
    fn section(&mut self, name: &[u8]) -> Result<()>;
    /// A value of the section that was opened last.
    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()>;
}

/// Reads `text`, telling `visitor`.
///
/// # Errors
/// `MALFORMED_FILE` with `line N: …`, or what the visitor returns.
pub fn parse(text: &[u8], visitor: &mut dyn IniVisitor) -> Result<()> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = Lines {
        rest: text,
        number: 0,
    };
    let mut in_section = false;
    while let Some(line) = lines.next() {
        match classify(line) {
            LineStart::Nothing | LineStart::Comment => {}
            LineStart::Section(rest) => {
                let end = rest.iter().position(|b| matches!(b, b']' | 0));
                visitor.line(lines.number);
                match end {
                    Some(end) if rest[end] == b']' => visitor.section(&rest[..end])?,
                    _ => return Err(lines.malformed("Section header must end with ']'")),
                }
                in_section = true;
            }
            LineStart::Indented(b'[') => {
                return Err(lines.malformed("Section header must start in the first column"));
            }
            LineStart::Indented(b'#') => {
                return Err(lines.malformed("Comment must start in the first column"));
            }
            LineStart::Indented(_) | LineStart::Option(_) if !in_section => {
                return Err(lines.malformed("Section header expected"));
            }
            LineStart::Indented(_) => return Err(lines.malformed("Option expected")),
            LineStart::Option(line) => {
                let end = line.iter().position(|b| matches!(b, b'=' | b':' | 0));
                let (name, first) = match end {
                    Some(end) if line[end] != 0 => (trim_end(&line[..end]), &line[end + 1..]),
                    _ => return Err(lines.malformed("Option must end with ':' or '='")),
                };
                visitor.line(lines.number);
                let value = lines.continued(trim(first));
                let value = value.split(|b| *b == 0).next().unwrap_or_default();
                visitor.option(name, value)?;
            }
        }
    }
    Ok(())
}

/// What the beginning of a line makes of it.
enum LineStart<'a> {
    /// A blank line.
    Nothing,
    Comment,
    /// A section header, after its bracket.
    Section(&'a [u8]),
    /// White space, then this byte.
    Indented(u8),
    Option(&'a [u8]),
}

fn classify(line: &[u8]) -> LineStart<'_> {
    match line.first() {
        None => LineStart::Nothing,
        Some(b'#') => LineStart::Comment,
        Some(b'[') => LineStart::Section(&line[1..]),
        Some(b) if is_space(*b) => match line.iter().find(|b| !is_space(**b)) {
            None => LineStart::Nothing,
            Some(b) => LineStart::Indented(*b),
        },
        Some(_) => LineStart::Option(line),
    }
}

struct Lines<'a> {
    rest: &'a [u8],
    /// The line that was returned last, from 1.
    number: u64,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        self.number += 1;
        // CRs in the first column do not count as white space: `\r[x]` is a header, `\r\n` is blank.
        let text = line.iter().position(|b| *b != b'\r').unwrap_or(line.len());
        Some(&line[text..])
    }

    /// Takes the lines that continue a value which began with `first`.
    fn continued(&mut self, first: &'a [u8]) -> Cow<'a, [u8]> {
        let mut value = Cow::Borrowed(first);
        loop {
            let mut ahead = Lines { ..*self };
            let Some(line) = ahead.next() else {
                return value;
            };
            if !line.first().is_some_and(|b| is_space(*b)) {
                return value;
            }
            *self = ahead;
            let more = trim(line);
            if more.is_empty() {
                return value;
            }
            let value = value.to_mut();
            value.push(b' ');
            value.extend_from_slice(more);
        }
    }

    fn malformed(&self, what: &str) -> Error {
        Error::new(Code::MALFORMED_FILE, format!("line {}: {what}", self.number))
    }
}

/// White space in the sense of C's `isspace`.
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// `bytes` without white space at both ends.
pub fn trim(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|b| !is_space(*b)).unwrap_or(bytes.len());
    trim_end(&bytes[start..])
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| !is_space(*b)).map_or(0, |at| at + 1);
    &bytes[..end]
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
