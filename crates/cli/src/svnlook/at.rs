//! What most subcommands share: the repository, opened, and the tree that they look at.

use std::ffi::OsString;

use base::{Props, Result, Revnum};
use clap::Args;
use fsfs::Root;
use repos::{Cache, Repository};

use crate::args::{operand, option, revision};
use crate::local_path;
use crate::out::Out;

/// `-r` or `-t`: which tree.
#[derive(Debug, Default, Args)]
pub struct At {
    /// look at revision ARG
    #[arg(short = 'r', long, value_parser = revision::plain_number)]
    revision: Option<Revnum>,
    /// look at the transaction named ARG
    #[arg(short = 't', long)]
    transaction: Option<String>,
}

impl At {
    /// Only a revision.
    pub fn revision(revision: Option<Revnum>) -> Self {
        At {
            revision,
            transaction: None,
        }
    }

    /// The tree to look at: as asked for, or the youngest revision's.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NO_SUCH_TRANSACTION`, `FS_TXN_NAME_MALFORMED`.
    pub fn root(&self, repository: &Repository) -> Result<Root> {
        match (&self.transaction, self.revision) {
            (Some(txn), _) => repository.fs().txn_root(txn),
            (None, Some(rev)) => repository.fs().root(rev),
            (None, None) => repository.fs().root(repository.youngest()?),
        }
    }
}

/// The properties of a revision or of a transaction.
///
/// # Errors
/// As the engine's.
pub fn revision_props(root: &Root) -> Result<Props> {
    match (root.revision(), root.txn_name()) {
        (Some(rev), _) => Ok(Props::clone(&*root.fs().revprops(rev)?)),
        (None, Some(txn)) => root.fs().txn_props(txn),
        (None, None) => Ok(Props::new()),
    }
}

/// Opens the repository that the first of `operands` names, after refusing more than `most` operands in all.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`; what opening says.
pub fn open(out: &Out, operands: &[OsString], most: usize) -> Result<Repository> {
    open_with(out, operands, most, option::default_budget())
}

/// [`open`] with a cache of `budget` bytes.
///
/// # Errors
/// See [`open`].
pub fn open_with(out: &Out, operands: &[OsString], most: usize, budget: u64) -> Result<Repository> {
    operand::at_most(operands, most, out.program(), "Too many arguments given")?;
    let path = operands.first().map(OsString::as_os_str).unwrap_or_default();
    Repository::open(&local_path::canonical(path), &Cache::new(budget))
}
