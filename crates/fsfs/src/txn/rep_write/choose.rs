//! The choice of the delta base of a new content.
//!
//! Mostly it is the direct predecessor, so that deltas are small. For every power of two in the number of predecessors it is one
//! further back (*skip deltas*), so that chains stay short; in FSX it is always the direct predecessor. Chains across many shards
//! are kept shorter still. The choice is the one of Subversion 1.14, delta for delta.

use base::{Result, Revnum};

use crate::format::fs_format::BackEnd;
use crate::format::noderev::NodeRev;
use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::store::cache::Key;
use crate::store::cache::values::DeltaChainLength;
use crate::tree::Fs;

/// The content of a node that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// The text of a file, the entries of a directory.
    Text,
    /// The property list.
    Props,
}

/// Returns the delta base for a new content of `node`, whose `count` and `predecessor` are final; `None` stores the content by
/// itself.
///
/// # Errors
/// Those of reading the predecessors.
pub(crate) fn delta_base(
    fs: &Fs,
    node: &NodeRev,
    content_kind: ContentKind,
    youngest: Revnum,
) -> Result<Option<Rep>> {
    let conf = fs.conf();
    let count = node.count;
    // Clears the lowest set bit.
    let Some(skip) = count.checked_sub(1).map(|less| count & less) else {
        return Ok(None);
    };
    let walk = count - skip;
    if walk > conf.max_deltification_walk {
        return Ok(None);
    }
    let steps = match walk < conf.max_linear_deltification {
        // Subversion never steps further back in FSX.
        _ if fs.format().is_fsx() => 1,
        true if is_near(fs, node, walk, youngest)? => 1,
        _ => walk,
    };
    let Some(base) = ancestor(fs, node, steps)? else {
        return Ok(None);
    };
    let rep = match content_kind {
        ContentKind::Text => base.text,
        ContentKind::Props => base.props,
    };
    let Some(rep) = rep else { return Ok(None) };
    let Some(rep_item) = RevItem::of(&rep) else {
        return Ok(None);
    };
    let size = match rep.size() {
        RepSize::Known(size) => size,
        RepSize::DependsOnHeader => match rep_item.header(fs)? {
            RepHeader::Plain => rep.length,
            RepHeader::SelfDelta | RepHeader::Delta { .. } => 0,
        },
    };
    if size < MIN_BASE {
        return Ok(None);
    }
    let most = conf.max_linear_deltification.saturating_mul(2).saturating_add(2);
    let Some(chain) = chain_length(fs, rep_item, most.min(LONGEST_CHAIN))? else {
        return Ok(None);
    };
    let shards = chain.switches + 1;
    let is_scattered = shards > 1 && 128u64.checked_shl(shards).is_none_or(|least| least >= size);
    Ok((!is_scattered).then_some(rep))
}

/// True if the last `walk` versions are in so few shards that a chain through all of them is cheap.
fn is_near(fs: &Fs, node: &NodeRev, walk: u64, youngest: Revnum) -> Result<bool> {
    let mut shard = shard_of(fs, youngest);
    let mut shards = 1u32;
    let mut at = node.predecessor;
    for _ in 0..walk {
        let Some(id) = at else { return Ok(false) };
        let noderev = fs.noderev(&id)?;
        if let Some(rev) = id.rev()
            && shard_of(fs, rev) != shard
        {
            shard = shard_of(fs, rev);
            shards += 1;
        }
        at = noderev.predecessor;
    }
    Ok(1u64.checked_shl(shards - 1).is_some_and(|least| least <= walk))
}

/// Returns the version `steps` before; `None` if there are not so many.
fn ancestor(fs: &Fs, node: &NodeRev, steps: u64) -> Result<Option<NodeRev>> {
    let mut at = node.predecessor;
    for step in 1..=steps {
        let Some(id) = at else { return Ok(None) };
        let noderev = fs.noderev(&id)?;
        if step == steps {
            return Ok(Some(NodeRev::clone(&noderev)));
        }
        at = noderev.predecessor;
    }
    Ok(None)
}

/// The address of a committed representation.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RevItem {
    rev: Revnum,
    item: u64,
}

impl RevItem {
    fn of(rep: &Rep) -> Option<RevItem> {
        match rep.location {
            RepLocation::Rev(rev, item) => Some(RevItem { rev, item }),
            RepLocation::Txn(_) | RepLocation::Mutable => None,
        }
    }

    fn key(self, fs: &Fs) -> Key {
        Key::new::<DeltaChainLength>(fs.instance(), self.rev.0, self.item)
    }

    fn header(self, fs: &Fs) -> Result<RepHeader> {
        fs.with_rev_file(self.rev, |file| {
            let (offset, end) = match fs.format().back_end {
                BackEnd::Fsfs => (
                    file.item_offset(fs.cache(), self.rev, self.item)?,
                    file.items_end(self.rev)?,
                ),
                BackEnd::Fsx => {
                    let item = file.fsx(fs.cache())?.item(self.rev, self.item)?;
                    if !item.item_type.is_rep() {
                        // A text in a container has no base.
                        return Ok(RepHeader::Plain);
                    }
                    (item.offset, item.offset + item.size)
                }
            };
            let parse = |bytes: &[u8]| Ok(RepHeader::parse(bytes)?.map(|(header, _)| header));
            file.bytes().parse_at(offset, end, MAX_HEADER, MAX_HEADER, parse)
        })
    }
}

/// Returns the length of a delta chain; `None` if it has `most` representations or more. A base in revision 0 does not count.
fn chain_length(fs: &Fs, top: RevItem, most: u64) -> Result<Option<DeltaChainLength>> {
    let mut passed = Vec::new();
    let mut rep_item = top;
    // The part of the chain below `rep_item`, and its first representation.
    let (mut chain, mut below) = loop {
        if let Some(known) = fs.cache().get::<DeltaChainLength>(&rep_item.key(fs)) {
            break (known, Some(rep_item));
        }
        passed.push(rep_item);
        if passed.len() as u64 >= most {
            return Ok(None);
        }
        match rep_item.header(fs)? {
            RepHeader::Delta { rev, item, .. } if rev != Revnum::ZERO => rep_item = RevItem { rev, item },
            RepHeader::Delta { .. } | RepHeader::Plain | RepHeader::SelfDelta => {
                break (DeltaChainLength { reps: 0, switches: 0 }, None);
            }
        }
    };
    for rep_item in passed.into_iter().rev() {
        chain.reps = chain.reps.saturating_add(1);
        if below.is_some_and(|below| shard_of(fs, below.rev) != shard_of(fs, rep_item.rev)) {
            chain.switches = chain.switches.saturating_add(1);
        }
        fs.cache().insert(rep_item.key(fs), chain);
        below = Some(rep_item);
    }
    Ok((u64::from(chain.reps) < most).then_some(chain))
}

/// Returns the shard of a revision; in the linear layout each revision counts as one.
fn shard_of(fs: &Fs, rev: Revnum) -> u64 {
    fs.layout().shard(rev).unwrap_or(rev.0)
}

/// Shorter contents are no base, bytes.
const MIN_BASE: u64 = 64;

/// Longer chains are damage, whatever the configuration allows.
const LONGEST_CHAIN: u64 = 1 << 20;
