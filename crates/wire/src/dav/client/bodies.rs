//! Bodies of requests.

use std::fmt::{Display, Write as _};

use base::Props;

use crate::dav::multistatus::{base64_lines, prefixed};
use crate::dav::xml;

/// The body of `OPTIONS` that asks for everything that a session needs to know.
pub const OPTIONS: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:options xmlns:D=\"DAV:\">\
                           <D:activity-collection-set></D:activity-collection-set></D:options>";

/// The body of `PROPFIND` that asks for all properties.
pub const ALLPROP: &str =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><allprop xmlns=\"DAV:\"/></propfind>";

/// Returns the body of `PROPFIND` that asks for properties by namespace and name.
pub fn propfind(wanted: &[(&str, &str)]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><prop>".to_owned();
    for (space, name) in wanted {
        _ = write!(out, "<{name} xmlns=\"{space}\"/>");
    }
    out + "</prop></propfind>"
}

/// The body of a report: elements in the namespace `svn:` with text.
#[derive(Clone, Debug)]
pub struct ReportBody {
    text: String,
    root: &'static str,
}

impl ReportBody {
    /// Begins a report; `attributes` is markup.
    pub fn new(root: &'static str, attributes: &str) -> Self {
        ReportBody {
            text: format!("<S:{root} xmlns:S=\"svn:\" xmlns:D=\"DAV:\"{attributes}>"),
            root,
        }
    }

    /// Adds an element with text, which is escaped.
    pub fn value(mut self, name: &str, value: impl Display) -> Self {
        self.push(name, &[], &value.to_string());
        self
    }

    /// Adds an element with text, if there is a value.
    pub fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.value(name, value),
            None => self,
        }
    }

    /// Adds an empty element if `is_set`.
    pub fn flag(mut self, name: &str, is_set: bool) -> Self {
        if is_set {
            _ = write!(self.text, "<S:{name}/>");
        }
        self
    }

    /// Appends an element with attributes and text, which are escaped.
    pub fn push(&mut self, name: &str, attributes: &[(&str, &str)], value: &str) {
        _ = write!(self.text, "<S:{name}");
        for (key, value) in attributes {
            _ = write!(self.text, " {key}=\"");
            xml::escape_attribute(value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
        xml::escape_text(value, &mut self.text);
        _ = write!(self.text, "</S:{name}>");
    }

    /// Removes what was written so far, which can be sent in parts.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Adds an element of WebDAV's namespace.
    pub fn dav_value(mut self, name: &str, value: impl Display) -> Self {
        _ = write!(self.text, "<D:{name}>");
        xml::escape_text(&value.to_string(), &mut self.text);
        _ = write!(self.text, "</D:{name}>");
        self
    }

    /// Returns the whole body, or what follows the parts that were taken.
    pub fn finish(mut self) -> String {
        _ = write!(self.text, "</S:{}>", self.root);
        self.text
    }
}

/// A change of a property.
#[derive(Clone, Copy, Debug)]
pub struct PropertyChange<'a> {
    /// The name; [`is_property_name`] is true for it.
    pub name: &'a str,
    /// The new value; `None` deletes.
    pub value: Option<&'a [u8]>,
    /// The value that a revision property must have; `Some(None)`: it must not be set.
    pub expected: Option<Option<&'a [u8]>>,
}

/// True for names that the protocol can transport as names of elements. With the prefix of its namespace before it, a name may begin with
/// any character of an XML name. (Servers may accept fewer characters outside of ASCII.)
pub fn is_property_name(name: &str) -> bool {
    let all = name.chars().all(is_name_character);
    !name.is_empty() && all && !name.starts_with(':') && !name.ends_with(':')
}

/// True for a character of an XML name: `NameChar` of XML 1.0, fifth edition.
fn is_name_character(char: char) -> bool {
    match char {
        '-' | '_' | '.' | ':' | '\u{b7}' => true,
        '\0'..='\x7f' => char.is_ascii_alphanumeric(),
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' => true,
        '\u{200c}'
        | '\u{200d}'
        | '\u{203f}'
        | '\u{2040}'
        | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' => true,
        '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}' => true,
        _ => false,
    }
}

/// Returns the body of `PROPPATCH`. Deletions with an expected value are written as settings of nothing.
pub fn proppatch(changes: &[PropertyChange<'_>]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:propertyupdate xmlns:D=\"DAV:\" \
                   xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\" \
                   xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\" \
                   xmlns:S=\"http://subversion.tigris.org/xmlns/svn/\">"
        .to_owned();
    let is_set = |change: &&PropertyChange<'_>| change.value.is_some() || change.expected.is_some();
    for (element, wanted) in [("set", true), ("remove", false)] {
        let mut group = changes
            .iter()
            .filter(|change| is_set(change) == wanted)
            .peekable();
        if group.peek().is_none() {
            continue;
        }
        _ = write!(out, "<D:{element}><D:prop>");
        group.for_each(|change| property(change, &mut out));
        _ = write!(out, "</D:prop></D:{element}>");
    }
    out + "</D:propertyupdate>"
}

fn property(change: &PropertyChange<'_>, out: &mut String) {
    let (prefix, local) = prefixed(change.name);
    let (attribute, text) = match change.value {
        None => (" V:absent=\"1\"", String::new()),
        Some(value) => text_of(value),
    };
    _ = write!(out, "<{prefix}{local}{attribute}>");
    match change.expected {
        None => {}
        Some(None) => out.push_str("<V:old-value V:absent=\"1\"></V:old-value>"),
        Some(Some(old)) => {
            let (attribute, text) = text_of(old);
            _ = write!(out, "<V:old-value{attribute}>{text}</V:old-value>");
        }
    }
    _ = write!(out, "{text}</{prefix}{local}>");
}

/// Returns a value as escaped text, and the attribute that says how.
fn text_of(value: &[u8]) -> (&'static str, String) {
    let mut out = String::new();
    match xml::safe(value) {
        Some(text) => {
            xml::escape_text(text, &mut out);
            ("", out)
        }
        None => {
            base64_lines(value, &mut out);
            (" V:encoding=\"base64\"", out)
        }
    }
}

/// Returns the body of `MERGE`: the commit of a transaction, with the tokens of all its locks.
pub fn merge(source: &str, tokens: &[(String, String)]) -> String {
    let mut out =
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:merge xmlns:D=\"DAV:\"><D:source><D:href>".to_owned();
    xml::escape_text(source, &mut out);
    out += "</D:href></D:source><D:no-auto-merge/><D:no-checkout/><D:prop><D:checked-in/><D:version-name/>\
            <D:resourcetype/><D:creationdate/><D:creator-displayname/></D:prop>";
    if !tokens.is_empty() {
        out += &lock_tokens(tokens);
    }
    out + "</D:merge>"
}

/// Returns a list of paths and tokens: a part of `MERGE`, or the body of `DELETE`.
pub fn lock_tokens(tokens: &[(String, String)]) -> String {
    let mut out = "<S:lock-token-list xmlns:S=\"svn:\">".to_owned();
    for (path, token) in tokens {
        out += "<S:lock><lock-path>";
        xml::escape_text(path, &mut out);
        out += "</lock-path><lock-token>";
        xml::escape_text(token, &mut out);
        out += "</lock-token></S:lock>";
    }
    out + "</S:lock-token-list>"
}

/// Returns the body of `CHECKOUT` into an activity. `of_baseline`: for the properties of the coming revision.
pub fn checkout(activity: &str, of_baseline: bool) -> String {
    let mut out =
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:checkout xmlns:D=\"DAV:\"><D:activity-set><D:href>"
            .to_owned();
    xml::escape_text(activity, &mut out);
    out += "</D:href></D:activity-set>";
    if of_baseline {
        out += "<D:apply-to-version/>";
    }
    out + "</D:checkout>"
}

/// Returns the body of `LOCK`.
pub fn lock(comment: Option<&str>) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"utf-8\"?><lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope>\
                   <locktype><write/></locktype>"
        .to_owned();
    if let Some(comment) = comment {
        out += "<owner>";
        xml::escape_text(comment, &mut out);
        out += "</owner>";
    }
    out + "</lockinfo>"
}

/// Returns the body of `POST` that begins a transaction; `None` for properties without them.
pub fn create_txn(props: Option<&Props>) -> Vec<u8> {
    let Some(props) = props else {
        return b"( create-txn )".to_vec();
    };
    let mut out = b"(create-txn-with-props (".to_vec();
    for (at, (name, value)) in props.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        for (atom, end) in [(name.as_bytes(), &b" "[..]), (value, b"")] {
            out.extend_from_slice(format!("{} ", atom.len()).as_bytes());
            out.extend_from_slice(atom);
            out.extend_from_slice(end);
        }
    }
    out.extend_from_slice(b"))");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::post::PostRequest;
    use crate::dav::xml::{Element, XmlLimits};

    #[test]
    fn the_server_reads_what_the_client_writes() {
        let props: Props = [
            ("svn:log".to_owned(), b"two\nlines (and) 1 \xff".to_vec()),
            ("a".to_owned(), Vec::new()),
        ]
        .into();
        assert_eq!(
            PostRequest::parse(&create_txn(Some(&props))),
            Some(PostRequest::CreateTxnWithProps(props))
        );
        assert_eq!(
            PostRequest::parse(&create_txn(None)),
            Some(PostRequest::CreateTxn)
        );
        let tokens = [("a&b".to_owned(), "opaquelocktoken:1".to_owned())];
        for body in [
            merge("/r/!svn/txn/1-1 <", &tokens),
            checkout("/r/!svn/act/1", true),
            lock(Some("<&>")),
            OPTIONS.to_owned(),
            ALLPROP.to_owned(),
            propfind(&[("DAV:", "resourcetype")]),
            ReportBody::new("log-report", "")
                .value("path", "a&b")
                .flag("x", true)
                .finish(),
        ] {
            Element::parse(body.as_bytes(), XmlLimits::default()).expect(&body);
        }
    }

    #[test]
    fn changes_of_properties_are_read_as_they_were_meant() {
        let changes = [
            PropertyChange {
                name: "svn:log",
                value: Some(b"a<b\r\n"),
                expected: Some(Some(b"\x01")),
            },
            PropertyChange {
                name: "my:p",
                value: Some(b"\xff"),
                expected: None,
            },
            PropertyChange {
                name: "gone",
                value: None,
                expected: None,
            },
            PropertyChange {
                name: "if",
                value: None,
                expected: Some(None),
            },
        ];
        let body = proppatch(&changes);
        let root = Element::parse(body.as_bytes(), XmlLimits::default()).expect("well-formed");
        let parsed = crate::dav::proppatch::PropertyUpdate::parse_all(&root).expect("a property update");
        use crate::dav::proppatch::{PropAction, PropValue};
        let bytes = |value: &[u8]| PropValue::Bytes(value.to_vec());
        let read: Vec<_> = parsed
            .into_iter()
            .map(|change| (change.name.local, change.action, change.expected))
            .collect();
        let expected = [
            (
                "log",
                PropAction::Set(bytes(b"a<b\r\n")),
                Some(Some(bytes(b"\x01"))),
            ),
            ("my:p", PropAction::Set(bytes(b"\xff")), None),
            ("if", PropAction::SetAbsent, Some(None)),
            ("gone", PropAction::Remove, None),
        ];
        assert_eq!(
            read,
            expected.map(|(name, action, old)| (name.to_owned(), action, old))
        );
        for (name, is_name) in [
            ("svn:log", true),
            ("üprop", true),
            ("日本", true),
            ("1num", true),
            ("-x", true),
            ("a\u{d7}", false),
            ("a b", false),
            ("<", false),
            ("", false),
            ("a:", false),
        ] {
            assert_eq!(is_property_name(name), is_name, "{name}");
        }
    }
}
