//! Reads a session's commands, carries them out, and sends what ends each.
//!
//! A command fails in one of two ways. Either the client gets the error and the session goes on, or the connection itself
//! is lost ([`SvnConnection::lost`](crate::svn::connection::SvnConnection::lost)): then nothing more is sent.

use std::time::Instant;

use base::{Code, Error, Result};
use wire::svn::command::{Command, Named};
use wire::svn::response;

use crate::metrics::{FinishedOperation, Protocol, operation_word};
use crate::percent_encoding::encoded;
use crate::svn::repo_session::RepoSession;
use crate::svn::session::TimeSlice;

impl RepoSession {
    /// Reads a command and carries it out, or goes on with a report. Returns false if the peer has closed the connection.
    pub(crate) fn command(&mut self, slice: &mut TimeSlice) -> Result<bool> {
        if let Some(report) = self.pending_report.take() {
            let (begun, operation) = (report.begun, report.operation);
            return match self.read_report(report, true, slice)? {
                Some(result) => self.end(operation, begun, result),
                None => Ok(true),
            };
        }
        let Some(item) = self.conn.receive_or_end()? else {
            return Ok(false);
        };
        let begun = Instant::now();
        let parsed = Named::parse(item).and_then(|named| match Command::parse(named)? {
            Some(command) => Ok(Ok((operation_word(named.name), command))),
            None => Ok(Err(named.name.to_owned())),
        });
        let (operation, mut result) = match parsed {
            Err(what) => return Err(self.conn.lose(what.into())),
            Ok(Ok((operation, command))) => (operation, self.run(command)),
            Ok(Err(name)) => ("other", Err(unknown_command(&name))),
        };
        if let Some(mut report) = self.pending_report.take() {
            report.operation = operation;
            match self.read_report(report, false, slice)? {
                Some(done) => result = done,
                None => return Ok(true),
            }
        }
        self.end(operation, begun, result)
    }

    /// Counts a command, sends its error if it has failed, and sends the rest of the output.
    fn end(&mut self, operation: &'static str, begun: Instant, result: Result<()>) -> Result<bool> {
        let (received, sent) = self.conn.take_counts();
        self.access.service.context.metrics.count(&FinishedOperation {
            protocol: Protocol::Svn,
            operation,
            took: begun.elapsed(),
            received,
            sent,
            failed: result.is_err(),
        });
        if let Err(error) = result {
            if self.conn.lost().is_some() {
                return Err(error);
            }
            self.access.log_fault(&error);
            response::write_failure(self.conn.out(), &error);
        }
        self.conn.end_command()?;
        Ok(true)
    }

    fn run(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Reparent { url } => self.reparent(&url),
            Command::GetLatestRev => self.get_latest_rev(),
            Command::GetDatedRev { date } => self.get_dated_rev(&date),
            Command::RevPropList { rev } => self.rev_proplist(rev),
            Command::RevProp { rev, name } => self.rev_prop(rev, &name),
            Command::GetFile(get) => self.get_file(&get),
            Command::GetDir(get) => self.get_dir(&get),
            Command::CheckPath(at) => self.check_path(&at),
            Command::Stat(at) => self.stat(&at),
            Command::GetIprops(at) => self.get_iprops(&at),
            Command::List(list) => self.list(&list),
            Command::GetMergeinfo(get) => self.get_mergeinfo(&get),
            Command::Log(log) => self.log(log),
            Command::GetLocations { path, peg, revs } => self.get_locations(&path, peg, &revs),
            Command::GetLocationSegments {
                path,
                peg,
                start,
                end,
            } => self.get_location_segments(&path, peg, start, end),
            Command::GetFileRevs {
                path,
                start,
                end,
                include_merged,
            } => self.get_file_revs(&path, start, end, include_merged),
            Command::GetDeletedRev { path, peg, end } => self.get_deleted_rev(&path, peg, end),
            Command::GetLock { path } => self.get_lock(&path),
            Command::GetLocks { path, depth } => self.get_locks(&path, depth),
            Command::Update(update) => self.update(&update),
            Command::Switch(switch) => self.switch(&switch),
            Command::Status(status) => self.status(&status),
            Command::Diff(diff) => self.diff(&diff),
            Command::Replay {
                rev,
                low_water_mark,
                send_deltas,
            } => self.replay(rev, low_water_mark, send_deltas),
            Command::ReplayRange {
                start,
                end,
                low_water_mark,
                send_deltas,
            } => self.replay_range(start, end, low_water_mark, send_deltas),
            Command::ChangeRevProp(change) => self.change_rev_prop(&change),
            Command::Commit(commit) => self.commit(&commit),
            Command::Lock {
                target,
                comment,
                steal,
            } => self.lock(&target, comment.as_deref(), steal),
            Command::LockMany {
                comment,
                steal,
                targets,
            } => self.lock_many(&targets, comment.as_deref(), steal),
            Command::Unlock { target, force } => self.unlock(&target, force),
            Command::UnlockMany { force, targets } => self.unlock_many(&targets, force),
        }
    }

    fn reparent(&mut self, url: &str) -> Result<()> {
        self.conn.write_empty_auth_request();
        self.access.parent = self.access.repo.path_of(url)?;
        self.access
            .log_operation(|| format!("reparent {}", encoded(&self.access.parent)));
        self.conn.success(|_| ());
        Ok(())
    }

    fn get_latest_rev(&mut self) -> Result<()> {
        self.conn.write_empty_auth_request();
        let rev = self.access.repo.repository.youngest()?;
        self.access.log_operation(|| "get-latest-rev".to_owned());
        self.conn.success(|w| _ = w.number(rev.0));
        Ok(())
    }
}

/// Returns the error for a command that does not exist.
pub(crate) fn unknown_command(name: &str) -> Error {
    Error::new(
        Code::RA_SVN_UNKNOWN_CMD,
        format!("Unknown editor command '{name}'"),
    )
}
