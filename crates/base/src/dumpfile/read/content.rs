//! The content of a record: properties and text.

use std::io::{BufRead, Read as _};

use super::{DumpReader, PropSection, ReadLine, RecordOwner, fill};
use crate::dumpfile::errors::{malformed, premature_end, read_error, too_much, unterminated};
use crate::dumpfile::parse::strict_length;
use crate::{Error, PropChange, Result};

impl<R: BufRead> DumpReader<R> {
    /// The next property of the current record; `None` after the last, and if there are none. A value of `None`
    /// deletes the property.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA`, `INCOMPLETE_DATA`.
    pub fn next_prop(&mut self) -> Result<Option<PropChange>> {
        let Some((name, value)) = self.raw_prop()? else {
            return Ok(None);
        };
        let change = (String::from_utf8(name).map_err(|_| malformed())?, value);
        if self.content.is_bare {
            return Err(malformed());
        }
        Ok(Some(change))
    }

    /// As [`next_prop`](Self::next_prop), with the name as it is written: it need not be UTF-8.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA`, `INCOMPLETE_DATA`.
    pub fn next_raw_prop(&mut self) -> Result<Option<RawPropChange>> {
        let change = self.raw_prop()?;
        if change.is_some() && self.content.is_bare {
            return Err(malformed());
        }
        Ok(change)
    }

    fn raw_prop(&mut self) -> Result<Option<RawPropChange>> {
        let Some(section) = self.content.props else {
            return Ok(None);
        };
        if section.read == section.announced {
            self.end_props(section)?;
            return Ok(None);
        }
        self.prop_line(unterminated)?;
        if self.line == b"PROPS-END" {
            self.end_props(self.content.props.unwrap_or(section))?;
            return Ok(None);
        }
        let change = match self.line.split_at_checked(2) {
            Some((b"K ", length)) => {
                let length = strict_length(length)?;
                let name = self.prop_payload(length)?;
                self.prop_line(premature_end)?;
                let length = self.line.strip_prefix(b"V ").ok_or_else(malformed)?;
                let length = strict_length(length)?;
                (prop_name(name), Some(self.prop_payload(length)?))
            }
            Some((b"D ", length)) if self.content.deletions => {
                let length = strict_length(length)?;
                (prop_name(self.prop_payload(length)?), None)
            }
            _ => return Err(malformed()),
        };
        Ok(Some(change))
    }

    /// True if the property section of the current record was not read to its end, even if it is empty.
    pub fn has_props(&self) -> bool {
        self.content.props.is_some()
    }

    /// Returns the bytes of text that are left; `None` if the record has no text. Skips unread properties.
    ///
    /// # Errors
    /// `INCOMPLETE_DATA`, `STREAM_MALFORMED_DATA`.
    pub fn text_left(&mut self) -> Result<Option<u64>> {
        self.skip_props()?;
        Ok(self.content.text)
    }

    /// Reads a part of the text; 0 at its end. Skips unread properties.
    ///
    /// # Errors
    /// `INCOMPLETE_DATA` if the stream ends before the text does.
    pub fn read_text(&mut self, buf: &mut [u8]) -> Result<usize> {
        self.skip_props()?;
        let Some(left) = self.content.text.filter(|left| *left > 0 && !buf.is_empty()) else {
            return Ok(0);
        };
        let most = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let length = loop {
            match self.input.read(&mut buf[..most]) {
                Ok(length) => break length,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&e)),
            }
        };
        if length == 0 {
            return Err(premature_end());
        }
        self.content.text = Some(left - length as u64);
        Ok(length)
    }

    /// Passes the rest of the text to `write`, in parts. Skips unread properties.
    ///
    /// # Errors
    /// `INCOMPLETE_DATA` if the stream ends before the text does. Only whole units of [`COPY_UNIT`] bytes of what there
    /// was of it have been written then, as the incumbent's tools do. Those of `write`.
    pub fn copy_text(&mut self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.skip_props()?;
        // The beginning of a unit of which the rest was not read yet. All else is written from the reader's buffer.
        let mut unit = Vec::new();
        while let Some(left) = self.content.text.filter(|left| *left > 0) {
            let ahead = fill(&mut self.input)?;
            if ahead.is_empty() {
                return Err(premature_end());
            }
            let length = usize::try_from(left).map_or(ahead.len(), |left| left.min(ahead.len()));
            let is_last = length as u64 == left;
            let mut part = &ahead[..length];
            if !unit.is_empty() {
                let (rest, after) = part.split_at(part.len().min(COPY_UNIT - unit.len()));
                unit.extend_from_slice(rest);
                part = after;
                if is_last || unit.len() == COPY_UNIT {
                    write(&unit)?;
                    unit.clear();
                }
            }
            let tail = if is_last { 0 } else { part.len() % COPY_UNIT };
            let (whole, tail) = part.split_at(part.len() - tail);
            if !whole.is_empty() {
                write(whole)?;
            }
            unit.extend_from_slice(tail);
            self.input.consume(length);
            self.content.text = Some(left - length as u64);
        }
        Ok(())
    }

    /// True if the text of the current record is not svndiff, whatever its headers say: in the oldest streams.
    pub fn is_plain_text(&self) -> bool {
        self.content.old.is_some()
    }

    /// Skips the unread content of the current record. [`next_record`](Self::next_record) does so too.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA` if the sections are longer than the content; those of the other readers.
    pub fn skip_content(&mut self) -> Result<()> {
        self.skip_props()?;
        if self.content.has_no_text && self.content.text.is_some() {
            return Err(malformed());
        }
        let left = self.content.text.take().unwrap_or(0);
        self.skip(left)?;
        let rest = std::mem::take(&mut self.content.rest);
        self.skip(u64::try_from(rest).map_err(|_| too_much())?)
    }

    fn skip_props(&mut self) -> Result<()> {
        while self.next_raw_prop()?.is_some() {}
        Ok(())
    }

    /// Ends the section: in the oldest streams, the rest of the content is the text.
    fn end_props(&mut self, section: PropSection) -> Result<()> {
        self.content.props = None;
        if let Some(old) = self.content.old {
            // A negative length is a huge one for the incumbent: the stream ends before the text.
            let left = section.announced.wrapping_sub(section.read);
            if left > 0 && old.owner != RecordOwner::Node {
                return Err(malformed());
            }
            self.content.text = (left > 0 || old.is_file).then_some(left);
        }
        Ok(())
    }

    /// Counts bytes of the property section.
    fn count(&mut self, length: u64) {
        if let Some(section) = &mut self.content.props {
            section.read = section.read.saturating_add(length);
        }
    }

    /// Reads a line of the property section; `end` is the error if the stream ends before or in it.
    fn prop_line(&mut self, end: fn() -> Error) -> Result<()> {
        match self.read_line(PROP_LINE_LIMIT)? {
            ReadLine::Whole => {
                self.count(self.line.len() as u64 + 1);
                // The incumbent's lines are C strings.
                let length = memchr::memchr(0, &self.line).unwrap_or(self.line.len());
                self.line.truncate(length);
                Ok(())
            }
            ReadLine::TooLong => Err(malformed()),
            ReadLine::Cut | ReadLine::End => Err(end()),
        }
    }

    fn prop_payload(&mut self, length: u64) -> Result<Vec<u8>> {
        // Grows with the bytes that arrive, not with the length that the stream claims.
        let mut payload = Vec::new();
        let mut input = self.input.by_ref().take(length);
        input.read_to_end(&mut payload).map_err(|e| read_error(&e))?;
        if (payload.len() as u64) < length {
            return Err(premature_end());
        }
        let mut end = [0];
        match self.input.read_exact(&mut end) {
            Ok(()) if end == *b"\n" => {
                self.count(length.saturating_add(1));
                Ok(payload)
            }
            Ok(()) => Err(malformed()),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Err(premature_end()),
            Err(e) => Err(read_error(&e)),
        }
    }
}

fn prop_name(mut name: Vec<u8>) -> Vec<u8> {
    // The incumbent's names are C strings.
    name.truncate(memchr::memchr(0, &name).unwrap_or(name.len()));
    name
}

/// A property as it is written: its name and its new value, `None` if it is deleted.
pub type RawPropChange = (Vec<u8>, Option<Vec<u8>>);

/// The unit in which the incumbent copies texts, bytes.
const COPY_UNIT: usize = 16 << 10;
/// Longest line of a property section, payloads apart, bytes.
const PROP_LINE_LIMIT: usize = 4096;
