//! A dump stream as a list of records, of which every byte can be changed.

use base::checksum::{Md5, Sha1};
use testkit::history::Random;

/// Properties; `None` deletes one.
pub type PropChanges<'a> = &'a [(&'a str, Option<&'a str>)];

/// A header's name and value.
pub type RecordHeader = (Vec<u8>, Vec<u8>);

/// The parts of a record.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    /// The headers, including lengths.
    pub headers: Vec<RecordHeader>,
    /// The property section.
    pub props: Vec<u8>,
    /// The text section.
    pub text: Vec<u8>,
    /// The bytes after the content.
    pub end: Vec<u8>,
}

impl StreamRecord {
    /// Makes a record with the lengths of its content.
    pub fn new(headers: &[(&str, &str)], props: Option<PropChanges<'_>>, text: Option<&[u8]>) -> Self {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let mut headers: Vec<RecordHeader> = headers
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect();
        let section = props.map_or_else(Vec::new, props_section);
        let text_section = text.unwrap_or_default().to_vec();
        let mut length = |name: &str, length: usize| {
            headers.push((bytes(name), bytes(&length.to_string())));
        };
        if props.is_some() {
            length(PROP_LENGTH, section.len());
        }
        if text.is_some() {
            length(TEXT_LENGTH, text_section.len());
        }
        if props.is_some() || text.is_some() {
            length(CONTENT_LENGTH, section.len() + text_section.len());
        }
        StreamRecord {
            headers,
            props: section,
            text: text_section,
            end: b"\n\n".to_vec(),
        }
    }

    /// Appends the encoded record.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (name, value) in &self.headers {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.push(b'\n');
        }
        out.push(b'\n');
        for part in [&self.props, &self.text, &self.end] {
            out.extend_from_slice(part);
        }
    }

    /// True for a node record.
    pub fn is_node(&self) -> bool {
        self.headers.first().is_some_and(|(name, _)| name == b"Node-path")
    }

    /// Adds `by` to the lengths in these headers.
    pub fn move_lengths(&mut self, names: &[&str], by: i64) {
        for (name, value) in &mut self.headers {
            let number = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse::<i64>().ok());
            if let Some(number) = number
                && names.iter().any(|wanted| wanted.as_bytes() == name)
            {
                *value = number.saturating_add(by).to_string().into_bytes();
            }
        }
    }
}

/// A property section as `svnadmin dump` writes it.
fn props_section(props: PropChanges<'_>) -> Vec<u8> {
    let mut out = String::new();
    for (name, value) in props {
        match value {
            Some(value) => {
                out.push_str(&format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len()));
            }
            None => out.push_str(&format!("D {}\n{name}\n", name.len())),
        }
    }
    out.push_str("PROPS-END\n");
    out.into_bytes()
}

/// A list of records under construction.
struct RecordList(Vec<StreamRecord>);

impl RecordList {
    fn revision(&mut self, number: u64) {
        let date = format!("2020-01-0{}T00:00:00.000000Z", number % 9 + 1);
        let props = [("svn:log", Some("l")), ("svn:date", Some(date.as_str()))];
        let mut record = StreamRecord::new(&[("Revision-number", &number.to_string())], Some(&props), None);
        record.end = b"\n".to_vec();
        self.0.push(record);
    }

    /// Adds a node record; `node` is path, kind (`-` for none) and action.
    fn node(
        &mut self,
        node: &str,
        more: &[(&str, &str)],
        props: Option<PropChanges<'_>>,
        text: Option<&[u8]>,
    ) {
        let names = ["Node-path", "Node-kind", "Node-action"];
        let own = names.into_iter().zip(node.split(' '));
        let own = own.filter(|(_, value)| *value != "-");
        let headers: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        self.0.push(StreamRecord::new(&headers, props, text));
    }
}

/// Returns the records of a valid stream; a random part of them is left out.
pub fn records(random: &mut Random) -> Vec<StreamRecord> {
    let mut chance = || random.below(5) < 3;
    let (first, second): (&[u8], &[u8]) = (b"alpha\nbeta\n", b"alpha\nBETA\n");
    let [first_md5, second_md5, third_md5] =
        [first, second, b"hello"].map(|bytes| Md5::of(bytes).to_string());
    let mut all = RecordList(Vec::new());
    if chance() {
        let mut uuid = StreamRecord::new(&[("UUID", "11111111-2222-3333-4444-555555555555")], None, None);
        uuid.end.clear();
        all.0.push(uuid);
    }
    if chance() {
        all.revision(0);
    }
    all.revision(1);
    all.node("trunk dir add", &[], Some(&[]), None);
    let sha1 = Sha1::of(first).to_string();
    let digests = [("Text-content-md5", &*first_md5), ("Text-content-sha1", &*sha1)];
    let props = [("svn:eol-style", Some("native")), ("x", Some("y"))];
    all.node("trunk/f file add", &digests, Some(&props), Some(first));
    let props = [("svn:ignore", Some("*.o\n"))];
    all.node("trunk/d dir add", &[], Some(&props), None);
    all.node("trunk/d/g file add", &[], Some(&[]), Some(b""));
    all.revision(2);
    let digests = [("Text-content-md5", &*second_md5)];
    all.node("trunk/f file change", &digests, None, Some(second));
    if chance() {
        let props = [("svn:mergeinfo", Some("/b:1"))];
        all.node("trunk/d dir change", &[], Some(&props), None);
    }
    all.revision(3);
    let source = [("Node-copyfrom-rev", "2"), ("Node-copyfrom-path", "trunk")];
    all.node("b dir add", &source, None, None);
    all.node("b/f file change", &[], Some(&[("x", Some("z"))]), None);
    let source = [
        ("Node-copyfrom-rev", "1"),
        ("Node-copyfrom-path", "trunk/f"),
        ("Text-copy-source-md5", &first_md5),
    ];
    all.node("b/h file add", &source, None, None);
    if chance() {
        all.revision(4);
        all.node("trunk/d/g - delete", &[], None, None);
        all.node("b/f file replace", &[], Some(&[]), Some(b"new"));
    }
    if chance() {
        all.revision(5);
        let delta = [
            ("Prop-delta", "true"),
            ("Text-delta", "true"),
            ("Text-delta-base-md5", &*second_md5),
            ("Text-content-md5", &*third_md5),
        ];
        let text = b"SVN\0\0\0\x05\x01\x05\x85hello";
        all.node(
            "trunk/f file change",
            &delta,
            Some(&[("q", Some("1")), ("x", None)]),
            Some(text),
        );
    }
    all.0
}

/// The header of a property section's length.
pub const PROP_LENGTH: &str = "Prop-content-length";
/// The header of a text section's length.
pub const TEXT_LENGTH: &str = "Text-content-length";
/// The header of the length of both.
pub const CONTENT_LENGTH: &str = "Content-length";
