//! Reading a mergeinfo value, with the incumbent's leniencies and its messages.
//!
//! A line ends at a newline; its last colon ends the path, so a path may have colons and even spaces. White space
//! may precede the first revision. A comma may precede a newline, but not the end of the value.

use std::collections::HashSet;

use super::{Mergeinfo, Range, Rangelist, Source};
use crate::error::{Error, Result};
use crate::error_codes::Code;
use crate::revnum::Revnum;

pub(super) fn mergeinfo(text: &[u8]) -> Result<Mergeinfo> {
    lines(text).map(merged)
}

/// Reads a value, and returns its sources also in the order of their first lines.
pub(super) fn with_order(text: &[u8]) -> Result<(Mergeinfo, Vec<Source>)> {
    let lines = lines(text)?;
    let mut order: Vec<Source> = Vec::with_capacity(lines.len());
    let mut seen = HashSet::with_capacity(lines.len());
    for (source, _) in &lines {
        if seen.insert(source.clone()) {
            order.push(source.clone());
        }
    }
    Ok((merged(lines), order))
}

/// Reads the lines of a value.
fn lines(text: &[u8]) -> Result<Vec<(Source, Rangelist)>> {
    // The incumbent's parser takes a C string.
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| bad("Mergeinfo is not in UTF-8"))?;
    let mut lines: Vec<(Source, Rangelist)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let colon = line
            .rfind(':')
            .ok_or_else(|| bad("Pathname not terminated by ':'"))?;
        let path = &line[..colon];
        let mut revisions = Cursor(&rest[colon + 1..]);
        let ranges = rangelist(&mut revisions)?;
        if ranges.is_empty() {
            let source = Source::new(path);
            return Err(bad(format!(
                "Mergeinfo for '{source}' maps to an empty revision range"
            )));
        }
        lines.push((Source::new(path), join(ranges)?));
        rest = revisions.0;
    }
    Ok(lines)
}

fn merged(mut lines: Vec<(Source, Rangelist)>) -> Mergeinfo {
    // A stable sort, and neighbours merged: one pass, however many lines name the same source.
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    let mut merged: Vec<(Source, Rangelist)> = Vec::with_capacity(lines.len());
    for (source, ranges) in lines {
        match merged.last_mut() {
            Some(last) if last.0 == source => last.1 = last.1.merge(&ranges),
            _ => merged.push((source, ranges)),
        }
    }
    Mergeinfo(merged)
}

/// What is left of the value; messages quote all of it, other lines too.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.0.strip_prefix(wanted) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// A revision number: at most ten digits and 2^31 - 1, no sign.
    fn revnum(&mut self) -> Result<Revnum> {
        let quoted = |what: &str| Error::new(Code::REVNUM_PARSE_FAILURE, format!("{what} '{}'", self.0));
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        if self.0.starts_with('-') {
            return Err(quoted("Negative revision number found parsing"));
        }
        if digits == 0 {
            return Err(quoted("Invalid revision number found parsing"));
        }
        if digits > 10 {
            return Err(quoted("Revision number longer than 10 digits"));
        }
        let rev = Revnum::parse(&self.0.as_bytes()[..digits])
            .filter(|rev| rev.0 <= MAX)
            .ok_or_else(|| quoted("Revision number too large"))?;
        self.0 = &self.0[digits..];
        Ok(rev)
    }
}

/// The ranges of one line in the order given, and the newline.
fn rangelist(input: &mut Cursor<'_>) -> Result<Vec<Range>> {
    let space = |c: char| c.is_ascii_whitespace() && c != '\n' || c == '\x0b';
    let quoted = input.0;
    input.0 = input.0.trim_start_matches(space);
    let mut ranges = Vec::new();
    loop {
        if input.0.is_empty() && ranges.is_empty() || input.take('\n') {
            return Ok(ranges);
        }
        if input.0.is_empty() {
            return Err(bad("Range list parsing ended before hitting newline"));
        }
        let revnum = |input: &mut Cursor<'_>| {
            let context = || format!("Could not parse mergeinfo string '{quoted}'");
            input
                .revnum()
                .map_err(|e| e.wrap(Code::MERGEINFO_PARSE_ERROR, context()))
        };
        let first = revnum(input)?;
        let Some(start) = first.prev() else {
            // A character that may not follow a number is reported first.
            return Err(match input.peek() {
                None | Some('\n' | ',' | '-' | '*') => bad("Invalid revision number '0' found in range list"),
                Some(other) => bad(format!("Invalid character '{other}' found in revision list")),
            });
        };
        let mut range = Range {
            start,
            end: first,
            inheritable: true,
        };
        let mut kind = "revision list";
        if input.take('-') {
            range.end = revnum(input)?;
            let end = range.end;
            if first > end {
                return Err(bad(format!(
                    "Unable to parse reversed revision range '{first}-{end}'"
                )));
            }
            if first == end {
                return Err(bad(format!(
                    "Unable to parse revision range '{first}-{end}' with same start and end revisions"
                )));
            }
            kind = "range list";
        }
        if input.take('*') {
            range.inheritable = false;
            kind = "range list";
        }
        ranges.push(range);
        match input.peek() {
            None => return Ok(ranges),
            Some('\n') => {}
            Some(',') => {
                input.take(',');
            }
            Some(other) => return Err(bad(format!("Invalid character '{other}' found in {kind}"))),
        }
    }
}

/// Sorts and joins.
fn join(mut ranges: Vec<Range>) -> Result<Rangelist> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end && range.inheritable != last.inheritable => {
                return Err(bad(format!(
                    "Unable to parse overlapping revision ranges '{last}' and '{range}' with different inheritance types"
                )));
            }
            Some(last) if range.start <= last.end && range.inheritable == last.inheritable => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    let mut list = Rangelist::new();
    joined.into_iter().for_each(|range| list.push(range));
    Ok(list)
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Code::MERGEINFO_PARSE_ERROR, message)
}

/// The largest revision number that Subversion reads.
const MAX: u64 = 0x7fff_ffff;
