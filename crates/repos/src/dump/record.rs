//! Prints node records: headers, property section, text.

use std::borrow::Cow;
use std::io::Write;

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use base::mergeinfo::Mergeinfo;
use base::{Cancel, FsPath, NodeKind, Props, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec};
use fsfs::{Node, TextReader};

use crate::dump::memory::{BoundedBuffer, UncheckedText};
use crate::dump::spool::Spool;
use crate::dump::{Warning, write_error};
use crate::dumpfile::{NodeAction, NodeHeaders};

/// Receives the records of a revision in their order.
pub(crate) trait Records {
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

/// Prints records one after the other.
pub(super) struct Printer<'o> {
    pub output: Output<'o>,
    style: RecordStyle<'o>,
    /// The warnings so far.
    pub warnings: Vec<Warning>,
    scratch: &'o mut Scratch,
}

/// Where records are printed.
pub(super) enum Output<'o> {
    /// A stream, which takes any number of bytes.
    Stream(&'o mut dyn Write),
    /// Memory with a limit.
    Memory(BoundedBuffer<'o>),
}

/// Buffers of a printer, which the next one uses again.
#[derive(Default)]
pub(super) struct Scratch {
    headers: Vec<u8>,
    section: Vec<u8>,
    spool: Spool,
    codec: Codec,
}

/// A node to print.
pub(crate) struct NodeRecord<'a> {
    pub path: &'a FsPath,
    pub action: NodeAction,
    pub node: &'a Node,
    /// The node with which properties and text are compared: equal ones are left out.
    pub compared: Option<&'a Node>,
    /// The source of a copy, which is then also what is compared.
    pub copyfrom: Option<(Revnum, &'a FsPath)>,
}

impl Output<'_> {
    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Output::Stream(stream) => stream.write_all(bytes).map_err(|e| write_error(&e)),
            Output::Memory(memory) => memory.write(bytes),
        }
    }

    /// Writes a block, which memory takes without a copy.
    pub fn write_block(&mut self, block: Box<[u8]>) -> Result<()> {
        match self {
            Output::Stream(_) => self.write(&block),
            Output::Memory(memory) => memory.write_block(block),
        }
    }

    /// Checks that `length` more bytes may be written.
    fn admit(&mut self, length: u64) -> Result<()> {
        match self {
            Output::Stream(_) => Ok(()),
            Output::Memory(memory) => memory.admit(length),
        }
    }

    /// Ends the printing; see [`BoundedBuffer::finish`].
    pub fn finish(self) -> Option<Vec<UncheckedText>> {
        match self {
            Output::Stream(_) => Some(Vec::new()),
            Output::Memory(memory) => memory.finish(),
        }
    }
}

impl NodeRecord<'_> {
    /// True if the record has properties: they are not stored in the same place as those that they are compared with.
    pub fn has_new_props(&self) -> bool {
        let compared = self.compared.map(Node::props_key);
        compared.is_none_or(|key| key != self.node.props_key())
    }

    /// True if the record has a text.
    pub fn has_new_text(&self) -> bool {
        let compared = self.compared.map(Node::text_key);
        self.node.kind() != NodeKind::Dir && compared.is_none_or(|key| key != self.node.text_key())
    }
}

impl<'o> Printer<'o> {
    pub fn new(output: Output<'o>, style: RecordStyle<'o>, scratch: &'o mut Scratch) -> Self {
        Printer {
            output,
            style,
            warnings: Vec::new(),
            scratch,
        }
    }

    /// Prints bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.write(bytes)
    }

    /// Fills `section`; returns whether it holds differences.
    fn prop_section(&mut self, node: &Node, compared: Option<&Node>) -> Result<bool> {
        let new = node.props()?;
        if self.style.oldest > Revnum(1) && refers_to_older(&new, self.style.oldest) {
            self.warnings.push(Warning::OldMergeinfo);
        }
        self.scratch.section.clear();
        let Some(compared) = compared.filter(|_| self.style.deltas) else {
            hashdump::write_props(&mut self.scratch.section, &new, Terminator::PropsEnd);
            return Ok(false);
        };
        let old = compared.props()?;
        for (name, value) in new.iter().filter(|(name, value)| old.get(*name) != Some(value)) {
            hashdump::write_entry(&mut self.scratch.section, name.as_bytes(), value);
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            hashdump::write_delete(&mut self.scratch.section, name.as_bytes());
        }
        hashdump::write(&mut self.scratch.section, [], Terminator::PropsEnd);
        Ok(true)
    }

    fn text(&mut self, node: &Node) -> Result<()> {
        if !node.has_text() {
            return Ok(());
        }
        let reader = node.reader()?;
        let cancel = self.style.cancel;
        match &mut self.output {
            Output::Stream(stream) => text_to_stream(reader, *stream, cancel),
            Output::Memory(memory) => text_to_memory(node, reader, memory, cancel),
        }
    }

    /// Fills the spool. Stored windows are only framed again: dump streams hold version 0.
    fn text_delta(&mut self, node: &Node, compared: Option<&Node>) -> Result<()> {
        let Scratch { spool, codec, .. } = &mut *self.scratch;
        let (cancel, output) = (self.style.cancel, &mut self.output);
        spool.clear();
        svndiff::write_header(0, spool.buffer());
        if !node.has_text() {
            return Ok(());
        }
        let windows = node.fs().text_delta(compared, node, EncodedVersions::up_to(2))?;
        windows.drive(&mut |chunk| {
            cancel.check()?;
            match chunk {
                TextChunk::Decoded(window) => svndiff::write_window(window, 0, 0, codec, spool.buffer()),
                TextChunk::Encoded(window) => window.write_as(0, 0, codec, spool.buffer())?,
            }
            output.admit(spool.len())?;
            spool.end_piece(output)
        })
    }
}

/// Prints a text chunk by chunk.
fn text_to_stream(mut reader: TextReader, stream: &mut dyn Write, cancel: &Cancel) -> Result<()> {
    loop {
        cancel.check()?;
        let chunk = reader.fill()?;
        let length = chunk.len();
        if length == 0 {
            return Ok(());
        }
        stream.write_all(chunk).map_err(|e| write_error(&e))?;
        reader.consume(length);
    }
}

/// Prints a text chunk by chunk; its digest is checked later if the memory's owner does it.
fn text_to_memory(
    node: &Node,
    mut reader: TextReader,
    memory: &mut BoundedBuffer<'_>,
    cancel: &Cancel,
) -> Result<()> {
    let start = memory.end();
    let unchecked = match memory.defers_checks() {
        true => Some(node.md5()?).filter(|md5| !md5.is_unknown()),
        false => None,
    };
    if unchecked.is_some() {
        reader = reader.unchecked();
    }
    loop {
        cancel.check()?;
        let chunk = reader.next_piece()?;
        if chunk.bytes().is_empty() {
            break;
        }
        memory.write_chunk(chunk)?;
    }
    if let Some(md5) = unchecked {
        memory.leave_unchecked(start, md5);
    }
    Ok(())
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
                self.output.admit(size)?;
                size
            }
            true => {
                headers.text_delta = true;
                if let Some(compared) = change.compared {
                    headers.delta_base_md5 = known_md5(compared)?;
                    headers.delta_base_sha1 = known_sha1(compared);
                }
                self.text_delta(node, change.compared)?;
                self.scratch.spool.len()
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
        self.scratch.headers.clear();
        headers.write(&mut self.scratch.headers);
        self.scratch
            .headers
            .extend_from_slice(if for_a_copy { b"\n" } else { b"\n\n" });
        self.output.write(&self.scratch.headers)
    }

    fn node(&mut self, change: &NodeRecord<'_>) -> Result<()> {
        let node = change.node;
        let mut headers = NodeHeaders {
            path: Cow::Borrowed(change.path.rel_str()),
            kind: Some(node.kind()),
            action: Some(change.action),
            ..NodeHeaders::default()
        };
        self.source_headers(change, &mut headers)?;
        let (with_props, with_text) = (change.has_new_props(), change.has_new_text());
        if with_props {
            headers.prop_delta = self.prop_section(node, change.compared)?;
            headers.prop_length = Some(self.scratch.section.len() as u64);
        }
        if with_text {
            self.text_headers(change, &mut headers)?;
        }
        if with_props || with_text {
            headers.content_length =
                Some(headers.prop_length.unwrap_or(0) + headers.text_length.unwrap_or(0));
        }
        self.scratch.headers.clear();
        headers.write(&mut self.scratch.headers);
        self.scratch.headers.push(b'\n');
        if with_props {
            self.scratch.headers.extend_from_slice(&self.scratch.section);
        }
        self.output.write(&self.scratch.headers)?;
        match (with_text, self.style.deltas) {
            (true, true) => self.scratch.spool.pass_to(&mut self.output)?,
            (true, false) => self.text(node)?,
            (false, _) => {}
        }
        self.raw(if with_props || with_text { b"\n\n" } else { b"\n" })
    }
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
