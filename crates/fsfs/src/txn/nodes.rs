//! The node-revisions of a transaction, and where each of them is.
//!
//! Those that were used last are in memory. A transaction of very many puts the others away into a file, in the forms that
//! their own files would have, and reads one when it is asked for: what is left in memory of a file that was imported is where
//! its node-revision is. The root stays, and so do directories that are still being changed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use base::hashdump::{self, Terminator};
use base::{NodeKind, Result};

use super::change_log::MOST_BYTES;
use super::children::Children;
use super::spill::SpillFile;
use super::state::{NodeKey, ROOT, TxnNode};
use crate::format::dir;
use crate::format::noderev::NodeRev;
use crate::tree::Fs;

/// The node-revisions.
#[derive(Debug)]
pub(crate) struct Nodes {
    slots: HashMap<NodeKey, Slot>,
    /// How many are in memory.
    here: usize,
    /// How many may be before some are put away.
    limit: usize,
    most: usize,
    /// Bytes of the paths that came into memory since some were put away.
    new_bytes: usize,
    /// How often some have been.
    round: u32,
    scratch: Option<SpillFile>,
}

/// Where a node-revision is.
#[derive(Debug)]
enum Slot {
    Here(TxnNode),
    Away(Place),
}

/// A place in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u32,
    /// The transaction's directory has all of it.
    is_laid: bool,
}

/// A node-revision, looked at.
pub(crate) enum NodeRef<'a> {
    /// Where it is.
    Here(&'a TxnNode),
    /// As it was read.
    Read(Box<TxnNode>),
}

impl Deref for NodeRef<'_> {
    type Target = TxnNode;

    fn deref(&self) -> &TxnNode {
        match self {
            NodeRef::Here(node) => node,
            NodeRef::Read(node) => node,
        }
    }
}

impl Nodes {
    /// Starts with the root. About `most` are held in memory.
    pub(super) fn new(root: TxnNode, most: usize) -> Nodes {
        Nodes {
            slots: HashMap::from([(ROOT, Slot::Here(root))]),
            here: 1,
            limit: most,
            most,
            new_bytes: 0,
            round: 0,
            scratch: None,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The root.
    pub(super) fn root(&self) -> Option<&TxnNode> {
        match self.slots.get(&ROOT) {
            Some(Slot::Here(node)) => Some(node),
            Some(Slot::Away(_)) | None => None,
        }
    }

    /// True if there is much that can be put away.
    pub(super) fn is_heavy(&self) -> bool {
        self.slots.len() >= self.most || self.new_bytes >= MOST_BYTES
    }

    /// Looks at one.
    ///
    /// # Errors
    /// Those of reading it back.
    pub(super) fn get(&self, key: NodeKey) -> Result<Option<NodeRef<'_>>> {
        Ok(match self.slots.get(&key) {
            None => None,
            Some(Slot::Here(node)) => Some(NodeRef::Here(node)),
            Some(Slot::Away(place)) => Some(NodeRef::Read(Box::new(self.read(*place)?))),
        })
    }

    /// One to be changed, or used again soon.
    ///
    /// # Errors
    /// Those of reading it back.
    pub(super) fn get_mut(&mut self, key: NodeKey) -> Result<Option<&mut TxnNode>> {
        let Entry::Occupied(mut slot) = self.slots.entry(key) else {
            return Ok(None);
        };
        if let Slot::Away(place) = slot.get() {
            let scratch = self.scratch.as_ref();
            let node = read(scratch.expect("because what is away is in the file"), *place)?;
            self.new_bytes += node.noderev.created_path.len();
            slot.insert(Slot::Here(node));
            self.here += 1;
        }
        Ok(match slot.into_mut() {
            Slot::Here(node) => {
                node.used = self.round;
                Some(node)
            }
            Slot::Away(_) => None,
        })
    }

    /// Keeps a new one.
    pub(super) fn insert(&mut self, key: NodeKey, mut node: TxnNode) {
        node.used = self.round;
        self.new_bytes += node.noderev.created_path.len();
        if !matches!(self.slots.insert(key, Slot::Here(node)), Some(Slot::Here(_))) {
            self.here += 1;
        }
    }

    /// Takes one out.
    ///
    /// # Errors
    /// Those of reading it back: it is still there then.
    pub(super) fn remove(&mut self, key: NodeKey) -> Result<Option<TxnNode>> {
        if let Some(Slot::Away(place)) = self.slots.get(&key) {
            let node = self.read(*place)?;
            self.slots.remove(&key);
            return Ok(Some(node));
        }
        Ok(match self.slots.remove(&key) {
            Some(Slot::Here(node)) => {
                self.here -= 1;
                Some(node)
            }
            Some(Slot::Away(_)) | None => None,
        })
    }

    /// Calls `lay` for each that the transaction's directory does not have as it is now.
    ///
    /// # Errors
    /// Those of `lay`, and of reading.
    pub(super) fn lay(&mut self, mut lay: impl FnMut(NodeKey, &mut TxnNode) -> Result<()>) -> Result<()> {
        let mut scratch = self.scratch.take();
        let mut run = || {
            for (key, slot) in &mut self.slots {
                match (slot, &scratch) {
                    (Slot::Here(node), _) => lay(*key, node)?,
                    (Slot::Away(place), Some(scratch)) if !place.is_laid => {
                        // What it says of itself in the file is older than `is_laid`.
                        lay(*key, &mut read(scratch, *place)?)?;
                        place.is_laid = true;
                    }
                    (Slot::Away(_), _) => {}
                }
            }
            Ok(())
        };
        let result = run();
        self.scratch = scratch.take();
        result
    }

    /// If there are more in memory than there should be, puts those away that were not used lately. What cannot be put away stays.
    pub(super) fn put_some_away(&mut self, fs: &Fs, dir: &Path) {
        if self.here < self.limit && self.new_bytes < MOST_BYTES {
            return;
        }
        self.new_bytes = 0;
        let round = self.round;
        let is_idle = |key: &NodeKey, slot: &Slot| match slot {
            Slot::Here(node) if *key != ROOT => match &node.children {
                None => node.used < round || node.noderev.kind == NodeKind::File,
                Some(children) => node.used < round && children.file.as_ref().is_none_or(Vec::is_empty),
            },
            Slot::Here(_) | Slot::Away(_) => false,
        };
        let idle = self.slots.iter().filter(|(key, slot)| is_idle(key, slot));
        let idle: Vec<NodeKey> = idle.map(|(key, _)| *key).collect();
        self.round += 1;
        for keys in idle.chunks(AT_ONCE) {
            if self.put_away(fs, dir, keys).is_err() {
                break;
            }
        }
        self.limit = self.here.saturating_add(self.most);
    }

    fn put_away(&mut self, fs: &Fs, dir: &Path, keys: &[NodeKey]) -> Result<()> {
        let (mut text, mut places) = (Vec::new(), Vec::with_capacity(keys.len()));
        for key in keys {
            if let Some(Slot::Here(node)) = self.slots.get(key) {
                let start = text.len();
                encode(node, &mut text);
                // Longer than that is no directory that anybody has.
                let Ok(length) = u32::try_from(text.len() - start) else {
                    text.truncate(start);
                    continue;
                };
                let place = Place {
                    offset: start as u64,
                    length,
                    is_laid: is_laid(node),
                };
                places.push((*key, place));
            }
        }
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            none => none.insert(SpillFile::create(fs, &dir.join("scratch.nodes"))?),
        };
        let start = scratch.append(&text)?;
        for (key, mut place) in places {
            place.offset += start;
            self.slots.insert(key, Slot::Away(place));
            self.here -= 1;
        }
        Ok(())
    }

    fn read(&self, place: Place) -> Result<TxnNode> {
        let scratch = self.scratch.as_ref();
        read(scratch.expect("because what is away is in the file"), place)
    }
}

fn is_laid(node: &TxnNode) -> bool {
    let children_are = |children: &Children| children.file.as_ref().is_some_and(Vec::is_empty);
    node.is_laid
        && (node.props.is_none() || node.props_laid)
        && node
            .children
            .as_ref()
            .is_none_or(|children| children_are(children))
}

/// Appends a node-revision as it stands in the file: flags, the lengths of its three parts, the parts.
fn encode(node: &TxnNode, out: &mut Vec<u8>) {
    let mut flags = 0;
    let mut set = |flag, on: bool| flags |= if on { flag } else { 0 };
    set(IS_LAID, node.is_laid);
    set(PROPS_LAID, node.props_laid);
    set(HAS_CHILDREN, node.children.is_some());
    set(HAS_PROPS, node.props.is_some());
    set(
        HAS_FILE,
        node.children
            .as_ref()
            .is_some_and(|children| children.file.is_some()),
    );
    let head = out.len();
    out.resize(head + HEAD, flags);
    let mut starts = [out.len(); 4];
    // Every format's lines say less than these.
    node.noderev.encode(out, true, true);
    starts[1] = out.len();
    if let Some(children) = &node.children {
        children.encode(out);
    }
    starts[2] = out.len();
    if let Some(list) = &node.props {
        hashdump::write_props(out, list, Terminator::End);
    }
    starts[3] = out.len();
    for (part, field) in out[head + 1..head + HEAD]
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .enumerate()
    {
        *field = ((starts[part + 1] - starts[part]) as u64).to_le_bytes();
    }
}

fn read(scratch: &SpillFile, place: Place) -> Result<TxnNode> {
    let text = scratch.read(place.offset, place.length as usize)?;
    let node = decode(&text, place.is_laid)?;
    node.ok_or_else(|| scratch.is_damaged())
}

fn decode(text: &[u8], is_laid: bool) -> Result<Option<TxnNode>> {
    let Some((head, mut rest)) = text.split_at_checked(HEAD) else {
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
    let Some((noderev, _)) = NodeRev::parse(parts[0])? else {
        return Ok(None);
    };
    let mut node = TxnNode::new(noderev);
    node.is_laid = is_laid || has(IS_LAID);
    node.props_laid = has(HAS_PROPS) && (is_laid || has(PROPS_LAID));
    if has(HAS_CHILDREN) {
        let mut children = Children::new(dir::parse(parts[1])?.into());
        children.file = (is_laid || has(HAS_FILE)).then(Vec::new);
        node.children = Some(Box::new(children));
    }
    if has(HAS_PROPS) {
        node.props = Some(Arc::new(hashdump::read_props(parts[2])?));
    }
    Ok(Some(node))
}

/// Node-revisions that are put away with one call of the system.
const AT_ONCE: usize = 128;

/// A byte of flags and three lengths.
const HEAD: usize = 1 + 3 * 8;

const IS_LAID: u8 = 1;
const PROPS_LAID: u8 = 2;
const HAS_CHILDREN: u8 = 4;
const HAS_PROPS: u8 = 8;
const HAS_FILE: u8 = 16;
