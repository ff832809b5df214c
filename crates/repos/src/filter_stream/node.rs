//! Node records.

use std::borrow::Cow;
use std::io::{BufRead, Write};

use base::{Code, Error, Result, shown_bytes};

use super::section::{self, PROPS_END};
use super::{FilterObserver, StreamFilter, incomplete, mergeinfo, write};
use crate::dumpfile::{leading_number, name};

impl<R: BufRead, W: Write, O: FilterObserver> StreamFilter<'_, R, W, O> {
    /// Passes the node whose headers were read, or leaves it out.
    pub(super) fn node(&mut self) -> Result<()> {
        let path = absolute(self.block.get(name::PATH).unwrap_or_default());
        let Some(revision) = &mut self.revision else {
            return Err(malformed("Node record before any revision record".to_owned()));
        };
        if !self.paths.keeps(&path) {
            revision.has_dropped_nodes = true;
            self.observer.dropped_node(&path);
            return self.reader.skip_content();
        }
        let source = self.block.get(name::COPYFROM_PATH).map(absolute);
        let is_source_kept = source.as_ref().is_none_or(|source| self.paths.keeps(source));
        // A file with a text does not need its source.
        let has_own_text =
            self.block.get(name::KIND) == Some(b"file") && self.block.get(name::TEXT_LENGTH).is_some();
        if !is_source_kept && !has_own_text {
            return Err(incomplete(format!(
                "Invalid copy source path '{}' for '{}'",
                shown_bytes(&source.unwrap_or_default()),
                shown_bytes(&path)
            )));
        }
        let is_copy = source.is_some() && is_source_kept;
        revision.has_nodes = true;
        let path = path.into_owned();
        self.write_revision()?;
        self.encode_headers(&path, is_copy)?;
        self.content(&path)
    }

    /// Encodes the headers apart from the lengths. A node with a source that is no copy becomes a plain addition.
    fn encode_headers(&mut self, path: &[u8], is_copy: bool) -> Result<()> {
        let (block, head) = (&self.block, &mut self.head);
        head.clear();
        section::header(head, name::PATH.as_bytes(), &path[1..]);
        if let Some(kind) = block.get(name::KIND) {
            section::header(head, name::KIND.as_bytes(), kind);
        }
        let Some(action) = block.get(name::ACTION) else {
            let path = shown_bytes(path);
            return Err(incomplete(format!("Missing Node-action for path '{path}'")));
        };
        section::header(head, name::ACTION.as_bytes(), action);
        let has_source = block.get(name::COPYFROM_PATH).is_some();
        for (header, value) in block.iter() {
            let is_of_source = [name::COPYFROM_REV, name::COPYFROM_PATH]
                .iter()
                .any(|name| name.as_bytes() == header);
            if is_of_source && has_source && !is_copy {
                continue;
            }
            if FIRST.iter().any(|first| first.as_bytes() == header) || section::is_length(header) {
                continue;
            }
            if self.options.renumbers() && header == name::COPYFROM_REV.as_bytes() {
                let rev = self.renumbering.find(leading_number(value).unwrap_or(0), || {
                    format!(
                        "No valid copyfrom revision in filtered stream for '{}'",
                        shown_bytes(path)
                    )
                })?;
                section::number(head, name::COPYFROM_REV, rev);
            } else {
                section::header(head, header, value);
            }
        }
        Ok(())
    }

    /// Passes properties and text.
    fn content(&mut self, path: &[u8]) -> Result<()> {
        let is_delta = self.block.get(name::PROP_DELTA) == Some(b"true");
        // A list of changes that has none is left out; an empty list is not.
        let mut has_props = self.reader.has_props() && !is_delta;
        self.section.clear();
        while let Some((name, value)) = self.reader.next_raw_prop()? {
            has_props = true;
            if value.is_none() && !is_delta {
                let rev = self.revision.as_ref().map_or(0, super::Revision::original);
                return Err(malformed_delta(path, rev));
            }
            let value = match value {
                Some(value) if name == MERGEINFO => {
                    let (options, paths) = (self.options, &self.paths);
                    let adjusted =
                        mergeinfo::adjusted(&value, options, paths, &self.renumbering, self.oldest)?;
                    Some(adjusted.into_bytes())
                }
                value => value,
            };
            section::property(&mut self.section, &name, value.as_deref());
        }
        if has_props {
            self.section.extend_from_slice(PROPS_END);
        }
        let text = self.reader.text_left()?;
        self.end_headers(has_props, text);
        if text.is_some() {
            write(self.output, &self.head)?;
            let (output, cancel) = (&mut *self.output, self.cancel);
            self.reader.copy_text(|part| {
                cancel.check()?;
                write(output, part)
            })?;
            self.head.clear();
        }
        self.reader.skip_content()?;
        self.head.extend_from_slice(b"\n\n");
        write(self.output, &self.head)
    }

    /// Appends the lengths, the empty line and the properties to the headers.
    fn end_headers(&mut self, has_props: bool, text: Option<u64>) {
        let head = &mut self.head;
        let length = self.section.len() as u64;
        if has_props {
            section::number(head, name::PROP_LENGTH, length);
        }
        // A negative length is a huge one for the reader. The stream ends before it does.
        if let Some(text) = text {
            section::number(head, name::TEXT_LENGTH, text.cast_signed());
        }
        let total = length.wrapping_add(text.unwrap_or(0));
        section::number(head, name::CONTENT_LENGTH, total.cast_signed());
        head.push(b'\n');
        head.extend_from_slice(&self.section);
    }
}

/// Returns the path with a slash before it.
fn absolute(path: &[u8]) -> Cow<'_, [u8]> {
    match path.first() {
        Some(b'/') => Cow::Borrowed(path),
        _ => Cow::Owned([b"/", path].concat()),
    }
}

fn malformed(what: String) -> Error {
    let message = format!("Malformed dumpstream: {what}");
    Error::new(Code::STREAM_MALFORMED_DATA, message)
}

fn malformed_delta(path: &[u8], rev: i64) -> Error {
    let path = shown_bytes(path);
    let message = format!(
        "Delta property block detected, but deltas are not enabled for node '{path}' in original revision {rev}"
    );
    Error::new(Code::STREAM_MALFORMED_DATA, message)
}

/// The headers that are written before all others.
const FIRST: [&str; 3] = [name::PATH, name::KIND, name::ACTION];
const MERGEINFO: &[u8] = b"svn:mergeinfo";
