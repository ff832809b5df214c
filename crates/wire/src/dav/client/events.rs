//! Long and nested responses, event by event: at most one tag or one text is in memory, and base64 is decoded as it arrives.

use std::io::{BufRead, Read as _};

use base::{Code, Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{fault_error, malformed};
use crate::dav::stream::{LimitedSource, StreamFault};
use crate::dav::xml::{MalformedXml, NamespaceScopes, XmlLimits, XmlName, entity, has_control, line_ends};

/// The bytes of base64 that are decoded at a time.
const PIECE: u64 = 32 << 10;

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XmlEvent {
    /// An element begins.
    Start {
        /// Its name.
        name: XmlName,
        /// Its attributes by local name.
        attributes: Vec<(String, String)>,
    },
    /// An element ends.
    End {
        /// Its name.
        name: XmlName,
        /// The text behind the last tag before this one: all of it, for an element without children.
        text: String,
    },
    /// The document ends.
    Eof,
}

/// Reads a document.
pub struct XmlEvents<R> {
    reader: Reader<LimitedSource<R>>,
    buffer: Vec<u8>,
    scopes: NamespaceScopes,
    open: Vec<XmlName>,
    text: String,
    /// The element that was written as `<a/>` ends next.
    is_empty: bool,
    has_root: bool,
    limits: XmlLimits,
}

impl<R: BufRead> XmlEvents<R> {
    /// Begins to read. `limits.bytes` is the length of the longest text.
    pub fn new(source: R, limits: XmlLimits) -> Self {
        let mut reader = Reader::from_reader(LimitedSource {
            source,
            left: limits.bytes,
        });
        reader.config_mut().check_end_names = true;
        XmlEvents {
            reader,
            buffer: Vec::new(),
            scopes: NamespaceScopes::default(),
            open: Vec::new(),
            text: String::new(),
            is_empty: false,
            has_root: false,
            limits,
        }
    }

    /// Returns the next event; [`XmlEvent::Eof`] only behind a complete document.
    ///
    /// # Errors
    /// `XML_MALFORMED` for what is not well-formed or exceeds the limits; those of the source.
    pub fn next_event(&mut self) -> Result<XmlEvent> {
        loop {
            if std::mem::take(&mut self.is_empty) {
                return self.end();
            }
            if let Some(event) = self.step()? {
                return Ok(event);
            }
        }
    }

    /// Reads one tag or text; `None` if it is a part of the event that follows.
    fn step(&mut self) -> Result<Option<XmlEvent>> {
        self.buffer.clear();
        self.reader.get_mut().left = self.limits.bytes;
        let mut buffer = std::mem::take(&mut self.buffer);
        let event = match self.reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(quick_xml::Error::Io(error)) => {
                let error = std::io::Error::new(error.kind(), error);
                return Err(fault_error(StreamFault::Io(error)));
            }
            Err(other) => return Err(malformed(&MalformedXml::new(other.to_string()))),
        };
        let taken = self.take(event);
        if has_control(&buffer) {
            return Err(malformed(&MalformedXml::new("control character")));
        }
        self.buffer = buffer;
        taken
    }

    fn take(&mut self, event: Event<'_>) -> Result<Option<XmlEvent>> {
        let fault = |what: MalformedXml| malformed(&what);
        match event {
            Event::Start(start) => return self.begin(&start).map(Some),
            Event::Empty(start) => {
                self.is_empty = true;
                return self.begin(&start).map(Some);
            }
            Event::End(_) => return self.end().map(Some),
            Event::Text(text) => self.push(&line_ends(&text))?,
            Event::CData(text) => self.push(&line_ends(&text))?,
            Event::GeneralRef(name) => {
                let found = entity(&name).map_err(fault)?;
                self.push(found.encode_utf8(&mut [0; 4]))?;
            }
            Event::DocType(_) => return Err(malformed(&MalformedXml::new("a document type"))),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof if self.has_root && self.open.is_empty() => return Ok(Some(XmlEvent::Eof)),
            Event::Eof => return Err(malformed(&MalformedXml::new("the document is not complete"))),
        }
        Ok(None)
    }

    fn begin(&mut self, start: &BytesStart<'_>) -> Result<XmlEvent> {
        if self.open.len() >= self.limits.depth {
            return Err(malformed(&MalformedXml::new("elements are nested too deeply")));
        }
        if self.has_root && self.open.is_empty() {
            return Err(malformed(&MalformedXml::new("two roots")));
        }
        self.has_root = true;
        self.text.clear();
        let attributes = self.scopes.enter(start).map_err(|what| malformed(&what))?;
        let name = self
            .scopes
            .resolve(start.name().as_ref())
            .map_err(|what| malformed(&what))?;
        self.open.push(name.clone());
        Ok(XmlEvent::Start { name, attributes })
    }

    fn end(&mut self) -> Result<XmlEvent> {
        self.scopes.leave();
        match self.open.pop() {
            Some(name) => Ok(XmlEvent::End {
                name,
                text: std::mem::take(&mut self.text),
            }),
            None => Err(malformed(&MalformedXml::new("an end without a beginning"))),
        }
    }

    fn push(&mut self, text: &str) -> Result<()> {
        if self.open.is_empty() {
            return match text.trim().is_empty() {
                true => Ok(()),
                false => Err(malformed(&MalformedXml::new("text outside of the root"))),
            };
        }
        if (self.text.len() + text.len()) as u64 > self.limits.bytes {
            return Err(malformed(&MalformedXml::new("a text is too long")));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Decodes the base64 text of the element that has just begun, as it arrives. Its end is the next event.
    ///
    /// # Errors
    /// As of [`XmlEvents::next_event`]; `XML_MALFORMED` for what is not base64; whatever `sink` returns.
    pub fn read_base64(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.is_empty {
            return Ok(());
        }
        // A piece at a time is in memory, whatever the length of the text.
        self.reader.get_mut().left = u64::MAX;
        let mut stream = self.reader.stream();
        let (mut pending, mut decoded) = (Vec::new(), Vec::new());
        loop {
            let have = stream
                .fill_buf()
                .map_err(|error| fault_error(StreamFault::Io(error)))?;
            let end = memchr::memchr(b'<', have);
            let length = end.unwrap_or(have.len()).min(PIECE as usize);
            let is_last = end == Some(length) || have.is_empty();
            let piece = &have[..length];
            // Sven's server breaks no lines.
            let has_blanks = memchr::memchr3(b'\n', b'\r', b' ', piece).is_some()
                || memchr::memchr2(b'\t', b'\x0c', piece).is_some();
            let is_one_line = pending.is_empty() && !has_blanks;
            if !is_one_line {
                let parts = piece.split(u8::is_ascii_whitespace);
                parts.for_each(|part| pending.extend_from_slice(part));
            }
            let text = match is_one_line {
                true => piece,
                false => &pending[..],
            };
            let whole = match is_last {
                true => text.len(),
                false => text.len() / 4 * 4,
            };
            decoded.clear();
            let outcome = STANDARD.decode_vec(&text[..whole], &mut decoded);
            outcome.map_err(|_| {
                let message = "The response contains a text that is not base64";
                Error::new(Code::XML_MALFORMED, message)
            })?;
            match is_one_line {
                true => pending.extend_from_slice(&piece[whole..]),
                false => _ = pending.drain(..whole),
            }
            stream.consume(length);
            if !decoded.is_empty() {
                sink(&decoded)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Skips the element that has just begun, with everything in it.
    ///
    /// # Errors
    /// As of [`XmlEvents::next_event`].
    pub fn skip(&mut self) -> Result<()> {
        let depth = self.open.len();
        while self.open.len() >= depth {
            self.next_event()?;
        }
        Ok(())
    }

    /// Reads the source to its end, so that its connection can be used again.
    ///
    /// # Errors
    /// Those of the source.
    pub fn drain(&mut self) -> Result<()> {
        let mut stream = self.reader.stream();
        let mut piece = [0; 512];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(fault_error(StreamFault::Io(error))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<String>> {
        let mut reader = XmlEvents::new(text.as_bytes(), XmlLimits::default());
        let mut out = Vec::new();
        loop {
            match reader.next_event()? {
                XmlEvent::Start { name, attributes } => out.push(format!("<{} {attributes:?}", name.local)),
                XmlEvent::End { name, text } => out.push(format!("{}>{text}", name.local)),
                XmlEvent::Eof => return Ok(out),
            }
        }
    }

    #[test]
    fn elements_come_with_their_texts() {
        let found = events("<a xmlns='u'>\n<b c='1'>x&lt;<![CDATA[y]]></b><d/></a>\n").expect("well-formed");
        assert_eq!(
            found,
            ["<a []", "<b [(\"c\", \"1\")]", "b>x<y", "<d []", "d>", "a>"]
        );
        for bad in [
            "",
            "x",
            "<a>",
            "<a/><a/>",
            "</a>",
            "<a></b>",
            "<!DOCTYPE a><a/>",
            "<a>\u{1}</a>",
            "<a/>x",
        ] {
            assert!(events(bad).is_err(), "{bad}");
        }
        let deep = "<a>".repeat(100);
        assert_eq!(events(&deep).expect_err("too deep").code(), Code::XML_MALFORMED);
        let long = format!("<a>{}</a>", "x".repeat(2 << 20));
        assert!(events(&long).is_err());
    }

    #[test]
    fn base64_is_decoded_in_pieces() {
        let bytes: Vec<u8> = (0..200_000u32).map(|at| (at * 7 % 251) as u8).collect();
        for bytes in [&bytes[..], b"", b"a", b"ab", b"abcd"] {
            let mut text = STANDARD.encode(bytes);
            if text.len() > 9 {
                text.insert(9, '\n');
            }
            let document = format!("<a><t>{text}</t><u/></a>");
            let source = std::io::BufReader::with_capacity(1001, document.as_bytes());
            let mut reader = XmlEvents::new(source, XmlLimits::default());
            reader.next_event().expect("the root");
            reader.next_event().expect("the text");
            let mut found = Vec::new();
            let read = reader.read_base64(&mut |piece| {
                found.extend_from_slice(piece);
                Ok(())
            });
            read.expect("base64");
            assert_eq!(found, bytes);
            assert!(matches!(reader.next_event(), Ok(XmlEvent::End { name, .. }) if name.local == "t"));
            reader.next_event().expect("another");
            reader.skip().expect("skipped");
            assert!(matches!(reader.next_event(), Ok(XmlEvent::End { name, .. }) if name.local == "a"));
            assert_eq!(reader.next_event().expect("the end"), XmlEvent::Eof);
        }
    }
}
