//! Long XML documents, one child of the root at a time.
//!
//! The report of a working copy has an entry for everything that is odd in it: a million of them is a long document of small
//! elements. It is read as it comes; no more than one child of the root is in memory, and a child's length is bounded.

use std::io::{self, BufRead, Chain, Cursor, Read};

use quick_xml::Reader;

use super::xml::{Element, MalformedXml, OpenElements, XmlLimits, has_control};
use super::xml_encoding::{self, HEAD, to_utf8};

/// Reads a document from its beginning to its end.
pub struct ElementStream<R> {
    reader: Reader<LimitedSource<Chain<Cursor<Vec<u8>>, R>>>,
    tree: OpenElements,
    buffer: Vec<u8>,
    ended: bool,
    /// Longest child of the root, its markup included, bytes.
    longest: u64,
}

/// Why a document could not be read.
#[derive(Debug)]
pub enum StreamFault {
    /// It is not XML as we take it.
    Malformed(MalformedXml),
    /// The source failed.
    Io(io::Error),
}

impl From<MalformedXml> for StreamFault {
    fn from(what: MalformedXml) -> Self {
        StreamFault::Malformed(what)
    }
}

impl<R: BufRead> ElementStream<R> {
    /// Reads up to the start of the root; `None` if there is nothing but white space.
    ///
    /// # Errors
    /// If it does not begin like a document.
    pub fn open(source: R, limits: XmlLimits) -> Result<Option<Self>, StreamFault> {
        let source = in_utf8(source, limits.bytes)?;
        let mut reader = Reader::from_reader(LimitedSource {
            source,
            left: limits.bytes,
        });
        reader.config_mut().check_end_names = true;
        let mut stream = ElementStream {
            reader,
            tree: OpenElements::new(limits),
            buffer: Vec::new(),
            ended: false,
            longest: limits.bytes,
        };
        let mut empty = true;
        while stream.tree.open.is_empty() {
            if !stream.step()? {
                return match empty {
                    true => Ok(None),
                    false => Err(MalformedXml::new("the document is not complete").into()),
                };
            }
            empty &= stream.buffer.iter().all(u8::is_ascii_whitespace);
            if stream.tree.has_root() {
                // `<root/>`
                stream.ended = true;
                break;
            }
        }
        Ok(Some(stream))
    }

    /// The root: its name and its attributes.
    pub fn root(&self) -> Option<&Element> {
        self.tree.outermost()
    }

    /// The next child of the root; `None` behind the last one, when the document has ended well.
    ///
    /// # Errors
    /// If the document is not well-formed, not complete, or exceeds the limits; those of the source.
    pub fn next_child(&mut self) -> Result<Option<Element>, StreamFault> {
        self.reader.get_mut().left = self.longest;
        self.tree.forget();
        self.next()
    }

    /// The next child, which counts with those before it.
    fn next(&mut self) -> Result<Option<Element>, StreamFault> {
        while !self.ended {
            if let [root] = &mut self.tree.open[..]
                && let Some(child) = root.children.pop()
            {
                return Ok(Some(child));
            }
            if !self.step()? {
                return Err(MalformedXml::new("the document is not complete").into());
            }
            self.ended = self.tree.has_root();
        }
        // Only white space and comments may follow.
        while self.step()? {
            if !self.tree.open.is_empty() {
                return Err(MalformedXml::new("two roots").into());
            }
        }
        Ok(None)
    }

    /// The whole root with everything that was not read yet. The limits apply to all of it together.
    ///
    /// # Errors
    /// As [`ElementStream::next_child`].
    pub fn rest(mut self) -> Result<Element, StreamFault> {
        let mut children = Vec::new();
        while let Some(child) = self.next()? {
            children.push(child);
        }
        let mut root = self.tree.finish()?;
        root.children = children;
        Ok(root)
    }

    fn step(&mut self) -> Result<bool, StreamFault> {
        self.buffer.clear();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            Err(quick_xml::Error::Io(e)) => return Err(StreamFault::Io(io::Error::new(e.kind(), e))),
            Err(other) => return Err(MalformedXml::new(other.to_string()).into()),
        };
        let going_on = self.tree.take(&event, 0..0)?;
        drop(event);
        if has_control(&self.buffer) {
            return Err(MalformedXml::new("control character").into());
        }
        Ok(going_on)
    }
}

/// Returns the document in UTF-8. One in another encoding is read at once, up to `longest` bytes.
fn in_utf8<R: BufRead>(mut source: R, longest: u64) -> Result<Chain<Cursor<Vec<u8>>, R>, StreamFault> {
    let mut begin = read_head(&mut source).map_err(StreamFault::Io)?;
    if !xml_encoding::is_utf8(&begin)? {
        let rest = longest.saturating_add(1);
        let read = source.by_ref().take(rest).read_to_end(&mut begin);
        read.map_err(StreamFault::Io)?;
        if begin.len() as u64 > longest {
            let text = "a document that is not in UTF-8 is too long";
            return Err(StreamFault::Io(io::Error::new(io::ErrorKind::FileTooLarge, text)));
        }
        begin = to_utf8(begin)?;
    }
    Ok(Cursor::new(begin).chain(source))
}

/// Reads up to the end of the declaration or of the first tag, and no more: the source may fail behind it, after elements that the reader gets.
fn read_head(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while head.len() < HEAD && !head.ends_with(b">") {
        let available = source.fill_buf()?;
        if available.is_empty() {
            break;
        }
        let available = &available[..available.len().min(HEAD - head.len())];
        let end = available.iter().position(|byte| *byte == b'>');
        let length = end.map_or(available.len(), |at| at + 1);
        head.extend_from_slice(&available[..length]);
        source.consume(length);
    }
    Ok(head)
}

/// A source that fails where a child becomes too long.
pub(crate) struct LimitedSource<R> {
    pub(crate) source: R,
    pub(crate) left: u64,
}

impl<R: BufRead> BufRead for LimitedSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let have = self.source.fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        if most == 0 && !have.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "an element is too long",
            ));
        }
        Ok(&have[..have.len().min(most)])
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount as u64);
        self.source.consume(amount);
    }
}

impl<R: BufRead> Read for LimitedSource<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let have = self.fill_buf()?;
        let len = have.len().min(into.len());
        into[..len].copy_from_slice(&have[..len]);
        self.consume(len);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<Option<ElementStream<&[u8]>>, StreamFault> {
        ElementStream::open(text.as_bytes(), XmlLimits::default())
    }

    #[test]
    fn children_come_one_by_one_and_are_not_kept() {
        let mut stream = open("<?xml version=\"1.0\"?>\n<a x='1' xmlns='u'><b>1</b> text <c><d/></c></a>\n")
            .expect("well-formed")
            .expect("there");
        let root = stream.root().expect("the root");
        assert!(root.name.is("u", "a") && root.attribute("x") == Some("1"));
        let first = stream.next_child().expect("well-formed").expect("a child");
        assert_eq!((first.name.local.as_str(), first.text.as_str()), ("b", "1"));
        let rest = stream.rest().expect("well-formed");
        assert_eq!(rest.children.len(), 1);
        assert_eq!(rest.children[0].children.len(), 1);
    }

    #[test]
    fn a_source_that_fails_loses_nothing_before() {
        struct Failing(Cursor<&'static [u8]>);
        impl Read for Failing {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                match self.0.read(into)? {
                    0 => Err(io::ErrorKind::ConnectionReset.into()),
                    read => Ok(read),
                }
            }
        }
        let source = Failing(Cursor::new(b"<?xml version='1.0'?><a><b/>"));
        let stream = ElementStream::open(io::BufReader::new(source), XmlLimits::default());
        let mut stream = stream.expect("well-formed").expect("there");
        assert!(stream.next_child().expect("well-formed").is_some());
        assert!(matches!(stream.next_child(), Err(StreamFault::Io(_))));
    }

    #[test]
    fn documents_in_other_encodings_are_read() {
        let text = "<?xml version='1.0' encoding='utf-16'?><a><b>\u{e9}</b></a>";
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let stream = ElementStream::open(&bytes[..], XmlLimits::default());
        let child = stream.expect("well-formed").expect("there").next_child();
        assert_eq!(child.expect("well-formed").expect("a child").text, "\u{e9}");
        let short = XmlLimits {
            bytes: bytes.len() as u64 - 1,
            ..XmlLimits::default()
        };
        assert!(ElementStream::open(&bytes[..], short).is_err());
    }

    #[test]
    fn empty_bodies_and_roots_are_told_apart() {
        assert!(open(" \n").expect("no fault").is_none());
        let stream = open("<a/>").expect("well-formed").expect("there");
        assert!(stream.root().is_some());
        assert!(stream.rest().expect("well-formed").children.is_empty());
    }

    #[test]
    fn what_is_broken_is_refused() {
        for bad in [
            "x",
            "<a><b>",
            "<a><b></a>",
            "<a/><b/>",
            "<a></a>x",
            "<a>\u{1}</a>",
            "</a>",
            "<!-- x -->",
            "<a b='\u{1}'/>",
            "<a><b/>",
            "<!DOCTYPE a><a/>",
        ] {
            let outcome = open(bad).and_then(|stream| stream.map(ElementStream::rest).transpose());
            assert!(outcome.is_err(), "{bad}");
        }
    }

    #[test]
    fn a_child_may_not_be_too_long_but_the_document_may() {
        let long = format!("<a><b>{}</b></a>", "x".repeat(2 << 20));
        let outcome = open(&long).expect("begins well").expect("there").rest();
        assert!(matches!(outcome, Err(StreamFault::Io(e)) if e.kind() == io::ErrorKind::FileTooLarge));
        let many = format!("<a>{}</a>", "<b>xxxxxxxxxxxxxxx</b>".repeat(200_000));
        let mut stream = open(&many).expect("begins well").expect("there");
        let mut count = 0;
        while stream.next_child().expect("well-formed").is_some() {
            count += 1;
        }
        assert_eq!(count, 200_000);
        let whole = open(&many).expect("begins well").expect("there").rest();
        assert!(matches!(whole, Err(StreamFault::Io(e)) if e.kind() == io::ErrorKind::FileTooLarge));
    }

    #[test]
    fn elements_are_limited_by_the_memory_that_they_need() {
        let limits = XmlLimits {
            memory: 1 << 20,
            ..XmlLimits::default()
        };
        let read = |text: &str| {
            let stream = ElementStream::open(text.as_bytes(), limits)?;
            stream.map(ElementStream::rest).transpose()
        };
        let few = "<b/>".repeat(4000);
        assert!(read(&format!("<a>{few}</a>")).is_ok());
        let long = "u".repeat(10_000);
        for many in [
            format!("<a>{}</a>", "<b/>".repeat(5000)),
            format!("<a>{}</a>", "<b c='' d='' e=''/>".repeat(2500)),
            // Each element holds the namespace that its prefix stands for.
            format!("<a xmlns='{long}'>{}</a>", "<b/>".repeat(200)),
            format!("<a xmlns:p='{long}'>{}</a>", "<p:b/>".repeat(200)),
        ] {
            let outcome = read(&many);
            assert!(
                matches!(outcome, Err(StreamFault::Malformed(_))),
                "{}",
                &many[..40]
            );
        }
    }
}
