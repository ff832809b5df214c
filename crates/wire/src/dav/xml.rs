//! XML as the protocol uses it: bodies of requests become trees of [`Element`]s, values go out escaped.
//!
//! Both real ends of this protocol write element names like `C:my:prop`, with two colons, which no namespace-aware parser
//! takes. So namespaces are resolved here: a name is cut at its *first* colon. Limits on depth, on the number of
//! elements and attributes, and on lengths are part of parsing; entities other than XML's own five and numbers are refused, and
//! so is every document type.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// How large a document may grow while it is parsed.
#[derive(Clone, Copy, Debug)]
pub struct XmlLimits {
    /// Elements within elements.
    pub depth: usize,
    /// Bytes of memory for the elements of the document, or of one child of the root where children are read one by one. Each
    /// element counts with [`ELEMENT`] bytes and the lengths of its names, attributes and text.
    pub memory: usize,
    /// Bytes of the document, or of one child of the root, where it is read as it comes.
    pub bytes: u64,
}

/// Bytes that an element counts in addition to its texts.
pub const ELEMENT: usize = 256;

/// Bytes that an attribute counts in addition to its texts.
const ATTRIBUTE: usize = 64;

/// Most namespace declarations in force at the same time.
const MAX_DECLARED: usize = 256;

impl Default for XmlLimits {
    fn default() -> Self {
        XmlLimits {
            depth: 64,
            memory: 64 << 20,
            bytes: 1 << 20,
        }
    }
}

/// The error of a document; the text is for logs, not for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedXml(pub String);

impl MalformedXml {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        MalformedXml(what.into())
    }
}

/// An element's or attribute's name, with its namespace resolved; empty if it is in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XmlName {
    /// The namespace's URI.
    pub space: String,
    /// The part after the first colon, or the whole name.
    pub local: String,
}

impl XmlName {
    /// True for this namespace and local name.
    pub fn is(&self, space: &str, local: &str) -> bool {
        self.local == local && self.space == space
    }
}

/// An element with everything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: XmlName,
    /// Attributes by local name (namespace declarations are not among them).
    pub attributes: Vec<(String, String)>,
    /// The namespaces that it declares itself: prefix (empty for the default) and URI.
    pub declared: Vec<(String, String)>,
    /// Its own character data: all pieces between its children, joined.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
    /// The range of its content in the document, markup included.
    pub content: std::ops::Range<usize>,
    /// The range of the whole element in the document.
    pub whole: std::ops::Range<usize>,
}

impl Element {
    /// Parses a whole document.
    ///
    /// # Errors
    /// If it is not well-formed, has a document type or unknown entities, or exceeds `limits`.
    pub fn parse(document: &[u8], limits: XmlLimits) -> Result<Element, MalformedXml> {
        ElementBuilder::new(utf8(document)?, limits).run()
    }

    /// The first child of this name.
    pub fn child(&self, space: &str, local: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name.is(space, local))
    }

    /// All children of this name.
    pub fn all<'a>(&'a self, space: &'a str, local: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children
            .iter()
            .filter(move |child| child.name.is(space, local))
    }

    /// The attribute of this local name, whatever its prefix.
    pub fn attribute(&self, local: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(name, _)| name == local);
        found.map(|(_, value)| value.as_str())
    }
}

/// The namespace declarations that apply: prefix and URI, innermost last.
#[derive(Default)]
pub(crate) struct NamespaceScopes {
    declared: Vec<(String, String)>,
    marks: Vec<usize>,
}

impl NamespaceScopes {
    /// Enters an element: adds its declarations, returns its other attributes by local name.
    pub(crate) fn enter(&mut self, start: &BytesStart<'_>) -> Result<Vec<(String, String)>, MalformedXml> {
        self.marks.push(self.declared.len());
        let mut attributes = Vec::new();
        // Duplicates are looked for by the parser, in time that grows with their square.
        for (count, attribute) in start.attributes().enumerate() {
            if count >= MAX_ATTRIBUTES {
                return Err(MalformedXml::new("too many attributes"));
            }
            let attribute = attribute.map_err(|e| MalformedXml::new(e.to_string()))?;
            let key: &str = attribute.key.as_ref();
            let value = unescape(&attribute.value)?;
            if key == "xmlns" {
                self.declared.push((String::new(), value.into_owned()));
            } else if let Some(prefix) = key.strip_prefix("xmlns:") {
                if value.is_empty() {
                    return Err(MalformedXml::new(format!(
                        "prefix '{prefix}' stands for no namespace"
                    )));
                }
                self.declared.push((prefix.to_owned(), value.into_owned()));
            } else {
                let local = key.split_once(':').map_or(key, |(_, local)| local);
                attributes.push((local.to_owned(), value.into_owned()));
            }
        }
        if self.declared.len() > MAX_DECLARED {
            return Err(MalformedXml::new("too many namespaces"));
        }
        Ok(attributes)
    }

    /// Returns the declarations of the element that was entered last.
    pub(crate) fn innermost(&self) -> &[(String, String)] {
        self.marks.last().map_or(&[], |mark| &self.declared[*mark..])
    }

    pub(crate) fn leave(&mut self) {
        self.declared.truncate(self.marks.pop().unwrap_or(0));
    }

    /// Resolves an element's name.
    pub(crate) fn resolve(&self, raw: &str) -> Result<XmlName, MalformedXml> {
        let (prefix, local) = raw.split_once(':').unwrap_or(("", raw));
        let found = self.declared.iter().rev().find(|(known, _)| known == prefix);
        match found {
            Some((_, uri)) => Ok(XmlName {
                space: uri.clone(),
                local: local.to_owned(),
            }),
            None if prefix.is_empty() => Ok(XmlName {
                space: String::new(),
                local: local.to_owned(),
            }),
            None => Err(MalformedXml::new(format!("undeclared prefix '{prefix}'"))),
        }
    }
}

/// Most attributes of one element.
const MAX_ATTRIBUTES: usize = 64;

struct ElementBuilder<'a> {
    reader: Reader<&'a [u8]>,
    document: &'a str,
    tree: OpenElements,
}

impl<'a> ElementBuilder<'a> {
    fn new(document: &'a str, limits: XmlLimits) -> Self {
        let mut reader = Reader::from_str(document);
        reader.config_mut().check_end_names = true;
        ElementBuilder {
            reader,
            document,
            tree: OpenElements::new(limits),
        }
    }

    fn run(mut self) -> Result<Element, MalformedXml> {
        if has_control(self.document.as_bytes()) {
            return Err(MalformedXml::new("control character"));
        }
        loop {
            let before = self.position();
            let event = self.reader.read_event();
            let event = event.map_err(|e| MalformedXml::new(e.to_string()))?;
            let after = self.position();
            if !self.tree.take(&event, before..after)? {
                return self.tree.finish();
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }
}

/// True for characters that XML does not allow in a document.
pub(crate) fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().any(|b| *b < 32 && !b"\t\n\r".contains(b))
}

/// The elements of a document that is being read.
pub(crate) struct OpenElements {
    limits: XmlLimits,
    scopes: NamespaceScopes,
    /// Elements that have not ended, outermost first.
    pub(crate) open: Vec<Element>,
    /// Bytes of memory that may still be used.
    left: usize,
    root: Option<Element>,
}

impl OpenElements {
    pub(crate) fn new(limits: XmlLimits) -> Self {
        OpenElements {
            left: limits.memory,
            limits,
            scopes: NamespaceScopes::default(),
            open: Vec::new(),
            root: None,
        }
    }

    /// Reads the next part of the document, which is `at`; false at the end.
    pub(crate) fn take(
        &mut self,
        event: &Event<'_>,
        at: std::ops::Range<usize>,
    ) -> Result<bool, MalformedXml> {
        match event {
            Event::Start(start) => self.begin(start, at)?,
            Event::Empty(start) => {
                let end = at.end;
                self.begin(start, at)?;
                self.end(end..end)?;
            }
            Event::End(_) => self.end(at)?,
            Event::Text(text) => self.push(&line_ends(text))?,
            Event::CData(text) => self.push(&line_ends(text))?,
            Event::GeneralRef(name) => self.push(entity(name)?.encode_utf8(&mut [0; 4]))?,
            Event::DocType(_) => return Err(MalformedXml::new("a document type")),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => return Ok(false),
        }
        Ok(true)
    }

    /// The root has ended.
    pub(crate) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// The root, ended or not.
    pub(crate) fn outermost(&self) -> Option<&Element> {
        self.root.as_ref().or(self.open.first())
    }

    /// The root, once everything has ended.
    pub(crate) fn finish(self) -> Result<Element, MalformedXml> {
        match self.root {
            Some(root) if self.open.is_empty() => Ok(root),
            _ => Err(MalformedXml::new("the document is not complete")),
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>, at: std::ops::Range<usize>) -> Result<(), MalformedXml> {
        if self.open.len() >= self.limits.depth {
            return Err(MalformedXml::new("elements are nested too deeply"));
        }
        let attributes = self.scopes.enter(start)?;
        let declared = self.scopes.innermost().to_vec();
        let name = self.scopes.resolve(start.name().as_ref())?;
        let pairs = attributes.iter().chain(&declared);
        let texts = pairs.map(|(name, value)| ATTRIBUTE + name.len() + value.len());
        // A short prefix may mean a long namespace, which each element holds.
        self.count(ELEMENT + name.space.len() + name.local.len() + texts.sum::<usize>())?;
        self.open.push(Element {
            name,
            attributes,
            declared,
            content: at.end..at.end,
            whole: at,
            ..Element::default()
        });
        Ok(())
    }

    /// Ends the innermost element, whose end tag is `at`.
    fn end(&mut self, at: std::ops::Range<usize>) -> Result<(), MalformedXml> {
        self.scopes.leave();
        let Some(mut element) = self.open.pop() else {
            return Err(MalformedXml::new("an end without a beginning"));
        };
        element.content.end = at.start.max(element.content.start);
        element.whole.end = at.end;
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None if self.root.is_some() => return Err(MalformedXml::new("two roots")),
            None => self.root = Some(element),
        }
        Ok(())
    }

    /// Drops everything read so far.
    pub(crate) fn forget(&mut self) {
        self.left = self.limits.memory;
    }

    fn count(&mut self, bytes: usize) -> Result<(), MalformedXml> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| MalformedXml::new("too many elements"))?;
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), MalformedXml> {
        self.count(text.len())?;
        match self.open.last_mut() {
            Some(element) => {
                element.text.push_str(text);
                Ok(())
            }
            None if text.trim().is_empty() => Ok(()),
            None => Err(MalformedXml::new("text outside of the root")),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, MalformedXml> {
    std::str::from_utf8(bytes).map_err(|_| MalformedXml::new("not UTF-8"))
}

/// XML reads every line end as LF; a CR that is meant is written as a reference.
pub(crate) fn line_ends(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// The character that a reference means, without `&` and `;`.
pub(crate) fn entity(name: &str) -> Result<char, MalformedXml> {
    let number = |digits: &str, radix| {
        let digits = Some(digits).filter(|d| d.bytes().all(|b| b.is_ascii_alphanumeric()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
        let found = code.and_then(char::from_u32);
        found.filter(|c| *c >= ' ' || "\t\n\r".contains(*c))
    };
    let found = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#') {
            Some(hex) if hex.starts_with('x') => number(&hex[1..], 16),
            Some(decimal) => number(decimal, 10),
            None => None,
        },
    };
    found.ok_or_else(|| MalformedXml::new(format!("unknown entity '{name}'")))
}

fn unescape(text: &str) -> Result<Cow<'_, str>, MalformedXml> {
    if !text.contains('&') {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, tail) = after
            .split_once(';')
            .ok_or_else(|| MalformedXml::new("a lone '&'"))?;
        out.push(entity(name)?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// Appends character data.
pub fn escape_text(text: &str, out: &mut String) {
    escape(text, false, |part| out.push_str(part));
}

/// Appends the value of an attribute in double quotes (without the quotes).
pub fn escape_attribute(text: &str, out: &mut String) {
    escape(text, true, |part| out.push_str(part));
}

/// Passes the parts of the escaped text to `append`, in order. Line ends and tabs of attributes are escaped, because a parser
/// would turn them into spaces.
#[inline]
pub(crate) fn escape(text: &str, attribute: bool, mut append: impl FnMut(&str)) {
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'\r' => "&#13;",
            b'"' if attribute => "&quot;",
            b'\n' if attribute => "&#10;",
            b'\t' if attribute => "&#9;",
            _ => continue,
        };
        append(&text[kept..at]);
        append(escaped);
        kept = at + 1;
    }
    append(&text[kept..]);
}

/// Returns the text if XML can hold these bytes as they are: UTF-8 without control characters other than TAB, LF and
/// CR.
pub fn safe(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let bad = |b: u8| (b < 32 && !b"\t\n\r".contains(&b)) || b == 127;
    (!text.bytes().any(bad)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::names;
    use crate::text::fuzzy;

    fn parse(text: &str) -> Result<Element, MalformedXml> {
        Element::parse(text.as_bytes(), XmlLimits::default())
    }

    #[test]
    fn a_prefix_stands_for_something() {
        let parse = |text: &str| Element::parse(text.as_bytes(), XmlLimits::default()).is_ok();
        assert!(!parse(
            r#"<propfind xmlns="DAV:"><prop><b:x xmlns:b=""/></prop></propfind>"#
        ));
        assert!(parse(
            r#"<propfind xmlns="DAV:"><prop><x xmlns=""/></prop></propfind>"#
        ));
    }

    #[test]
    fn names_are_cut_at_the_first_colon() {
        let root = parse(
            r#"<a xmlns:C="http://subversion.tigris.org/xmlns/custom/"><C:my:prop C:x="1">v</C:my:prop></a>"#,
        )
        .expect("well-formed");
        let prop = root.child(names::CUSTOM_PROP, "my:prop").expect("there");
        assert_eq!((prop.text.as_str(), prop.attribute("x")), ("v", Some("1")));
    }

    #[test]
    fn references_and_line_ends_are_resolved() {
        let root = parse("<a>x&#13;\r\n&lt;&amp;&#x41;<![CDATA[<b>]]></a>").expect("well-formed");
        assert_eq!(root.text, "x\r\n<&A<b>");
    }

    #[test]
    fn what_is_dangerous_or_broken_is_refused() {
        for bad in [
            "",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "x<a/>",
            "<a>&nbsp;</a>",
            "<a>&#0;</a>",
            "<a b='&x;'/>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
            "<D:a/>",
            "<a b='1' b='2'/>",
            "<a>\u{1}</a>",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn content_is_found_as_it_was_sent() {
        let text = r#"<l xmlns="DAV:"><owner><href a="1">x</href> y</owner></l>"#;
        let root = parse(text).expect("well-formed");
        let owner = root.child(names::DAV, "owner").expect("there");
        assert_eq!(&text[owner.content.clone()], r#"<href a="1">x</href> y"#);
        assert_eq!(
            &text[owner.whole.clone()],
            r#"<owner><href a="1">x</href> y</owner>"#
        );
    }

    #[test]
    fn bytes_that_xml_cannot_hold_are_told_apart() {
        assert_eq!(safe(b"a\r\n\tb"), Some("a\r\n\tb"));
        assert_eq!(safe(b"a\x01"), None);
        assert_eq!(safe(b"\xff"), None);
        assert_eq!(fuzzy(b"a\x01\xff"), "a?\\001?\\255");
    }
}
