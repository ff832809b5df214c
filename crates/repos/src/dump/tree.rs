//! Prints a whole tree as additions: the first revision of a dump that begins in the middle.

use base::{Code, Error, FsPath, NodeKind, Result, Revnum};
use fsfs::{DirEntries, Fs, Node};

use crate::access::{Readable, Subtree};
use crate::dump::record::{NodeRecord, Records};
use crate::dumpfile::NodeAction;
use crate::replay::hash_order;

/// A directory whose entries are being printed.
struct OpenDir {
    entries: DirEntries,
    order: std::vec::IntoIter<u32>,
    seen: Subtree,
}

/// Prints the tree of `rev`, parents before children, siblings in the incumbent's order.
pub(super) fn print(records: &mut dyn Records, fs: &Fs, rev: Revnum, readable: &dyn Readable) -> Result<()> {
    let root_path = FsPath::root();
    if !readable.read(&root_path) {
        return Err(Error::new(
            Code::AUTHZ_ROOT_UNREADABLE,
            "Unable to open root of edit",
        ));
    }
    let root = fs.root(rev)?.root_node()?;
    root_props(records, fs, rev, &root)?;
    let seen = readable.subtree(&root_path);
    let mut open = vec![OpenDir::new(&root, seen)?];
    // The path of the innermost open directory. The paths of all of them would take memory that grows with the square of the
    // depth.
    let mut dir = root_path;
    while let Some(level) = open.last_mut() {
        let next = level.order.next();
        let Some(entry) = next.and_then(|at| level.entries.get(at as usize)) else {
            open.pop();
            dir = dir.parent().unwrap_or(dir);
            continue;
        };
        let node = root.root().entry_node(entry, dir.join_str(entry.name))?;
        let visible = level.seen == Subtree::All || readable.read(node.path());
        let seen = match level.seen {
            Subtree::All => Subtree::All,
            Subtree::Mixed | Subtree::None => readable.subtree(node.path()),
        };
        if !visible {
            continue;
        }
        records.node(&NodeRecord {
            path: node.path(),
            action: NodeAction::Add,
            node: &node,
            compared: None,
            copyfrom: None,
        })?;
        if node.kind() == NodeKind::Dir {
            open.push(OpenDir::new(&node, seen)?);
            dir = node.path().clone();
        }
    }
    Ok(())
}

/// The root has a record if it has properties; but they are printed only if this very revision set them.
fn root_props(records: &mut dyn Records, fs: &Fs, rev: Revnum, root: &Node) -> Result<()> {
    if !root.has_props() || root.props()?.is_empty() {
        return Ok(());
    }
    let before = fs.root(rev.prev().unwrap_or(rev))?.root_node()?;
    records.node(&NodeRecord {
        path: &FsPath::root(),
        action: NodeAction::Change,
        node: root,
        compared: Some(&before),
        copyfrom: None,
    })
}

impl OpenDir {
    fn new(node: &Node, seen: Subtree) -> Result<OpenDir> {
        let entries = node.entries()?;
        let order = hash_order(entries.iter().map(|entry| entry.name.as_bytes()));
        Ok(OpenDir {
            entries,
            order: order.into_iter(),
            seen,
        })
    }
}
