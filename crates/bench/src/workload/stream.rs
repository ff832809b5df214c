//! Writes dump streams of format 2, with the records that the workloads need.

use std::io::{Result, Write};

/// A writer of dump streams.
pub struct DumpWriter<'a> {
    out: &'a mut dyn Write,
}

/// Properties of a node or revision.
pub type Pairs<'a> = &'a [(&'a str, &'a str)];

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
        self.node(path, "dir", "add", "", Some(&[]), None)
    }

    /// Adds a file.
    pub fn add_file(&mut self, path: &str, props: Pairs<'_>, text: &[u8]) -> Result<()> {
        self.node(path, "file", "add", "", Some(props), Some(text))
    }

    /// Changes a file's text.
    pub fn change_text(&mut self, path: &str, text: &[u8]) -> Result<()> {
        self.node(path, "file", "change", "", None, Some(text))
    }

    /// Replaces a file by an unrelated one.
    pub fn replace_file(&mut self, path: &str, text: &[u8]) -> Result<()> {
        self.node(path, "file", "replace", "", Some(&[]), Some(text))
    }

    /// Changes the whole property list of a node.
    pub fn change_props(&mut self, path: &str, kind: &str, props: Pairs<'_>) -> Result<()> {
        self.node(path, kind, "change", "", Some(props), None)
    }

    /// Copies a node, unchanged.
    pub fn copy(&mut self, path: &str, kind: &str, from: &str, rev: u32) -> Result<()> {
        let source = format!("Node-copyfrom-rev: {rev}\nNode-copyfrom-path: {from}\n");
        self.node(path, kind, "add", &source, None, None)
    }

    /// Deletes a node.
    pub fn delete(&mut self, path: &str) -> Result<()> {
        write!(self.out, "Node-path: {path}\nNode-action: delete\n\n\n")
    }

    fn node(
        &mut self,
        path: &str,
        kind: &str,
        action: &str,
        source: &str,
        props: Option<Pairs<'_>>,
        text: Option<&[u8]>,
    ) -> Result<()> {
        write!(
            self.out,
            "Node-path: {path}\nNode-kind: {kind}\nNode-action: {action}\n{source}"
        )?;
        let props = props.map(hash);
        let mut length = 0;
        if let Some(props) = &props {
            length += props.len();
            writeln!(self.out, "Prop-content-length: {}", props.len())?;
        }
        if let Some(text) = text {
            length += text.len();
            writeln!(self.out, "Text-content-length: {}", text.len())?;
        }
        if props.is_some() || text.is_some() {
            writeln!(self.out, "Content-length: {length}")?;
        }
        self.out.write_all(b"\n")?;
        self.out.write_all(props.as_deref().unwrap_or_default())?;
        self.out.write_all(text.unwrap_or_default())?;
        self.out.write_all(b"\n\n")
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
