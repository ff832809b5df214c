//! `svnlook tree`: prints a directory recursively.

use std::ffi::OsString;

use base::{FsPath, NodeKind, Result};
use fsfs::DirEntries;

use super::lookup::{self, RootOption};
use crate::args::operand;
use crate::args::option::CacheSizeOption;
use crate::out::Out;

/// Prints the tree below a path (below the root if none is given).
#[derive(clap::Args)]
#[command(override_usage = "tree REPOS_PATH [PATH_IN_REPOS]")]
pub struct TreeArgs {
    #[command(flatten)]
    target: RootOption,
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
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

/// A directory whose entries are being printed.
struct PrintedDirectory {
    /// The length of its printed path in bytes.
    length: usize,
    entries: DirEntries,
    next: usize,
}

impl TreeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open_with(out, &self.operands, 2, self.memory.budget())?;
        let typed = self.operands.get(1).map(OsString::as_os_str).unwrap_or_default();
        let root = self.target.root(&repository)?;
        let node = lookup::absolute_node(&root, typed)?;
        // The path as typed is the prefix of all printed paths.
        let mut path = operand::tidy(&operand::text(typed)?);
        let name = node.path().basename().to_owned();
        self.print(out, &path, &name, node.kind(), &node.id().to_string(), 0)?;
        if node.kind() != NodeKind::Dir {
            return Ok(());
        }
        let mut open = vec![PrintedDirectory {
            length: path.len(),
            entries: node.entries()?,
            next: 0,
        }];
        while let Some(directory) = open.last_mut() {
            path.truncate(directory.length);
            let Some(entry) = directory.entries.get(directory.next) else {
                open.pop();
                continue;
            };
            directory.next += 1;
            if !matches!(&*path, "" | "/") {
                path.push('/');
            }
            path.push_str(entry.name);
            // The node's path is not used, so the root path stands for it.
            let deeper = match entry.kind == NodeKind::Dir && !self.non_recursive {
                true => Some(root.entry_node(entry, FsPath::root())?.entries()?),
                false => None,
            };
            let (kind, name) = (entry.kind, entry.name.to_owned());
            let id = match self.show_ids {
                true => entry.id()?.to_string(),
                false => String::new(),
            };
            self.print(out, &path, &name, kind, &id, open.len())?;
            if let Some(entries) = deeper {
                open.push(PrintedDirectory {
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
