//! `commit`: the client drives an edit that becomes a revision.
//!
//! No response is sent until the client closes the edit. After an error the client gets it at once, and everything that it has
//! sent meanwhile is read and dropped until it aborts the edit. If the connection is lost the transaction is removed.

use std::sync::Arc;

use base::{Code, Date, Error, FsPath, Props, Result, bytes_not_utf8, props, with_substitutes};
use delta::editor::Editor;
use repos::authz::{Required, UserRights};
use repos::commit::{self, CommitAccess, CommitEditor, CommitInfo};
use repos::config::Access;
use wire::svn::command::{Commit, Named};
use wire::svn::edit::EditCommand;
use wire::svn::handshake::Capabilities;
use wire::svn::response::{write_failure, write_success};
use wire::svn::{Consumed, EditDecoder, EditFault, Malformed, Writer};

use crate::clock::now;

use crate::percent_encoding::percent_decode;
use crate::svn::commands::unknown_command;
use crate::svn::repo_session::RepoSession;
use crate::svn::revprops::check_prop_name;

impl RepoSession {
    pub(crate) fn commit(&mut self, commit: &Commit) -> Result<()> {
        self.require(Access::Write, None, !commit.lock_tokens.is_empty())?;
        let options = commit::CommitOptions {
            base_url: decoded(&self.access.repo.root_url),
            base_path: self.access.parent.clone(),
            revprops: revprops(commit)?,
            author: self.access.user.clone(),
            lock_tokens: self.lock_tokens(commit)?,
            keep_locks: commit.keep_locks,
            capabilities: self.hook_capabilities(),
            authz: Arc::new(SessionRights(self.access.rights.clone())),
            hooks: self.hooks()?,
        };
        let clock: commit::Clock = Arc::new(|| Date(now()));
        let mut editor = commit::start(&self.access.repo.repository, options, clock)?;
        write_success(self.conn.out());
        if !self.receive_edit(&mut editor)? {
            return Ok(());
        }
        let info = editor.outcome()?;
        self.access.log_operation(|| format!("commit r{}", info.rev));
        for error in &info.unlock_errors {
            self.access.log_error(error);
        }
        self.conn.write_empty_auth_request();
        write_info(&mut Writer(self.conn.out()), &info);
        Ok(())
    }

    /// Returns the lock tokens with their paths. The user must have write access to each path.
    fn lock_tokens(&mut self, commit: &Commit) -> Result<Vec<(FsPath, String)>> {
        let mut all = Vec::with_capacity(commit.lock_tokens.len());
        for (path, token) in &commit.lock_tokens {
            let path = self.access.path(path)?;
            self.access.demand_write(&path)?;
            all.push((path, token.clone()));
        }
        Ok(all)
    }

    /// Returns the client's capabilities for the hook `start-commit`.
    fn hook_capabilities(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.capabilities.has(Capabilities::MERGEINFO) {
            words.push("mergeinfo".to_owned());
        }
        words
    }

    /// Applies the client's edit. Returns true if the client has closed it; false if it was aborted or has failed, and the client
    /// has got the error.
    fn receive_edit(&mut self, editor: &mut CommitEditor) -> Result<bool> {
        let mut decoder = EditDecoder::below(&self.access.parent);
        loop {
            let item = self.conn.receive_patiently()?;
            let parsed = Named::parse(item).and_then(|named| match EditCommand::parse(named)? {
                Some(command) => Ok(Ok(command)),
                None => Ok(Err(named.name.to_owned())),
            });
            let step = match parsed {
                Err(Malformed::Checksum) => Err(EditFault::Refused(Error::bare(Code::BAD_CHECKSUM_PARSE))),
                Err(what) => Err(EditFault::Protocol(what)),
                Ok(Err(name)) => Err(EditFault::Refused(unknown_command(&name))),
                Ok(Ok(command)) => decoder.apply(command, editor),
            };
            match step {
                Ok(Consumed::More) => {}
                Ok(Consumed::Closed) => {
                    write_success(self.conn.out());
                    return Ok(true);
                }
                Ok(Consumed::Aborted) => {
                    write_success(self.conn.out());
                    return Ok(false);
                }
                // Only a replay ends in this way.
                Ok(Consumed::ReplayFinished) => {
                    self.fail_edit(editor, &unknown_command("finish-replay"))?;
                    return Ok(false);
                }
                Err(EditFault::Protocol(what)) => return Err(self.conn.lose(what.into())),
                Err(EditFault::Refused(error)) => {
                    self.fail_edit(editor, &error)?;
                    return Ok(false);
                }
            }
        }
    }

    /// Sends an error and reads on until the client aborts the edit. The transaction is removed first, so that a slow client does
    /// not delay that.
    fn fail_edit(&mut self, editor: &mut CommitEditor, error: &Error) -> Result<()> {
        if let Err(left) = editor.abort_edit() {
            self.access.log_error(&left);
        }
        self.access.log_fault(error);
        write_failure(self.conn.out(), error);
        // The kernel's buffer has room for a failure, so this does not wait for a client that only writes.
        self.conn.flush()?;
        loop {
            let Some(item) = self.conn.receive_or_end()? else {
                return Ok(());
            };
            match Named::parse(item).map(|named| named.name == "abort-edit") {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(what) => return Err(self.conn.lose(what.into())),
            }
        }
    }
}

/// Returns a URL in the form that the sources of copies are compared with.
fn decoded(url: &str) -> String {
    with_substitutes(&percent_decode(url)).into_owned()
}

/// The rights of the session's user, for the commit editor.
struct SessionRights(Option<Arc<UserRights>>);

impl SessionRights {
    fn may(&self, path: &FsPath, required: Required, recursive: bool) -> Result<bool> {
        Ok(self
            .0
            .as_ref()
            .is_none_or(|rights| rights.allows(path, required, recursive)))
    }
}

impl CommitAccess for SessionRights {
    fn may_read(&self, path: &FsPath, recursive: bool) -> Result<bool> {
        self.may(path, Required::Read, recursive)
    }

    fn may_write(&self, path: &FsPath, recursive: bool) -> Result<bool> {
        self.may(path, Required::Write, recursive)
    }
}

/// Returns the properties for the revision, with the bytes that the client has sent.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME`.
fn revprops(commit: &Commit) -> Result<Props> {
    let Some(props) = &commit.revprops else {
        let message = bytes_not_utf8(&commit.message);
        let message = message.unwrap_or_else(|| commit.message.clone().into_bytes());
        return Ok(Props::from_iter([(props::LOG.to_owned(), message)]));
    };
    props.iter().try_for_each(|(name, _)| check_prop_name(name))?;
    Ok(props.iter().cloned().collect())
}

fn write_info(w: &mut Writer<'_>, info: &CommitInfo) {
    w.open().number(info.rev.0);
    w.maybe_string(info.date.as_deref());
    w.maybe_string(info.author.as_deref());
    w.maybe_string(info.post_commit_error.as_deref());
    w.close();
}
