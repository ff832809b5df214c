//! Working copies: update, switch, status and diff. The client reports what it has, then the server drives an edit.

use base::{Depth, RelPath, Result};
use repos::config::Access;
use repos::report::{Options, Outcome, Report};
use wire::svn::EditDriver;
use wire::svn::command::{Diff, Named, Status, Switch, Update};
use wire::svn::report::ReportCommand;
use wire::svn::response::{write_failure, write_success};

use crate::oplog;
use crate::svn::session::{Talk, unknown_command};

impl Talk {
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
        let outcome = self.report_and_drive(options)?;
        if let Some(outcome) = outcome {
            self.log_operation(|| oplog::update(&path, rev, depth, copyfrom, outcome.is_checkout));
        }
        Ok(())
    }

    pub(crate) fn switch(&mut self, switch: &Switch) -> Result<()> {
        let target = operand(&switch.target)?;
        let path = self.path(&target)?;
        self.trivial();
        let to = self.place.path_of(&switch.url)?;
        let rev = self.rev(switch.rev)?;
        let depth = depth_of(switch.depth, switch.recurse, Depth::Files);
        self.log_operation(|| oplog::switch(&path, &to, rev, depth));
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
        self.report_and_drive(options).map(drop)
    }

    pub(crate) fn status(&mut self, status: &Status) -> Result<()> {
        let target = operand(&status.target)?;
        let path = self.path(&target)?;
        self.trivial();
        let rev = self.rev(status.rev)?;
        let depth = depth_of(status.depth, status.recurse, Depth::Empty);
        self.log_operation(|| oplog::status(&path, rev, depth));
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
        self.report_and_drive(options).map(drop)
    }

    pub(crate) fn diff(&mut self, diff: &Diff) -> Result<()> {
        let target = operand(&diff.target)?;
        let path = self.path(&target)?;
        self.trivial();
        let to = self.place.path_of(&diff.url)?;
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
        let outcome = self.report_and_drive(options)?;
        if let Some(outcome) = outcome {
            let from = (&path, outcome.from_rev);
            self.log_operation(|| oplog::diff(from, (&to, rev), depth, diff.ignore_ancestry));
        }
        Ok(())
    }

    /// Reads the report, drives the edit and answers. `None` if the client gave its report up.
    fn report_and_drive(&mut self, options: Options) -> Result<Option<Outcome>> {
        let repository = self.place.repository.clone();
        let mut report = Report::begin(&repository, options, self.readable())?;
        let Some(outcome) = self.read_report(&mut report)? else {
            write_success(self.conn.out());
            return Ok(None);
        };
        self.trivial();
        outcome?;
        report.ready()?;
        let level = self.service.options().compression;
        let mut editor = EditDriver::new(&mut self.conn, self.capabilities, level, &mut self.codec);
        match report.finish(&mut editor) {
            Ok(outcome) => {
                write_success(self.conn.out());
                Ok(Some(outcome))
            }
            Err(error) => {
                editor.give_up()?;
                Err(error)
            }
        }
    }

    /// Reads the client's report: what is wrong with it, if anything, or `None` if the client gives up.
    fn read_report(&mut self, report: &mut Report) -> Result<Option<Result<()>>> {
        let mut outcome = Ok(());
        loop {
            let item = self.conn.receive()?;
            let parsed = Named::parse(item).and_then(|named| match ReportCommand::parse(named)? {
                Some(command) => Ok(Ok(command)),
                None => Ok(Err(named.name.to_owned())),
            });
            let step = match parsed {
                Err(what) => return Err(self.conn.lose(what.into())),
                Ok(Err(name)) => {
                    write_failure(self.conn.out(), &unknown_command(&name));
                    continue;
                }
                Ok(Ok(ReportCommand::Finish)) => return Ok(Some(outcome)),
                Ok(Ok(ReportCommand::Abort)) => return Ok(None),
                // What comes after a mistake is read and ignored.
                Ok(Ok(_)) if outcome.is_err() => continue,
                Ok(Ok(ReportCommand::SetPath { path, at })) => RelPath::canonicalize(path)
                    .and_then(|path| report.set_path(&path, at.rev, at.depth, at.start_empty, at.lock_token)),
                Ok(Ok(ReportCommand::DeletePath { path })) => {
                    RelPath::canonicalize(path).and_then(|path| report.delete_path(&path))
                }
                Ok(Ok(ReportCommand::LinkPath { path, url, at })) => {
                    let to = self.place.path_of(url);
                    RelPath::canonicalize(path).and_then(|path| {
                        let to = to?;
                        report.link_path(&path, &to, at.rev, at.depth, at.start_empty, at.lock_token)
                    })
                }
            };
            outcome = step;
        }
    }
}

/// The one entry of the session's directory that a command is about, or "".
fn operand(target: &str) -> Result<String> {
    RelPath::canonicalize(target).map(|path| path.as_str().to_owned())
}

fn depth_of(depth: Option<Depth>, recurse: bool, shallow: Depth) -> Depth {
    depth.unwrap_or(if recurse { Depth::Infinity } else { shallow })
}
