//! Listing a tree, as deep as wanted, with name patterns.
//!
//! Nodes come in pre-order, entries in byte order of their names. A pattern is matched against the last component
//! of the path alone; a directory that does not match is still descended into. Names are folded before matching,
//! patterns are not: the client sends them folded ([`fold`] does it for callers that are their own client).

use base::{Cancel, Code, Depth, Error, FsPath, NodeKind, Result, Revnum};
use fsfs::Node;

use crate::access::{Readable, Subtree};
use crate::get::{Dirent, DirentFields};
use crate::repo::Repository;

mod fold;
mod glob;

pub use fold::fold;

/// What to list.
#[derive(Clone, Debug)]
pub struct Options {
    /// How deep; must be `empty` or deeper.
    pub depth: Depth,
    /// What to say about each node.
    pub fields: DirentFields,
    /// Send only nodes whose folded name matches one of these; none at all match if the list is empty.
    pub patterns: Option<Vec<String>>,
}

/// Sends the node at `path` and what is below it.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`; `REPOS_BAD_ARGS` for a depth below `empty`; `FS_NOT_FOUND`; whatever `sink` returns.
pub fn run(
    repo: &Repository,
    path: &FsPath,
    rev: Revnum,
    options: &Options,
    readable: &dyn Readable,
    sink: &mut dyn FnMut(&FsPath, &Dirent) -> Result<()>,
    cancel: &Cancel,
) -> Result<()> {
    let root = repo.fs().root(rev)?;
    if options.depth < Depth::Empty {
        return Err(Error::new(
            Code::REPOS_BAD_ARGS,
            format!("Invalid depth '{}' in svn_repos_list", options.depth.number()),
        ));
    }
    let subtree = readable.subtree(path);
    if subtree == Subtree::None || subtree == Subtree::Mixed && !readable.read(path) {
        return Ok(());
    }
    let Some(node) = root.try_node(path)? else {
        return Err(Error::new(Code::FS_NOT_FOUND, format!("Path '{path}' not found")));
    };
    if options.patterns.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let mut walk = Walk {
        options,
        readable,
        sink,
        cancel,
        folded: String::new(),
    };
    walk.visit(&node, path, options.depth, subtree == Subtree::All)
}

struct Walk<'a> {
    options: &'a Options,
    readable: &'a dyn Readable,
    sink: &'a mut dyn FnMut(&FsPath, &Dirent) -> Result<()>,
    cancel: &'a Cancel,
    /// Room for the folded name, kept from node to node.
    folded: String,
}

impl Walk<'_> {
    /// Sends a readable node and goes on below it. The recursion is as deep as the path is long, which the engine
    /// bounds. `all` says that everything below may be read.
    fn visit(&mut self, node: &Node, path: &FsPath, depth: Depth, all: bool) -> Result<()> {
        self.cancel.check()?;
        if self.matches(path.basename()) {
            (self.sink)(path, &Dirent::of(node, self.options.fields)?)?;
        }
        if node.kind() != NodeKind::Dir || depth == Depth::Empty {
            return Ok(());
        }
        let below = if depth == Depth::Infinity {
            Depth::Infinity
        } else {
            Depth::Empty
        };
        for entry in node.entries()?.iter() {
            if depth == Depth::Files && entry.kind == NodeKind::Dir {
                continue;
            }
            let only_matched = entry.kind != NodeKind::Dir || below == Depth::Empty;
            if only_matched && !self.matches(&entry.name) {
                continue;
            }
            let child = path.join_str(&entry.name);
            let all_below = all || self.readable.subtree(&child) == Subtree::All;
            if all_below || self.readable.read(&child) {
                self.visit(&node.child_of(entry)?, &child, below, all_below)?;
            }
        }
        Ok(())
    }

    fn matches(&mut self, name: &str) -> bool {
        let Some(patterns) = &self.options.patterns else {
            return true;
        };
        self.folded.clear();
        fold::fold_into(name, &mut self.folded);
        let folded = self.folded.as_bytes();
        patterns
            .iter()
            .any(|pattern| glob::matches(pattern.as_bytes(), folded))
    }
}
