//! How readers of this process see a transaction that it edits: from memory.
//!
//! An [`Fs`] knows which transactions its holders edit. Whatever reads a node-revision, a directory, a property list or
//! the log of one of them asks here first; only where nobody edits the transaction are its files read. Once the last
//! editor is gone, the files are all there is.
//!
//! The reading side of the lock is taken recursively: a commit holds it while it reads what it needs.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use base::{Code, Error, FsPath, NodeKind, Props, Result};
use parking_lot::{Mutex, RwLock};

use super::state::{NodeKey, State};
use crate::format::changes::RawChange;
use crate::format::dir::DirEntry;
use crate::format::id::{NodeRevId, TxnId};
use crate::format::noderev::NodeRev;
use crate::fs::Fs;
use crate::root::Found;

/// The transactions that holders of one [`Fs`] edit.
#[derive(Default)]
pub(crate) struct LiveTxns(Mutex<HashMap<TxnId, Weak<RwLock<State>>>>);

impl LiveTxns {
    /// Makes a transaction known; false if it is edited already.
    pub(crate) fn add(&self, txn: TxnId, state: &Arc<RwLock<State>>) -> bool {
        let mut live = self.0.lock();
        if live.get(&txn).is_some_and(|state| state.strong_count() > 0) {
            return false;
        }
        live.retain(|_, state| state.strong_count() > 0);
        live.insert(txn, Arc::downgrade(state));
        true
    }

    /// Forgets a transaction.
    pub(crate) fn remove(&self, txn: TxnId) {
        self.0.lock().remove(&txn);
    }

    fn get(&self, txn: TxnId) -> Option<Arc<RwLock<State>>> {
        self.0.lock().get(&txn)?.upgrade()
    }
}

impl Fs {
    /// A node-revision of a transaction that is edited; `None` if it is not.
    pub(crate) fn live_noderev(&self, txn: TxnId, key: NodeKey) -> Result<Option<Arc<NodeRev>>> {
        match self.live_txns().get(txn) {
            Some(state) => Ok(Some(state.read_recursive().node(key)?.noderev.clone())),
            None => Ok(None),
        }
    }

    /// What is at a path of a transaction that is edited; `None` if it is not.
    pub(crate) fn live_look_up(&self, txn: TxnId, path: &FsPath) -> Result<Option<Found>> {
        match self.live_txns().get(txn) {
            Some(state) => state.read_recursive().look_up(self, path).map(Some),
            None => Ok(None),
        }
    }

    /// A changed directory.
    pub(crate) fn live_children(&self, txn: TxnId, key: NodeKey) -> Result<Option<Arc<[DirEntry]>>> {
        let Some(state) = self.live_txns().get(txn) else {
            return Ok(None);
        };
        match &state.read_recursive().node(key)?.children {
            Some(children) => Ok(Some(children.entries())),
            None => Err(out_of_step(txn)),
        }
    }

    /// What a name stands for in a changed directory; the outer `None` if the transaction is not edited.
    pub(crate) fn live_child(
        &self,
        txn: TxnId,
        key: NodeKey,
        name: &str,
    ) -> Result<Option<Option<(NodeKind, NodeRevId)>>> {
        let Some(state) = self.live_txns().get(txn) else {
            return Ok(None);
        };
        let state = state.read_recursive();
        let Some(children) = &state.node(key)?.children else {
            return Err(out_of_step(txn));
        };
        Ok(Some(children.find(name)))
    }

    /// A changed property list.
    pub(crate) fn live_props(&self, txn: TxnId, key: NodeKey) -> Result<Option<Arc<Props>>> {
        let Some(state) = self.live_txns().get(txn) else {
            return Ok(None);
        };
        match &state.read_recursive().node(key)?.props {
            Some(props) => Ok(Some(props.clone())),
            None => Err(out_of_step(txn)),
        }
    }

    /// The log.
    pub(crate) fn live_changes(&self, txn: TxnId) -> Result<Option<Vec<RawChange>>> {
        let Some(state) = self.live_txns().get(txn) else {
            return Ok(None);
        };
        let mut list = Vec::new();
        state.read_recursive().changes.each_from(0, &mut |change| {
            list.push(change.clone());
            Ok(())
        })?;
        Ok(Some(list))
    }

    /// Its own properties.
    pub(crate) fn live_txn_props(&self, txn: TxnId) -> Option<Arc<Props>> {
        Some(self.live_txns().get(txn)?.read_recursive().props.clone())
    }
}

/// A node-revision from before a change was used to ask for what is there after it.
fn out_of_step(txn: TxnId) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!("Node of transaction '{txn}' has changed since it was looked up"),
    )
}
