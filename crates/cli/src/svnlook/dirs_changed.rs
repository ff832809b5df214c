//! `svnlook dirs-changed`: the directories in which a revision changed something.

use std::ffi::OsString;

use base::{FsPath, NodeKind, Result};

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
        let mut open = vec![(0, FsPath::root())];
        while let Some((at, path)) = open.pop() {
            let dir = tree.entry(at);
            let children = || dir.children.iter().map(|child| (*child, tree.entry(*child)));
            let counts = |(_, child): (usize, &super::changed_tree::Touched)| {
                child.kind != NodeKind::Dir || child.action != Action::Opened
            };
            if dir.prop_mod || children().any(counts) {
                out.line(&format!("{}/", path.rel_str()))?;
            }
            for (at, child) in children().rev() {
                if child.kind == NodeKind::Dir && child.action != Action::Deleted {
                    open.push((at, path.join_str(&child.name)));
                }
            }
        }
        Ok(())
    }
}
