//! Revision records: whether and how they are written.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use base::Result;

use super::section::{self, PROPS_END};
use super::{DropRevisions, FilterObserver, StreamFilter, write};
use crate::dumpfile::{leading_number, name};

/// A revision whose nodes are being read.
pub(super) struct Revision {
    /// The number in the stream.
    original: i64,
    /// The number in the output.
    actual: i64,
    /// The headers apart from the number and the lengths, encoded.
    headers: Vec<u8>,
    props: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The record has a property section, even if it is empty.
    has_props: bool,
    /// The record says that it has no content.
    says_no_content: bool,
    /// A node was kept.
    pub has_nodes: bool,
    /// A node was left out.
    pub has_dropped_nodes: bool,
    is_written: bool,
}

impl Revision {
    pub fn original(&self) -> i64 {
        self.original
    }

    /// Makes the revision one that only keeps the numbers of the others.
    fn become_padding(&mut self) {
        let date = self.props.remove_entry(DATE);
        self.props.clear();
        self.props.extend(date);
        self.props.insert(LOG.to_vec(), PADDING.to_vec());
        self.has_props = true;
    }
}

impl<R: BufRead, W: Write, O: FilterObserver> StreamFilter<'_, R, W, O> {
    /// Begins the revision whose headers were read.
    pub(super) fn begin_revision(&mut self) -> Result<()> {
        let block = &self.block;
        let original = block.get(name::REVISION).and_then(leading_number).unwrap_or(0);
        let mut headers = Vec::new();
        for (header, value) in block.iter() {
            if header != name::REVISION.as_bytes()
                && header != name::PROP_LENGTH.as_bytes()
                && header != name::CONTENT_LENGTH.as_bytes()
            {
                section::header(&mut headers, header, value);
            }
        }
        let says_no_content = block.get(name::CONTENT_LENGTH) == Some(b"0");
        let has_props = self.reader.has_props();
        let mut props = BTreeMap::new();
        while let Some((name, value)) = self.reader.next_raw_prop()? {
            props.insert(name, value.unwrap_or_default());
        }
        self.reader.skip_content()?;
        let dropped = i64::try_from(self.dropped_revisions).unwrap_or(i64::MAX);
        self.revision = Some(Revision {
            original,
            actual: match self.options.renumbers() {
                true => original.saturating_sub(dropped),
                false => original,
            },
            headers,
            props,
            has_props,
            says_no_content,
            has_nodes: false,
            has_dropped_nodes: false,
            is_written: false,
        });
        Ok(())
    }

    /// Ends the current revision.
    pub(super) fn end_revision(&mut self) -> Result<()> {
        self.write_revision()?;
        self.revision = None;
        Ok(())
    }

    /// Writes the current revision or leaves it out, unless that is decided already.
    pub(super) fn write_revision(&mut self) -> Result<()> {
        let Some(revision) = self.revision.as_mut().filter(|revision| !revision.is_written) else {
            return Ok(());
        };
        revision.is_written = true;
        let (original, actual) = (revision.original, revision.actual);
        let is_emptied = revision.has_dropped_nodes && !revision.has_nodes;
        let is_dropped = original != 0
            && match self.options.drop_revisions {
                DropRevisions::None => false,
                DropRevisions::Emptied => is_emptied,
                DropRevisions::Empty => !revision.has_nodes,
            };
        if is_dropped {
            self.dropped_revisions += 1;
            if self.options.renumbers() {
                self.renumbering.drop(original);
            }
            self.observer.skipped(original);
            return Ok(());
        }
        let keeps_empty = self.options.drop_revisions == DropRevisions::None;
        if is_emptied && keeps_empty && !self.options.preserve_revprops {
            revision.become_padding();
        }
        encode(revision, &mut self.head, &mut self.section);
        write(self.output, &self.head)?;
        if self.oldest <= 0 {
            self.oldest = original;
        }
        if self.options.renumbers() {
            self.renumbering.write(original, actual);
        }
        self.observer.committed(original, actual);
        Ok(())
    }
}

/// Writes the record to `out`.
fn encode(revision: &Revision, out: &mut Vec<u8>, props: &mut Vec<u8>) {
    out.clear();
    section::number(out, name::REVISION, revision.actual);
    props.clear();
    if revision.has_props {
        for (name, value) in &revision.props {
            section::property(props, name, Some(value));
        }
        props.extend_from_slice(PROPS_END);
        section::number(out, name::PROP_LENGTH, props.len());
    }
    out.extend_from_slice(&revision.headers);
    if revision.has_props {
        section::number(out, name::CONTENT_LENGTH, props.len());
    } else if revision.says_no_content {
        section::number(out, name::CONTENT_LENGTH, 0);
    }
    out.push(b'\n');
    out.extend_from_slice(props);
    out.push(b'\n');
}

const DATE: &[u8] = b"svn:date";
const LOG: &[u8] = b"svn:log";
const PADDING: &[u8] = b"This is an empty revision for padding.";
