//! `svnlook dirs-changed`: the directories in which a revision changed something.

use std::ffi::OsString;

use base::{NodeKind, Result};

use super::at::{self, At};
use super::changed_tree::{Action, ChangedTree};
use crate::out::Out;

/// Prints the directories that were changed themselves (their properties) or
/// whose entries were.
#[derive(clap::Args)]
#[command(override_usage = "dirs-changed REPOS_PATH")]
pub struct DirsChanged {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl DirsChanged {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let Some(tree) = ChangedTree::of(&self.at.root(&repository)?)? else {
            return Ok(());
        };
        tree.visit(&mut |visited| {
            let dir = visited.entry;
            if dir.kind != NodeKind::Dir || dir.action == Action::Deleted {
                return Ok(());
            }
            let counts = |child: &usize| {
                let child = tree.entry(*child);
                child.kind != NodeKind::Dir || child.action != Action::Opened
            };
            match dir.prop_mod || dir.children.iter().any(counts) {
                true => out.line(&format!("{}/", visited.path)),
                false => Ok(()),
            }
        })
    }
}
