//! `svnlook dirs-changed`: prints the directories that a revision changed.

use std::ffi::OsString;

use base::{NodeKind, Result};

use super::changed_tree::{ChangedTree, EntryChange};
use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the directories that were changed themselves (their properties) or
/// whose entries were.
#[derive(clap::Args)]
#[command(override_usage = "dirs-changed REPOS_PATH")]
pub struct DirsChangedArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl DirsChangedArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let Some(tree) = ChangedTree::of(&self.target.root(&repository)?)? else {
            return Ok(());
        };
        tree.visit(&mut |visited| {
            let dir = visited.entry;
            if dir.kind != NodeKind::Dir || dir.action == EntryChange::Deleted {
                return Ok(());
            }
            let counts = |child: &usize| {
                let child = tree.entry(*child);
                child.kind != NodeKind::Dir || child.action != EntryChange::Opened
            };
            match dir.prop_mod || dir.children.iter().any(counts) {
                true => out.line(&format!("{}/", visited.path)),
                false => Ok(()),
            }
        })
    }
}
