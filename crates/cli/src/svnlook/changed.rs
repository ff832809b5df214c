//! `svnlook changed`: the paths that a revision changed.

use std::ffi::OsString;

use base::{NodeKind, Result};

use super::at::{self, At};
use super::changed_tree::{Action, ChangedTree, Touched};
use crate::out::Out;

/// Prints the changed paths, each with what happened to it.
#[derive(clap::Args)]
#[command(override_usage = "changed REPOS_PATH")]
pub struct Changed {
    #[command(flatten)]
    at: At,
    /// mark copies and tell where they came from
    #[arg(long)]
    copy_info: bool,
    operands: Vec<OsString>,
}

impl Changed {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let Some(tree) = ChangedTree::of(&self.at.root(&repository)?)? else {
            return Ok(());
        };
        tree.visit(&mut |visited| self.print(out, visited.entry, visited.path))
    }

    fn print(&self, out: &mut Out, entry: &Touched, path: &str) -> Result<()> {
        let status = match (entry.action, entry.text_mod, entry.prop_mod) {
            (Action::Added, _, _) => "A ",
            (Action::Deleted, _, _) => "D ",
            (Action::Opened, true, true) => "UU",
            (Action::Opened, true, false) => "U ",
            (Action::Opened, false, true) => "_U",
            (Action::Opened, false, false) => return Ok(()),
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
