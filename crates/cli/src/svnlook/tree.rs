//! `svnlook tree`: what is in a directory, and in the directories in it.

use std::ffi::OsString;
use std::sync::Arc;

use base::{FsPath, NodeKind, Result};
use fsfs::DirEntry;

use super::at::{self, At};
use crate::args::operand;
use crate::args::option::Memory;
use crate::out::Out;

/// Prints the tree below a path (below the root if none is given).
#[derive(clap::Args)]
#[command(override_usage = "tree REPOS_PATH [PATH_IN_REPOS]")]
pub struct Tree {
    #[command(flatten)]
    at: At,
    /// print the directory and its entries, and nothing below them
    #[arg(short = 'N', long)]
    non_recursive: bool,
    /// print the node-revision ID of each path
    #[arg(long)]
    show_ids: bool,
    /// print whole paths instead of indented names
    #[arg(long)]
    full_paths: bool,
    #[command(flatten)]
    memory: Memory,
    operands: Vec<OsString>,
}

/// A directory whose entries are being printed.
struct Level {
    /// The length of its path as it is printed, bytes.
    length: usize,
    entries: Arc<[DirEntry]>,
    next: usize,
}

impl Tree {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open_with(out, &self.operands, 2, self.memory.budget())?;
        let typed = self.operands.get(1).map(OsString::as_os_str).unwrap_or_default();
        let root = self.at.root(&repository)?;
        let node = at::absolute_node(&root, typed)?;
        // As it was typed, and the names below it.
        let mut path = operand::tidy(operand::text(typed)?);
        let name = node.path().basename().to_owned();
        self.print(out, &path, &name, node.kind(), &node.id().to_string(), 0)?;
        if node.kind() != NodeKind::Dir {
            return Ok(());
        }
        let mut open = vec![Level {
            length: path.len(),
            entries: node.entries()?,
            next: 0,
        }];
        while let Some(level) = open.last_mut() {
            path.truncate(level.length);
            let Some(entry) = level.entries.get(level.next) else {
                open.pop();
                continue;
            };
            level.next += 1;
            if !matches!(&*path, "" | "/") {
                path.push('/');
            }
            path.push_str(&entry.name);
            // Only its entries are of interest, not its path.
            let deeper = match entry.kind == NodeKind::Dir && !self.non_recursive {
                true => Some(root.entry_node(entry, FsPath::root())?.entries()?),
                false => None,
            };
            let (kind, name) = (entry.kind, entry.name.clone());
            let id = match self.show_ids {
                true => entry.id.to_string(),
                false => String::new(),
            };
            self.print(out, &path, &name, kind, &id, open.len())?;
            if let Some(entries) = deeper {
                open.push(Level {
                    length: path.len(),
                    entries,
                    next: 0,
                });
            }
        }
        Ok(())
    }

    fn print(
        &self,
        out: &mut Out,
        path: &str,
        name: &str,
        kind: NodeKind,
        id: &str,
        depth: usize,
    ) -> Result<()> {
        let mut line = match self.full_paths {
            true => path.to_owned(),
            false => format!("{:depth$}{name}", ""),
        };
        if kind == NodeKind::Dir && line != "/" {
            line.push('/');
        }
        if self.show_ids {
            line.push_str(&format!(" <{id}>"));
        }
        out.line(&line)
    }
}
