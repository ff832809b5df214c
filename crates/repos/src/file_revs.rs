//! The revisions of one file, each as a difference from the one before: what `blame` reads.
//!
//! First the versions are collected, as (path, revision) pairs: the file's history, and on request that of the files
//! that were merged into it, and into those. Then they are sent, oldest first, with differences between neighbours.
//! Only the pairs are held in memory, never a text; the next versions are prefetched ([`prefetch`]).

mod prefetch;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use base::props::PropChange;
use base::{Cancel, Code, Error, FsPath, NodeKind, PropList, Result, Revnum};
use delta::editor::{EncodedVersions, TextChunk};
use fsfs::{Fs, Node, NodeItem};

use crate::access::Readable;
use crate::log::merged_into_file;
use crate::repo::Repository;
use prefetch::{PrefetchedVersion, VersionDiff, VersionPrefetch};

/// One revision of the file.
#[derive(Clone, Debug)]
pub struct FileRev<'a> {
    /// The path of the file in that revision.
    pub path: &'a FsPath,
    /// The revision.
    pub rev: Revnum,
    /// All its revision properties.
    pub revprops: &'a PropList,
    /// Differences of the file's properties from the revision sent before.
    pub prop_changes: &'a [PropChange],
    /// The revision was merged into the file.
    pub merged: bool,
    /// A text delta against the revision sent before follows, though perhaps without any window.
    pub has_delta: bool,
}

/// Receives the revisions of a file.
pub trait FileRevSink {
    /// Receives the next revision.
    fn revision(&mut self, rev: &FileRev<'_>) -> Result<()>;

    /// Receives the next window of its text delta, if it has one.
    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()>;

    /// Ends the text delta of a revision that has one.
    fn text_end(&mut self) -> Result<()>;

    /// The versions of svndiff that [`FileRevSink::text_chunk`] takes undecoded.
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }
}

/// Sends the revisions of `path` from `start` to `end` (`None` is the youngest), youngest first if `start` is the
/// younger.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`; `FS_NOT_FILE` if there is no such file in the younger revision; `AUTHZ_UNREADABLE`
/// unless youngest first; `UNSUPPORTED_FEATURE` for merged revisions youngest first; whatever `sink` returns.
#[expect(clippy::too_many_arguments, reason = "the request has this many parts")]
pub fn run(
    repo: &Repository,
    path: &FsPath,
    start: Option<Revnum>,
    end: Option<Revnum>,
    include_merged: bool,
    readable: &dyn Readable,
    sink: &mut dyn FileRevSink,
    cancel: &Cancel,
) -> Result<()> {
    let fs = repo.fs();
    let youngest = repo.youngest()?;
    let (start, end) = (start.unwrap_or(youngest), end.unwrap_or(youngest));
    let (old, young) = (start.min(end), start.max(end));
    if include_merged && start > end {
        return Err(Error::bare(Code::UNSUPPORTED_FEATURE));
    }
    if fs.root(young)?.kind(path)? != NodeKind::File {
        return Err(Error::new(
            Code::FS_NOT_FILE,
            format!("'{path}' is not a file in revision {young}"),
        ));
    }
    // Oldest first, the incumbent crashes here.
    if !readable.read(path) {
        return match start > end {
            true => Ok(()),
            false => Err(Error::bare(Code::AUTHZ_UNREADABLE)),
        };
    }
    let mut finder = VersionFinder {
        fs,
        readable,
        cancel,
        seen: include_merged.then(HashSet::new),
    };
    let mut versions = finder.line(path, young, old, false)?;
    if include_merged {
        finder.add_merged(&mut versions, old)?;
    }
    if start <= end {
        versions.reverse();
    }
    send_all(repo, &versions.into(), include_merged, sink, cancel)
}

/// Sends the versions in their order.
fn send_all(
    repo: &Repository,
    versions: &Arc<[FileVersion]>,
    include_merged: bool,
    sink: &mut dyn FileRevSink,
    cancel: &Cancel,
) -> Result<()> {
    let fs = repo.fs();
    let accepts = sink.accepts_encoded();
    let mut prefetched = VersionPrefetch::start(repo, versions, include_merged, accepts);
    // The node of the version before, if this thread looked it up.
    let mut last: Option<Node> = None;
    for (at, version) in versions.iter().enumerate() {
        cancel.check()?;
        let before = last.take();
        let prefetch = prefetched
            .as_mut()
            .map(VersionPrefetch::next)
            .transpose()?
            .flatten();
        match prefetch {
            Some(PrefetchedVersion { diff, windows }) => {
                send_header(version, &diff, sink)?;
                windows.iter().try_for_each(|window| window.send(sink))?;
                if diff.has_delta {
                    sink.text_end()?;
                }
            }
            None => {
                let previous = match (before, at.checked_sub(1)) {
                    (None, Some(before)) => Some(versions[before].node(fs)?),
                    (before, _) => before,
                };
                let node = version.node(fs)?;
                send(fs, version, &node, previous.as_ref(), include_merged, sink)?;
                last = Some(node);
            }
        }
    }
    Ok(())
}

/// A path in a revision that changed the file there.
#[derive(Clone, Debug)]
struct FileVersion {
    path: FsPath,
    rev: Revnum,
    /// The node-revision that is there, as the history names it.
    item: Option<NodeItem>,
    merged: bool,
}

impl FileVersion {
    fn node(&self, fs: &Fs) -> Result<Node> {
        let root = fs.root(self.rev)?;
        match self.item {
            Some(item) => root.node_of_item(&self.path, item),
            None => root.node(&self.path),
        }
    }
}

struct VersionFinder<'a> {
    fs: &'a Fs,
    readable: &'a dyn Readable,
    cancel: &'a Cancel,
    /// Versions found so far, if merged ones are wanted.
    seen: Option<HashSet<(FsPath, Revnum)>>,
}

impl VersionFinder<'_> {
    /// Follows one line of history down to the last change at or before `old`, youngest first.
    fn line(&mut self, path: &FsPath, young: Revnum, old: Revnum, merged: bool) -> Result<Vec<FileVersion>> {
        let mut history = self.fs.root(young)?.open_path(path)?.history()?;
        let mut line = Vec::new();
        while let Some((rev, path)) = history.prev(true)? {
            self.cancel.check()?;
            if !self.readable.read(&path) {
                break;
            }
            if let Some(seen) = &mut self.seen
                && !seen.insert((path.clone(), rev))
            {
                break;
            }
            line.push(FileVersion {
                path,
                rev,
                item: history.last_item(),
                merged,
            });
            if rev <= old {
                break;
            }
        }
        Ok(line)
    }

    /// Adds the versions that were merged into `versions`, and into those, unless all of them are before `start`.
    /// Sorts all youngest first.
    fn add_merged(&mut self, versions: &mut Vec<FileVersion>, start: Revnum) -> Result<()> {
        let mut done = 0;
        while done < versions.len() {
            let version = versions[done].clone();
            done += 1;
            let changes = merged_into_file(self.fs, version.rev, &version.path)?;
            // An undone merge counts too: its lines may be removed by it.
            for (source, ranges) in changes.added.merge_hash_order(&changes.deleted) {
                let Some(source) = source.to_path() else {
                    continue;
                };
                for range in ranges.ranges() {
                    if range.end >= start && self.is_file(&source, range.end)? {
                        versions.extend(self.line(&source, range.end, range.start, true)?);
                    }
                }
            }
        }
        // Youngest first; of one revision the file's own change last, because the order is reversed in the end.
        versions.sort_by_key(|version| (Reverse(version.rev), !version.merged));
        Ok(())
    }

    fn is_file(&self, path: &FsPath, rev: Revnum) -> Result<bool> {
        match self.fs.root(rev) {
            Ok(root) => Ok(root.kind(path)? == NodeKind::File),
            Err(e) if e.code() == Code::FS_NO_SUCH_REVISION => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// Sends one version as a difference from the one sent before.
fn send(
    fs: &Fs,
    version: &FileVersion,
    node: &Node,
    previous: Option<&Node>,
    include_merged: bool,
    sink: &mut dyn FileRevSink,
) -> Result<()> {
    let diff = VersionDiff::between(previous, version, node, include_merged)?;
    send_header(version, &diff, sink)?;
    if diff.has_delta {
        fs.text_delta(previous, node, sink.accepts_encoded())?
            .drive(&mut |chunk| sink.text_chunk(chunk))?;
        sink.text_end()?;
    }
    Ok(())
}

/// Sends everything that precedes the windows.
fn send_header(version: &FileVersion, diff: &VersionDiff, sink: &mut dyn FileRevSink) -> Result<()> {
    sink.revision(&FileRev {
        path: &version.path,
        rev: version.rev,
        revprops: &diff.revprops,
        prop_changes: &diff.prop_changes,
        merged: version.merged,
        has_delta: diff.has_delta,
    })
}
