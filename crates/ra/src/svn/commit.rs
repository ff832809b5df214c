//! Commits: the caller drives an edit, which is sent without waiting for the server. The server's error is noticed when the
//! buffer is sent, and at the end.

use base::{Code, Date, Error, Result, props};
use delta::editor::Editor;
use wire::svn::command::{Command, Commit};
use wire::svn::handshake::Capabilities;
use wire::svn::{EditDriver, response_read};

use super::SvnSession;
use crate::answers::CommitInfo;
use crate::requests::CommitRequest;

/// The compression level of texts.
const LEVEL: u8 = 5;

impl SvnSession {
    pub(super) fn drive_commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo> {
        self.move_server_here()?;
        let command = self.commit_command(request)?;
        self.call(&command, |_| Ok(()))?;
        let (conn, codec) = (&mut self.conn, &mut self.codec);
        let mut editor = EditDriver::new(conn, self.capabilities, LEVEL, codec);
        match drive(&mut editor) {
            Ok(()) if !editor.has_ended() => editor.close_edit()?,
            Ok(()) if editor.is_closed() => {}
            Ok(()) => return Err(Error::bare(Code::RA_SVN_EDIT_ABORTED)),
            Err(error) => {
                editor.give_up()?;
                return Err(error);
            }
        }
        self.authenticate()?;
        let info = self.conn.receive_list().map(|tuple| {
            let info = response_read::CommitInfo::parse(tuple)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok(CommitInfo {
                rev: info.rev,
                date: info.date.and_then(|date| Date::parse(date).ok()),
                author: info.author.map(text),
                post_commit_error: info.post_commit_error.map(text),
            })
        })?;
        info.map_err(|what: wire::svn::Malformed| self.conn.lose(what.into()))
    }

    fn commit_command(&self, request: &CommitRequest) -> Result<Command> {
        let mut revprops = request.revprops.clone();
        if !self.capabilities.has(Capabilities::COMMIT_REVPROPS) {
            if revprops.keys().any(|name| name != props::LOG) {
                let message = "Server doesn't support setting arbitrary revision properties during commit";
                return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
            }
            if !revprops.contains_key(props::LOG) {
                let message = "Server requires a log message with a commit";
                return Err(Error::new(Code::BAD_PROPERTY_VALUE, message));
            }
        }
        let message = revprops
            .get(props::LOG)
            .map(|log| String::from_utf8_lossy(log).into_owned());
        if self.capabilities.has(Capabilities::EPHEMERAL_TXNPROPS) {
            revprops.extend(crate::txn_props());
        }
        let tokens = request.lock_tokens.iter();
        Ok(Command::Commit(Commit {
            message: message.unwrap_or_default(),
            lock_tokens: tokens
                .map(|(path, token)| (self.path(path), token.clone()))
                .collect(),
            keep_locks: request.keep_locks,
            revprops: Some(revprops.into_iter().collect()),
        }))
    }
}
