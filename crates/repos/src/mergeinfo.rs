//! Mergeinfo of nodes: their own, what they inherit, and what is below them.
//!
//! A value that does not parse counts as none at all, and the search goes on at the parent. What a path inherits
//! comes from its parents in the same tree. Paths that may not be read are silently left out; the sources named
//! inside of values are not checked.

use std::collections::BTreeMap;

use base::mergeinfo::Mergeinfo;
use base::{Code, Error, FsPath, NodeKind, RelPath, Result, Revnum, props};
use fsfs::{Fs, Node};

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

/// The mergeinfo of `paths` in `rev`; paths without any, or unreadable, are left out. With `descendants` also that of
/// all nodes below which have their own. A node that is in both roles has the value of the later one of `paths`.
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
) -> Result<BTreeMap<FsPath, Mergeinfo>> {
    let root = repo.fs().root(rev)?;
    check_support(repo.fs())?;
    let mut found = BTreeMap::new();
    for path in paths {
        if !readable.read(path) {
            continue;
        }
        let node = root.node(path)?;
        if let Some(info) = of_node(&node, inherit)? {
            found.insert(path.clone(), info);
        }
        if descendants {
            let all = readable.subtree(path) == Subtree::All;
            below(&node, all, readable, &mut found)?;
        }
    }
    Ok(found)
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

/// The nearest mergeinfo at or above a node, and the way from there down to the node.
pub(crate) fn bearer(node: &Node) -> Result<Option<(Mergeinfo, RelPath)>> {
    match own(node)? {
        Some(info) => Ok(Some((info, RelPath::empty()))),
        None => bearer_above(node),
    }
}

/// What the node that bears mergeinfo passes down; to itself all.
pub(crate) fn passed(info: Mergeinfo, below: &RelPath) -> Mergeinfo {
    if below.is_empty() {
        info
    } else {
        info.inherited_by(below)
    }
}

fn bearer_above(node: &Node) -> Result<Option<(Mergeinfo, RelPath)>> {
    let path = node.path();
    for ancestor in node.root().ancestors(path)? {
        let ancestor = ancestor?;
        if let Some(info) = own(&ancestor)?
            && let Some(below) = path.relative_to(ancestor.path())
        {
            return Ok(Some((info, below)));
        }
    }
    Ok(None)
}

fn of_node(node: &Node, inherit: Inheritance) -> Result<Option<Mergeinfo>> {
    let found = match inherit {
        Inheritance::Explicit => return own(node),
        Inheritance::Inherited => bearer(node)?,
        Inheritance::NearestAncestor => bearer_above(node)?,
    };
    Ok(found.map(|(info, below)| passed(info, &below)))
}

/// # Errors
/// `UNSUPPORTED_FEATURE` for formats that know no mergeinfo.
pub(crate) fn check_support(fs: &Fs) -> Result<()> {
    let format = fs.info()?.format;
    if format >= MERGEINFO_FORMAT {
        return Ok(());
    }
    Err(Error::new(
        Code::UNSUPPORTED_FEATURE,
        format!(
            "Querying mergeinfo requires version {MERGEINFO_FORMAT} of the FSFS filesystem schema; filesystem '{}' \
             uses only version {format}",
            fs.path().display()
        ),
    ))
}

/// The first filesystem format that counts mergeinfo.
const MERGEINFO_FORMAT: u32 = 3;

/// Adds the own mergeinfo of everything below `top`. The walk holds the entries of the directories that are open, and the path
/// of the innermost one alone.
fn below(
    top: &Node,
    all: bool,
    readable: &dyn Readable,
    found: &mut BTreeMap<FsPath, Mergeinfo>,
) -> Result<()> {
    if !has_mergeinfo_below(top) {
        return Ok(());
    }
    let mut dir = top.path().clone();
    let mut open = vec![(top.entries()?, 0)];
    while let Some((entries, next)) = open.last_mut() {
        let Some(entry) = entries.get(*next) else {
            open.pop();
            dir = dir.parent().unwrap_or(dir);
            continue;
        };
        *next += 1;
        let child = top.root().entry_node(entry, dir.join_str(&entry.name))?;
        if child.mergeinfo_count() == 0 {
            continue;
        }
        if (all || readable.read(child.path()))
            && let Some(info) = own(&child)?
        {
            found.insert(child.path().clone(), info);
        }
        if has_mergeinfo_below(&child) {
            open.push((child.entries()?, 0));
            dir = child.path().clone();
        }
    }
    Ok(())
}

fn has_mergeinfo_below(node: &Node) -> bool {
    node.kind() == NodeKind::Dir && node.mergeinfo_count() > u64::from(node.has_mergeinfo())
}
