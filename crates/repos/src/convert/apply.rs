//! Replays one revision of the source into a transaction of the destination.
//!
//! The records are those of a dump ([`crate::dump`]), so the destination's dump has them too. They are applied to the transaction
//! without being printed. What a dump does not hold is carried as well: a changed path without new contents, and the marks of a changed
//! path whose new contents are stored where the old ones are.

use std::collections::HashMap;

use base::{Cancel, Error, FsPath, NodeKind, Result, Revnum, props};
use fsfs::{Fs, Node, Txn};

use crate::access::Everything;
use crate::dump::{NodePrinter, NodeRecord, Records};
use crate::dumpfile::NodeAction;
use crate::replay::{self, Detail};

/// Applies the changes of revision `rev` of `source` to `txn`. `copied_from` has the destination's revisions before it.
pub(super) fn revision(
    source: &Fs,
    rev: Revnum,
    copied_from: &Fs,
    txn: &mut Txn,
    cancel: &Cancel,
) -> Result<()> {
    let root = source.root(rev)?;
    let changes = source.changed_paths(rev)?;
    let mut marks = HashMap::new();
    for change in changes.to_vec() {
        let mark: &mut ChangeMarks = marks.entry(change.path).or_default();
        mark.text |= change.text_mod;
        mark.props |= change.prop_mod;
    }
    let mut records = TxnRecords {
        txn,
        copied_from,
        marks,
        cancel,
    };
    let mut editor = NodePrinter::new(&mut records, root.clone());
    let options = replay::ReplayOptions::default();
    replay::drive(&root, &options, Detail::MarksAlone, &Everything, &mut editor)
}

/// What the list of changed paths says of a path.
#[derive(Clone, Copy, Default)]
struct ChangeMarks {
    text: bool,
    props: bool,
}

/// Applies records to a transaction.
struct TxnRecords<'a> {
    txn: &'a mut Txn,
    copied_from: &'a Fs,
    marks: HashMap<FsPath, ChangeMarks>,
    cancel: &'a Cancel,
}

impl Records for TxnRecords<'_> {
    fn delete(&mut self, path: &FsPath, _for_a_copy: bool) -> Result<()> {
        self.cancel.check()?;
        self.txn.delete(path)
    }

    fn node(&mut self, change: &NodeRecord<'_>) -> Result<()> {
        self.cancel.check()?;
        let (path, node) = (change.path, change.node);
        if change.action == NodeAction::Replace {
            self.txn.delete(path)?;
        }
        match (change.action, change.copyfrom) {
            (NodeAction::Change | NodeAction::Delete, _) => {}
            (_, Some((rev, source))) => self.txn.copy(&self.copied_from.root(rev)?, source, path)?,
            (_, None) if node.kind() == NodeKind::Dir => self.txn.make_dir(path)?,
            (_, None) => self.txn.make_file(path)?,
        }
        let mut marks = self.marks.get(path).copied().unwrap_or_default();
        if change.has_new_props() && self.props(change)? {
            marks.props = false;
        }
        if change.has_new_text() && node.has_text() {
            self.text(path, node)?;
            marks.text = false;
        }
        let is_without_content =
            change.action == NodeAction::Change && !change.has_new_props() && !change.has_new_text();
        match is_without_content || marks.text || marks.props {
            true => self.txn.mark_changed(path, marks.text, marks.props),
            false => Ok(()),
        }
    }
}

impl TxnRecords<'_> {
    /// Sets the properties; true if there was something to set.
    fn props(&mut self, change: &NodeRecord<'_>) -> Result<bool> {
        let new = change.node.props()?;
        let old = change.compared.map(Node::props).transpose()?;
        let mut is_changed = false;
        for name in old.iter().flat_map(|old| old.keys()) {
            if !new.contains_key(name) {
                self.txn.change_prop(change.path, name, None)?;
                is_changed = true;
            }
        }
        for (name, value) in new.iter() {
            if old.as_ref().and_then(|old| old.get(name)) != Some(value) {
                self.txn.change_prop(change.path, name, Some(value))?;
                is_changed = true;
            }
        }
        if is_changed || change.compared.is_none() {
            return Ok(is_changed);
        }
        // An equal list is stored once more.
        let same = new.iter().find(|(name, _)| *name != props::MERGEINFO);
        match same.or(new.iter().next()) {
            Some((name, value)) => self.txn.change_prop(change.path, name, Some(value))?,
            None => self.txn.change_prop(change.path, props::MIME_TYPE, None)?,
        }
        Ok(true)
    }

    /// Copies the text, which is checked while it is read.
    fn text(&mut self, path: &FsPath, node: &Node) -> Result<()> {
        let read = |e: Error| e.context(format!("Can't read '{path}'"));
        let mut reader = node.reader().map_err(read)?;
        let mut writer = self.txn.apply_text(path, None)?;
        loop {
            self.cancel.check()?;
            let chunk = reader.fill().map_err(read)?;
            let length = chunk.len();
            if length == 0 {
                break;
            }
            writer.write(chunk)?;
            reader.consume(length);
        }
        writer.finish(self.txn).map(drop)
    }
}
