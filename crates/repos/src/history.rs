//! Where a node was in other revisions.
//!
//! The history of a node leads back through its copies: from a copy's destination to its source, with a gap of
//! revisions between them in which the node did not exist. [`previous_location`] makes one such step; everything here
//! consists of these steps.

use base::{Code, Error, FsPath, Result, Revnum};
use fsfs::{Fs, Node, Relation};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

/// A range of revisions in which a node stayed at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationSegment {
    /// Oldest revision of the range.
    pub start: Revnum,
    /// Youngest revision of the range.
    pub end: Revnum,
    /// The path; `None` in the gap between a copy's source and the copy.
    pub path: Option<FsPath>,
}

/// Returns the path of the node `path`@`peg` in each of `revs`, youngest first; revisions in which it did not exist
/// are left out.
///
/// # Errors
/// `FS_NOT_FOUND` if `path` is not in `peg`, or not in one of `revs` younger than it; `AUTHZ_UNREADABLE`;
/// `FS_NO_SUCH_REVISION`.
pub fn locations(
    repo: &Repository,
    path: &FsPath,
    peg: Revnum,
    revs: &[Revnum],
    readable: &dyn Readable,
) -> Result<Vec<(Revnum, FsPath)>> {
    let fs = repo.fs();
    let mut revs = revs.to_vec();
    revs.sort_unstable_by(|a, b| b.cmp(a));
    revs.dedup();
    if readable.subtree(&FsPath::root()) != Subtree::All {
        // To users whose rights are limited, the incumbent names the peg first, and says nothing else about unreadable paths.
        fs.root(peg)?;
        check_readable(path, readable)?;
    }
    // Of several revisions that do not exist, the youngest is named.
    let youngest = revs.first().copied().unwrap_or(peg);
    fs.root(youngest.max(peg))?;
    let mut rest = &revs[..];

    // Starts at the youngest revision in which the same path is the same node; it may have moved in between.
    let mut at = peg;
    while let [youngest, older @ ..] = rest {
        if *youngest <= peg {
            break;
        }
        if leads_back_to(fs, path, *youngest, peg)? {
            at = *youngest;
            break;
        }
        rest = older;
    }

    let mut path = path.clone();
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let mut node = fs.root(at)?.open_path(&path)?;
    let mut found = Vec::with_capacity(rest.len());
    while !rest.is_empty()
        && let Some(copy) = previous_location(&node)?
    {
        while let [rev, older @ ..] = rest
            && *rev >= copy.appeared
        {
            found.push((*rev, path.clone()));
            rest = older;
        }
        while let [rev, older @ ..] = rest
            && *rev > copy.rev
        {
            rest = older;
        }
        (path, at) = (copy.path, copy.rev);
        if !readable.read(&path) {
            return Ok(found);
        }
        node = fs.root(at)?.open_path(&path)?;
    }
    for rev in rest {
        match fs.root(*rev)?.try_node(&path)? {
            Some(older) if node.relation(&older) != Relation::Unrelated => found.push((*rev, path.clone())),
            _ => break,
        }
    }
    Ok(found)
}

/// Sends the paths of `path`@`peg` between `start` and `end`, youngest first. The defaults of the three revisions are
/// the youngest, the youngest, and 0.
///
/// # Errors
/// `FS_NO_SUCH_REVISION` unless `end` <= `start` <= `peg`; as [`locations`] for the peg.
pub fn location_segments(
    repo: &Repository,
    path: &FsPath,
    peg: Option<Revnum>,
    start: Option<Revnum>,
    end: Option<Revnum>,
    readable: &dyn Readable,
    sink: &mut dyn FnMut(LocationSegment) -> Result<()>,
) -> Result<()> {
    let youngest = repo.youngest()?;
    let (peg, start) = (peg.unwrap_or(youngest), start.unwrap_or(youngest));
    let end = end.unwrap_or(Revnum::ZERO);
    for (younger, older, what) in [
        (end, start, "end revision must not be younger than start"),
        (start, peg, "start revision must not be younger than peg"),
    ] {
        if younger > older {
            return Err(Error::new(
                Code::FS_NO_SUCH_REVISION,
                format!("Get-location-segments {what} revision"),
            ));
        }
    }
    repo.fs().root(peg)?;
    check_readable(path, readable)?;
    segments(repo.fs(), path, peg, &mut |segment| {
        if segment.path.as_ref().is_some_and(|path| !readable.read(path)) || segment.end < end {
            return Ok(false);
        }
        if segment.start <= start {
            sink(LocationSegment {
                start: segment.start.max(end),
                end: segment.end.min(start),
                path: segment.path,
            })?;
        }
        Ok(true)
    })
}

/// Walks the whole history of `path`@`peg` as segments, youngest first, until `visit` returns false.
pub(crate) fn segments(
    fs: &Fs,
    path: &FsPath,
    peg: Revnum,
    visit: &mut dyn FnMut(LocationSegment) -> Result<bool>,
) -> Result<()> {
    let (mut path, mut at) = (path.clone(), peg);
    loop {
        let node = fs.root(at)?.open_path(&path)?;
        let copy = previous_location(&node)?;
        let start = match &copy {
            Some(copy) => copy.appeared,
            None => node.origin_rev()?,
        };
        let segment = LocationSegment {
            start,
            end: at,
            path: Some(path),
        };
        if !visit(segment)? {
            return Ok(());
        }
        let Some(copy) = copy else {
            return Ok(());
        };
        if copy.rev.next() < copy.appeared {
            let gap = LocationSegment {
                start: copy.rev.next(),
                end: copy.appeared.prev().unwrap_or_default(),
                path: None,
            };
            if !visit(gap)? {
                return Ok(());
            }
        }
        (path, at) = (copy.path, copy.rev);
    }
}

/// Returns the revision after `start` and up to `end` in which the node at `path` in `start` was deleted or replaced.
/// The two are exchanged if `end` is the older one.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`.
pub fn deleted_rev(repo: &Repository, path: &FsPath, start: Revnum, end: Revnum) -> Result<Option<Revnum>> {
    let fs = repo.fs();
    let (start, end) = (start.min(end), start.max(end));
    // If the path was never there, the incumbent does not look at `end`.
    let Some(node) = fs.root(start)?.try_node(path)? else {
        return Ok(None);
    };
    let end_root = fs.root(end)?;
    let mut alive = start;
    let same_line = |other: Option<Node>, alive: Revnum| -> Result<bool> {
        let Some(other) = other else {
            return Ok(false);
        };
        if node.relation(&other) == Relation::Unrelated {
            return Ok(false);
        }
        Ok(other.closest_copy()?.is_none_or(|(rev, _)| rev <= alive))
    };
    if start == end || same_line(end_root.try_node(path)?, alive)? {
        return Ok(None);
    }
    let mut gone = end;
    while gone.0 - alive.0 > 1 {
        let middle = Revnum(alive.0 + (gone.0 - alive.0) / 2);
        if same_line(fs.root(middle)?.try_node(path)?, alive)? {
            alive = middle;
        } else {
            gone = middle;
        }
    }
    Ok(Some(gone))
}

/// The copy that brought a node to its path.
#[derive(Clone, Debug)]
pub(crate) struct PreviousLocation {
    /// Revision of the copy: the first one with the node at its present path.
    pub appeared: Revnum,
    /// Where the node was copied from.
    pub path: FsPath,
    /// The revision it was copied from.
    pub rev: Revnum,
}

/// Finds the youngest copy, of the node itself or of a directory above it, that brought `node` to its path.
pub(crate) fn previous_location(node: &Node) -> Result<Option<PreviousLocation>> {
    let Some((appeared, destination)) = node.closest_copy()? else {
        return Ok(None);
    };
    let Some(below) = node.path().relative_to(&destination) else {
        return Ok(None);
    };
    let copy = node.fs().root(appeared)?.node(&destination)?;
    Ok(copy.copyfrom().map(|(rev, source)| PreviousLocation {
        appeared,
        path: source.join(&below),
        rev,
    }))
}

/// True if the history of `path` in the revision `young` contains `path`@`peg`.
fn leads_back_to(fs: &Fs, path: &FsPath, young: Revnum, peg: Revnum) -> Result<bool> {
    let mut history = existing(fs, path, young)?.history()?;
    while let Some((rev, at)) = history.prev(true)? {
        if rev <= peg {
            return Ok(at == *path);
        }
    }
    Ok(false)
}

/// Returns the node `path`@`rev`. If anything is missing, the error is that of a missing file.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
pub(crate) fn existing(fs: &Fs, path: &FsPath, rev: Revnum) -> Result<Node> {
    let missing = || {
        Error::new(
            Code::FS_NOT_FOUND,
            format!("File not found: revision {rev}, path '{path}'"),
        )
    };
    fs.root(rev)?.try_node(path)?.ok_or_else(missing)
}

/// # Errors
/// `AUTHZ_UNREADABLE`, with the text of requests about locations.
pub(crate) fn check_readable(path: &FsPath, readable: &dyn Readable) -> Result<()> {
    if readable.read(path) {
        return Ok(());
    }
    Err(Error::new(
        Code::AUTHZ_UNREADABLE,
        "Unreadable path encountered; access denied",
    ))
}
