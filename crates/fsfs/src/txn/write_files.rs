//! Writing the files of a transaction, in the forms that the incumbent's tools and its commit read.
//!
//! Nothing here is made durable: a transaction need not survive a crash of the machine. Unchanged parts are not written again;
//! directories and the log are appended to, as the incumbent does.

use std::io;
use std::path::{Path, PathBuf};

use base::{Error, Result};

use super::children::Children;
use super::state::{NodeKey, TxnNode, TxnState};
use crate::format::id::TxnId;
use crate::store::disk::{Create, is_missing};
use crate::tree::Fs;
use base::number::push_base36;

impl TxnState {
    /// Writes the root's node-revision into `dir`: enough for the incumbent to open and to remove the transaction.
    pub(super) fn write_root(&mut self, fs: &Fs, dir: &Path) -> Result<()> {
        let [path, ..] = node_files(fs, self.id, self.root());
        let name = path.file_name().unwrap_or_default();
        write_noderev(fs, &dir.join(name), self.node_mut(self.root())?)
    }

    /// Writes what is not on disk yet.
    pub(super) fn write_to_disk(&mut self, fs: &Fs) -> Result<()> {
        let txn = self.id;
        let dir = fs.layout().txn(&self.name);
        for key in std::mem::take(&mut self.removed) {
            // The node-revision may exist again: one may be linked back and cloned again.
            if let Some(node) = self.nodes.get_mut(key)? {
                node.is_on_disk = false;
                node.props_on_disk = false;
            }
            for path in node_files(fs, txn, key) {
                remove_if_there(fs, &path)?;
            }
        }
        self.nodes.for_each_unwritten(|key, node| {
            let [noderev, children, props] = node_files(fs, txn, key);
            if let Some(list) = &mut node.children {
                write_children(fs, &children, list)?;
            }
            if let (Some(list), false) = (&node.props, node.props_on_disk) {
                let mut text = Vec::new();
                fs.format().back_end.encode_props(list, &mut text);
                write_file(fs, &props, Create::Replace, &text)?;
                node.props_on_disk = true;
            }
            write_noderev(fs, &noderev, node)
        })?;
        let mut log = Vec::new();
        self.changes.each_from(self.on_disk.changes, &mut |change| {
            fs.format().back_end.encode_change(change, &mut log);
            Ok(())
        })?;
        write_file(fs, &dir.join("changes"), Create::Append, &log)?;
        self.on_disk.changes = self.changes.len();
        self.on_disk.log_bytes += log.len() as u64;
        let counters = (self.next_node, self.next_copy);
        if self.on_disk.counters != Some(counters) {
            let mut line = String::new();
            push_base36(&mut line, counters.0);
            line.push(' ');
            push_base36(&mut line, counters.1);
            line.push('\n');
            write_file(fs, &dir.join("next-ids"), Create::Replace, line.as_bytes())?;
            self.on_disk.counters = Some(counters);
        }
        if !self.on_disk.props {
            let mut text = Vec::new();
            fs.format().back_end.encode_props(&self.props, &mut text);
            write_file(fs, &dir.join("props"), Create::Replace, &text)?;
            self.on_disk.props = true;
        }
        Ok(())
    }
}

fn write_noderev(fs: &Fs, path: &Path, node: &mut TxnNode) -> Result<()> {
    if !node.is_on_disk {
        let mut text = Vec::new();
        fs.format().encode_noderev(&node.noderev, &mut text);
        write_file(fs, path, Create::Replace, &text)?;
        node.is_on_disk = true;
    }
    Ok(())
}

/// Writes the file of a directory, or appends records for the names that have changed since.
fn write_children(fs: &Fs, path: &Path, children: &mut Children) -> Result<()> {
    let mut text = Vec::new();
    let back_end = fs.format().back_end;
    let mut record = |name: &str| -> Result<()> {
        back_end.encode_child(name, children.find(name)?, &mut text);
        Ok(())
    };
    let how = match &children.unwritten {
        Some(names) if names.is_empty() => return Ok(()),
        Some(names) => {
            names.iter().try_for_each(|name| record(name))?;
            Create::Append
        }
        None => {
            children.overlay.keys().try_for_each(|name| record(name))?;
            let mut whole = back_end
                .encode_dir(&children.base.with_changes(std::iter::empty())?)?
                .to_vec();
            whole.append(&mut text);
            text = whole;
            Create::Replace
        }
    };
    // A failure may leave half a record: then the file is written again the next time.
    children.unwritten = None;
    write_file(fs, path, how, &text)?;
    children.unwritten = Some(Vec::new());
    Ok(())
}

fn node_files(fs: &Fs, txn: TxnId, key: NodeKey) -> [PathBuf; 3] {
    let layout = fs.layout();
    [
        layout.txn_node(txn, key.0, key.1),
        layout.txn_children(txn, key.0, key.1),
        layout.txn_node_props(txn, key.0, key.1),
    ]
}

pub(super) fn remove_if_there(fs: &Fs, path: &Path) -> Result<()> {
    match fs.disk().remove_file(path) {
        Ok(()) => Ok(()),
        Err(e) => match Error::io("Can't remove file", path, &e) {
            e if is_missing(&e) => Ok(()),
            e => Err(e),
        },
    }
}

/// Writes or appends `bytes`. If they cannot be appended, the file keeps its length, so that a repetition does not append a part of
/// them twice. A file that cannot be replaced has a part of them.
pub(super) fn write_file(fs: &Fs, path: &Path, how: Create, bytes: &[u8]) -> Result<()> {
    let failed = |e: io::Error| Error::io("Can't write to file", path, &e);
    let mut file = fs
        .disk()
        .write(path, how)
        .map_err(|e| Error::io("Can't open file", path, &e))?;
    let length = match how {
        Create::Append => file.len().map_err(failed)?,
        Create::New | Create::Replace => 0,
    };
    file.append(bytes).map_err(|e| {
        // A file that stays longer is noticed by `Txn::has_read_log_of`, or is damaged.
        _ = file.truncate(length);
        failed(e)
    })
}
