//! `svnlook changed`: prints the paths that a revision changed.

use std::ffi::OsString;

use base::{NodeKind, Result};

use super::changed_tree::{ChangedEntry, ChangedTree, EntryChange};
use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the changed paths, each with what happened to it.
#[derive(clap::Args)]
#[command(override_usage = "changed REPOS_PATH")]
pub struct ChangedArgs {
    #[command(flatten)]
    target: RootOption,
    /// mark copies and tell where they came from
    #[arg(long)]
    copy_info: bool,
    operands: Vec<OsString>,
}

impl ChangedArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let Some(tree) = ChangedTree::of(&self.target.root(&repository)?)? else {
            return Ok(());
        };
        tree.visit(&mut |visited| self.print(out, visited.entry, visited.path))
    }

    fn print(&self, out: &mut Out, entry: &ChangedEntry, path: &str) -> Result<()> {
        let status = match (entry.action, entry.text_mod, entry.prop_mod) {
            (EntryChange::Added, _, _) => "A ",
            (EntryChange::Deleted, _, _) => "D ",
            (EntryChange::Opened, true, true) => "UU",
            (EntryChange::Opened, true, false) => "U ",
            (EntryChange::Opened, false, true) => "_U",
            (EntryChange::Opened, false, false) => return Ok(()),
        };
        let slash = if entry.kind == NodeKind::Dir { "/" } else { "" };
        let source = entry.copyfrom.as_ref().filter(|_| self.copy_info);
        let plus = if source.is_some() { '+' } else { ' ' };
        out.line(&format!("{status}{plus} {path}{slash}"))?;
        match source {
            Some((rev, from)) => out.line(&format!("    (from {}{slash}:r{rev})", from.rel_str())),
            None => Ok(()),
        }
    }
}
