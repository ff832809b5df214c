//! Reading the figures of one unit: a file of one revision or of a packed shard (logical addressing), or one revision (physical
//! addressing).
//!
//! With logical addressing the index lists the items, in the order of their offsets; bytes between items count too. With physical
//! addressing the tree is walked, each directory before its entries. The incumbent reads changed-path lists in blocks of a
//! hundred there, and reports the number of the last block.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use base::{Cancel, FsPath, NodeKind, Result, Revnum};

use super::Total;
use crate::format::changes;
use crate::format::noderev::{MAX_NODEREV, NodeRev};
use crate::format::p2l::ItemKind;
use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::store::rev_file::RevFile;
use crate::tree::Fs;
use crate::tree::node::Node;

/// The figures of one file, or of one revision.
#[derive(Default)]
pub(super) struct FileFigures {
    /// Bytes in all.
    pub(super) total: u64,
    /// Changed-path lists.
    pub(super) changes: Total,
    /// Node-revisions, in the order in which they were read.
    pub(super) nodes: Vec<NodeFigures>,
    /// Headers of the representations that are stored here.
    pub(super) headers: HashMap<(u64, u64), RepHeader>,
}

/// A node-revision.
pub(super) struct NodeFigures {
    pub(super) kind: NodeKind,
    pub(super) path: String,
    /// True if it has no predecessor.
    pub(super) is_added: bool,
    /// Length of the node-revision, bytes.
    pub(super) bytes: u64,
    /// Its text and its properties, with their addresses.
    pub(super) reps: [Option<((u64, u64), Rep)>; 2],
}

/// Returns the ranges of revisions that are read together: those of one file.
pub(super) fn jobs(fs: &Fs, youngest: Revnum) -> impl Iterator<Item = Range<u64>> {
    let (size, packed) = (fs.format().shard_size, fs.min_unpacked_rev().0);
    let by_file = fs.format().logical;
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        next = match by_file && start < packed {
            true => start + size,
            false => start + 1,
        };
        (start <= youngest.0).then_some(start..next)
    })
}

/// Reads the revisions of one file. If they are packed meanwhile, the pack has the same items.
pub(super) fn read(fs: &Fs, revs: Range<u64>, cancel: &Cancel) -> Result<FileFigures> {
    let first = Revnum(revs.start);
    fs.with_rev_file(first, |file| {
        let mut figures = FileFigures::default();
        match file.footer().is_some() {
            true => figures.by_index(fs, file, &revs, cancel)?,
            false => figures.by_tree(fs, file, first, cancel)?,
        }
        Ok(figures)
    })
}

impl FileFigures {
    fn by_index(&mut self, fs: &Fs, file: &Arc<RevFile>, revs: &Range<u64>, cancel: &Cancel) -> Result<()> {
        let header = file.p2l_header()?;
        let is_whole = file.rev_count() == revs.end - revs.start;
        if is_whole {
            self.total = header.file_size;
        }
        for page in 0..header.page_count() {
            cancel.check()?;
            for entry in file.p2l_page(fs.cache(), page)?.iter() {
                if entry.offset >= header.file_size || !revs.contains(&entry.rev.0) {
                    continue;
                }
                if !is_whole {
                    self.total += entry.size;
                }
                match entry.kind {
                    ItemKind::NodeRev => {
                        let most = entry.size.min(MAX_NODEREV as u64);
                        let bytes = file.bytes().read_vec(entry.offset, most)?;
                        let (node, _) = NodeRev::parse(&bytes)?.ok_or_else(|| file.bytes().ends_early())?;
                        self.add(file, fs, &node, entry.size)?;
                    }
                    ItemKind::Changes => {
                        let bytes = file.bytes().read_vec(entry.offset, entry.size)?;
                        self.changes.count += changes::parse(&bytes, true)?.len() as u64;
                        self.changes.bytes += entry.size;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn by_tree(&mut self, fs: &Fs, file: &Arc<RevFile>, rev: Revnum, cancel: &Cancel) -> Result<()> {
        let (start, end) = file.rev_range(rev)?;
        self.total = end - start;
        // Taken from the end, names ascending.
        let mut left: Vec<Node> = vec![fs.root(rev)?.node(&FsPath::root())?];
        while let Some(node) = left.pop() {
            cancel.check()?;
            let noderev = node.noderev();
            let item = match noderev.id.tail {
                crate::format::id::IdTail::Rev(_, item) => item,
                crate::format::id::IdTail::Txn(_) => continue,
            };
            let offset = file.item_offset(fs.cache(), rev, item)?;
            let length = file
                .bytes()
                .parse_at(offset, end, USUAL_NODEREV_LEN, MAX_NODEREV, |bytes| {
                    Ok(NodeRev::parse(bytes)?.map(|(_, length)| length))
                })?;
            self.add(file, fs, noderev, length as u64)?;
            if node.kind() == NodeKind::Dir {
                let entries = node.entries()?;
                for entry in entries.iter().rev().filter(|entry| entry.rev() == Some(rev)) {
                    left.push(node.child_of(entry)?);
                }
            }
        }
        let offset = file.item_offset(fs.cache(), rev, file.changes_item(rev)?)?;
        let bytes = file.bytes().read_vec(offset, end.saturating_sub(offset))?;
        // Up to the empty line, included; the trailer follows.
        let length = match bytes.starts_with(b"\n") {
            true => 1,
            false => {
                let trailer = bytes[..bytes.len().saturating_sub(1)]
                    .iter()
                    .rposition(|b| *b == b'\n');
                trailer.map_or(bytes.len(), |at| at + 1)
            }
        };
        let count = changes::parse(&bytes[..length], true)?.len() as u64;
        self.changes.count += count % CHANGES_AT_ONCE;
        self.changes.bytes += length as u64;
        Ok(())
    }

    fn add(&mut self, file: &Arc<RevFile>, fs: &Fs, node: &NodeRev, bytes: u64) -> Result<()> {
        let location = |rep: &Option<Rep>| match rep.as_ref()?.location {
            RepLocation::Rev(rev, item) => Some(((rev.0, item), (*rep)?)),
            RepLocation::Txn(_) | RepLocation::Mutable => None,
        };
        let reps = [location(&node.text), location(&node.props)];
        let held = file.first_rev().0..file.first_rev().0 + file.rev_count();
        for ((rev, item), _) in reps.iter().flatten() {
            if held.contains(rev) && !self.headers.contains_key(&(*rev, *item)) {
                let offset = file.item_offset(fs.cache(), Revnum(*rev), *item)?;
                let end = file.items_end(Revnum(*rev))?;
                let header = file
                    .bytes()
                    .parse_at(offset, end, MAX_HEADER, MAX_HEADER, |bytes| {
                        Ok(RepHeader::parse(bytes)?.map(|(header, _)| header))
                    })?;
                self.headers.insert((*rev, *item), header);
            }
        }
        self.nodes.push(NodeFigures {
            kind: node.kind,
            path: node.created_path.to_string(),
            is_added: node.predecessor.is_none(),
            bytes,
            reps,
        });
        Ok(())
    }
}

/// Returns the length of a content, bytes.
pub(super) fn expanded(rep: &Rep, header: RepHeader) -> u64 {
    match (rep.size(), header) {
        (RepSize::Known(size), _) => size,
        (RepSize::DependsOnHeader, RepHeader::Plain) => rep.length,
        (RepSize::DependsOnHeader, _) => 0,
    }
}

/// Most node-revisions are not longer, bytes.
const USUAL_NODEREV_LEN: usize = 512;

const CHANGES_AT_ONCE: u64 = 100;
