//! Finds what most subcommands need: the repository, the tree of `-r` or `-t`, and nodes in it.

use std::ffi::{OsStr, OsString};

use base::{Code, Date, Error, FsPath, NodeKind, Props, Result, Revnum, props};
use clap::Args;
use fsfs::{Node, Root};
use repos::{Cache, Repository};

use crate::args::{operand, option, revision};
use crate::out::Out;
use crate::{date_text, local_path};

/// The options `-r` and `-t`, which select a tree.
#[derive(Debug, Default, Args)]
pub struct RootOption {
    /// look at revision ARG
    #[arg(short = 'r', long, value_parser = revision::plain_number)]
    revision: Option<Revnum>,
    /// look at the transaction named ARG
    #[arg(short = 't', long)]
    transaction: Option<String>,
}

impl RootOption {
    /// Returns the options for a revision.
    pub fn revision(revision: Option<Revnum>) -> Self {
        RootOption {
            revision,
            transaction: None,
        }
    }

    /// Returns the selected tree, or that of the youngest revision.
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

/// Returns the properties of a revision or a transaction.
///
/// # Errors
/// Errors of reading them.
pub fn revision_props(root: &Root) -> Result<Props> {
    match (root.revision(), root.txn_name()) {
        (Some(rev), _) => Ok(root.fs().revprops(rev)?.to_props()),
        (None, Some(txn)) => {
            let mut all = root.fs().txn_props(txn)?;
            all.retain(|name, _| !TXN_FLAGS.contains(&name.as_str()));
            Ok(all)
        }
        (None, None) => Ok(Props::new()),
    }
}

/// Opens the repository that the first operand names.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for more than `most` operands; errors of opening.
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

/// Transaction properties for internal use, which are not printed.
const TXN_FLAGS: [&str; 3] = ["svn:check-ood", "svn:check-locks", "svn:client-date"];

/// The message for a missing path operand.
pub const NO_PATH: &str = "Missing repository path argument";

/// Returns a property as text; empty if it is not set.
pub fn shown(all: &Props, name: &str) -> String {
    let value = all.get(name).map(Vec::as_slice).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// Returns the date in the local time zone; empty if it is not set.
///
/// # Errors
/// `BAD_DATE` if the property is no date.
pub fn date(all: &Props) -> Result<String> {
    match all.get(props::DATE).map(Vec::as_slice) {
        None | Some(b"") => Ok(String::new()),
        Some(stored) => Ok(date_text::human(Date::parse(stored)?)),
    }
}

/// Returns the node at the path of an operand.
///
/// # Errors
/// `FS_NOT_FOUND` with the path as typed.
pub fn node(root: &Root, typed: &OsStr) -> Result<Node> {
    let typed = operand::tidy(&operand::text(typed)?);
    find(root, &typed)?.ok_or_else(|| not_found(root, &typed))
}

/// As [`node`], with an error that shows the path from the root.
///
/// # Errors
/// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`.
pub fn absolute_node(root: &Root, typed: &OsStr) -> Result<Node> {
    let typed = absolute(&operand::text(typed)?);
    let Ok(path) = FsPath::canonicalize(&typed) else {
        return Err(not_found(root, &typed));
    };
    root.node(&path)
}

/// As [`absolute_node`], with the error of those subcommands that first check whether the path exists.
///
/// # Errors
/// `FS_NOT_FOUND` `Path '/…' does not exist`.
pub fn existing_node(root: &Root, typed: &OsStr) -> Result<Node> {
    let typed = absolute(&operand::text(typed)?);
    find(root, &typed)?.ok_or_else(|| does_not_exist(&typed))
}

/// Returns the file at the path of an operand.
///
/// # Errors
/// `FS_NOT_FOUND`, `FS_NOT_FILE`.
pub fn file(root: &Root, typed: &OsStr) -> Result<Node> {
    let typed = operand::tidy(&operand::text(typed)?);
    let node = find(root, &typed)?.ok_or_else(|| does_not_exist(&typed))?;
    match node.kind() {
        NodeKind::File => Ok(node),
        _ => Err(Error::new(
            Code::FS_NOT_FILE,
            format!("Path '{typed}' is not a file"),
        )),
    }
}

/// Returns `None` for paths that do not exist or are invalid.
fn find(root: &Root, path: &str) -> Result<Option<Node>> {
    match FsPath::canonicalize(path) {
        Ok(path) => root.try_node(&path),
        Err(_) => Ok(None),
    }
}

fn absolute(typed: &str) -> String {
    format!("/{}", operand::tidy(typed).trim_start_matches('/'))
}

fn does_not_exist(path: &str) -> Error {
    Error::new(Code::FS_NOT_FOUND, format!("Path '{path}' does not exist"))
}

fn not_found(root: &Root, path: &str) -> Error {
    let place = match (root.revision(), root.txn_name()) {
        (Some(rev), _) => format!("revision {rev}"),
        (None, txn) => format!("transaction '{}'", txn.unwrap_or_default()),
    };
    Error::new(
        Code::FS_NOT_FOUND,
        format!("File not found: {place}, path '{path}'"),
    )
}
