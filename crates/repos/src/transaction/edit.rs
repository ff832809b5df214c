//! The steps of an edit: each is refused or done at once.
//!
//! Checks, their order and their texts are those of the incumbent's WebDAV server. Some differ from those of an edit
//! over `svn://`.

use base::{Code, Error, FsPath, NodeKind, Result, Revnum};
use fsfs::{Node, Relation};

use super::Transaction;
use crate::commit::rules::{check_name, out_of_date};
use crate::props_rules::{validate, validate_mergeinfo};

/// A change of one property of a node, which can be undone.
#[derive(Debug)]
pub struct PropStep {
    name: String,
    before: Option<Vec<u8>>,
}

impl Transaction {
    /// Refuses a step that is based on another revision of a node than the one it would change. `based_on` is `None`
    /// if the client did not send it. A node that the client has and the transaction lacks is not found.
    ///
    /// # Errors
    /// `RA_OUT_OF_DATE`, `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
    pub fn check_base(&self, path: &FsPath, based_on: Option<Revnum>) -> Result<()> {
        let Some(based_on) = based_on else {
            return Ok(());
        };
        let node = self.txn.root()?.node(path)?;
        let refused = || {
            let text = out_of_date(path, node.kind()).message();
            Error::new(Code::RA_OUT_OF_DATE, text)
        };
        let newest = self.txn.base_revision();
        match node.created_rev() {
            Some(created) if based_on < created => Err(refused()),
            Some(created) if based_on > created && based_on > newest => Err(no_such_revision(based_on)),
            Some(_) => Ok(()),
            // The transaction has changed it. For a directory that proves nothing: perhaps only an entry has changed.
            None if node.kind() != NodeKind::Dir => Ok(()),
            // Nothing can be newer, and a directory that the transaction has made is in no revision.
            None if based_on == newest => Ok(()),
            None => match self.is_same_dir(path, based_on, newest)? {
                true => Ok(()),
                false => Err(refused()),
            },
        }
    }

    /// True if a directory is the same in both revisions.
    fn is_same_dir(&self, path: &FsPath, based_on: Revnum, newest: Revnum) -> Result<bool> {
        let fs = self.repo.fs();
        let then: Node = fs.root(based_on)?.node(path)?;
        let now = fs.root(newest)?.node(path)?;
        Ok(then.relation(&now) == Relation::Same)
    }

    /// True if the node at `path` is the one at that path in a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn has_version(&self, path: &FsPath, rev: Revnum) -> Result<bool> {
        let there = self.repo.fs().root(rev)?.try_node(path)?;
        Ok(match (self.node(path)?, there) {
            (Some(here), Some(there)) => here.relation(&there) == Relation::Same,
            _ => false,
        })
    }

    /// Adds an empty directory.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`; those of locks.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        check_name(path.as_str())?;
        self.touch()?;
        self.txn.make_dir(path)
    }

    /// Deletes a node and everything below it. `based_on` is the client's revision of it.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_ROOT_DIR`, `RA_OUT_OF_DATE`, `FS_NO_SUCH_REVISION`; those of locks.
    pub fn delete(&mut self, path: &FsPath, based_on: Option<Revnum>) -> Result<()> {
        if let (Some(based_on), Some(node)) = (based_on, self.node(path)?) {
            let newest = self.txn.base_revision();
            if based_on > newest {
                return Err(no_such_revision(based_on));
            }
            if node.created_rev().is_some_and(|created| based_on < created) {
                let text = out_of_date(path, node.kind()).message();
                return Err(Error::new(Code::RA_OUT_OF_DATE, text));
            }
        }
        self.touch()?;
        self.txn.delete(path)
    }

    /// Copies a committed node, with history, and replaces the node at `to`. As with the incumbent, that node is deleted first: the
    /// list of changes does not allow a replacement of a node that the transaction has already changed.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_ROOT_DIR`; those of locks.
    pub fn copy(&mut self, rev: Revnum, from: &FsPath, to: &FsPath) -> Result<()> {
        check_name(to.as_str())?;
        let source = self.repo.fs().root(rev)?;
        // A copy that fails must not leave the deletion.
        source.node(from)?;
        self.touch()?;
        if self.node(to)?.is_some() {
            self.txn.delete(to)?;
        }
        self.txn.copy(&source, from, to)
    }

    /// Sets or deletes a property of a node; returns how to undo it.
    ///
    /// # Errors
    /// Those of properties that must not be stored; `FS_NOT_FOUND`; those of locks.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<PropStep> {
        if let Some(value) = value {
            validate_mergeinfo(path, name, value)?;
        }
        validate(name, value)?;
        let before = match self.node(path)? {
            Some(node) => node.prop(name)?,
            None => None,
        };
        self.touch()?;
        self.txn.change_prop(path, name, value)?;
        Ok(PropStep {
            name: name.to_owned(),
            before,
        })
    }

    /// Restores the old value of a property.
    ///
    /// # Errors
    /// As [`Transaction::change_prop`].
    pub fn undo_prop(&mut self, path: &FsPath, step: &PropStep) -> Result<()> {
        self.txn.change_prop(path, &step.name, step.before.as_deref())
    }
}

fn no_such_revision(rev: Revnum) -> Error {
    Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}"))
}
