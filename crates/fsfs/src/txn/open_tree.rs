//! The tree of a transaction as readers of this process see it, see [`OpenTxns`](crate::tree::open_txns::OpenTxns).
//!
//! The lock is taken for reading recursively: a commit holds it while it reads.

use std::sync::{Arc, Weak};

use base::{Code, Error, FsPath, Props, Result};
use parking_lot::RwLock;

use super::state::{NodeKey, TxnState};
use crate::format::changes::RawChange;
use crate::format::dir::{DirEntries, EntryChange};
use crate::format::noderev::NodeRev;
use crate::tree::Fs;
use crate::tree::open_txns::OpenTree;
use crate::tree::root::PathLookup;

/// Returns a weak reference to the tree of a transaction.
pub(super) fn weak_tree(state: &Arc<RwLock<TxnState>>) -> Weak<dyn OpenTree> {
    let weak: Weak<RwLock<TxnState>> = Arc::downgrade(state);
    weak
}

impl OpenTree for RwLock<TxnState> {
    fn noderev(&self, key: NodeKey) -> Result<Arc<NodeRev>> {
        Ok(self.read_recursive().node(key)?.noderev.clone())
    }

    fn look_up(&self, fs: &Fs, path: &FsPath) -> Result<PathLookup> {
        self.read_recursive().look_up(fs, path)
    }

    fn children(&self, key: NodeKey) -> Result<DirEntries> {
        let state = self.read_recursive();
        match &state.node(key)?.children {
            Some(children) => children.entries(),
            None => Err(has_changed(&state)),
        }
    }

    fn child(&self, key: NodeKey, name: &str) -> Result<EntryChange> {
        let state = self.read_recursive();
        match &state.node(key)?.children {
            Some(children) => children.find(name),
            None => Err(has_changed(&state)),
        }
    }

    fn props(&self, key: NodeKey) -> Result<Arc<Props>> {
        let state = self.read_recursive();
        match &state.node(key)?.props {
            Some(props) => Ok(props.clone()),
            None => Err(has_changed(&state)),
        }
    }

    fn changes(&self) -> Result<Vec<RawChange>> {
        let mut list = Vec::new();
        self.read_recursive().changes.each_from(0, &mut |change| {
            list.push(change.clone());
            Ok(())
        })?;
        Ok(list)
    }

    fn txn_props(&self) -> Arc<Props> {
        self.read_recursive().props.clone()
    }
}

/// The caller has looked up the node-revision before it was changed.
fn has_changed(state: &TxnState) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!(
            "Node of transaction '{}' has changed since it was looked up",
            state.id
        ),
    )
}
