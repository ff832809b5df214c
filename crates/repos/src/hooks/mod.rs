//! Hooks: programs of the administrator's that a repository runs before and after what changes it.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum};

use crate::config::HooksEnv;
use crate::repo::Repository;

/// The hooks of one repository, with the environment in which they run. Clones are cheap.
#[derive(Clone)]
pub struct Hooks {
    root: PathBuf,
    env: Arc<HooksEnv>,
}

/// Which of the nine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// After a transaction has begun.
    StartCommit,
    /// Before a transaction becomes a revision.
    PreCommit,
    /// After it.
    PostCommit,
    /// Before a revision property changes.
    PreRevpropChange,
    /// After it.
    PostRevpropChange,
    /// Before a path is locked.
    PreLock,
    /// After paths were locked.
    PostLock,
    /// Before a path is unlocked.
    PreUnlock,
    /// After paths were unlocked.
    PostUnlock,
}

/// What a change of a revision property does: the letter that its hooks are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevpropAction {
    /// It was not set.
    Add,
    /// Another value.
    Modify,
    /// It goes.
    Delete,
}

impl Hooks {
    /// The hooks of `repo`. An empty environment is `Arc::default()`.
    pub fn of(repo: &Repository, env: Arc<HooksEnv>) -> Self {
        Hooks {
            root: repo.path().to_owned(),
            env,
        }
    }

    /// True if the hook would be run (or its broken link be complained about).
    pub fn is_installed(&self, hook: Hook) -> bool {
        let _ = (hook, &self.root, &self.env);
        false
    }

    /// Runs `start-commit`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`, `REPOS_BAD_ARGS` if it cannot be started.
    pub fn start_commit(&self, user: Option<&str>, capabilities: &[String], txn: &str) -> Result<()> {
        let _ = (user, capabilities, txn);
        Err(unfinished())
    }

    /// Runs `pre-commit`. Tokens come with the path that the client named.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn pre_commit(&self, txn: &str, lock_tokens: &[(FsPath, String)]) -> Result<()> {
        let _ = (txn, lock_tokens);
        Err(unfinished())
    }

    /// Runs `post-commit`.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn post_commit(&self, rev: Revnum, txn: &str) -> Result<()> {
        let _ = (rev, txn);
        Err(unfinished())
    }

    /// Runs `pre-revprop-change`, which must exist.
    ///
    /// # Errors
    /// `REPOS_DISABLED_FEATURE` if there is none; as [`Hooks::start_commit`].
    pub fn pre_revprop_change(
        &self,
        rev: Revnum,
        user: Option<&str>,
        name: &str,
        action: RevpropAction,
        new_value: Option<&[u8]>,
    ) -> Result<()> {
        let _ = (rev, user, name, action, new_value);
        Err(unfinished())
    }

    /// Runs `post-revprop-change`.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn post_revprop_change(
        &self,
        rev: Revnum,
        user: Option<&str>,
        name: &str,
        action: RevpropAction,
        old_value: Option<&[u8]>,
    ) -> Result<()> {
        let _ = (rev, user, name, action, old_value);
        Err(unfinished())
    }

    /// Runs `pre-lock`; what it prints becomes the lock's token.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn pre_lock(
        &self,
        path: &FsPath,
        user: &str,
        comment: Option<&str>,
        steal: bool,
    ) -> Result<Option<String>> {
        let _ = (path, user, comment, steal);
        Err(unfinished())
    }

    /// Runs `post-lock`.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn post_lock(&self, paths: &[FsPath], user: &str) -> Result<()> {
        let _ = (paths, user);
        Err(unfinished())
    }

    /// Runs `pre-unlock`.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn pre_unlock(
        &self,
        path: &FsPath,
        user: Option<&str>,
        token: Option<&str>,
        break_lock: bool,
    ) -> Result<()> {
        let _ = (path, user, token, break_lock);
        Err(unfinished())
    }

    /// Runs `post-unlock`.
    ///
    /// # Errors
    /// As [`Hooks::start_commit`].
    pub fn post_unlock(&self, paths: &[FsPath], user: Option<&str>) -> Result<()> {
        let _ = (paths, user);
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Code::UNSUPPORTED_FEATURE, "being written")
}
