//! Filling the rep-cache for existing revisions: `svnadmin build-repcache`.
//!
//! Each text and property list that a revision stored itself, and to which its tree refers, gets a row. If the node-revision does
//! not record its SHA-1 (formats 1 to 3, and property lists of format 8), it is computed from the content. All cores read
//! revisions; rows are added in the order of revisions, so the first revision that stored a content keeps it.

use std::collections::HashSet;

use base::checksum::{Sha1, Sha1Stream};
use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Code, Error, FsPath, NodeKind, Result, Revnum};

use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::store::rep_cache::RepCacheRow;
use crate::tree::Fs;
use crate::tree::node::Node;
use crate::tree::rep::TextReader;

/// Passes the rows of the revisions `first` to `last` to `each`. Without a rep-cache there are none.
///
/// # Errors
/// SQLite's; those of `each`.
pub fn rows(
    fs: &Fs,
    first: Revnum,
    last: Revnum,
    each: &mut dyn FnMut(RepCacheRow) -> Result<()>,
) -> Result<()> {
    if !fs.format().has_rep_sharing() {
        return Ok(());
    }
    fs.with_rep_cache(false, |cache| match cache {
        Some(cache) => cache.for_each(first, last, each),
        None => Ok(()),
    })
}

/// Adds the contents that the revisions `start` to `end` stored. `progress` is called for each revision once its rows are added.
///
/// # Errors
/// `FS_REP_SHARING_NOT_SUPPORTED` below format 4, `FS_REP_SHARING_NOT_ALLOWED` if rep sharing is switched off,
/// `FS_NO_SUCH_REVISION`, `CANCELLED`; those of reading; SQLite's.
pub fn build(
    fs: &Fs,
    start: Revnum,
    end: Revnum,
    progress: &mut dyn FnMut(Revnum),
    cancel: &Cancel,
) -> Result<()> {
    fs.check_not_shared("'build-repcache'")?;
    fs.refuse_fsx_ioctl("Building rep-cache")?;
    if !fs.format().has_rep_sharing() {
        let number = fs.format().number;
        let message =
            format!("FSFS format ({number}) too old for rep-sharing; please upgrade the filesystem.");
        return Err(Error::new(Code::FS_REP_SHARING_NOT_SUPPORTED, message));
    }
    if !fs.conf().rep_sharing {
        return Err(Error::new(
            Code::FS_REP_SHARING_NOT_ALLOWED,
            "Filesystem does not allow rep-sharing.",
        ));
    }
    fs.check_rev(end)?;
    let threads = cores();
    let limits = Limits {
        tasks: 8 * threads,
        bytes: usize::MAX,
    };
    let mut rows: Vec<RepCacheRow> = Vec::new();
    // Revisions that were read and whose rows will be added together.
    let mut waiting: Vec<Revnum> = Vec::new();
    let mut enter = |rows: &mut Vec<RepCacheRow>, waiting: &mut Vec<Revnum>| -> Result<()> {
        if !rows.is_empty() {
            fs.add_to_rep_cache(rows)?;
            rows.clear();
        }
        waiting.drain(..).for_each(&mut *progress);
        Ok(())
    };
    let revs = (start.0..=end.0).map(Revnum);
    let read = |rev| (rows_of(fs, rev, cancel).map(|rows| (rev, rows)), 0);
    let result = in_order(threads, limits, revs, read, |read| {
        let (rev, new) = read?;
        rows.extend(new);
        waiting.push(rev);
        match rows.len() >= ROWS_AT_ONCE || waiting.len() >= REVS_AT_ONCE {
            true => enter(&mut rows, &mut waiting),
            false => Ok(()),
        }
    });
    // What was looked through before an error is right all the same.
    let last = enter(&mut rows, &mut waiting);
    result.and(last)
}

/// Rows and revisions of one SQLite transaction.
const ROWS_AT_ONCE: usize = 1000;
const REVS_AT_ONCE: usize = 50;

/// Returns the rows of the contents that a revision stored.
fn rows_of(fs: &Fs, rev: Revnum, cancel: &Cancel) -> Result<Vec<RepCacheRow>> {
    let (mut rows, mut seen) = (Vec::new(), HashSet::new());
    let mut left = vec![fs.root(rev)?.node(&FsPath::root())?];
    while let Some(node) = left.pop() {
        cancel.check()?;
        if node.kind() == NodeKind::Dir {
            let entries = node.entries()?;
            // Reversed, because nodes are taken from the end.
            for entry in entries.iter().rev().filter(|entry| entry.rev() == Some(rev)) {
                left.push(node.child_of(entry)?);
            }
        }
        let noderev = node.noderev();
        let text = noderev.text.as_ref().filter(|_| node.kind() == NodeKind::File);
        for rep in text.into_iter().chain(&noderev.props) {
            if let RepLocation::Rev(in_rev, item) = rep.location
                && in_rev == rev
                && seen.insert(item)
            {
                rows.push(row(fs, &node, rep, item)?);
            }
        }
    }
    Ok(rows)
}

fn row(fs: &Fs, node: &Node, rep: &Rep, item: u64) -> Result<RepCacheRow> {
    let (sha1, expanded) = match (rep.sha1, rep.size()) {
        (Some(sha1), RepSize::Known(size)) => (sha1, size),
        _ => sha1_of(fs, rep)?,
    };
    Ok(RepCacheRow {
        sha1,
        rev: node.root().revision().unwrap_or_default(),
        item,
        length: rep.length,
        expanded,
    })
}

/// Returns the SHA-1 and the length of a content.
fn sha1_of(fs: &Fs, rep: &Rep) -> Result<(Sha1, u64)> {
    let mut reader = TextReader::new(fs, Some(rep), None)?;
    let (mut sha1, mut length) = (Sha1Stream::new(), 0);
    loop {
        let bytes = reader.fill()?;
        if bytes.is_empty() {
            return Ok((sha1.finish(), length));
        }
        sha1.update(bytes);
        length += bytes.len() as u64;
        let taken = bytes.len();
        reader.consume(taken);
    }
}
