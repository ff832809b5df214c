//! The dialect itself: bytes in, events out.
//!
//! [`parse`] walks the text line by line and tells a [`Listener`] which section begins and which value it read,
//! in the order of the file and as soon as it knows: a listener's refusal therefore comes before a
//! mistake further down, as with the incumbent. Names and values are handed over trimmed, continuation lines
//! joined, but not expanded ([`super::Ini`] expands).
//!
//! Line numbers are true ones. (The incumbent forgets to count the lines of section headers, so that its number
//! is often too small; its texts are kept.)

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// Hears what [`parse`] reads.
pub trait Listener {
    /// The line, from 1, on which what is told next begins.
    fn line(&mut self, _number: u64) {}
    /// A section header. The same section may be opened again.
    fn section(&mut self, name: &[u8]) -> Result<()>;
    /// A value of the section opened last.
    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()>;
}

/// Reads `text`, telling `listener`.
///
/// # Errors
/// `MALFORMED_FILE` with `line N: …`, or what the listener returns.
pub fn parse(text: &[u8], listener: &mut dyn Listener) -> Result<()> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = Lines {
        rest: text,
        number: 0,
    };
    let mut in_section = false;
    while let Some(line) = lines.next() {
        match classify(line) {
            Lead::Nothing | Lead::Comment => {}
            Lead::Section(rest) => {
                let end = rest.iter().position(|b| matches!(b, b']' | 0));
                listener.line(lines.number);
                match end {
                    Some(end) if rest[end] == b']' => listener.section(&rest[..end])?,
                    _ => return Err(lines.malformed("Section header must end with ']'")),
                }
                in_section = true;
            }
            Lead::Indented(b'[') => {
                return Err(lines.malformed("Section header must start in the first column"));
            }
            Lead::Indented(b'#') => return Err(lines.malformed("Comment must start in the first column")),
            Lead::Indented(_) | Lead::Option(_) if !in_section => {
                return Err(lines.malformed("Section header expected"));
            }
            Lead::Indented(_) => return Err(lines.malformed("Option expected")),
            Lead::Option(line) => {
                let end = line.iter().position(|b| matches!(b, b'=' | b':' | 0));
                let (name, first) = match end {
                    Some(end) if line[end] != 0 => (trim_end(&line[..end]), &line[end + 1..]),
                    _ => return Err(lines.malformed("Option must end with ':' or '='")),
                };
                listener.line(lines.number);
                let value = lines.continued(trim(first));
                let value = value.split(|b| *b == 0).next().unwrap_or_default();
                listener.option(name, value)?;
            }
        }
    }
    Ok(())
}

/// What the beginning of a line says about it.
enum Lead<'a> {
    /// A blank line.
    Nothing,
    Comment,
    /// A section header, behind its bracket.
    Section(&'a [u8]),
    /// White space, then this byte.
    Indented(u8),
    Option(&'a [u8]),
}

fn classify(line: &[u8]) -> Lead<'_> {
    match line.first() {
        None => Lead::Nothing,
        Some(b'#') => Lead::Comment,
        Some(b'[') => Lead::Section(&line[1..]),
        Some(b) if is_space(*b) => match line.iter().find(|b| !is_space(**b)) {
            None => Lead::Nothing,
            Some(b) => Lead::Indented(*b),
        },
        Some(_) => Lead::Option(line),
    }
}

struct Lines<'a> {
    rest: &'a [u8],
    /// Of the line returned last, from 1.
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
