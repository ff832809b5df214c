//! How a commit's transaction begins and ends.
//!
//! Hooks run while no lock is held, and what they may look at is laid down on disk before they start; without hooks a
//! transaction never is. Once the revision exists nothing can fail any more: what goes wrong then is told beside it.

use base::{Code, Error, Result, Revnum, props};
use fsfs::{LockAccess, TxnOptions};

use super::CommitInfo;
use super::editor::{CommitEditor, Phase};
use crate::hooks::Hook;
use crate::props_rules::validate;

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
        let options = TxnOptions {
            check_locks: true,
            client_date: false,
        };
        let txn = self.repo.fs().begin_txn(youngest, options, (self.clock)())?;
        self.phase = Phase::Open(Box::new(txn));
        self.set_props()?;
        let Phase::Open(txn) = &mut self.phase else {
            return Ok(());
        };
        txn.set_lock_access(LockAccess {
            user: self.options.author.clone(),
            tokens: self
                .options
                .lock_tokens
                .iter()
                .map(|(_, token)| token.clone())
                .collect(),
        });
        if self.options.hooks.is_installed(Hook::StartCommit) {
            txn.lay_down()?;
            let (author, capabilities) = (self.options.author.as_deref(), &self.options.capabilities);
            self.options
                .hooks
                .start_commit(author, capabilities, txn.name())?;
        }
        Ok(())
    }

    /// The client's properties, and the author as we know them.
    fn set_props(&mut self) -> Result<()> {
        let mut list = std::mem::take(&mut self.options.revprops);
        match &self.options.author {
            Some(author) => list.insert(props::AUTHOR.to_owned(), author.clone().into_bytes()),
            None => list.remove(props::AUTHOR),
        };
        let txn = self.txn()?;
        for (name, value) in &list {
            validate(name, Some(value))?;
            if INTERNAL.contains(&name.as_str()) {
                return Err(Error::new(
                    Code::INCORRECT_PARAMS,
                    format!("Attempt to modify internal transaction property '{name}'"),
                ));
            }
            txn.set_prop(name, Some(value))?;
        }
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
        let (hooks, options) = (&self.options.hooks, &self.options);
        if hooks.is_installed(Hook::PreCommit) {
            txn.lay_down()?;
            hooks.pre_commit(txn.name(), &options.base_path, &options.lock_tokens)?;
        }
        let list = txn.props()?;
        for name in list.keys().filter(|name| name.starts_with(EPHEMERAL)) {
            txn.set_prop(name, None)?;
        }
        let committed = txn.commit(&*self.clock)?;

        // From here on there is a revision, and nothing that fails may say otherwise.
        let rev = committed.rev;
        let mut complaints = Vec::new();
        if let Some(e) = committed.post_commit_error {
            complaints.push(format!("post commit FS processing had error:\n{}", e.message()));
        }
        if let Err(e) = hooks.post_commit(rev, txn.name()) {
            complaints.push(e.message());
        }
        let list = self.repo.fs().revprops(rev).unwrap_or_default();
        let text = |name: &str| {
            let value = list.get(name)?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        let info = CommitInfo {
            rev,
            date: text(props::DATE),
            author: text(props::AUTHOR),
            post_commit_error: (!complaints.is_empty()).then(|| complaints.join("\n")),
        };
        self.phase = Phase::Done(info);
        self.release_locks();
        Ok(())
    }

    /// Gives back the locks that the client holds, as clients expect of a commit. One that stays, stays.
    fn release_locks(&self) {
        if self.options.keep_locks || self.options.lock_tokens.is_empty() {
            return;
        }
        let tokens = self.options.lock_tokens.iter();
        let targets: Vec<_> = tokens
            .map(|(path, token)| (path.clone(), Some(token.clone())))
            .collect();
        let user = self.options.author.as_deref();
        _ = self
            .repo
            .unlock_many(&targets, user, false, Some(&self.options.hooks));
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

    /// Aborts where there is somebody else to tell what went wrong. What cannot be removed now is listed by `lstxns`.
    pub(super) fn give_up(&mut self) {
        _ = self.abort();
    }
}

/// Properties of a transaction that are the storage engine's.
const INTERNAL: [&str; 3] = ["svn:check-locks", "svn:check-ood", "svn:client-date"];

/// Properties of a transaction that its hooks may see and its revision does not get.
const EPHEMERAL: &str = "svn:txn-";
