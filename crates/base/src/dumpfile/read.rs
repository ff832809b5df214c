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

mod content;

use std::io::{self, BufRead, Seek, SeekFrom};

use crate::dumpfile::block::HeaderBlock;
use crate::dumpfile::errors::{bad_magic, malformed, premature_end, read_error, unrecognized};
use crate::dumpfile::headers::{DumpRecord, RecordKind, RevisionHeaders, name};
use crate::dumpfile::parse::{ContentLengths, Headers, RawHeaders, no_colon, no_value, supported_version};
use crate::{Code, Error, Result};

pub use content::RawPropChange;

/// A stream that is being read. After an error it must not be used any more.
pub struct DumpReader<R> {
    input: R,
    /// Moves ahead without reading, if the input can.
    seek: Option<SeekAhead<R>>,
    version: i32,
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
            seek: None,
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

    /// As [`open`](Self::open), for a regular file: long texts that are skipped are not read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_file(input: R) -> Result<Self>
    where
        R: Seek,
    {
        let mut reader = DumpReader::open(input)?;
        reader.seek = Some(seek_ahead::<R>);
        Ok(reader)
    }

    /// Returns the version that the stream claims, at most 3. Only the meaning of the oldest records depends on it.
    pub fn version(&self) -> i32 {
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
        if let Some(seek) = self.seek.filter(|_| length >= LEAST_SEEK) {
            // What is left of it is beyond the end.
            length -= seek(&mut self.input, length).map_err(|e| read_error(&e))?;
        }
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

/// Moves a reader ahead, to its end at most. Returns by how many bytes.
type SeekAhead<R> = fn(&mut R, u64) -> io::Result<u64>;

fn seek_ahead<R: Seek>(input: &mut R, length: u64) -> io::Result<u64> {
    let from = input.stream_position()?;
    let end = input.seek(SeekFrom::End(0))?;
    let to = from.saturating_add(length).min(end.max(from));
    input.seek(SeekFrom::Start(to))?;
    Ok(to - from)
}

/// The least length that is not read when it is skipped, bytes. What is in a buffer already is lost, so less would be slower.
const LEAST_SEEK: u64 = 256 << 10;

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

fn fill(input: &mut impl BufRead) -> Result<&[u8]> {
    // Interrupted calls are tried again first: the borrow of the result cannot pass through a loop.
    while let Err(e) = input.fill_buf() {
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(read_error(&e));
        }
    }
    input.fill_buf().map_err(|e| read_error(&e))
}

/// Longest magic line that is looked at, bytes.
const MAGIC_LIMIT: usize = 80;
/// Longest header line, bytes: a path fits many times.
const HEADER_LIMIT: usize = 1 << 20;
