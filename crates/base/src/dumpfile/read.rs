//! Reads a dump stream, record by record.
//!
//! [`DumpReader::next_record`] returns the headers. Then, before the next call, [`DumpReader::next_prop`] returns the
//! properties one by one and [`DumpReader::read_text`] the text in parts. Both are optional: what was not read is
//! skipped. Memory holds one line or one property, never a section; lengths in the stream never decide how much is
//! allocated.
//!
//! Streams of foreign and old tools are read as the incumbent reads them: lengths in headers may be wrong. A property
//! section ends at its terminator, whatever its length is, or where exactly its length has been read between two
//! properties; the text begins right there. What the content length leaves over the *announced* lengths of both is
//! skipped.
//!
//! [`DumpReader::next_block`] reads the same records for tools that pass them on: all headers, as they are written.
//! [`DumpReader::next_raw_prop`] and [`DumpReader::copy_text`] then pass on the content.
//!
//! One check is stricter than the incumbent's: the number of a revision begins with a digit. Subversion reads `x` as
//! 0, and loading would replace the properties of revision 0.

use std::io::{BufRead, Read as _};

use crate::{Code, Error, PropChange, Result};

use crate::dumpfile::block::HeaderBlock;
use crate::dumpfile::errors::{
    bad_magic, malformed, premature_end, read_error, too_much, unrecognized, unterminated,
};
use crate::dumpfile::headers::{DumpRecord, RecordKind, RevisionHeaders, name};
use crate::dumpfile::parse::{
    ContentLengths, Headers, RawHeaders, no_colon, no_value, strict_length, supported_version,
};

/// A stream that is being read. After an error it must not be used any more.
pub struct DumpReader<R> {
    input: R,
    version: u32,
    content: RemainingContent,
    /// The last line that was read, without its line feed.
    line: Vec<u8>,
}

/// The content of the current record that was not read yet.
#[derive(Clone, Copy, Debug, Default)]
struct RemainingContent {
    /// The property section.
    props: Option<PropSection>,
    /// Bytes of text.
    text: Option<u64>,
    /// Bytes after both, to be ignored; an error if negative.
    rest: i64,
    /// `D` entries are allowed.
    deletions: bool,
    /// The record cannot have properties.
    is_bare: bool,
    /// The record cannot have a text. It is refused after the properties: the revision before is complete.
    has_no_text: bool,
    /// In the oldest streams everything after the properties is text.
    old: Option<UnsizedContent>,
}

/// A property section: it ends when as many bytes as announced are read, or with its terminator.
#[derive(Clone, Copy, Debug)]
struct PropSection {
    announced: u64,
    read: u64,
}

/// Content without lengths of its sections, in streams of version 1.
#[derive(Clone, Copy, Debug)]
struct UnsizedContent {
    /// A file has a text even if no bytes are left for it.
    is_file: bool,
    owner: RecordOwner,
}

impl<R: BufRead> DumpReader<R> {
    /// Reads the magic header.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA` for a missing header or a version above 3, `INCOMPLETE_DATA` at the end of the input.
    pub fn open(input: R) -> Result<Self> {
        let mut reader = DumpReader {
            input,
            version: 0,
            content: RemainingContent::default(),
            line: Vec::new(),
        };
        match reader.read_line(MAGIC_LIMIT)? {
            ReadLine::Whole => {}
            ReadLine::TooLong => return Err(bad_magic(&reader.line)),
            ReadLine::Cut | ReadLine::End => return Err(premature_end()),
        }
        let Some(version) = reader
            .line
            .strip_prefix(name::VERSION.as_bytes())
            .and_then(|rest| rest.strip_prefix(b":"))
        else {
            return Err(bad_magic(&reader.line));
        };
        reader.version = supported_version(version)?;
        Ok(reader)
    }

    /// Returns the version that the stream claims, 1 to 3. Only the meaning of the oldest records depends on it.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the headers of the next record; `None` at the end of the stream.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA`, `INCOMPLETE_DATA`, `FS_PATH_SYNTAX` for a path that is not UTF-8,
    /// `BAD_CHECKSUM_PARSE`; the system's, if the input fails.
    pub fn next_record(&mut self) -> Result<Option<DumpRecord>> {
        loop {
            let mut headers = Headers::default();
            if !self.read_headers(|name, value| {
                headers.set(name, value);
                Ok(())
            })? {
                return Ok(None);
            }
            if let Some(record) = self.begin(headers.parse()?)? {
                return Ok(Some(record));
            }
        }
    }

    /// Reads all headers of the next record into `block`; returns what the record describes, or `None` at the end of
    /// the stream.
    ///
    /// # Errors
    /// As [`next_record`](Self::next_record), except that only the lengths of the content are looked at.
    pub fn next_block(&mut self, block: &mut HeaderBlock) -> Result<Option<RecordKind>> {
        loop {
            block.clear();
            if !self.read_headers(|name, value| block.push(name, value))? {
                return Ok(None);
            }
            let kind = if block.get(name::REVISION).is_some() {
                RecordKind::Revision
            } else if block.get(name::PATH).is_some() {
                RecordKind::Node
            } else if block.get(name::UUID).is_some() {
                RecordKind::Uuid
            } else {
                let version = block.get(name::VERSION).ok_or_else(unrecognized)?;
                self.version = supported_version(version)?;
                self.expect_content(ContentLengths::of_block(block), RecordOwner::Stream)?;
                continue;
            };
            self.expect_content(ContentLengths::of_block(block), kind.into())?;
            return Ok(Some(kind));
        }
    }

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
        let Some(left) = self.content.text.filter(|left| *left > 0) else {
            return Ok(());
        };
        let ahead = fill(&mut self.input)?;
        if let Some(whole) = usize::try_from(left).ok().and_then(|left| ahead.get(..left)) {
            write(whole)?;
            let length = whole.len();
            self.input.consume(length);
            self.content.text = Some(0);
            return Ok(());
        }
        let mut part = Vec::new();
        while let Some(left) = self.content.text.filter(|left| *left > 0) {
            let wanted = left.min(COPY_PART);
            part.clear();
            let mut input = self.input.by_ref().take(wanted);
            input.read_to_end(&mut part).map_err(|e| read_error(&e))?;
            if (part.len() as u64) < wanted {
                write(&part[..part.len() - part.len() % COPY_UNIT])?;
                return Err(premature_end());
            }
            write(&part)?;
            self.content.text = Some(left - wanted);
        }
        Ok(())
    }

    /// Reads the first header line of the next record, after any empty ones. False at the end of the stream.
    fn first_line(&mut self) -> Result<bool> {
        loop {
            let next = self.peek()?;
            match next {
                None => return Ok(false),
                Some(byte) if byte.is_ascii_whitespace() || byte == 0x0b => self.skip_line()?,
                Some(_) => return self.header_line().map(|()| true),
            }
        }
    }

    /// Reads the headers of the next record. They end with an empty line, or with the stream. False if there is no
    /// record.
    fn read_headers(&mut self, mut add: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<bool> {
        self.skip_content()?;
        if !self.first_line()? {
            return Ok(false);
        }
        loop {
            let line = &self.line;
            let Some(colon) = memchr::memchr(b':', line) else {
                return Err(no_colon(line));
            };
            if line[..colon].contains(&0) {
                return Err(no_colon(line));
            }
            if line.len() < colon + 2 {
                return Err(no_value(&line[..colon]));
            }
            // Two bytes are skipped, whatever the second one is.
            add(&line[..colon], line.get(colon + 2..).unwrap_or_default())?;
            if self.peek()?.is_none() {
                return Ok(true);
            }
            self.header_line()?;
            if self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Makes a record of its headers and prepares for its content. `None`: the record is for the reader only.
    fn begin(&mut self, raw: RawHeaders) -> Result<Option<DumpRecord>> {
        let node = raw.node;
        if let Some(number) = raw.revision {
            self.expect_content(ContentLengths::of_node(&node), RecordOwner::Revision)?;
            return Ok(Some(DumpRecord::Revision(RevisionHeaders {
                number,
                prop_length: node.prop_length,
                content_length: node.content_length,
            })));
        }
        if raw.has_path {
            self.expect_content(ContentLengths::of_node(&node), RecordOwner::Node)?;
            return Ok(Some(DumpRecord::Node(Box::new(node))));
        }
        if let Some(uuid) = raw.uuid {
            self.expect_content(ContentLengths::of_node(&node), RecordOwner::Stream)?;
            return Ok(Some(DumpRecord::Uuid(uuid)));
        }
        match raw.version {
            Some(version) => {
                self.version = supported_version(&version)?;
                self.expect_content(ContentLengths::of_node(&node), RecordOwner::Stream)?;
                Ok(None)
            }
            None => Err(unrecognized()),
        }
    }

    fn expect_content(&mut self, lengths: ContentLengths, owner: RecordOwner) -> Result<()> {
        let ContentLengths {
            props,
            text,
            total,
            is_file,
        } = lengths;
        if owner == RecordOwner::Stream && text.is_some() {
            return Err(malformed());
        }
        // Numbers are signed here, as in the incumbent.
        let sum = props.unwrap_or(0).wrapping_add(text.unwrap_or(0));
        let section = |announced| PropSection { announced, read: 0 };
        self.content = RemainingContent {
            props: props.map(section),
            text,
            rest: total.map_or(0, |total| total.wrapping_sub(sum) as i64),
            deletions: owner == RecordOwner::Node,
            is_bare: owner == RecordOwner::Stream,
            has_no_text: owner == RecordOwner::Revision,
            old: None,
        };
        if let Some(total) = total
            && self.version == 1
            && owner != RecordOwner::Stream
            && props.is_none()
            && text.is_none()
        {
            self.content.props = Some(section(total));
            self.content.rest = 0;
            self.content.old = Some(UnsizedContent {
                is_file: owner == RecordOwner::Node && is_file,
                owner,
            });
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

    fn header_line(&mut self) -> Result<()> {
        match self.read_line(HEADER_LIMIT)? {
            ReadLine::Whole => Ok(()),
            ReadLine::TooLong => Err(Error::new(
                Code::STREAM_MALFORMED_DATA,
                "Dump stream contains a header that is too long",
            )),
            ReadLine::Cut | ReadLine::End => Err(premature_end()),
        }
    }

    /// Reads a line of at most `limit` bytes into `self.line`.
    fn read_line(&mut self, limit: usize) -> Result<ReadLine> {
        let line = &mut self.line;
        line.clear();
        loop {
            let ahead = fill(&mut self.input)?;
            if ahead.is_empty() {
                return Ok(if line.is_empty() {
                    ReadLine::End
                } else {
                    ReadLine::Cut
                });
            }
            let room = limit - line.len();
            let window = &ahead[..ahead.len().min(room + 1)];
            if let Some(at) = memchr::memchr(b'\n', window) {
                line.extend_from_slice(&window[..at]);
                self.input.consume(at + 1);
                return Ok(ReadLine::Whole);
            }
            let length = window.len();
            line.extend_from_slice(window);
            self.input.consume(length);
            if line.len() > limit {
                line.pop();
                return Ok(ReadLine::TooLong);
            }
        }
    }

    fn skip_line(&mut self) -> Result<()> {
        loop {
            let ahead = fill(&mut self.input)?;
            if ahead.is_empty() {
                return Err(premature_end());
            }
            let (length, found) = match memchr::memchr(b'\n', ahead) {
                Some(at) => (at + 1, true),
                None => (ahead.len(), false),
            };
            self.input.consume(length);
            if found {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, mut length: u64) -> Result<()> {
        while length > 0 {
            let ahead = fill(&mut self.input)?.len();
            if ahead == 0 {
                return Err(premature_end());
            }
            let used = usize::try_from(length).map_or(ahead, |length| length.min(ahead));
            self.input.consume(used);
            length -= used as u64;
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        Ok(fill(&mut self.input)?.first().copied())
    }
}

/// The owner of a record's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordOwner {
    /// The stream, which cannot have properties. The incumbent crashes on them.
    Stream,
    /// A revision: it has no text. The incumbent crashes on one.
    Revision,
    Node,
}

impl From<RecordKind> for RecordOwner {
    fn from(kind: RecordKind) -> Self {
        match kind {
            RecordKind::Uuid => RecordOwner::Stream,
            RecordKind::Revision => RecordOwner::Revision,
            RecordKind::Node => RecordOwner::Node,
        }
    }
}

/// How much of a line was read.
enum ReadLine {
    /// All of it.
    Whole,
    /// As much of it as was allowed.
    TooLong,
    /// The stream ended inside it.
    Cut,
    /// The stream ended before it.
    End,
}

fn prop_name(mut name: Vec<u8>) -> Vec<u8> {
    // The incumbent's names are C strings.
    name.truncate(memchr::memchr(0, &name).unwrap_or(name.len()));
    name
}

/// A property as it is written: its name and its new value, `None` if it is deleted.
pub type RawPropChange = (Vec<u8>, Option<Vec<u8>>);

fn fill(input: &mut impl BufRead) -> Result<&[u8]> {
    // Interrupted calls are tried again first: the borrow of the result cannot pass through a loop.
    while let Err(e) = input.fill_buf() {
        if e.kind() != std::io::ErrorKind::Interrupted {
            return Err(read_error(&e));
        }
    }
    input.fill_buf().map_err(|e| read_error(&e))
}

/// How much of a text [`DumpReader::copy_text`] holds, bytes.
const COPY_PART: u64 = 16 * COPY_UNIT as u64;
/// The unit in which the incumbent copies texts, bytes.
const COPY_UNIT: usize = 16 << 10;
/// Longest magic line that is looked at, bytes.
const MAGIC_LIMIT: usize = 80;
/// Longest header line, bytes: a path fits many times.
const HEADER_LIMIT: usize = 1 << 20;
/// Longest line of a property section, payloads apart, bytes.
const PROP_LINE_LIMIT: usize = 4096;
