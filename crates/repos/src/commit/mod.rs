//! Commits: a tree edit becomes a revision.
//!
//! [`start`] makes a [`CommitEditor`]. Its driver, mostly a client over the wire, describes the changes, and each
//! call is applied to a transaction at once, or refused. `rules` refuses what the storage engine would accept.
//! `texts` lets several files' texts arrive at once although the engine writes one at a time. `txn_steps` begins and ends
//! the transaction: properties, hooks, the revision, what follows it.
//!
//! The order of checks, their numbers and their messages are the incumbent's, because clients branch on them. A
//! commit that has failed stays failed: no later call makes a revision. Until [`delta::editor::Editor::close_edit`]
//! has succeeded, dropping the editor removes the transaction.

mod editor;
mod phase;
pub(crate) mod rules;
mod texts;
pub(crate) mod txn_steps;

use std::sync::Arc;

use base::{Date, Error, FsPath, Props, Result, Revnum};

pub use self::editor::{CommitEditor, start};
use crate::hooks::Hooks;

/// The parameters of a commit besides its edit.
pub struct CommitOptions {
    /// The repository's URL, decoded and without a slash at its end: the sources of copies must begin with it.
    pub base_url: String,
    /// The path in the repository of the root of the edit.
    pub base_path: FsPath,
    /// Properties for the revision, as the client sent them. Author and date are set here.
    pub revprops: Props,
    /// Who commits; `None` is anonymous.
    pub author: Option<String>,
    /// The locks that the client holds: path in the repository and token.
    pub lock_tokens: Vec<(FsPath, String)>,
    /// Locks of `lock_tokens` outlive the commit.
    pub keep_locks: bool,
    /// The client's capabilities, for `start-commit`.
    pub capabilities: Vec<String>,
    /// The access rights of the user.
    pub authz: Arc<dyn CommitAccess>,
    /// The repository's hooks.
    pub hooks: Hooks,
}

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Date + Send + Sync>;

/// Decides what a user may read and write while committing. `recursive` asks for everything at and below the path.
pub trait CommitAccess: Send + Sync {
    /// True if it may be read.
    ///
    /// # Errors
    /// Those of reading the rules.
    fn may_read(&self, path: &FsPath, recursive: bool) -> Result<bool>;

    /// True if it may be written.
    ///
    /// # Errors
    /// Those of reading the rules.
    fn may_write(&self, path: &FsPath, recursive: bool) -> Result<bool>;
}

/// Everything may be read and written.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullAccess;

impl CommitAccess for FullAccess {
    fn may_read(&self, _path: &FsPath, _recursive: bool) -> Result<bool> {
        Ok(true)
    }

    fn may_write(&self, _path: &FsPath, _recursive: bool) -> Result<bool> {
        Ok(true)
    }
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The new revision.
    pub rev: Revnum,
    /// Its date.
    pub date: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// The error of what followed the revision.
    pub post_commit_error: Option<String>,
    /// Why locks that were to end with the commit did not, and the error of `post-unlock`. Servers log it; clients do
    /// not get it.
    pub unlock_errors: Vec<Error>,
}
