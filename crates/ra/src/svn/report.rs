//! Edits that the server drives: update, switch, status and diff.

use base::{Code, Depth, Error, RelPath, Result, Url};
use delta::editor::Editor;
use wire::svn::command::{Command, Diff, Named, Status, Switch, Update};
use wire::svn::edit::EditCommand;
use wire::svn::report::{ReportCommand, ReportedAt};
use wire::svn::response::{write_failure, write_success};
use wire::svn::{Consumed, EditDecoder, EditFault, Malformed};

use super::connection::Connection;
use super::{SvnSession, failure};
use crate::requests::{PathState, ReportKind, ReportRequest, Reporter};

/// The most bytes of an edit that are read and dropped after the caller's editor has failed. A server that sends more
/// has not seen the failure.
const MOST_DROPPED: u64 = 64 << 20;

impl SvnSession {
    pub(super) fn report_and_receive(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        // A server refuses these before it reads the report, which is on its way then.
        crate::check_depth(request.depth)?;
        if let ReportKind::Switch { url, .. } | ReportKind::Diff { url, .. } = request.kind {
            crate::check_repository(url, &self.root)?;
        }
        self.move_server_here()?;
        self.start(&command(request))?;
        if let Err(error) = state(&mut WireReporter(&mut self.conn)) {
            ReportCommand::Abort.write(self.conn.out());
            self.response(|_| Ok(()))?;
            return Err(error);
        }
        ReportCommand::Finish.write(self.conn.out());
        self.authenticate().map_err(|error| self.conn.lose(error))?;
        let mut decoder = EditDecoder::new();
        let outcome = loop {
            match self.receive_step(&mut decoder, editor) {
                Ok(Step::More) => {}
                Ok(step) => break Ok(step),
                Err(error) => break Err(error),
            }
        };
        match outcome {
            Ok(Step::Closed) => {
                write_success(self.conn.out());
                self.response(|_| Ok(()))
            }
            Ok(Step::Aborted) => {
                write_success(self.conn.out());
                self.response(|_| Ok(()))?;
                Err(Error::bare(Code::RA_SVN_EDIT_ABORTED))
            }
            Ok(_) => Err(self.conn.lose(Malformed::Word.into())),
            Err(error) => {
                // The first error counts.
                _ = editor.abort_edit();
                Err(error)
            }
        }
    }

    /// Receives one message of an edit and makes its call of the editor. If the editor refuses it, the server gets the error and
    /// the rest of the edit is dropped.
    ///
    /// # Errors
    /// Those of the connection, of the editor and of the server; the edit has ended then.
    pub(super) fn receive_step(
        &mut self,
        decoder: &mut EditDecoder,
        editor: &mut dyn Editor,
    ) -> Result<Step> {
        let step = self.conn.receive().map(|item| {
            let tuple = item.list()?;
            if let Some(error) = failure(tuple) {
                return Ok(Step::Failed(error?));
            }
            let command = EditCommand::parse(Named::parse(item)?)?.ok_or(Malformed::Word)?;
            Ok(match decoder.apply(command, editor)? {
                Consumed::More => Step::More,
                Consumed::Closed => Step::Closed,
                Consumed::Aborted => Step::Aborted,
                Consumed::ReplayFinished => Step::ReplayFinished,
            })
        })?;
        match step {
            Ok(Step::Failed(error)) => Err(error),
            Ok(step) => Ok(step),
            Err(EditFault::Protocol(what)) => Err(self.conn.lose(what.into())),
            Err(EditFault::Refused(error)) => {
                self.refuse_edit(&error);
                Err(error)
            }
        }
    }

    /// Sends an error to the driver of the edit, and reads on until the response of the command. If that fails, the
    /// connection is lost, and the caller returns the first error nevertheless.
    fn refuse_edit(&mut self, error: &Error) {
        write_failure(self.conn.out(), error);
        let begin = self.conn.received();
        while self.conn.received() - begin <= MOST_DROPPED {
            let name = match self.conn.receive().map(Named::parse) {
                Err(_) => return,
                Ok(Ok(named)) => named.name,
                Ok(Err(_)) => break,
            };
            match name {
                "abort-edit" => {
                    // The response repeats the error that was sent.
                    _ = self.response(|_| Ok(()));
                    return;
                }
                // The response itself: a replay that had ended before the server saw the error.
                "success" | "failure" => return,
                _ => {}
            }
        }
        self.conn.lose(error.clone());
    }
}

/// The effect of a message in an edit.
pub(super) enum Step {
    More,
    Closed,
    Aborted,
    ReplayFinished,
    /// The server's error in place of a message.
    Failed(Error),
}

/// Sends the state of a working copy.
struct WireReporter<'a>(&'a mut Connection);

impl WireReporter<'_> {
    fn send(&mut self, command: ReportCommand<'_>) -> Result<()> {
        command.write(self.0.out());
        self.0.spill()
    }
}

impl Reporter for WireReporter<'_> {
    fn set_path(&mut self, path: &RelPath, state: &PathState<'_>) -> Result<()> {
        self.send(ReportCommand::SetPath {
            path: path.as_bytes(),
            at: reported_at(state),
        })
    }

    fn delete_path(&mut self, path: &RelPath) -> Result<()> {
        self.send(ReportCommand::DeletePath {
            path: path.as_bytes(),
        })
    }

    fn link_path(&mut self, path: &RelPath, url: &Url, state: &PathState<'_>) -> Result<()> {
        self.send(ReportCommand::LinkPath {
            path: path.as_bytes(),
            url: url.as_str().as_bytes(),
            at: reported_at(state),
        })
    }
}

fn reported_at<'a>(state: &PathState<'a>) -> ReportedAt<'a> {
    ReportedAt {
        rev: state.rev,
        start_empty: state.start_empty,
        lock_token: state.lock_token.map(str::as_bytes),
        depth: state.depth,
    }
}

fn command(request: &ReportRequest<'_>) -> Command {
    let (rev, target) = (request.rev, request.target.to_owned());
    let depth = Some(request.depth);
    // For servers that do not know depths.
    let recurse = matches!(
        request.depth,
        Depth::Infinity | Depth::Unknown | Depth::Immediates
    );
    match request.kind {
        ReportKind::Update {
            send_copyfrom,
            ignore_ancestry,
        } => Command::Update(Update {
            rev,
            target,
            recurse,
            depth,
            send_copyfrom,
            ignore_ancestry,
        }),
        ReportKind::Switch {
            url,
            send_copyfrom,
            ignore_ancestry,
        } => Command::Switch(Switch {
            rev,
            target,
            recurse,
            url: url.as_str().to_owned(),
            depth,
            send_copyfrom,
            ignore_ancestry,
        }),
        ReportKind::Status => Command::Status(Status {
            target,
            recurse,
            rev,
            depth,
        }),
        ReportKind::Diff {
            url,
            ignore_ancestry,
            text_deltas,
        } => Command::Diff(Diff {
            rev,
            target,
            recurse,
            ignore_ancestry,
            url: url.as_str().to_owned(),
            text_deltas,
            depth,
        }),
    }
}
