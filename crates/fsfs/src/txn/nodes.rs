//! The node-revisions of a transaction, in memory or in a spill file.
//!
//! Node-revisions that were used lately are in memory. A large transaction moves the others to a file, in the forms that their
//! own files have, and reads one back when it is needed: of an imported file only the position of its node-revision stays in
//! memory. The root is never spilled, nor are directories that are still being changed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use base::hashdump::{self, Terminator};
use base::{NodeKind, Result};

use super::change_log::MAX_PATH_BYTES;
use super::children::Children;
use super::spill::SpillFile;
use super::state::{NodeKey, TxnNode};
use crate::format::fs_format::BackEnd;
use crate::tree::Fs;

/// The node-revisions.
#[derive(Debug)]
pub(crate) struct Nodes {
    back_end: BackEnd,
    /// The key of the root.
    root: NodeKey,
    slots: HashMap<NodeKey, Slot>,
    /// Number of node-revisions in memory.
    in_memory: usize,
    /// The value of `in_memory` at which idle node-revisions are spilled next.
    limit: usize,
    max_in_memory: usize,
    /// Bytes of the paths that came into memory since the last spilling.
    new_bytes: usize,
    /// Number of spillings so far.
    spill_round: u32,
    spill_file: Option<SpillFile>,
}

/// A node-revision in memory or its position in the spill file.
#[derive(Debug)]
enum Slot {
    InMemory(TxnNode),
    Spilled(SpilledNode),
}

/// A node-revision in the spill file.
#[derive(Clone, Copy, Debug)]
struct SpilledNode {
    offset: u64,
    length: u32,
    /// True if the transaction's own files have all of it.
    is_on_disk: bool,
}

/// A borrowed or loaded node-revision.
pub(crate) enum NodeRef<'a> {
    /// One that is in memory.
    InMemory(&'a TxnNode),
    /// One that was read from the spill file.
    Loaded(Box<TxnNode>),
}

impl Deref for NodeRef<'_> {
    type Target = TxnNode;

    fn deref(&self) -> &TxnNode {
        match self {
            NodeRef::InMemory(node) => node,
            NodeRef::Loaded(node) => node,
        }
    }
}

impl Nodes {
    /// Starts with the root. About `max_in_memory` node-revisions are held in memory.
    pub(super) fn new(back_end: BackEnd, root: NodeKey, node: TxnNode, max_in_memory: usize) -> Nodes {
        Nodes {
            back_end,
            root,
            slots: HashMap::from([(root, Slot::InMemory(node))]),
            in_memory: 1,
            limit: max_in_memory,
            max_in_memory,
            new_bytes: 0,
            spill_round: 0,
            spill_file: None,
        }
    }

    /// Number of node-revisions, spilled ones included.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The root.
    pub(super) fn root(&self) -> Option<&TxnNode> {
        match self.slots.get(&self.root) {
            Some(Slot::InMemory(node)) => Some(node),
            Some(Slot::Spilled(_)) | None => None,
        }
    }

    /// True if spilling is worth a try.
    pub(super) fn is_large(&self) -> bool {
        self.slots.len() >= self.max_in_memory || self.new_bytes >= MAX_PATH_BYTES
    }

    /// True if there is a spill file.
    pub(super) fn has_spilled(&self) -> bool {
        self.spill_file.is_some()
    }

    /// Returns a node-revision; one from the spill file is read and not kept in memory.
    ///
    /// # Errors
    /// Those of reading it back.
    pub(super) fn get(&self, key: NodeKey) -> Result<Option<NodeRef<'_>>> {
        Ok(match self.slots.get(&key) {
            None => None,
            Some(Slot::InMemory(node)) => Some(NodeRef::InMemory(node)),
            Some(Slot::Spilled(spilled_node)) => Some(NodeRef::Loaded(Box::new(self.read(*spilled_node)?))),
        })
    }

    /// Returns a node-revision for a change, or for repeated use: it is kept in memory.
    ///
    /// # Errors
    /// Those of reading it back.
    pub(super) fn get_mut(&mut self, key: NodeKey) -> Result<Option<&mut TxnNode>> {
        let Entry::Occupied(mut slot) = self.slots.entry(key) else {
            return Ok(None);
        };
        if let Slot::Spilled(spilled_node) = slot.get() {
            let spill_file = self.spill_file.as_ref();
            let node = read(
                self.back_end,
                spill_file.expect("because spilled node-revisions are in the file"),
                *spilled_node,
            )?;
            self.new_bytes += node.noderev.created_path.len();
            slot.insert(Slot::InMemory(node));
            self.in_memory += 1;
        }
        Ok(match slot.into_mut() {
            Slot::InMemory(node) => {
                node.used_in_round = self.spill_round;
                Some(node)
            }
            Slot::Spilled(_) => None,
        })
    }

    /// Adds a node-revision, in place of one with the same key.
    pub(super) fn insert(&mut self, key: NodeKey, mut node: TxnNode) {
        node.used_in_round = self.spill_round;
        self.new_bytes += node.noderev.created_path.len();
        if !matches!(
            self.slots.insert(key, Slot::InMemory(node)),
            Some(Slot::InMemory(_))
        ) {
            self.in_memory += 1;
        }
    }

    /// Removes and returns a node-revision.
    ///
    /// # Errors
    /// Those of reading it back. It is not removed then.
    pub(super) fn remove(&mut self, key: NodeKey) -> Result<Option<TxnNode>> {
        if let Some(Slot::Spilled(spilled_node)) = self.slots.get(&key) {
            let node = self.read(*spilled_node)?;
            self.slots.remove(&key);
            return Ok(Some(node));
        }
        Ok(match self.slots.remove(&key) {
            Some(Slot::InMemory(node)) => {
                self.in_memory -= 1;
                Some(node)
            }
            Some(Slot::Spilled(_)) | None => None,
        })
    }

    /// Calls `write` for each node-revision that the transaction's own files do not have as it is now.
    ///
    /// # Errors
    /// Those of `write`, and of reading back.
    pub(super) fn for_each_unwritten(
        &mut self,
        mut write: impl FnMut(NodeKey, &mut TxnNode) -> Result<()>,
    ) -> Result<()> {
        let back_end = self.back_end;
        let mut spill_file = self.spill_file.take();
        let mut run = || {
            for (key, slot) in &mut self.slots {
                match (slot, &spill_file) {
                    (Slot::InMemory(node), _) => write(*key, node)?,
                    (Slot::Spilled(spilled_node), Some(spill_file)) if !spilled_node.is_on_disk => {
                        // The flags in the spill file are older than `is_on_disk`.
                        write(*key, &mut read(back_end, spill_file, *spilled_node)?)?;
                        spilled_node.is_on_disk = true;
                    }
                    (Slot::Spilled(_), _) => {}
                }
            }
            Ok(())
        };
        let result = run();
        self.spill_file = spill_file.take();
        result
    }

    /// Spills node-revisions that were not used lately if too many are in memory. If the file cannot be written, they stay in
    /// memory.
    pub(super) fn spill_excess(&mut self, fs: &Fs, dir: &Path) {
        if self.in_memory < self.limit && self.new_bytes < MAX_PATH_BYTES {
            return;
        }
        self.new_bytes = 0;
        let (root, spill_round) = (self.root, self.spill_round);
        let is_idle = |key: &NodeKey, slot: &Slot| match slot {
            Slot::InMemory(node) if *key != root => match &node.children {
                None => node.used_in_round < spill_round || node.noderev.kind == NodeKind::File,
                Some(children) => {
                    node.used_in_round < spill_round && children.unwritten.as_ref().is_none_or(Vec::is_empty)
                }
            },
            Slot::InMemory(_) | Slot::Spilled(_) => false,
        };
        let idle = self.slots.iter().filter(|(key, slot)| is_idle(key, slot));
        let idle: Vec<NodeKey> = idle.map(|(key, _)| *key).collect();
        self.spill_round += 1;
        for keys in idle.chunks(NODES_PER_WRITE) {
            if self.spill(fs, dir, keys).is_err() {
                break;
            }
        }
        self.limit = self.in_memory.saturating_add(self.max_in_memory);
    }

    fn spill(&mut self, fs: &Fs, dir: &Path, keys: &[NodeKey]) -> Result<()> {
        let (mut text, mut spilled) = (Vec::new(), Vec::with_capacity(keys.len()));
        for key in keys {
            if let Some(Slot::InMemory(node)) = self.slots.get(key) {
                let start = text.len();
                encode(self.back_end, node, &mut text)?;
                // No real directory is longer than 4 GiB: such a node-revision stays in memory.
                let Ok(length) = u32::try_from(text.len() - start) else {
                    text.truncate(start);
                    continue;
                };
                let spilled_node = SpilledNode {
                    offset: start as u64,
                    length,
                    is_on_disk: is_on_disk(node),
                };
                spilled.push((*key, spilled_node));
            }
        }
        let spill_file = match &mut self.spill_file {
            Some(spill_file) => spill_file,
            none => none.insert(SpillFile::create(fs, &dir.join("scratch.nodes"))?),
        };
        let start = spill_file.append(&text)?;
        for (key, mut spilled_node) in spilled {
            spilled_node.offset += start;
            self.slots.insert(key, Slot::Spilled(spilled_node));
            self.in_memory -= 1;
        }
        Ok(())
    }

    fn read(&self, spilled_node: SpilledNode) -> Result<TxnNode> {
        let spill_file = self.spill_file.as_ref();
        read(
            self.back_end,
            spill_file.expect("because spilled node-revisions are in the file"),
            spilled_node,
        )
    }
}

fn is_on_disk(node: &TxnNode) -> bool {
    let children_are = |children: &Children| children.unwritten.as_ref().is_some_and(Vec::is_empty);
    node.is_on_disk
        && (node.props.is_none() || node.props_on_disk)
        && node
            .children
            .as_ref()
            .is_none_or(|children| children_are(children))
}

/// Appends a node-revision in the form of the spill file: flags, the lengths of its three parts, the parts.
fn encode(back_end: BackEnd, node: &TxnNode, out: &mut Vec<u8>) -> Result<()> {
    let mut flags = 0;
    let mut set = |flag, on: bool| flags |= if on { flag } else { 0 };
    set(NODEREV_ON_DISK, node.is_on_disk);
    set(PROPS_ON_DISK, node.props_on_disk);
    set(HAS_CHILDREN, node.children.is_some());
    set(HAS_PROPS, node.props.is_some());
    set(
        HAS_FILE,
        node.children
            .as_ref()
            .is_some_and(|children| children.unwritten.is_some()),
    );
    let head = out.len();
    out.resize(head + HEADER_LEN, flags);
    let mut starts = [out.len(); 4];
    back_end.encode_noderev(&node.noderev, out);
    starts[1] = out.len();
    if let Some(children) = &node.children {
        out.extend_from_slice(&back_end.encode_dir(&children.entries()?)?);
    }
    starts[2] = out.len();
    if let Some(list) = &node.props {
        hashdump::write_props(out, list, Terminator::End);
    }
    starts[3] = out.len();
    for (part, field) in out[head + 1..head + HEADER_LEN]
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .enumerate()
    {
        *field = ((starts[part + 1] - starts[part]) as u64).to_le_bytes();
    }
    Ok(())
}

fn read(back_end: BackEnd, spill_file: &SpillFile, spilled_node: SpilledNode) -> Result<TxnNode> {
    let text = spill_file.read(spilled_node.offset, spilled_node.length as usize)?;
    let node = decode(back_end, &text, spilled_node.is_on_disk)?;
    node.ok_or_else(|| spill_file.is_damaged())
}

fn decode(back_end: BackEnd, text: &[u8], is_on_disk: bool) -> Result<Option<TxnNode>> {
    let Some((head, mut rest)) = text.split_at_checked(HEADER_LEN) else {
        return Ok(None);
    };
    let mut parts = [&[][..]; 3];
    for (part, length) in parts.iter_mut().zip(head[1..].as_chunks::<8>().0) {
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((own, others)) = rest.split_at_checked(length) else {
            return Ok(None);
        };
        (*part, rest) = (own, others);
    }
    let has = |flag| head[0] & flag != 0;
    let Some(noderev) = back_end.parse_txn_noderev(parts[0])? else {
        return Ok(None);
    };
    let id = noderev.id;
    let mut node = TxnNode::new(noderev);
    node.is_on_disk = is_on_disk || has(NODEREV_ON_DISK);
    node.props_on_disk = has(HAS_PROPS) && (is_on_disk || has(PROPS_ON_DISK));
    if has(HAS_CHILDREN) {
        let mut children = Children::new(back_end.parse_dir(Arc::new(parts[1].to_vec()), &id, None)?);
        children.unwritten = (is_on_disk || has(HAS_FILE)).then(Vec::new);
        node.children = Some(Box::new(children));
    }
    if has(HAS_PROPS) {
        node.props = Some(Arc::new(hashdump::read_props(parts[2])?));
    }
    Ok(Some(node))
}

/// Node-revisions that are written with one system call.
const NODES_PER_WRITE: usize = 128;

/// Length of what precedes the parts, bytes: flags and three lengths.
const HEADER_LEN: usize = 1 + 3 * 8;

const NODEREV_ON_DISK: u8 = 1;
const PROPS_ON_DISK: u8 = 2;
const HAS_CHILDREN: u8 = 4;
const HAS_PROPS: u8 = 8;
const HAS_FILE: u8 = 16;
