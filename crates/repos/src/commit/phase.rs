//! The phases of a commit, from its first call to the revision.

use base::{Code, Error, Result, Revnum};
use fsfs::Txn;

use super::CommitInfo;
use super::editor::CommitEditor;
use super::txn_steps::{self, TxnStart};

/// The phase of a commit.
pub(super) enum Phase {
    /// No call was made yet.
    New,
    /// Being edited.
    Open(Box<Txn>),
    /// Aborted or failed: no revision follows.
    Over,
    /// It is a revision.
    Done(CommitInfo),
}

impl CommitEditor {
    /// Begins the transaction. `base` is the revision of the edit's root that the client has.
    pub(super) fn begin(&mut self, base: Option<Revnum>) -> Result<()> {
        if !matches!(self.phase, Phase::New) {
            return Err(Error::new(
                Code::FS_INCORRECT_EDITOR_COMPLETION,
                "The root of a commit is opened once",
            ));
        }
        let youngest = self.repo.youngest()?;
        if let Some(base) = base.filter(|base| *base > youngest) {
            return Err(Error::new(
                Code::FS_NO_SUCH_REVISION,
                format!("No such revision {base} (HEAD is {youngest})"),
            ));
        }
        let options = &mut self.options;
        let tokens = options.lock_tokens.iter().map(|(_, token)| token.clone());
        let beginning = TxnStart {
            revprops: std::mem::take(&mut options.revprops),
            author: options.author.as_deref(),
            tokens: tokens.collect(),
            capabilities: &options.capabilities,
            hooks: &options.hooks,
        };
        let txn = txn_steps::begin(&self.repo, youngest, beginning, &self.clock)?;
        self.phase = Phase::Open(Box::new(txn));
        Ok(())
    }

    /// Makes the revision.
    pub(super) fn finish(&mut self) -> Result<()> {
        let Phase::Open(txn) = &mut self.phase else {
            return Err(Error::new(
                Code::REPOS_BAD_ARGS,
                "No valid transaction supplied to close_edit",
            ));
        };
        self.texts.check_none()?;
        let options = &self.options;
        let mut info = txn_steps::finish(
            &self.repo,
            txn,
            &options.hooks,
            Some(&options.base_path),
            &options.lock_tokens,
            &self.clock,
        )?;
        if !options.keep_locks {
            let user = options.author.as_deref();
            info.unlock_errors =
                txn_steps::release_locks(&self.repo, &options.hooks, user, &options.lock_tokens);
        }
        self.phase = Phase::Done(info);
        Ok(())
    }

    /// Ends the commit without a revision, if there is none yet.
    pub(super) fn abort(&mut self) -> Result<()> {
        self.texts.clear();
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Open(txn) => txn.abort(),
            Phase::Done(info) => {
                self.phase = Phase::Done(info);
                Ok(())
            }
            Phase::New | Phase::Over => Ok(()),
        }
    }

    /// Aborts when an error is being reported already. `lstxns` lists what cannot be removed now.
    pub(super) fn give_up(&mut self) {
        _ = self.abort();
    }
}
