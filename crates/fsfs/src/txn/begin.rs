//! Beginning a transaction, and opening one that is on disk.
//!
//! A new transaction has its directory, its root and its proto-revision file from the start: `lstxns` lists it and `rmtxns`
//! removes it after a crash too. Its other files are written by `write_files`, for other processes.
//!
//! The directory gets its name when the root is in it: the incumbent's tools list a directory without a root, but cannot remove
//! it. (In formats 1 and 2 creating the directory reserves the name, so that moment remains.)

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use base::{Code, Date, Error, NodeKind, Props, Result, Revnum, props};
use parking_lot::RwLock;

use super::children::Children;
use super::edit::{MAX_IN_MEMORY, Txn, TxnOptions, TxnStatus};
use super::open_tree::weak_tree;
use super::proto_rev::ProtoRev;
use super::state::{NodeKey, OnDisk, TxnNode, TxnState, explicit_copyroot};
use crate::format::id::{IdTail, NodeRevId, TxnId};
use crate::format::noderev::NodeRev;
use crate::format::rep_line::RepLocation;
use crate::store::disk::{write_atomic, write_volatile};
use crate::tree::Fs;
use crate::txn::rep_write::RepSharing;
use base::number::{parse_base36, push_base36};

/// Present if users' locks are enforced.
pub(super) const CHECK_LOCKS: &str = "svn:check-locks";
/// Subversion's flag for enforcing that nothing is out of date; read, never set.
pub(super) const CHECK_OOD: &str = "svn:check-ood";
/// `0` where a client may set the date, `1` once it has.
pub(super) const CLIENT_DATE: &str = "svn:client-date";

impl Fs {
    /// Begins a transaction on a revision. `now` becomes its svn:date.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`; the system's.
    pub fn begin_txn(&self, base: Revnum, options: TxnOptions, now: Date) -> Result<Txn> {
        self.check_rev(base)?;
        let name = if self.format().has_protorevs_dir() {
            self.txn_name(base, self.take_txn_numbers(1)?)
        } else {
            self.make_numbered_txn_dir(base)?
        };
        self.begin_named(&name, base, options, now)
    }

    /// Begins a transaction with this name. Formats 1 and 2 have created its directory already, to reserve the name.
    pub(crate) fn begin_named(
        &self,
        name: &str,
        base: Revnum,
        options: TxnOptions,
        now: Date,
    ) -> Result<Txn> {
        let id = self.parse_txn_name(name)?;
        let mut list = Props::from([(props::DATE.to_owned(), now.to_string().into_bytes())]);
        if options.check_locks {
            list.insert(CHECK_LOCKS.to_owned(), b"true".to_vec());
        }
        if options.client_date {
            list.insert(CLIENT_DATE.to_owned(), b"0".to_vec());
        }
        let mut state = TxnState::new(
            self,
            id,
            name.to_owned(),
            self.initial_root(id, base)?,
            list,
            options.max_in_memory,
        );
        let has_name = !self.format().has_protorevs_dir();
        if !has_name {
            self.make_txn_dir(name, &mut state)?;
        }
        let begin = || -> Result<Txn> {
            if has_name {
                state.write_root(self, &self.layout().txn(name))?;
            }
            let proto = ProtoRev::create(self, id, state.items.clone())?;
            self.register_txn(state, proto, false)
        };
        begin().inspect_err(|_| {
            // The transaction has not begun. What cannot be removed now can be removed later, by its name.
            _ = self.purge_txn(name);
        })
    }

    /// Creates the directory of a transaction with its root, under a temporary name first, or takes over that of the group's last
    /// transaction. A crash leaves a directory that is no transaction; `recover` removes it.
    fn make_txn_dir(&self, name: &str, state: &mut TxnState) -> Result<()> {
        let path = self.layout().txn(name);
        if let Some(spare) = self.replace_spare_txn_dir(None) {
            let written = state.write_root(self, &spare);
            if written.is_ok() && self.disk().rename(&spare, &path).is_ok() {
                return Ok(());
            }
            // One that stays is removed as what a crash has left.
            _ = self.remove_files_and_dir(&spare);
            state.node_mut(state.root())?.is_on_disk = false;
        }
        let new = self.layout().transactions().join(format!("{name}{NEW_SUFFIX}"));
        let mut make = || -> Result<()> {
            match self.disk().create_dir(&new) {
                // Left by a crash; the number was given out again.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(|e| Error::io("Can't create directory", &new, &e))?,
            }
            state.write_root(self, &new)?;
            let renamed = self.disk().rename(&new, &path);
            renamed.map_err(|e| Error::io("Can't create directory", &path, &e))
        };
        make().inspect_err(|_| {
            _ = self.remove_files_and_dir(&new);
        })
    }

    /// Returns the root of a transaction without changes.
    fn initial_root(&self, txn: TxnId, base: Revnum) -> Result<NodeRev> {
        let root = self.root_noderev(base)?;
        let (node, copy) = txn.root();
        Ok(NodeRev {
            id: NodeRevId {
                node,
                copy,
                tail: IdTail::Txn(txn),
            },
            predecessor: Some(root.id),
            count: root.count + 1,
            copyfrom: None,
            copyroot: Some(explicit_copyroot(&root)),
            is_fresh_txn_root: true,
            ..NodeRev::clone(&root)
        })
    }

    /// Reserves numbers for transactions and returns the first. A crash loses numbers, which is harmless.
    pub(crate) fn take_txn_numbers(&self, count: u64) -> Result<u64> {
        let _lock = self.txn_current_lock()?;
        let number = match self.read_txn_current()? {
            Some(number) if !self.format().is_fsx() => number,
            number => self.free_txn_number(number.unwrap_or(0))?,
        };
        self.write_txn_current(number.saturating_add(count))?;
        Ok(number)
    }

    /// Returns the first number from `number` on after which there is no transaction. FSX starts the numbers again at a recovery,
    /// and has no number 0; in a file that a crash has emptied, there is none.
    fn free_txn_number(&self, number: u64) -> Result<u64> {
        let mut number = number.max(1);
        for name in self.list_txns()? {
            if let Ok(txn) = self.parse_txn_name(&name)
                && txn.number >= number
            {
                number = txn.number.saturating_add(1);
            }
        }
        Ok(number)
    }

    /// Gives back unused numbers, unless other numbers were reserved since.
    pub(crate) fn give_back_txn_numbers(&self, numbers: Range<u64>) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let _lock = self.txn_current_lock()?;
        match self.read_txn_current()? == Some(numbers.end) {
            true => self.write_txn_current(numbers.start),
            false => Ok(()),
        }
    }

    /// Returns the next number; `None` if the file is damaged.
    fn read_txn_current(&self) -> Result<Option<u64>> {
        let path = self.layout().file("txn-current");
        let text = self.disk().read_small(&path);
        let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
        Ok(parse_base36(text.trim_ascii_end()))
    }

    fn write_txn_current(&self, number: u64) -> Result<()> {
        let path = self.layout().file("txn-current");
        let mut line = String::new();
        push_base36(&mut line, number);
        line.push('\n');
        // A machine that shares the filesystem loses its transactions with its power, and gets other numbers when it comes back.
        match self.shared_fs() {
            Some(_) => write_volatile(self.disk(), &path, line.as_bytes(), &path),
            None => write_atomic(self.disk(), &path, line.as_bytes(), &path),
        }
    }

    /// Creates the directory of a transaction in formats 1 and 2, which have no counter: the first free number is taken.
    fn make_numbered_txn_dir(&self, base: Revnum) -> Result<String> {
        for number in 1..=99_999 {
            let name = format!("{base}-{number}");
            let path = self.layout().txn(&name);
            match self.disk().create_dir(&path) {
                Ok(()) => return Ok(name),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("Can't create directory", &path, &e)),
            }
        }
        Err(Error::new(
            Code::IO_UNIQUE_NAMES_EXHAUSTED,
            format!(
                "Unable to create transaction directory in '{}' for revision {base}",
                self.path().display()
            ),
        ))
    }

    fn register_txn(&self, state: TxnState, proto: ProtoRev, reads_disk: bool) -> Result<Txn> {
        let (id, name) = (state.id, state.name.clone());
        let state = Arc::new(RwLock::new(state));
        if !self.open_txns().add(id, weak_tree(&state)) {
            return Err(Error::new(
                Code::FS_TRANSACTION_NOT_DEAD,
                format!("Transaction '{name}' is being edited already"),
            ));
        }
        Ok(Txn {
            sharing: self.sharing(id, reads_disk),
            fs: self.clone(),
            id,
            name,
            state,
            proto,
            access: Default::default(),
            status: TxnStatus::Open,
            instance: self.instance(),
        })
    }

    /// Makes the rep sharing of a transaction.
    pub(super) fn sharing(&self, txn: TxnId, reads_disk: bool) -> RepSharing {
        let sharing = RepSharing::new(self, txn, reads_disk);
        match self.unshared_rows() {
            Some(rows) => sharing.with_unshared(rows, self.last_youngest()),
            None => sharing,
        }
    }

    /// Opens a transaction that is on disk, to continue editing it.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn open_txn(&self, name: &str) -> Result<Txn> {
        let id = self.check_txn(name)?;
        let list = self.txn_props(name)?;
        let root = self.txn_root_noderev(id)?;
        let mut state = TxnState::new(
            self,
            id,
            name.to_owned(),
            NodeRev::clone(&root),
            list,
            MAX_IN_MEMORY,
        );
        (state.next_node, state.next_copy) = self.read_next_ids(name)?;
        let log = self.read_txn_file(name, "changes")?;
        let changes = self.format().back_end.parse_change_log(&log)?;
        changes.into_iter().for_each(|change| state.changes.push(change));
        let keys = self.txn_node_keys(id, name)?;
        let proto = ProtoRev::open(self, id, keys.len())?;
        state.items = proto.numbers();
        for key in keys {
            let node = self.read_txn_node(id, key)?;
            state.insert(key, node);
        }
        state.on_disk = OnDisk {
            changes: state.changes.len(),
            log_bytes: log.len() as u64,
            counters: Some((state.next_node, state.next_copy)),
            props: true,
        };
        self.register_txn(state, proto, true)
    }

    fn read_txn_file(&self, txn: &str, file: &str) -> Result<Vec<u8>> {
        let path = self.layout().txn(txn).join(file);
        let read = self.disk().read_small(&path);
        read.map_err(|e| Error::io("Can't open file", &path, &e))
    }

    fn read_next_ids(&self, txn: &str) -> Result<(u64, u64)> {
        let text = self.read_txn_file(txn, "next-ids")?;
        // Subversion 1.14 writes a zero byte after the line.
        let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
        let mut fields = line.split(|&b| b == b' ').map(parse_base36);
        match (fields.next().flatten(), fields.next().flatten()) {
            (Some(node), Some(copy)) => Ok((node, copy)),
            _ => Err(Error::new(
                Code::FS_CORRUPT,
                format!("next-ids file of transaction '{txn}' is corrupt"),
            )),
        }
    }

    /// Returns the keys of the node-revisions that a transaction has on disk.
    fn txn_node_keys(&self, txn: TxnId, name: &str) -> Result<HashSet<NodeKey>> {
        let dir = self.layout().txn(name);
        let names = self.disk().list(&dir);
        let names = names.map_err(|e| Error::io("Can't open directory", &dir, &e))?;
        let keys = names
            .iter()
            .filter_map(|name| self.layout().txn_node_of_file(txn, name.to_str()?));
        Ok(keys.collect())
    }

    fn read_txn_node(&self, txn: TxnId, key: NodeKey) -> Result<TxnNode> {
        let noderev = self.txn_noderev(txn, key.0, key.1)?;
        let is_mutable = |rep: &Option<crate::format::rep_line::Rep>| {
            rep.as_ref()
                .is_some_and(|rep| rep.location == RepLocation::Mutable)
        };
        let mut node = TxnNode::new(NodeRev::clone(&noderev));
        node.is_on_disk = true;
        if noderev.kind == NodeKind::Dir && is_mutable(&noderev.text) {
            let path = self.layout().txn_children(txn, key.0, key.1);
            let text = self.disk().read_small(&path);
            let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
            let mut children = Children::new(self.format().back_end.parse_children(&text)?);
            children.unwritten = Some(Vec::new());
            node.children = Some(Box::new(children));
        }
        if is_mutable(&noderev.props) {
            let path = self.layout().txn_node_props(txn, key.0, key.1);
            let text = self.disk().read_small(&path);
            let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
            node.props = Some(Arc::new(self.format().back_end.parse_txn_props(&text)?));
            node.props_on_disk = true;
        }
        Ok(node)
    }
}

impl TxnState {
    /// True if users' locks are enforced.
    pub(super) fn checks_locks(&self) -> bool {
        self.props.contains_key(CHECK_LOCKS)
    }
}

/// The suffix of a directory that is about to become a transaction's.
pub(super) const NEW_SUFFIX: &str = ".new";
