//! Revisions of a repository, read ahead.
//!
//! One thread receives revisions as edits and records their calls as bytes ([`record`]); a bounded queue ([`queue`]) passes
//! them on in segments; the caller drives its own editor with them ([`play`]), while the next revisions arrive. The queue holds at
//! most a few megabytes: a revision larger than that is driven while it is still being received, so nothing here grows
//! with a text or with a revision.
//!
//! If the caller stops early, the reading thread ends at its next call, and the session with it.

mod play;
mod queue;
mod record;

use std::thread;

use base::{Cancel, Code, Error, Props, Result, Revnum};
use delta::editor::Editor;
use ra::{ReplayOptions, ReplaySink, Session};

use play::Player;
use queue::{Receiver, Sender, Step};
use record::Recorder;

/// The revisions of a range, in order.
pub struct ReplayAhead {
    steps: Receiver,
    /// The steps of the current revision have not all been received.
    is_inside: bool,
}

impl ReplayAhead {
    /// Starts to receive the revisions from `start` to `end`. `cancel` ends the waits of the caller.
    ///
    /// # Errors
    /// `errno` if the thread cannot be made.
    pub fn start(
        mut session: Box<dyn Session>,
        (start, end): (Revnum, Revnum),
        options: ReplayOptions,
        cancel: &Cancel,
    ) -> Result<ReplayAhead> {
        let (sender, steps) = queue::bounded(BYTES_AHEAD, cancel.clone());
        thread::Builder::new()
            .name("replay: read".into())
            .spawn(move || {
                let mut sink = RecordingSink { sender: &sender };
                let outcome = session.replay_range(start, end, &options, &mut sink);
                // The receiver may be gone: then no one is interested.
                _ = sender.send(match outcome {
                    Ok(()) => Step::End,
                    Err(error) => Step::Failed(error),
                });
            })
            .map_err(|e| Error::os(&e, "Can't start a thread"))?;
        Ok(ReplayAhead {
            steps,
            is_inside: false,
        })
    }

    /// Returns the next revision and its properties; `None` after the last one. What was not driven of the revision before is
    /// skipped.
    ///
    /// # Errors
    /// Those of the session.
    pub fn next_revision(&mut self) -> Result<Option<(Revnum, Props)>> {
        while self.is_inside {
            self.next_calls()?;
        }
        match self.steps.receive()? {
            Step::Revision(rev, props) => {
                self.is_inside = true;
                Ok(Some((rev, props)))
            }
            Step::End => Ok(None),
            Step::Failed(error) => Err(error),
            Step::Calls(_) | Step::RevisionEnd => Err(out_of_order()),
        }
    }

    /// Drives `editor` with the changes of the revision, without an end of the edit.
    ///
    /// # Errors
    /// Those of the session and of `editor`.
    pub fn drive(&mut self, editor: &mut dyn Editor) -> Result<()> {
        let mut player = Player::default();
        while let Some(calls) = self.next_calls()? {
            player.play(&calls, editor)?;
        }
        Ok(())
    }

    /// Returns the next calls of the revision; `None` at its end.
    fn next_calls(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.is_inside {
            return Ok(None);
        }
        match self.steps.receive()? {
            Step::Calls(calls) => Ok(Some(calls)),
            Step::RevisionEnd => {
                self.is_inside = false;
                Ok(None)
            }
            Step::Failed(error) => Err(error),
            Step::Revision(..) | Step::End => Err(out_of_order()),
        }
    }
}

/// Passes revisions on to the queue.
struct RecordingSink<'a> {
    sender: &'a Sender,
}

impl ReplaySink for RecordingSink<'_> {
    fn revision(
        &mut self,
        rev: Revnum,
        revprops: &Props,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<()> {
        self.sender.send(Step::Revision(rev, revprops.clone()))?;
        let mut recorder = Recorder::new(self.sender);
        drive(&mut recorder)?;
        recorder.finish()?;
        self.sender.send(Step::RevisionEnd)
    }
}

fn out_of_order() -> Error {
    Error::new(Code::ASSERTION_FAIL, "Steps of a replay are out of order")
}

/// Bytes of calls that are read ahead.
const BYTES_AHEAD: usize = 16 << 20;

#[cfg(test)]
mod tests;
