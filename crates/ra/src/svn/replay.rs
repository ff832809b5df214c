//! Revisions as edits, one or many in one command.

use base::{Code, Error, Props, Result, Revnum};
use delta::NullEditor;
use delta::editor::Editor;
use wire::svn::command::Command;
use wire::svn::response::parse_proplist;
use wire::svn::{EditDecoder, Malformed, Tuple};

use super::report::Step;
use super::{SvnSession, failure};
use crate::answers::ReplaySink;
use crate::requests::ReplayOptions;
use crate::session::replay_each;

impl SvnSession {
    pub(super) fn replay_one(
        &mut self,
        rev: Revnum,
        options: &ReplayOptions,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        self.move_server_here()?;
        self.start(&Command::Replay {
            rev,
            low_water_mark: options.low_water_mark,
            send_deltas: options.send_deltas,
        })?;
        self.receive_replay(editor)?;
        self.response(|_| Ok(()))
    }

    pub(super) fn replay_many(
        &mut self,
        start: Revnum,
        end: Revnum,
        options: &ReplayOptions,
        sink: &mut dyn ReplaySink,
    ) -> Result<()> {
        self.move_server_here()?;
        let command = Command::ReplayRange {
            start,
            end,
            low_water_mark: options.low_water_mark,
            send_deltas: options.send_deltas,
        };
        match self.start(&command) {
            Err(error) if error.has(Code::RA_SVN_UNKNOWN_CMD) => {
                return replay_each(self, start, end, options, sink);
            }
            result => result?,
        }
        for rev in start.0..=end.0 {
            let revprops = match self.conn.receive_list().map(revprops)? {
                Ok(Ok(revprops)) => revprops,
                Ok(Err(error)) => return Err(error),
                Err(what) => return Err(self.conn.lose(what.into())),
            };
            let mut is_driven = false;
            let passed = sink.revision(Revnum(rev), &revprops, &mut |editor| {
                is_driven = true;
                self.receive_replay(editor)
            });
            let passed = match is_driven {
                true => passed,
                false => passed.and_then(|()| self.receive_replay(&mut NullEditor::default())),
            };
            // What follows of the range is not read.
            passed.map_err(|error| self.conn.lose(error))?;
        }
        self.response(|_| Ok(()))
    }

    /// Receives the edit of one revision.
    fn receive_replay(&mut self, editor: &mut dyn Editor) -> Result<()> {
        let mut decoder = EditDecoder::new();
        loop {
            let step = self.receive_step(&mut decoder, editor).inspect_err(|_| {
                // The first error counts.
                _ = editor.abort_edit();
            })?;
            match step {
                Step::More => {}
                Step::ReplayFinished => return Ok(()),
                Step::Aborted => {
                    wire::svn::response::write_success(self.conn.out());
                    self.response(|_| Ok(()))?;
                    return Err(Error::bare(Code::RA_SVN_EDIT_ABORTED));
                }
                Step::Closed | Step::Failed(_) => return Err(self.conn.lose(Malformed::Word.into())),
            }
        }
    }
}

/// Reads the properties before a revision, or the error of the command.
fn revprops(tuple: Tuple<'_>) -> Result<Result<Props>, Malformed> {
    if let Some(error) = failure(tuple) {
        return error.map(Err);
    }
    let mut tuple = tuple;
    match tuple.word()? {
        "revprops" => parse_proplist(tuple.list()?).map(Ok),
        _ => Err(Malformed::Word),
    }
}
