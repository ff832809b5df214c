//! Working copies: update, switch, status and diff. The client reports what it has, then the server drives an edit.

use std::time::{Duration, Instant};

use base::{Depth, RelPath, Result};
use repos::config::Access;
use repos::report::{Options, Outcome, Report};
use wire::svn::EditDriver;
use wire::svn::command::{Diff, Named, Status, Switch, Update};
use wire::svn::report::ReportCommand;
use wire::svn::response::{write_failure, write_success};

use crate::log::operation_text;
use crate::svn::commands::unknown_command;
use crate::svn::repo_session::RepoSession;
use crate::svn::session::TimeSlice;

impl RepoSession {
    pub(crate) fn update(&mut self, update: &Update) -> Result<()> {
        let target = operand(&update.target)?;
        let path = self.path(&target)?;
        self.require(Access::Read, Some(&path), false)?;
        let rev = self.rev(update.rev)?;
        let depth = depth_of(update.depth, update.recurse, Depth::Files);
        let options = Options {
            target_rev: rev,
            anchor: self.parent.clone(),
            operand: target,
            switch_to: None,
            text_deltas: true,
            depth,
            ignore_ancestry: update.ignore_ancestry,
            send_copyfrom: update.send_copyfrom,
        };
        let copyfrom = update.send_copyfrom;
        let line =
            move |outcome: &Outcome| operation_text::update(&path, rev, depth, copyfrom, outcome.is_checkout);
        self.begin_report(options, Some(Box::new(line)))
    }

    pub(crate) fn switch(&mut self, switch: &Switch) -> Result<()> {
        let target = operand(&switch.target)?;
        let path = self.path(&target)?;
        self.write_empty_auth_request();
        let to = self.repo.path_of(&switch.url)?;
        let rev = self.rev(switch.rev)?;
        let depth = depth_of(switch.depth, switch.recurse, Depth::Files);
        self.log_operation(|| operation_text::switch(&path, &to, rev, depth));
        let options = Options {
            target_rev: rev,
            anchor: self.parent.clone(),
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
        let path = self.path(&target)?;
        self.write_empty_auth_request();
        let rev = self.rev(status.rev)?;
        let depth = depth_of(status.depth, status.recurse, Depth::Empty);
        self.log_operation(|| operation_text::status(&path, rev, depth));
        let options = Options {
            target_rev: rev,
            anchor: self.parent.clone(),
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
        let path = self.path(&target)?;
        self.write_empty_auth_request();
        let to = self.repo.path_of(&diff.url)?;
        let rev = self.rev(diff.rev)?;
        let depth = depth_of(diff.depth, diff.recurse, Depth::Files);
        let options = Options {
            target_rev: rev,
            anchor: self.parent.clone(),
            operand: target,
            switch_to: Some(to.clone()),
            text_deltas: diff.text_deltas,
            depth,
            ignore_ancestry: diff.ignore_ancestry,
            send_copyfrom: false,
        };
        let ignore_ancestry = diff.ignore_ancestry;
        let line = move |outcome: &Outcome| {
            let from = (&path, outcome.from_rev);
            operation_text::diff(from, (&to, rev), depth, ignore_ancestry)
        };
        self.begin_report(options, Some(Box::new(line)))
    }

    /// Begins to read what the client has. The command that asked for it ends when that is read.
    fn begin_report(&mut self, options: Options, line: Option<LogLine>) -> Result<()> {
        let report = Report::begin(&self.repo.repository, options, self.readable())?;
        self.pending_report = Some(Box::new(PendingReport {
            report,
            outcome: Ok(()),
            line,
            begun: Instant::now(),
            operation: "other",
        }));
        Ok(())
    }

    /// Reads as much of a report as is there, the first message in any case if it `is_there`. `None` if there is more to
    /// come (a client that takes its time holds no thread), or if the `slice` is over. Else drives the edit, and returns the
    /// result of the command.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn read_report(
        &mut self,
        mut reporting: Box<PendingReport>,
        mut is_there: bool,
        slice: &mut TimeSlice,
    ) -> Result<Option<Result<()>>> {
        loop {
            if !is_there && (slice.is_over(&self.conn) || !self.conn.await_message(Duration::ZERO)?) {
                self.pending_report = Some(reporting);
                return Ok(None);
            }
            is_there = false;
            match self.read_entry(&mut reporting)? {
                Entry::Taken => {}
                Entry::Finish => return Ok(Some(self.drive(*reporting))),
                Entry::Abort => {
                    write_success(self.conn.out());
                    return Ok(Some(Ok(())));
                }
            }
        }
    }

    /// Drives the edit and answers.
    fn drive(&mut self, reporting: PendingReport) -> Result<()> {
        let PendingReport {
            report,
            outcome,
            line,
            ..
        } = reporting;
        self.write_empty_auth_request();
        outcome?;
        report.ready()?;
        let level = self.service.context.options().compression;
        let mut editor = EditDriver::new(&mut self.conn, self.capabilities, level, &mut self.codec);
        match report.finish(&mut editor) {
            Ok(outcome) => {
                write_success(self.conn.out());
                if let Some(line) = line {
                    self.log_operation(|| line(&outcome));
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
    fn read_entry(&mut self, reporting: &mut PendingReport) -> Result<Entry> {
        let PendingReport { report, outcome, .. } = reporting;
        let item = self.conn.receive()?;
        let parsed = Named::parse(item).and_then(|named| match ReportCommand::parse(named)? {
            Some(command) => Ok(Ok(command)),
            None => Ok(Err(named.name.to_owned())),
        });
        let step = match parsed {
            Err(what) => return Err(self.conn.lose(what.into())),
            Ok(Err(name)) => {
                write_failure(self.conn.out(), &unknown_command(&name));
                return Ok(Entry::Taken);
            }
            Ok(Ok(ReportCommand::Finish)) => return Ok(Entry::Finish),
            Ok(Ok(ReportCommand::Abort)) => return Ok(Entry::Abort),
            // What comes after a mistake is read and ignored.
            Ok(Ok(_)) if outcome.is_err() => return Ok(Entry::Taken),
            Ok(Ok(ReportCommand::SetPath { path, at })) => rel_path(path).and_then(|path| {
                let token = at.lock_token.map(String::from_utf8_lossy);
                report.set_path(&path, at.rev, at.depth, at.start_empty, token.as_deref())
            }),
            Ok(Ok(ReportCommand::DeletePath { path })) => {
                rel_path(path).and_then(|path| report.delete_path(&path))
            }
            Ok(Ok(ReportCommand::LinkPath { path, url, at })) => {
                let to = self.repo.path_of(&String::from_utf8_lossy(url));
                rel_path(path).and_then(|path| {
                    let to = to?;
                    let token = at.lock_token.map(String::from_utf8_lossy);
                    let token = token.as_deref();
                    report.link_path(&path, &to, at.rev, at.depth, at.start_empty, token)
                })
            }
        };
        *outcome = step;
        Ok(Entry::Taken)
    }
}

/// What a message of a report was.
enum Entry {
    Taken,
    Finish,
    Abort,
}

/// A report that is being read.
pub(crate) struct PendingReport {
    report: Report,
    /// What is wrong with it, if anything.
    outcome: Result<()>,
    line: Option<LogLine>,
    /// When its command began, and what that was.
    pub(crate) begun: Instant,
    pub(crate) operation: &'static str,
}

/// Makes the line for the operational log once the edit is driven.
type LogLine = Box<dyn FnOnce(&Outcome) -> String + Send>;

/// A path of the report. One that is not UTF-8 becomes one that is: no node has it, which is then found out.
fn rel_path(path: &[u8]) -> Result<RelPath> {
    RelPath::canonicalize(&String::from_utf8_lossy(path))
}

/// The one entry of the session's directory that a command is about, or "".
fn operand(target: &str) -> Result<String> {
    RelPath::canonicalize(target).map(|path| path.as_str().to_owned())
}

fn depth_of(depth: Option<Depth>, recurse: bool, shallow: Depth) -> Depth {
    depth.unwrap_or(if recurse { Depth::Infinity } else { shallow })
}
