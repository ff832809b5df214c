//! Mergeinfo of nodes: explicit, inherited, and that of the nodes below.
//!
//! A value that does not parse counts as none, and the search continues at the parent. A path inherits from its
//! parents in the same tree. Paths that may not be read are left out silently; the sources within the values are not
//! checked.

use std::collections::BTreeMap;

use base::mergeinfo::Mergeinfo;
use base::{Code, Error, FsPath, NodeKind, RelPath, Result, Revnum, disk_path, props};
use fsfs::{Fs, Node};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

/// Which mergeinfo counts for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Only the path's own.
    Explicit,
    /// The path's own, else that of the nearest ancestor that has any.
    Inherited,
    /// That of the nearest ancestor that has any, never the path's own.
    NearestAncestor,
}

impl Inheritance {
    /// Parses the word that the protocols use; `None` for any other.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"explicit" => Inheritance::Explicit,
            b"inherited" => Inheritance::Inherited,
            b"nearest-ancestor" => Inheritance::NearestAncestor,
            _ => return None,
        })
    }
}

/// Returns the mergeinfo of `paths` in `rev`; paths without any and unreadable ones are left out. With `descendants`
/// also that of all nodes below that have their own. A node in both roles has the value of the later one of `paths`.
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
        let node = root.open_path(path)?;
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

/// Returns a node's own mergeinfo; `None` if it has none or it does not parse.
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

/// Returns the nearest mergeinfo at or above a node, and the path from there down to the node.
pub(crate) fn bearer(node: &Node) -> Result<Option<(Mergeinfo, RelPath)>> {
    match own(node)? {
        Some(info) => Ok(Some((info, RelPath::empty()))),
        None => bearer_above(node),
    }
}

/// Returns the mergeinfo that a node passes down to the path `below` it; to itself all of it.
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
/// `UNSUPPORTED_FEATURE` for formats without mergeinfo.
pub(crate) fn check_support(fs: &Fs) -> Result<()> {
    if fs.tracks_merges() {
        return Ok(());
    }
    let format = fs.info()?.format;
    Err(Error::new(
        Code::UNSUPPORTED_FEATURE,
        format!(
            "Querying mergeinfo requires version {MERGEINFO_FORMAT} of the FSFS filesystem schema; filesystem '{}' \
             uses only version {format}",
            disk_path::shown(fs.path())
        ),
    ))
}

/// The first filesystem format that counts mergeinfo.
const MERGEINFO_FORMAT: u32 = 3;

/// Adds the explicit mergeinfo of everything below `top`. The walk holds the entries of the open directories, and the
/// path of the innermost one only.
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
        let child = top.root().entry_node(entry, dir.join_str(entry.name))?;
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
