//! Mergeinfo of nodes: their own, what they inherit, and what is below them.
//!
//! A value that does not parse counts as none at all, and the search goes on at the parent. What a path inherits
//! comes from its parents in the same tree. Paths that may not be read are silently left out; the sources named
//! inside of values are not checked.

use base::mergeinfo::Mergeinfo;
use base::{Code, FsPath, Result, Revnum, props};
use fsfs::{Node, Root};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

/// Whose mergeinfo counts for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Only its own.
    Explicit,
    /// Its own, else what the nearest ancestor that has any passes on.
    Inherited,
    /// What the nearest ancestor that has any passes on, never its own.
    NearestAncestor,
}

impl Inheritance {
    /// The word of the protocols; `None` if it is none of them.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"explicit" => Inheritance::Explicit,
            b"inherited" => Inheritance::Inherited,
            b"nearest-ancestor" => Inheritance::NearestAncestor,
            _ => return None,
        })
    }
}

/// The mergeinfo of `paths` in `rev`, sorted by path; paths without any, or unreadable, are left out. With
/// `descendants` also that of all nodes below which have their own.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`.
pub fn get(
    repo: &Repository,
    paths: &[FsPath],
    rev: Revnum,
    inherit: Inheritance,
    descendants: bool,
    readable: &dyn Readable,
) -> Result<Vec<(FsPath, Mergeinfo)>> {
    let root = repo.fs().root(rev)?;
    let mut found = Vec::new();
    for path in paths {
        if !readable.read(path) {
            continue;
        }
        let node = root.node(path)?;
        if let Some(info) = of_node(&node, path, inherit)? {
            found.push((path.clone(), info));
        }
        if descendants {
            let all = readable.subtree(path) == Subtree::All;
            below(&node, path, all, readable, &mut found)?;
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.dedup_by(|a, b| a.0 == b.0);
    Ok(found)
}

/// The mergeinfo of `path` in `root`; `None` also if there is no such node.
pub(crate) fn of_path(root: &Root, path: &FsPath, inherit: Inheritance) -> Result<Option<Mergeinfo>> {
    match root.try_node(path)? {
        Some(node) => of_node(&node, path, inherit),
        None => Ok(None),
    }
}

/// A node's own mergeinfo; `None` if it has none or it does not parse.
pub(crate) fn own(node: &Node) -> Result<Option<Mergeinfo>> {
    if !node.has_mergeinfo() {
        return Ok(None);
    }
    match node.prop(props::MERGEINFO)? {
        None => Ok(None),
        Some(value) => match Mergeinfo::parse(&value) {
            Ok(info) => Ok(Some(info)),
            Err(error) if error.code() == Code::MERGEINFO_PARSE_ERROR => Ok(None),
            Err(error) => Err(error),
        },
    }
}

fn of_node(node: &Node, path: &FsPath, inherit: Inheritance) -> Result<Option<Mergeinfo>> {
    if inherit != Inheritance::NearestAncestor
        && let Some(info) = own(node)?
    {
        return Ok(Some(info));
    }
    if inherit == Inheritance::Explicit {
        return Ok(None);
    }
    for ancestor in std::iter::successors(path.parent(), FsPath::parent) {
        let node = node.root().node(&ancestor)?;
        if let Some(info) = own(&node)?
            && let Some(rel) = path.relative_to(&ancestor)
        {
            return Ok(Some(info.inherited_by(&rel)));
        }
    }
    Ok(None)
}

/// Adds the own mergeinfo of everything below `node`.
fn below(
    node: &Node,
    path: &FsPath,
    all: bool,
    readable: &dyn Readable,
    found: &mut Vec<(FsPath, Mergeinfo)>,
) -> Result<()> {
    let own_count = u64::from(node.has_mergeinfo());
    if node.kind() != base::NodeKind::Dir || node.mergeinfo_count() <= own_count {
        return Ok(());
    }
    for entry in node.entries()?.iter() {
        let child = node.child_of(entry)?;
        if child.mergeinfo_count() == 0 {
            continue;
        }
        let path = path.join_str(&entry.name);
        if (all || readable.read(&path))
            && let Some(info) = own(&child)?
        {
            found.push((path.clone(), info));
        }
        below(&child, &path, all, readable, found)?;
    }
    Ok(())
}
