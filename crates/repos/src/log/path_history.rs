//! Follows the histories of several paths at once, youngest revision first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::{Cancel, Code, Error, FsPath, Result, Revnum};
use fsfs::{Fs, History};

use super::RevisionSpan;
use crate::access::Readable;
use crate::history::existing;

/// The histories of some paths between two revisions.
pub(super) struct PathHistories<'a> {
    traces: Vec<PathHistory>,
    /// For each path its next revision, the youngest on top, with the index in `traces`.
    next: BinaryHeap<(Revnum, Reverse<usize>)>,
    old: Revnum,
    strict: bool,
    readable: &'a dyn Readable,
}

/// What happens to paths that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingPaths {
    /// They are an error.
    Refused,
    /// They are left out.
    LeftOut,
}

struct PathHistory {
    history: History,
    path: FsPath,
}

impl<'a> PathHistories<'a> {
    /// Starts at `paths` in the youngest revision of `span`. The histories end at its oldest one, and with `strict` also
    /// at copies.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for a missing path, unless those are left out; `AUTHZ_UNREADABLE`.
    pub(super) fn open(
        fs: &Fs,
        paths: &[FsPath],
        missing: MissingPaths,
        span: RevisionSpan,
        strict: bool,
        readable: &'a dyn Readable,
    ) -> Result<Self> {
        let mut traces = PathHistories {
            traces: Vec::new(),
            next: BinaryHeap::new(),
            old: span.old,
            strict,
            readable,
        };
        for path in paths {
            match traces.add(fs, path, span.young) {
                Err(e) if missing == MissingPaths::LeftOut && MISSING.contains(&e.code()) => {}
                done => done?,
            }
        }
        Ok(traces)
    }

    fn add(&mut self, fs: &Fs, path: &FsPath, young: Revnum) -> Result<()> {
        if !self.readable.read(path) {
            return Err(Error::bare(Code::AUTHZ_UNREADABLE));
        }
        self.traces.push(PathHistory {
            history: existing(fs, path, young)?.history()?,
            path: path.clone(),
        });
        self.step(self.traces.len() - 1)
    }

    /// Returns the next older revision in which any of the paths changed.
    pub(super) fn next(&mut self, cancel: &Cancel) -> Result<Option<Revnum>> {
        cancel.check()?;
        let Some((rev, _)) = self.next.peek().copied() else {
            return Ok(None);
        };
        while let Some((next, Reverse(at))) = self.next.peek().copied()
            && next == rev
        {
            self.next.pop();
            self.step(at)?;
        }
        Ok(Some(rev))
    }

    /// Returns the present path of each history: at its change before the revision that [`PathHistories::next`]
    /// returned last, or, if there is none, where it was last found.
    pub(super) fn positions(&self) -> Vec<FsPath> {
        self.traces
            .iter()
            .map(|path_history| path_history.path.clone())
            .collect()
    }

    /// Moves one history to its next older change, if that may be shown.
    fn step(&mut self, at: usize) -> Result<()> {
        let path_history = &mut self.traces[at];
        if let Some((rev, path)) = path_history.history.prev(!self.strict)? {
            path_history.path = path;
            if rev >= self.old && self.readable.read(&path_history.path) {
                self.next.push((rev, Reverse(at)));
            }
        }
        Ok(())
    }
}

const MISSING: [Code; 3] = [
    Code::FS_NOT_FOUND,
    Code::FS_NOT_DIRECTORY,
    Code::FS_NO_SUCH_REVISION,
];
