//! Writes node records of a stream of deltas.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, Write as _};

use base::checksum::Md5;
use base::dumpfile::{NodeAction, NodeHeaders};
use base::{Error, NodeKind, Result, Revnum, hashdump};
use tempfile::SpooledTempFile;

/// Receives the stream.
pub type Output<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Changes of properties, sorted by name; `None` deletes.
pub type PropChanges = BTreeMap<String, Option<Vec<u8>>>;

/// A node and what happens to it.
#[derive(Clone, Debug)]
pub struct NodeRecord {
    /// Its path in the repository.
    pub path: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Add, change or replace.
    pub action: NodeAction,
    /// The source of a copy, without a leading slash.
    pub copyfrom: Option<(Revnum, String)>,
}

/// The delta of a text, as it will be written.
pub struct TextDelta {
    /// The whole svndiff document.
    pub svndiff: SpooledTempFile,
    /// Its length in bytes.
    pub length: u64,
    /// The digest of the text that it is based on.
    pub base_md5: Option<Md5>,
}

impl NodeRecord {
    /// True for an addition that is not a copy: it has a property section in any case.
    fn is_new(&self) -> bool {
        self.action != NodeAction::Change && self.copyfrom.is_none()
    }

    /// Writes the record.
    ///
    /// # Errors
    /// Those of the output and of the temporary file.
    pub fn write(
        &self,
        props: &PropChanges,
        text: Option<&mut TextDelta>,
        content_md5: Option<Md5>,
        output: Output<'_>,
    ) -> Result<()> {
        let section = (self.is_new() || !props.is_empty()).then(|| prop_section(props));
        let prop_length = section.as_ref().map(|section| section.len() as u64);
        let text_length = text.as_ref().map(|text| text.length);
        let copyfrom = self.copyfrom.as_ref();
        let headers = NodeHeaders {
            path: self.path.as_str().into(),
            kind: Some(self.kind),
            action: Some(self.action),
            copyfrom: copyfrom
                .map(|(rev, path)| (i64::try_from(rev.0).unwrap_or(i64::MAX), path.as_str().into())),
            prop_delta: section.is_some(),
            text_delta: text.is_some(),
            delta_base_md5: text.as_ref().and_then(|text| text.base_md5),
            content_md5: content_md5.filter(|_| text.is_some()),
            prop_length,
            text_length,
            content_length: match (prop_length, text_length) {
                (None, None) => None,
                (props, text) => Some(props.unwrap_or(0) + text.unwrap_or(0)),
            },
            ..NodeHeaders::default()
        };
        let mut out = Vec::new();
        headers.write(&mut out);
        out.push(b'\n');
        out.extend_from_slice(section.as_deref().unwrap_or_default());
        output(&out)?;
        if let Some(text) = text {
            text.write(output)?;
        }
        output(b"\n\n")
    }
}

impl TextDelta {
    /// Starts a document of version 0.
    ///
    /// # Errors
    /// Those of the temporary file, as below.
    pub fn new(base_md5: Option<Md5>) -> Result<TextDelta> {
        let mut delta = TextDelta {
            svndiff: SpooledTempFile::new(MEMORY),
            length: 0,
            base_md5,
        };
        let mut header = Vec::new();
        delta::svndiff::write_header(0, &mut header);
        delta.append(&header)?;
        Ok(delta)
    }

    /// Appends a part of the document.
    ///
    /// # Errors
    /// As above.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.svndiff.write_all(bytes).map_err(|e| failed(&e))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn write(&mut self, output: Output<'_>) -> Result<()> {
        self.svndiff.rewind().map_err(|e| failed(&e))?;
        let mut buffer = vec![0; PIECE.min(usize::try_from(self.length).unwrap_or(PIECE)).max(1)];
        loop {
            match self.svndiff.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => output(&buffer[..length])?,
                Err(e) => return Err(failed(&e)),
            }
        }
    }
}

/// Writes the record of a deletion. `before_copy`: a copy to the same path follows.
///
/// # Errors
/// Those of the output.
pub fn write_deletion(path: &str, before_copy: bool, output: Output<'_>) -> Result<()> {
    let headers = NodeHeaders {
        path: path.into(),
        action: Some(NodeAction::Delete),
        ..NodeHeaders::default()
    };
    let mut out = Vec::new();
    headers.write(&mut out);
    out.extend_from_slice(if before_copy { b"\n" } else { b"\n\n" });
    output(&out)
}

/// First the values, then the deletions.
fn prop_section(props: &PropChanges) -> Vec<u8> {
    let mut section = Vec::new();
    for (name, value) in props {
        if let Some(value) = value {
            hashdump::write_entry(&mut section, name.as_bytes(), value);
        }
    }
    for (name, value) in props {
        if value.is_none() {
            hashdump::write_delete(&mut section, name.as_bytes());
        }
    }
    section.extend_from_slice(b"PROPS-END\n");
    section
}

fn failed(error: &io::Error) -> Error {
    Error::os(error, "Can't use a temporary file")
}

/// Bytes of a delta that are held in memory; a longer one goes to a file.
const MEMORY: usize = 1 << 20;
/// Bytes that are written at once.
const PIECE: usize = 64 << 10;
