//! Reports: the client describes what it has, and gets an edit that changes it.
//!
//! `update`, `switch`, `status` and `diff` are one operation with different [`ReportOptions`]. The client describes
//! its state as a list of paths ([`Report::set_path`] and its siblings): the revision and depth of each part, and
//! which parts are switched, missing or locked. [`Report::finish`] then walks that state (the *source*) and the
//! target revision side by side and drives an [`Editor`] with the difference.
//!
//! * [`reported_paths`] holds the client's list in the order it came, on disk beyond a limit, and reads it back once.
//! * [`drive`] is the walk. It holds one [`frame`] per open directory and nothing else: no tree is ever in memory,
//!   and deep trees need no stack. [`entry`] compares one entry.
//! * [`prefetch`] walks ahead where everything is new, and lets other threads read.
//! * [`content`] sends properties and texts of one node; [`depth`] decides which entries a depth includes.
//! * `sent_revisions` says whether the revision properties in a response are still the same.
//!
//! The walk stops wherever source and target are the same node-revision, so an update costs as much as what changed.
//! A checkout has no source: texts pass from disk to the editor as they are stored if the editor takes them
//! ([`Editor::accepts_encoded`]).

mod content;
mod depth;
mod drive;
mod entry;
mod frame;
mod prefetch;
mod reported_paths;
mod sent_revisions;

use std::sync::Arc;

use base::{Code, Depth, Error, FsPath, RelPath, Result, Revnum};
use delta::editor::Editor;

use crate::access::{Readable, Subtree};
use crate::repo::Repository;
use reported_paths::{Reported, ReportedPath, ReportedPaths};

pub use sent_revisions::SentRevisions;

/// A request, without the client's state.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// The revision that the edit leads to.
    pub target_rev: Revnum,
    /// The directory in which the edit is rooted.
    pub anchor: FsPath,
    /// The one entry of `anchor` to work on, or "" for `anchor` itself.
    pub operand: String,
    /// Switch and diff: the path that takes the place of `anchor` + `operand` in the target revision.
    pub switch_to: Option<FsPath>,
    /// False sends only the fact that a text changed.
    pub text_deltas: bool,
    /// How deep to go; [`Depth::Unknown`] follows the depths that the client reports.
    pub depth: Depth,
    /// Compares unrelated nodes at the same path instead of replacing one by the other.
    pub ignore_ancestry: bool,
    /// Sends where added files were copied from.
    pub send_copyfrom: bool,
}

/// A report that is being received.
pub struct Report {
    repo: Repository,
    options: ReportOptions,
    readable: Arc<dyn Readable>,
    reported_paths: ReportedPaths,
    failed: Option<Error>,
    /// What is wrong with the first or second entry. It counts when all entries have come and none failed.
    misplaced: Option<Error>,
    outcome: ReportOutcome,
    collect: bool,
    /// The first entry, if it has no lock.
    first: Option<(Revnum, Depth)>,
}

/// The result of a report: facts for the log, and for the response cache.
#[derive(Debug, Default)]
pub struct ReportOutcome {
    /// The revision of the first entry: what the client has at the top.
    pub from_rev: Option<Revnum>,
    /// True if the report was one entry that starts empty: a checkout or an export, not an update.
    pub is_checkout: bool,
    /// The revisions whose properties were sent, if [`Report::collect_sent_revisions`] was called and there were not
    /// too many.
    pub sent_revisions: Option<SentRevisions>,
}

impl Report {
    /// Starts a report.
    ///
    /// # Errors
    /// `REPOS_BAD_ARGS` if the requested depth is `exclude`.
    pub fn begin(repo: &Repository, options: ReportOptions, readable: Arc<dyn Readable>) -> Result<Report> {
        check(&options)?;
        Ok(Report {
            repo: repo.clone(),
            options,
            readable,
            reported_paths: ReportedPaths::default(),
            failed: None,
            misplaced: None,
            outcome: ReportOutcome::default(),
            collect: false,
            first: None,
        })
    }

    /// Replaces the request: clients may send it after the first of their paths.
    ///
    /// # Errors
    /// As of [`Report::begin`].
    pub fn set_options(&mut self, options: ReportOptions) -> Result<()> {
        check(&options)?;
        self.options = options;
        Ok(())
    }

    /// Returns how many bytes the entries take. Few of them are in memory.
    pub fn size(&self) -> u64 {
        self.reported_paths.size()
    }

    /// Reports that the client has `path` (relative to the operand) at `rev`, as deep as `depth`. With `start_empty`
    /// it has no properties, and none of the entries that no later call mentions.
    ///
    /// # Errors
    /// `REPOS_BAD_ARGS` for an unknown depth. After a failed call all later ones do nothing, and [`Report::validate`]
    /// returns the error again.
    pub fn set_path(
        &mut self,
        path: &RelPath,
        rev: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        let reported = Reported {
            rev,
            depth,
            start_empty,
            lock_token: lock_token.map(Into::into),
            link: None,
        };
        self.add(path, Some(reported))
    }

    /// Like [`Report::set_path`], for a part that is switched to `target`.
    ///
    /// # Errors
    /// As of `set_path`; `REPOS_BAD_ARGS` for the depth `exclude` too.
    pub fn link_path(
        &mut self,
        path: &RelPath,
        target: &FsPath,
        rev: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        if depth == Depth::Exclude {
            let message = "Depth 'exclude' not supported for link";
            return self.refuse(Error::new(Code::REPOS_BAD_ARGS, message));
        }
        let reported = Reported {
            rev,
            depth,
            start_empty,
            lock_token: lock_token.map(Into::into),
            link: Some(target.clone()),
        };
        self.add(path, Some(reported))
    }

    /// Reports that the client does not have `path`, although it is in the revision of its parent.
    ///
    /// # Errors
    /// As of `set_path`.
    pub fn delete_path(&mut self, path: &RelPath) -> Result<()> {
        self.add(path, None)
    }

    /// Checks that the report is complete and the target revision exists. What fails here fails before the edit
    /// begins.
    ///
    /// # Errors
    /// The error of an earlier call; `REPOS_BAD_REVISION_REPORT` for a report that is empty or does not begin with
    /// the operand itself; `FS_NO_SUCH_REVISION` for the target revision.
    pub fn validate(&self) -> Result<()> {
        if let Some(error) = self.failed.as_ref().or(self.misplaced.as_ref()) {
            return Err(error.clone());
        }
        if self.reported_paths.is_empty() {
            return Err(invalid_top());
        }
        self.repo.fs().root(self.options.target_rev).map(drop)
    }

    /// Records the revisions whose properties are sent: [`ReportOutcome::sent_revisions`].
    pub fn collect_sent_revisions(&mut self) {
        self.collect = true;
    }

    /// Returns the one entry that was reported, if the response depends on nothing but that, the options, and
    /// revision properties: the client has nothing yet, and the user may see everything.
    pub fn same_for_all(&self) -> Option<(Revnum, Depth)> {
        let is_same = self.outcome.is_checkout
            && self.failed.is_none()
            && self.options.switch_to.is_none()
            && self.readable.subtree(&FsPath::root()) == Subtree::All;
        self.first.filter(|_| is_same)
    }

    /// Drives `editor` from the reported state to the target, up to and including `close_edit`.
    ///
    /// # Errors
    /// Those of [`Report::validate`]; then `FS_NO_SUCH_REVISION` for a reported revision, `FS_PATH_SYNTAX` if the
    /// target is missing or not a directory, `AUTHZ_ROOT_UNREADABLE`, `FS_NOT_FOUND` for a reported path that never
    /// existed, and those of the editor and the storage. On an error the edit is left open: the caller aborts it.
    pub fn finish(mut self, editor: &mut dyn Editor) -> Result<ReportOutcome> {
        self.validate()?;
        let cursor = self.reported_paths.into_cursor(&self.options.operand)?;
        let (options, readable) = (&self.options, &*self.readable);
        self.outcome.sent_revisions =
            drive::drive(&self.repo, options, readable, cursor, editor, self.collect)?;
        Ok(self.outcome)
    }

    fn add(&mut self, path: &RelPath, reported: Option<Reported>) -> Result<()> {
        if self.failed.is_some() {
            return Ok(());
        }
        if let Some(r) = reported.as_ref().filter(|r| r.depth == Depth::Unknown) {
            let message = format!("Unsupported report depth '{}'", r.depth.word());
            return self.refuse(Error::new(Code::REPOS_BAD_ARGS, message));
        }
        if self.reported_paths.is_empty() {
            match &reported {
                Some(r) if path.is_empty() && r.link.is_none() => {
                    self.outcome.from_rev = Some(r.rev);
                    self.outcome.is_checkout = r.start_empty;
                    self.first = r.lock_token.is_none().then_some((r.rev, r.depth));
                }
                _ => self.misplaced = Some(invalid_top()),
            }
        } else {
            if path.is_empty() && self.options.operand.is_empty() {
                let message = "Two top-level reports with no target";
                let error = Error::new(Code::REPOS_BAD_REVISION_REPORT, message);
                self.misplaced.get_or_insert(error);
            }
            self.outcome.is_checkout = false;
        }
        let entry = ReportedPath {
            path: path.as_str().into(),
            reported,
        };
        match self.reported_paths.push(&entry) {
            Ok(()) => Ok(()),
            Err(error) => self.refuse(error),
        }
    }

    fn refuse(&mut self, error: Error) -> Result<()> {
        if self.failed.is_some() {
            return Ok(());
        }
        self.failed = Some(error.clone());
        Err(error)
    }
}

fn check(options: &ReportOptions) -> Result<()> {
    match options.depth {
        Depth::Exclude => {
            let message = "Request depth 'exclude' not supported";
            Err(Error::new(Code::REPOS_BAD_ARGS, message))
        }
        _ => Ok(()),
    }
}

fn invalid_top() -> Error {
    Error::new(
        Code::REPOS_BAD_REVISION_REPORT,
        "Invalid report for top level of working copy",
    )
}
