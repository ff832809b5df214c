//! Prefetches the revisions of a file.
//!
//! All versions are known before the first is sent, and each depends only on the one before it. Runs of neighbours
//! become tasks of a [`PrefetchQueue`]: runs, because neighbours share texts. A version that fails or is too long is
//! not prefetched; the session reads it itself, and fails where it would have failed.

use std::sync::Arc;

use base::props::{self, PropChange};
use base::{PropList, Props, Result};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::OwnedWindow;
use delta::window::Window;
use fsfs::{Fs, Node};

use super::FileVersion;
use crate::Repository;
use crate::prefetch::PrefetchQueue;

/// The difference of a version from the one sent before.
pub(super) struct VersionDiff {
    pub revprops: PropList,
    pub prop_changes: Vec<PropChange>,
    /// A text delta follows.
    pub has_delta: bool,
}

impl VersionDiff {
    /// Compares `node`, which is at `version`, with `previous`, which was sent before.
    pub fn between(
        previous: Option<&Node>,
        version: &FileVersion,
        node: &Node,
        include_merged: bool,
    ) -> Result<VersionDiff> {
        let own = node.props()?;
        let prop_changes = match previous {
            Some(previous) => props::diff(&*previous.props()?, &own),
            None => props::diff(&Props::new(), &own),
        };
        let has_delta = match previous {
            None => true,
            Some(previous) if include_merged && previous.path() != node.path() => true,
            Some(previous) => previous.text_differs(node, true)?,
        };
        Ok(VersionDiff {
            revprops: node.fs().revprops(version.rev)?,
            prop_changes,
            has_delta,
        })
    }
}

/// A difference with all windows of its delta.
pub(super) struct PrefetchedVersion {
    pub diff: VersionDiff,
    pub windows: Vec<BufferedWindow>,
}

/// A window that waits to be sent.
pub(super) enum BufferedWindow {
    Decoded(Window),
    Encoded(OwnedWindow),
}

impl BufferedWindow {
    fn of(chunk: TextChunk<'_>) -> Self {
        match chunk {
            TextChunk::Decoded(window) => BufferedWindow::Decoded(window.clone()),
            TextChunk::Encoded(window) => {
                BufferedWindow::Encoded(OwnedWindow::new(window.version, window.raw))
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            BufferedWindow::Decoded(window) => window.new_data.len() + size_of_val(&window.ops[..]),
            BufferedWindow::Encoded(window) => window.len(),
        }
    }

    /// Sends the window.
    pub fn send(&self, sink: &mut dyn super::FileRevSink) -> Result<()> {
        match self {
            BufferedWindow::Decoded(window) => sink.text_chunk(TextChunk::Decoded(window)),
            BufferedWindow::Encoded(window) => sink.text_chunk(TextChunk::Encoded(&window.window()?)),
        }
    }
}

/// Versions that are read ahead, in order.
pub(super) struct VersionPrefetch {
    queue: PrefetchQueue<Vec<Option<PrefetchedVersion>>>,
    fs: Fs,
    versions: Arc<[FileVersion]>,
    include_merged: bool,
    accepts: EncodedVersions,
    /// Versions that are or were in the queue.
    begun: usize,
    /// The rest of the run that is being sent.
    run: std::vec::IntoIter<Option<PrefetchedVersion>>,
}

/// Versions of a run.
const RUN: usize = 8;

/// Shorter histories are not prefetched.
const SHORT: usize = 2 * RUN;

/// Texts longer than this, and what exceeds it in one run, are not prefetched. In bytes.
const LONGEST: usize = 1 << 20;

impl VersionPrefetch {
    /// Begins with the first version. `None` if the history is short or no other thread can help.
    pub fn start(
        repo: &Repository,
        versions: &Arc<[FileVersion]>,
        include_merged: bool,
        accepts: EncodedVersions,
    ) -> Option<Self> {
        if versions.len() < SHORT {
            return None;
        }
        Some(VersionPrefetch {
            queue: repo.prefetch_queue()?,
            fs: repo.fs().clone(),
            versions: versions.clone(),
            include_merged,
            accepts,
            begun: 0,
            run: Vec::new().into_iter(),
        })
    }

    /// Returns the next version, if it was prefetched.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the task panicked.
    pub fn next(&mut self) -> Result<Option<PrefetchedVersion>> {
        if let Some(next) = self.run.next() {
            return Ok(next);
        }
        while self.begun < self.versions.len() && self.queue.has_room() {
            let run = self.begun..self.versions.len().min(self.begun + RUN);
            self.begun = run.end;
            let (fs, versions) = (self.fs.clone(), self.versions.clone());
            let (include_merged, accepts) = (self.include_merged, self.accepts);
            self.queue.push(move || {
                let mut size = 0;
                let mut made = Vec::with_capacity(run.len());
                let mut previous = run
                    .start
                    .checked_sub(1)
                    .and_then(|at| versions[at].node(&fs).ok());
                for at in run {
                    let node = versions[at].node(&fs).ok();
                    let prefetch = match &node {
                        Some(node) if at == 0 || previous.is_some() => {
                            let pair = (previous.as_ref(), node);
                            prefetch_version(&fs, &versions[at], pair, include_merged, accepts, &mut size)
                                .ok()
                                .flatten()
                        }
                        Some(_) | None => None,
                    };
                    made.push(prefetch);
                    previous = node;
                }
                (made, size)
            });
        }
        self.run = self.queue.take().transpose()?.unwrap_or_default().into_iter();
        Ok(self.run.next().flatten())
    }
}

/// Reads a version, unless it is too long; adds the bytes that it holds to `size`.
fn prefetch_version(
    fs: &Fs,
    version: &FileVersion,
    (previous, node): (Option<&Node>, &Node),
    include_merged: bool,
    accepts: EncodedVersions,
    size: &mut usize,
) -> Result<Option<PrefetchedVersion>> {
    if node.size()? > LONGEST as u64 || *size > LONGEST {
        return Ok(None);
    }
    let diff = VersionDiff::between(previous, version, node, include_merged)?;
    let mut windows = Vec::new();
    if diff.has_delta {
        fs.text_delta(previous, node, accepts)?.drive(&mut |chunk| {
            windows.push(BufferedWindow::of(chunk));
            Ok(())
        })?;
    }
    *size += FIXED + windows.iter().map(BufferedWindow::size).sum::<usize>();
    Ok(Some(PrefetchedVersion { diff, windows }))
}

/// Approximate bytes of a version beside its windows.
const FIXED: usize = 1 << 10;
