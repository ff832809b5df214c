//! `svnadmin setlog`, `setrevprop` and `delrevprop`: change properties of a revision or a transaction.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use base::{Code, Error, Result, Revnum};
use repos::Repository;
use repos::access::Everything;
use repos::change_revprop::RevpropChange;
use repos::hooks::Hooks;
use repos::props_rules;

use super::range::RangeOption;
use super::repository;
use crate::args::operand::{at_least, at_most, misuse, text};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::local_path;
use crate::out::Out;

/// Sets the log message of a revision to the contents of a file.
///
/// The old message is lost: let the 'post-revprop-change' hook keep or mail it.
#[derive(clap::Args)]
#[command(override_usage = "setlog REPOS_PATH -r REVISION FILE")]
pub struct SetLogArgs {
    #[command(flatten)]
    range: RangeOption,
    /// run neither the hook before the change nor the one after it
    #[arg(long)]
    bypass_hooks: bool,
    operands: Vec<OsString>,
}

/// Sets a property of a revision, or with '-t' of a transaction, to the contents
/// of a file.
///
/// The old value is lost. No hook is run unless an option asks for it.
#[derive(clap::Args)]
#[command(
    override_usage = "1. setrevprop REPOS_PATH -r REVISION NAME FILE\n2. setrevprop REPOS_PATH -t TXN NAME FILE"
)]
pub struct SetRevpropArgs {
    #[command(flatten)]
    target: RevpropTarget,
    operands: Vec<OsString>,
}

/// Deletes a property of a revision, or with '-t' of a transaction.
///
/// The old value is lost. No hook is run unless an option asks for it.
#[derive(clap::Args)]
#[command(override_usage = "1. delrevprop REPOS_PATH -r REVISION NAME\n2. delrevprop REPOS_PATH -t TXN NAME")]
pub struct DelRevpropArgs {
    #[command(flatten)]
    target: RevpropTarget,
    operands: Vec<OsString>,
}

/// The revision or transaction to change, and the hooks to run.
#[derive(clap::Args)]
struct RevpropTarget {
    #[command(flatten)]
    range: RangeOption,
    /// work on the transaction ARG
    #[arg(short = 't', long)]
    transaction: Option<String>,
    /// run the hook before the change of a revision's property
    #[arg(long)]
    use_pre_revprop_change_hook: bool,
    /// run the hook after it
    #[arg(long)]
    use_post_revprop_change_hook: bool,
}

impl SetLogArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let rev = single(out, self.range)?;
        at_most(&self.operands, 2, out.program(), "Too many arguments")?;
        at_least(&self.operands, 2, out.program(), "Not enough arguments")?;
        let value = read_value(&self.operands[1], out)?;
        let repository = repository::open(out, &self.operands[..1])?;
        let hooks = (!self.bypass_hooks, !self.bypass_hooks);
        change(&repository, rev, "svn:log", Some(&value), hooks)
    }
}

impl SetRevpropArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        self.target.check(out)?;
        at_most(&self.operands, 3, out.program(), "Too many arguments")?;
        at_least(&self.operands, 3, out.program(), "Not enough arguments")?;
        let name = text(&self.operands[1])?;
        let value = read_value(&self.operands[2], out)?;
        self.target.change(out, &self.operands, &name, Some(&value))
    }
}

impl DelRevpropArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        self.target.check(out)?;
        at_most(&self.operands, 2, out.program(), "Too many arguments")?;
        at_least(&self.operands, 2, out.program(), "Not enough arguments")?;
        let name = text(&self.operands[1])?;
        self.target.change(out, &self.operands, &name, None)
    }
}

impl RevpropTarget {
    /// Checks that there is either a revision or a transaction.
    fn check(&self, out: &Out) -> Result<()> {
        if self.transaction.is_none() {
            return single(out, self.range).map(drop);
        }
        match self.range.given() {
            None => Ok(()),
            Some(_) => Err(wrong(
                out,
                "--revision (-r) and --transaction (-t) are mutually exclusive",
            )),
        }
    }

    fn change(&self, out: &Out, operands: &[OsString], name: &str, value: Option<&[u8]>) -> Result<()> {
        let repository = repository::open(out, &operands[..1])?;
        match &self.transaction {
            Some(txn) => {
                props_rules::validate(name, value)?;
                let mut txn = repository.fs().open_txn(txn)?;
                txn.set_prop(name, value)?;
                txn.write_to_disk()
            }
            None => {
                let rev = single(out, self.range)?;
                let hooks = (
                    self.use_pre_revprop_change_hook,
                    self.use_post_revprop_change_hook,
                );
                change(&repository, rev, name, value, hooks)
            }
        }
    }
}

/// Returns the only revision of `-r`, which must be a number.
fn single(out: &Out, range: RangeOption) -> Result<Revnum> {
    match range.given() {
        Some(RevisionRangeArg {
            start: Revision::Number(rev),
            end,
        }) => match end {
            None => Ok(rev),
            Some(_) => Err(wrong(out, "Only one revision allowed")),
        },
        _ => Err(wrong(out, "Missing revision")),
    }
}

fn wrong(out: &Out, text: &str) -> Error {
    misuse(out.program(), Error::new(Code::CL_ARG_PARSING_ERROR, text))
}

fn change(
    repository: &Repository,
    rev: Revnum,
    name: &str,
    value: Option<&[u8]>,
    (pre, post): (bool, bool),
) -> Result<()> {
    // Hooks of svnadmin run with an empty environment.
    let hooks = Hooks::of(repository, Default::default());
    let change = RevpropChange {
        rev,
        name,
        expected: None,
        value,
        user: None,
    };
    let when = |wanted: bool| wanted.then_some(&hooks);
    repository.change_revprop(&change, when(pre), when(post), &Everything)
}

/// Reads a file as a property's value: text with normalized line ends.
fn read_value(name: &OsString, out: &Out) -> Result<Vec<u8>> {
    let path = local_path::canonical(name);
    let bytes = read(&path)?;
    let text = out.charset().read(&bytes)?;
    Ok(base::with_line_feeds(text.as_bytes())?.into_owned())
}

/// Returns the bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::io("Can't open file", path, &e))
}
