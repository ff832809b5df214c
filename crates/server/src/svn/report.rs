//! Reports: update, switch, status and diff. The client reports what its working copy has, then the server drives an edit.

use std::time::{Duration, Instant};

use base::{Code, Depth, Error, RelPath, Result, with_substitutes};
use repos::config::Access;
use repos::report::{Report, ReportOptions, ReportOutcome};
use wire::svn::EditDriver;
use wire::svn::command::{Diff, Named, Status, Switch, Update};
use wire::svn::report::ReportCommand;
use wire::svn::response::{write_failure, write_success};

use crate::log::operation_text;
use crate::net::QuotaShare;
use crate::svn::commands::unknown_command;
use crate::svn::repo_session::RepoSession;
use crate::svn::session::TimeSlice;

impl RepoSession {
    pub(crate) fn update(&mut self, update: &Update) -> Result<()> {
        let target = operand(&update.target)?;
        let path = self.access.path(&target)?;
        self.require(Access::Read, Some(&path), false)?;
        let rev = self.access.rev(update.rev)?;
        let depth = depth_of(update.depth, update.recurse, Depth::Files);
        let options = ReportOptions {
            target_rev: rev,
            anchor: self.access.parent.clone(),
            operand: target,
            switch_to: None,
            text_deltas: true,
            depth,
            ignore_ancestry: update.ignore_ancestry,
            send_copyfrom: update.send_copyfrom,
        };
        let copyfrom = update.send_copyfrom;
        let line = move |outcome: &ReportOutcome| {
            operation_text::update(&path, rev, depth, copyfrom, outcome.is_checkout)
        };
        self.begin_report(options, Some(Box::new(line)))
    }

    pub(crate) fn switch(&mut self, switch: &Switch) -> Result<()> {
        let target = operand(&switch.target)?;
        let path = self.access.path(&target)?;
        self.conn.write_empty_auth_request();
        let to = self.access.repo.path_of(&switch.url)?;
        let rev = self.access.rev(switch.rev)?;
        let depth = depth_of(switch.depth, switch.recurse, Depth::Files);
        self.access
            .log_operation(|| operation_text::switch(&path, &to, rev, depth));
        let options = ReportOptions {
            target_rev: rev,
            anchor: self.access.parent.clone(),
            operand: target,
            switch_to: Some(to),
            text_deltas: true,
            depth,
            ignore_ancestry: switch.ignore_ancestry,
            send_copyfrom: switch.send_copyfrom,
        };
        self.begin_report(options, None)
    }

    pub(crate) fn status(&mut self, status: &Status) -> Result<()> {
        let target = operand(&status.target)?;
        let path = self.access.path(&target)?;
        self.conn.write_empty_auth_request();
        let rev = self.access.rev(status.rev)?;
        let depth = depth_of(status.depth, status.recurse, Depth::Empty);
        self.access
            .log_operation(|| operation_text::status(&path, rev, depth));
        let options = ReportOptions {
            target_rev: rev,
            anchor: self.access.parent.clone(),
            operand: target,
            switch_to: None,
            text_deltas: false,
            depth,
            ignore_ancestry: false,
            send_copyfrom: false,
        };
        self.begin_report(options, None)
    }

    pub(crate) fn diff(&mut self, diff: &Diff) -> Result<()> {
        let target = operand(&diff.target)?;
        let path = self.access.path(&target)?;
        self.conn.write_empty_auth_request();
        let to = self.access.repo.path_of(&diff.url)?;
        let rev = self.access.rev(diff.rev)?;
        let depth = depth_of(diff.depth, diff.recurse, Depth::Files);
        let options = ReportOptions {
            target_rev: rev,
            anchor: self.access.parent.clone(),
            operand: target,
            switch_to: Some(to.clone()),
            text_deltas: diff.text_deltas,
            depth,
            ignore_ancestry: diff.ignore_ancestry,
            send_copyfrom: false,
        };
        let ignore_ancestry = diff.ignore_ancestry;
        let line = move |outcome: &ReportOutcome| {
            let from = (&path, outcome.from_rev);
            operation_text::diff(from, (&to, rev), depth, ignore_ancestry)
        };
        self.begin_report(options, Some(Box::new(line)))
    }

    /// Begins to read the client's report. The command ends with the edit that follows.
    fn begin_report(&mut self, options: ReportOptions, line: Option<LogLine>) -> Result<()> {
        let report = Report::begin(&self.access.repo.repository, options, self.access.readable())?;
        let size = self.access.service.context.limits.reports.of(self.access.peer);
        self.pending_report = Some(Box::new(PendingReport {
            report: Ok(report),
            size,
            line,
            begun: Instant::now(),
            operation: "other",
        }));
        Ok(())
    }

    /// Reads as much of a report as has arrived; the first message in any case, if `has_message`. Returns `None` if the report goes on
    /// (a slow client must not hold a thread), or if the `slice` is over. Otherwise drives the edit, and returns the result of
    /// the command.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn read_report(
        &mut self,
        mut pending: Box<PendingReport>,
        mut has_message: bool,
        slice: &mut TimeSlice,
    ) -> Result<Option<Result<()>>> {
        loop {
            if !has_message && (slice.is_over(&self.conn) || !self.conn.await_message(Duration::ZERO)?) {
                self.pending_report = Some(pending);
                return Ok(None);
            }
            has_message = false;
            match self.read_entry(&mut pending)? {
                ReportStep::Applied => {}
                ReportStep::Finish => return Ok(Some(self.drive(*pending))),
                ReportStep::Abort => {
                    let outcome = pending.report.map(drop);
                    if outcome.is_ok() {
                        write_success(self.conn.out());
                    }
                    return Ok(Some(outcome));
                }
            }
        }
    }

    /// Drives the edit and sends the response.
    fn drive(&mut self, pending: PendingReport) -> Result<()> {
        let PendingReport { report, line, .. } = pending;
        self.conn.write_empty_auth_request();
        let report = report?;
        report.validate()?;
        let level = self.access.service.context.options().compression;
        let mut editor = EditDriver::new(&mut self.conn, self.capabilities, level, &mut self.codec);
        match report.finish(&mut editor) {
            Ok(outcome) => {
                write_success(self.conn.out());
                if let Some(line) = line {
                    self.access.log_operation(|| line(&outcome));
                }
                Ok(())
            }
            Err(error) => {
                editor.give_up()?;
                Err(error)
            }
        }
    }

    /// Reads one message of a report.
    fn read_entry(&mut self, pending: &mut PendingReport) -> Result<ReportStep> {
        let item = self.conn.receive()?;
        let parsed = Named::parse(item).and_then(|named| match ReportCommand::parse(named)? {
            Some(command) => Ok(Ok(command)),
            None => Ok(Err(named.name.to_owned())),
        });
        let command = match parsed {
            Err(what) => return Err(self.conn.lose(what.into())),
            Ok(Err(name)) => {
                write_failure(self.conn.out(), &unknown_command(&name));
                return Ok(ReportStep::Applied);
            }
            Ok(Ok(ReportCommand::Finish)) => return Ok(ReportStep::Finish),
            Ok(Ok(ReportCommand::Abort)) => return Ok(ReportStep::Abort),
            Ok(Ok(command)) => command,
        };
        // Messages after an error are ignored.
        let Ok(report) = &mut pending.report else {
            return Ok(ReportStep::Applied);
        };
        let added = match command {
            ReportCommand::Finish | ReportCommand::Abort => Ok(()),
            ReportCommand::SetPath { path, at } => rel_path(path).and_then(|path| {
                let token = at.lock_token.map(with_substitutes);
                report.set_path(&path, at.rev, at.depth, at.start_empty, token.as_deref())
            }),
            ReportCommand::DeletePath { path } => rel_path(path).and_then(|path| report.delete_path(&path)),
            ReportCommand::LinkPath { path, url, at } => {
                let to = self.access.repo.path_of(&with_substitutes(url));
                rel_path(path).and_then(|path| {
                    let to = to?;
                    let token = at.lock_token.map(with_substitutes);
                    let token = token.as_deref();
                    report.link_path(&path, &to, at.rev, at.depth, at.start_empty, token)
                })
            }
        };
        if let Err(error) = added.and_then(|()| count(report, &mut pending.size)) {
            pending.report = Err(error);
            // The report is gone.
            _ = pending.size.set(0);
        }
        Ok(ReportStep::Applied)
    }
}

/// Counts the bytes of a report, from the first that are not in memory.
///
/// # Errors
/// `RA_SVN_REQUEST_SIZE` if it is too long.
fn count(report: &Report, size: &mut QuotaShare) -> Result<()> {
    // The share grows in steps: one for each entry would cost more than the entry.
    let steps = report.size() / COUNTED_STEP;
    match size.set(steps * COUNTED_STEP) {
        true => Ok(()),
        false => {
            let message = "Can't read the report of the working copy: the reports that this address sends at this moment have more bytes \
                           than 'update-body' in the section [limits] of the server's configuration allows";
            Err(Error::new(Code::RA_SVN_REQUEST_SIZE, message))
        }
    }
}

/// Bytes of a report that are counted at once.
const COUNTED_STEP: u64 = 64 << 10;

/// The effect of a message in a report.
enum ReportStep {
    Applied,
    Finish,
    Abort,
}

/// A report that is being read.
pub(crate) struct PendingReport {
    /// The report, or its first error.
    report: Result<Report>,
    /// Its share of what the reports of all sessions may take.
    size: QuotaShare,
    line: Option<LogLine>,
    /// When its command began.
    pub(crate) begun: Instant,
    /// The label of the command for metrics.
    pub(crate) operation: &'static str,
}

/// Returns the line for the operational log after the edit.
type LogLine = Box<dyn FnOnce(&ReportOutcome) -> String + Send>;

/// Returns a path of the report. Bytes that are not UTF-8 become substitutes: no node has the path, and the report fails.
fn rel_path(path: &[u8]) -> Result<RelPath> {
    RelPath::canonicalize(&with_substitutes(path))
}

/// Returns the entry of the session's directory that a command is about; "" for the directory itself.
fn operand(target: &str) -> Result<String> {
    RelPath::canonicalize(target).map(|path| path.as_str().to_owned())
}

/// Returns the depth of a command; old clients send `recurse` instead.
fn depth_of(depth: Option<Depth>, recurse: bool, shallow: Depth) -> Depth {
    depth.unwrap_or(if recurse { Depth::Infinity } else { shallow })
}
