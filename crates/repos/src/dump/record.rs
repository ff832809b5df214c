//! Prints node records: headers, property section, text.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use base::mergeinfo::Mergeinfo;
use base::{Cancel, Error, FsPath, NodeKind, Props, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec};
use fsfs::Node;

use crate::dump::spool::Spool;
use crate::dump::{Warning, write_error};
use crate::dumpfile::{NodeAction, NodeHeaders};

/// Receives the records of a revision in their order.
pub(super) trait Records {
    /// Adds a deletion. One that precedes a copy to the same path is followed by one empty line less than any other.
    fn delete(&mut self, path: &FsPath, for_a_copy: bool) -> Result<()>;

    /// Adds a node that exists after the revision.
    fn node(&mut self, change: &NodeRecord<'_>) -> Result<()>;
}

/// The settings of all records of a revision.
#[derive(Clone, Copy)]
pub(super) struct RecordStyle<'a> {
    /// Texts and properties are written as differences where there is a base.
    pub deltas: bool,
    /// The first revision of the dump.
    pub oldest: Revnum,
    /// Checked at intervals within long texts.
    pub cancel: &'a Cancel,
}

/// Prints records one after the other to `out`.
pub(super) struct Printer<'o> {
    out: &'o mut dyn Write,
    style: RecordStyle<'o>,
    /// Longer texts are not begun: `out` would not take them.
    limit: u64,
    /// A text exceeded the limit.
    pub overflowed: bool,
    /// Full texts whose digests the caller checks; `None` if the printer checks them.
    deferred: Option<Vec<UncheckedText>>,
    /// Bytes in the buffer so far, if texts are deferred.
    written: usize,
    /// The warnings so far.
    pub warnings: Vec<Warning>,
    headers: Vec<u8>,
    section: Vec<u8>,
    spool: Spool,
    codec: Codec,
}

/// A text that was printed without a check of its digest.
pub(super) struct UncheckedText {
    /// Its range in the buffer.
    pub bytes: Range<usize>,
    pub md5: Md5,
}

/// A node to print.
pub(super) struct NodeRecord<'a> {
    pub path: &'a FsPath,
    pub action: NodeAction,
    pub node: &'a Node,
    /// The node with which properties and text are compared: equal ones are left out.
    pub compared: Option<&'a Node>,
    /// The source of a copy, which is then also what is compared.
    pub copyfrom: Option<(Revnum, &'a FsPath)>,
}

impl<'o> Printer<'o> {
    pub fn new(out: &'o mut dyn Write, style: RecordStyle<'o>, limit: u64) -> Self {
        Printer {
            out,
            style,
            limit,
            overflowed: false,
            deferred: None,
            written: 0,
            warnings: Vec::new(),
            headers: Vec::new(),
            section: Vec::new(),
            spool: Spool::default(),
            codec: Codec::new(),
        }
    }

    /// Leaves the digests of full texts to the caller, who has a buffer that is written from `start` on.
    pub fn defer(mut self, start: usize) -> Self {
        self.deferred = Some(Vec::new());
        self.written = start;
        self
    }

    /// Takes the texts whose digests were not checked.
    pub fn take_deferred(&mut self) -> Vec<UncheckedText> {
        self.deferred.take().unwrap_or_default()
    }

    /// Prints bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        put(self.out, &mut self.written, bytes)
    }

    /// Fills `section`; returns whether it holds differences.
    fn prop_section(&mut self, node: &Node, compared: Option<&Node>) -> Result<bool> {
        let new = node.props()?;
        if self.style.oldest > Revnum(1) && refers_to_older(&new, self.style.oldest) {
            self.warnings.push(Warning::OldMergeinfo);
        }
        self.section.clear();
        let Some(compared) = compared.filter(|_| self.style.deltas) else {
            hashdump::write_props(&mut self.section, &new, Terminator::PropsEnd);
            return Ok(false);
        };
        let old = compared.props()?;
        for (name, value) in new.iter().filter(|(name, value)| old.get(*name) != Some(value)) {
            hashdump::write_entry(&mut self.section, name.as_bytes(), value);
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            hashdump::write_delete(&mut self.section, name.as_bytes());
        }
        hashdump::write(&mut self.section, [], Terminator::PropsEnd);
        Ok(true)
    }

    fn text(&mut self, node: &Node) -> Result<()> {
        if !node.has_text() {
            return Ok(());
        }
        let mut reader = node.reader()?;
        let start = self.written;
        let md5 = match &self.deferred {
            Some(_) => Some(node.md5()?).filter(|md5| !md5.is_unknown()),
            None => None,
        };
        if md5.is_some() {
            reader = reader.unchecked();
        }
        loop {
            self.style.cancel.check()?;
            let chunk = reader.fill()?;
            let length = chunk.len();
            if length == 0 {
                break;
            }
            put(self.out, &mut self.written, chunk)?;
            reader.consume(length);
        }
        if let (Some(md5), Some(deferred)) = (md5, &mut self.deferred) {
            let bytes = start..self.written;
            deferred.push(UncheckedText { bytes, md5 });
        }
        Ok(())
    }

    /// Fills the spool. Stored windows are only framed again: dump streams hold version 0.
    fn text_delta(&mut self, node: &Node, compared: Option<&Node>) -> Result<()> {
        let Printer {
            spool,
            codec,
            style,
            limit,
            overflowed,
            ..
        } = self;
        spool.clear();
        svndiff::write_header(0, spool.buffer());
        if !node.has_text() {
            return Ok(());
        }
        let windows = node.fs().text_delta(compared, node, EncodedVersions::up_to(2))?;
        windows.drive(&mut |chunk| {
            style.cancel.check()?;
            match chunk {
                TextChunk::Decoded(window) => svndiff::write_window(window, 0, 0, codec, spool.buffer()),
                TextChunk::Encoded(window) => window.write_as(0, 0, codec, spool.buffer())?,
            }
            *overflowed |= spool.len() > *limit;
            if *overflowed {
                return Err(too_long());
            }
            spool.spill_if_large()
        })
    }
}

impl Printer<'_> {
    /// Fills the headers about the source of a copy.
    fn source_headers<'a>(&mut self, change: &NodeRecord<'a>, headers: &mut NodeHeaders<'a>) -> Result<()> {
        let Some((rev, path)) = change.copyfrom else {
            return Ok(());
        };
        let number = i64::try_from(rev.0).unwrap_or(i64::MAX);
        headers.copyfrom = Some((number, Cow::Borrowed(path.rel_str())));
        let is_file = change.node.kind() != NodeKind::Dir;
        if let Some(source) = change.compared.filter(|_| is_file) {
            headers.copy_source_md5 = known_md5(source)?;
            headers.copy_source_sha1 = known_sha1(source);
        }
        if rev < self.style.oldest {
            self.warnings.push(Warning::OldSource { rev });
        }
        Ok(())
    }

    /// Fills the headers about the text. Fills the spool as well if the text is written as a difference.
    fn text_headers(&mut self, change: &NodeRecord<'_>, headers: &mut NodeHeaders<'_>) -> Result<()> {
        let node = change.node;
        headers.content_md5 = known_md5(node)?;
        headers.content_sha1 = known_sha1(node);
        headers.text_length = Some(match self.style.deltas {
            false => {
                let size = node.size()?;
                self.overflowed |= size > self.limit;
                if self.overflowed {
                    return Err(too_long());
                }
                size
            }
            true => {
                headers.text_delta = true;
                if let Some(compared) = change.compared {
                    headers.delta_base_md5 = known_md5(compared)?;
                    headers.delta_base_sha1 = known_sha1(compared);
                }
                self.text_delta(node, change.compared)?;
                self.spool.len()
            }
        });
        Ok(())
    }
}

impl Records for Printer<'_> {
    fn delete(&mut self, path: &FsPath, for_a_copy: bool) -> Result<()> {
        let headers = NodeHeaders {
            path: Cow::Borrowed(path.rel_str()),
            action: Some(NodeAction::Delete),
            ..NodeHeaders::default()
        };
        self.headers.clear();
        headers.write(&mut self.headers);
        self.headers
            .extend_from_slice(if for_a_copy { b"\n" } else { b"\n\n" });
        put(self.out, &mut self.written, &self.headers)
    }

    fn node(&mut self, change: &NodeRecord<'_>) -> Result<()> {
        let node = change.node;
        let is_file = node.kind() != NodeKind::Dir;
        let mut headers = NodeHeaders {
            path: Cow::Borrowed(change.path.rel_str()),
            kind: Some(node.kind()),
            action: Some(change.action),
            ..NodeHeaders::default()
        };
        self.source_headers(change, &mut headers)?;
        let with_props = match change.compared {
            Some(compared) => node.props_key() != compared.props_key(),
            None => true,
        };
        let with_text = is_file
            && match change.compared {
                Some(compared) => node.text_key() != compared.text_key(),
                None => true,
            };
        if with_props {
            headers.prop_delta = self.prop_section(node, change.compared)?;
            headers.prop_length = Some(self.section.len() as u64);
        }
        if with_text {
            self.text_headers(change, &mut headers)?;
        }
        if with_props || with_text {
            headers.content_length =
                Some(headers.prop_length.unwrap_or(0) + headers.text_length.unwrap_or(0));
        }
        self.headers.clear();
        headers.write(&mut self.headers);
        self.headers.push(b'\n');
        if with_props {
            self.headers.extend_from_slice(&self.section);
        }
        put(self.out, &mut self.written, &self.headers)?;
        match (with_text, self.style.deltas) {
            (true, true) => self.spool.copy_to(self.out)?,
            (true, false) => self.text(node)?,
            (false, _) => {}
        }
        self.raw(if with_props || with_text { b"\n\n" } else { b"\n" })
    }
}

fn put(out: &mut dyn Write, written: &mut usize, bytes: &[u8]) -> Result<()> {
    *written = written.wrapping_add(bytes.len());
    out.write_all(bytes).map_err(|e| write_error(&e))
}

/// The error is never shown: a caller with a limit checks `overflowed`.
fn too_long() -> Error {
    write_error(&io::ErrorKind::FileTooLarge.into())
}

fn known_md5(node: &Node) -> Result<Option<Md5>> {
    match node.has_text() {
        true => node.md5().map(Some),
        false => Ok(None),
    }
}

fn known_sha1(node: &Node) -> Option<base::checksum::Sha1> {
    node.sha1().filter(|_| node.has_text())
}

/// True if the mergeinfo names a revision older than `oldest`. False for a value that does not parse.
fn refers_to_older(props: &Props, oldest: Revnum) -> bool {
    let mergeinfo = props.get(props::MERGEINFO).map(|text| Mergeinfo::parse(text));
    let Some(Ok(mergeinfo)) = mergeinfo else {
        return false;
    };
    mergeinfo
        .iter()
        .flat_map(|(_, ranges)| ranges.ranges())
        .any(|range| range.start.next() < oldest)
}
