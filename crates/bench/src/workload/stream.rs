//! Writes dump streams of format 2, with the records that the workloads need.

use std::io::{Error, ErrorKind, Read, Result, Write};

/// A writer of dump streams.
pub struct DumpWriter<'a> {
    out: &'a mut dyn Write,
}

/// Properties of a node or revision.
pub type Pairs<'a> = &'a [(&'a str, &'a str)];

/// The headers and the property list of a node record.
#[derive(Clone, Copy, Default)]
pub struct NodeRecord<'a> {
    /// The path, without a leading slash.
    pub path: &'a str,
    /// `file` or `dir`.
    pub kind: &'a str,
    /// `add`, `change` or `replace`.
    pub action: &'a str,
    /// The path and revision of the copy source.
    pub copied_from: Option<(&'a str, u32)>,
    /// The whole property list; `None` leaves the properties as they are.
    pub props: Option<Pairs<'a>>,
}

/// A text of known length.
pub struct Text<'a> {
    /// The length in bytes.
    pub len: u64,
    /// The bytes.
    pub bytes: &'a mut dyn Read,
}

impl<'a> DumpWriter<'a> {
    /// Starts a stream.
    pub fn begin(out: &'a mut dyn Write) -> Result<Self> {
        out.write_all(b"SVN-fs-dump-format-version: 2\n\n")?;
        Ok(DumpWriter { out })
    }

    /// Starts a revision.
    pub fn revision(&mut self, number: u32, props: Pairs<'_>) -> Result<()> {
        let props = hash(props);
        let length = props.len();
        write!(
            self.out,
            "Revision-number: {number}\nProp-content-length: {length}\nContent-length: {length}\n\n"
        )?;
        self.out.write_all(&props)?;
        self.out.write_all(b"\n")
    }

    /// Adds a directory.
    pub fn add_dir(&mut self, path: &str) -> Result<()> {
        self.whole("add", path, "dir", Some(&[]), None)
    }

    /// Adds a file.
    pub fn add_file(&mut self, path: &str, props: Pairs<'_>, text: &[u8]) -> Result<()> {
        self.whole("add", path, "file", Some(props), Some(text))
    }

    /// Changes a file's text.
    pub fn change_text(&mut self, path: &str, text: &[u8]) -> Result<()> {
        self.whole("change", path, "file", None, Some(text))
    }

    /// Replaces a file by an unrelated one.
    pub fn replace_file(&mut self, path: &str, text: &[u8]) -> Result<()> {
        self.whole("replace", path, "file", Some(&[]), Some(text))
    }

    /// Changes the whole property list of a node.
    pub fn change_props(&mut self, path: &str, kind: &str, props: Pairs<'_>) -> Result<()> {
        self.whole("change", path, kind, Some(props), None)
    }

    /// Copies a node, unchanged.
    pub fn copy(&mut self, path: &str, kind: &str, from: &str, rev: u32) -> Result<()> {
        let record = NodeRecord {
            path,
            kind,
            action: "add",
            copied_from: Some((from, rev)),
            props: None,
        };
        self.node(&record, None)
    }

    /// Deletes a node.
    pub fn delete(&mut self, path: &str) -> Result<()> {
        write!(self.out, "Node-path: {path}\nNode-action: delete\n\n\n")
    }

    /// Writes a node record. The text is copied piece by piece.
    ///
    /// # Errors
    /// Errors of the output and of the text; a text that is shorter than its length.
    pub fn node(&mut self, record: &NodeRecord<'_>, text: Option<Text<'_>>) -> Result<()> {
        let NodeRecord {
            path, kind, action, ..
        } = record;
        write!(
            self.out,
            "Node-path: {path}\nNode-kind: {kind}\nNode-action: {action}\n"
        )?;
        if let Some((from, rev)) = record.copied_from {
            write!(self.out, "Node-copyfrom-rev: {rev}\nNode-copyfrom-path: {from}\n")?;
        }
        let props = record.props.map(hash);
        let mut length = 0;
        if let Some(props) = &props {
            length += props.len() as u64;
            writeln!(self.out, "Prop-content-length: {}", props.len())?;
        }
        if let Some(text) = &text {
            length += text.len;
            writeln!(self.out, "Text-content-length: {}", text.len)?;
        }
        if props.is_some() || text.is_some() {
            writeln!(self.out, "Content-length: {length}")?;
        }
        self.out.write_all(b"\n")?;
        self.out.write_all(props.as_deref().unwrap_or_default())?;
        if let Some(text) = text {
            let copied = std::io::copy(&mut text.bytes.take(text.len), self.out)?;
            if copied < text.len {
                return Err(Error::new(
                    ErrorKind::UnexpectedEof,
                    format!("{path}: the text is too short"),
                ));
            }
        }
        self.out.write_all(b"\n\n")
    }

    /// Writes a node record with a text in memory.
    fn whole(
        &mut self,
        action: &str,
        path: &str,
        kind: &str,
        props: Option<Pairs<'_>>,
        mut text: Option<&[u8]>,
    ) -> Result<()> {
        let record = NodeRecord {
            path,
            kind,
            action,
            copied_from: None,
            props,
        };
        let text = text.as_mut().map(|bytes| Text {
            len: bytes.len() as u64,
            bytes,
        });
        self.node(&record, text)
    }
}

fn hash(props: Pairs<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in props {
        out.extend(format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len()).into_bytes());
    }
    out.extend_from_slice(b"PROPS-END\n");
    out
}
