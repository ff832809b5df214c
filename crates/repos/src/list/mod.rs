//! Lists a tree, to any depth, with name patterns.
//!
//! Nodes come in pre-order, entries in byte order of their names. A pattern is matched against the last component of
//! the path only; the walk enters directories that do not match. Names are folded before matching, patterns are not:
//! the client sends them folded ([`fold()`] does it for callers without a client).

use base::{Cancel, Code, Depth, Error, FsPath, NodeKind, Result, Revnum, glob};
use fsfs::{DirEntries, Node};

use crate::access::{Readable, Subtree};
use crate::get::{Dirent, DirentFields};
use crate::repo::Repository;

mod fold;

pub use fold::fold;

/// The request for a listing.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// How deep; must be `empty` or deeper.
    pub depth: Depth,
    /// The fields to return for each node.
    pub fields: DirentFields,
    /// Send only nodes whose folded name matches one of these; an empty list matches none.
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
    options: &ListOptions,
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
    let mut walk = ListWalk {
        options,
        readable,
        sink,
        cancel,
        folded: String::new(),
    };
    walk.run(&node, subtree == Subtree::All)
}

struct ListWalk<'a> {
    options: &'a ListOptions,
    readable: &'a dyn Readable,
    sink: &'a mut dyn FnMut(&FsPath, &Dirent) -> Result<()>,
    cancel: &'a Cancel,
    /// Buffer for the folded name, reused from node to node.
    folded: String,
}

/// An open directory. It holds no path: the paths of all open directories of a deep tree would take memory that grows with
/// the square of its depth.
struct OpenDir {
    entries: DirEntries,
    next: usize,
    /// Everything below may be read.
    all: bool,
}

impl ListWalk<'_> {
    /// Sends a readable node and what is below it. `all` says that everything below may be read.
    fn run(&mut self, top: &Node, all: bool) -> Result<()> {
        let depth = self.options.depth;
        self.send(top)?;
        if top.kind() != NodeKind::Dir || depth == Depth::Empty {
            return Ok(());
        }
        let mut dir = top.path().clone();
        let mut open = vec![OpenDir::new(top, all)?];
        while let Some(OpenDir { entries, next, all }) = open.last_mut() {
            let Some(entry) = entries.get(*next) else {
                open.pop();
                dir = dir.parent().unwrap_or(dir);
                continue;
            };
            *next += 1;
            if depth == Depth::Files && entry.kind == NodeKind::Dir {
                continue;
            }
            let is_entered = entry.kind == NodeKind::Dir && depth == Depth::Infinity;
            if !is_entered && !self.matches(entry.name) {
                continue;
            }
            let child = dir.join_str(entry.name);
            let all = *all || self.readable.subtree(&child) == Subtree::All;
            if !all && !self.readable.read(&child) {
                continue;
            }
            // As in the incumbent, a damaged or unreadable node is listed if none of its fields is wanted.
            if !is_entered && self.options.fields.are_in_entry() {
                self.cancel.check()?;
                (self.sink)(&child, &Dirent::of_kind(entry.kind, self.options.fields))?;
                continue;
            }
            let node = top.root().entry_node(entry, child)?;
            self.send(&node)?;
            if is_entered {
                open.push(OpenDir::new(&node, all)?);
                dir = node.path().clone();
            }
        }
        Ok(())
    }

    /// Sends one node if its name matches.
    fn send(&mut self, node: &Node) -> Result<()> {
        self.cancel.check()?;
        if self.matches(node.path().basename()) {
            (self.sink)(node.path(), &Dirent::of(node, self.options.fields)?)?;
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

impl OpenDir {
    fn new(dir: &Node, all: bool) -> Result<OpenDir> {
        Ok(OpenDir {
            entries: dir.entries()?,
            next: 0,
            all,
        })
    }
}
