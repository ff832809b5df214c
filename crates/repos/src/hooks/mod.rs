//! Hooks: programs of the administrator that a repository runs before and after a change.
//!
//! There are nine, in the repository's `hooks/` directory, each a file with the hook's name. The first argument is
//! always the repository's path, the environment holds only what `conf/hooks-env` defines, the working directory is
//! that of this process. A hook that exits with a code other than 0 has refused the change (before) or reported an
//! error (after); its stderr goes into the error. A missing hook allows everything, except changes of revision
//! properties.
//!
//! Hooks may read the repository with any program, and change it. So no lock of the storage engine is held while one
//! runs, and what it gets as argument is on disk before.

mod run;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum, disk_path};

use self::run::{HookCall, HookFile};
use crate::config::HooksEnv;
use crate::repo::Repository;

/// The hooks of one repository, with the environment in which they run. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Hooks(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    root: PathBuf,
    folder: PathBuf,
    env: Arc<HooksEnv>,
    waiting: HookWait,
}

/// How the calling thread waits for a hook's process: a function that runs the wait once. A server marks the thread
/// as blocked meanwhile, because the hook may be a client of the same server.
#[derive(Clone)]
pub struct HookWait(Arc<RunWithin>);

/// Runs its argument once.
type RunWithin = dyn Fn(&mut dyn FnMut()) + Send + Sync;

impl HookWait {
    /// Waits within `around`, which must call its argument exactly once.
    pub fn within(around: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> HookWait {
        HookWait(Arc::new(around))
    }

    /// Runs `wait`, which waits for a process of the system.
    pub fn run(&self, wait: &mut dyn FnMut()) {
        (self.0)(wait);
    }
}

impl Default for HookWait {
    fn default() -> Self {
        HookWait::within(|wait| wait())
    }
}

impl std::fmt::Debug for HookWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookWait")
    }
}

/// The nine hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

impl Hook {
    /// Returns the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Hook::StartCommit => "start-commit",
            Hook::PreCommit => "pre-commit",
            Hook::PostCommit => "post-commit",
            Hook::PreRevpropChange => "pre-revprop-change",
            Hook::PostRevpropChange => "post-revprop-change",
            Hook::PreLock => "pre-lock",
            Hook::PostLock => "post-lock",
            Hook::PreUnlock => "pre-unlock",
            Hook::PostUnlock => "post-unlock",
        }
    }

    /// Returns the action that it can prevent, as errors name it.
    fn blocks(self) -> Option<&'static str> {
        match self {
            Hook::StartCommit | Hook::PreCommit => Some("Commit"),
            Hook::PreRevpropChange => Some("Revprop change"),
            Hook::PreLock => Some("Lock"),
            Hook::PreUnlock => Some("Unlock"),
            Hook::PostCommit | Hook::PostRevpropChange | Hook::PostLock | Hook::PostUnlock => None,
        }
    }
}

/// The kind of change of a revision property: the letter that its hooks get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevpropAction {
    /// It was not set.
    Add,
    /// Another value.
    Modify,
    /// It is deleted.
    Delete,
}

impl RevpropAction {
    fn letter(self) -> &'static [u8] {
        match self {
            RevpropAction::Add => b"A",
            RevpropAction::Modify => b"M",
            RevpropAction::Delete => b"D",
        }
    }
}

impl Hooks {
    /// The hooks of `repo`. An empty environment is `Arc::default()`.
    pub fn of(repo: &Repository, env: Arc<HooksEnv>) -> Self {
        Hooks(Arc::new(Inner {
            root: repo.path().to_owned(),
            folder: repo.hooks_dir(),
            env,
            waiting: HookWait::default(),
        }))
    }

    /// Returns the same hooks with another way to wait for their processes.
    pub fn waited_for(self, waiting: HookWait) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        inner.waiting = waiting;
        Hooks(Arc::new(inner))
    }

    /// True if there is a program to run, or a broken link to report.
    pub fn is_installed(&self, hook: Hook) -> bool {
        run::find(&self.0.folder, hook) != HookFile::Absent
    }

    /// Runs `start-commit`, which may read the transaction.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`.
    pub fn start_commit(&self, user: Option<&str>, capabilities: &[String], txn: &str) -> Result<()> {
        let capabilities = capabilities.join(":");
        let args = [user.unwrap_or_default(), &capabilities, txn];
        self.run(Hook::StartCommit, &args, None)
    }

    /// Runs `pre-commit`, which may read the transaction. Paths of lock tokens are relative to `base`, the root of
    /// the edit, if it has one: as the client named them.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`.
    pub fn pre_commit(
        &self,
        txn: &str,
        base: Option<&FsPath>,
        lock_tokens: &[(FsPath, String)],
    ) -> Result<()> {
        let mut stdin = Vec::new();
        if !lock_tokens.is_empty() {
            stdin.extend_from_slice(b"LOCK-TOKENS:\n");
            for (path, token) in lock_tokens {
                let below = base.and_then(|base| path.rel_str_below(base));
                let shown = below.unwrap_or(path.as_str());
                escape(&mut stdin, shown);
                stdin.push(b'|');
                stdin.extend_from_slice(token.as_bytes());
                stdin.push(b'\n');
            }
            stdin.push(b'\n');
        }
        let stdin = (!stdin.is_empty()).then_some(&stdin[..]);
        self.run(Hook::PreCommit, &[txn], stdin)
    }

    /// Runs `post-commit`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`; the revision is there all the same.
    pub fn post_commit(&self, rev: Revnum, txn: &str) -> Result<()> {
        self.run(Hook::PostCommit, &[&rev.to_string(), txn], None)
    }

    /// Runs `pre-revprop-change`, which must exist.
    ///
    /// # Errors
    /// `REPOS_DISABLED_FEATURE` if there is none; `REPOS_HOOK_FAILURE`.
    pub fn pre_revprop_change(
        &self,
        rev: Revnum,
        user: Option<&str>,
        name: &str,
        action: RevpropAction,
        new_value: Option<&[u8]>,
    ) -> Result<()> {
        if !self.is_installed(Hook::PreRevpropChange) {
            return Err(Error::new(
                Code::REPOS_DISABLED_FEATURE,
                "Repository has not been enabled to accept revision propchanges;\n\
                 ask the administrator to create a pre-revprop-change hook",
            ));
        }
        self.revprop(Hook::PreRevpropChange, rev, user, name, action, new_value)
    }

    /// Runs `post-revprop-change`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`; the property is changed all the same.
    pub fn post_revprop_change(
        &self,
        rev: Revnum,
        user: Option<&str>,
        name: &str,
        action: RevpropAction,
        old_value: Option<&[u8]>,
    ) -> Result<()> {
        self.revprop(Hook::PostRevpropChange, rev, user, name, action, old_value)
    }

    /// Runs `pre-lock`; what it prints, if anything, becomes the lock's token, byte for byte.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`.
    pub fn pre_lock(
        &self,
        path: &FsPath,
        user: &str,
        comment: Option<&str>,
        steal: bool,
    ) -> Result<Option<Vec<u8>>> {
        let args = [
            path.as_str(),
            user,
            comment.unwrap_or_default(),
            zero_or_one(steal),
        ];
        let printed = self.call(Hook::PreLock, &args.map(str::as_bytes), None, true)?;
        Ok((!printed.is_empty()).then_some(printed))
    }

    /// Runs `post-lock`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`; the locks stay.
    pub fn post_lock(&self, paths: &[FsPath], user: &str) -> Result<()> {
        self.run(Hook::PostLock, &[user], Some(&lines(paths)))
    }

    /// Runs `pre-unlock`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`.
    pub fn pre_unlock(
        &self,
        path: &FsPath,
        user: Option<&str>,
        token: Option<&str>,
        break_lock: bool,
    ) -> Result<()> {
        let args = [
            path.as_str(),
            user.unwrap_or_default(),
            token.unwrap_or_default(),
            zero_or_one(break_lock),
        ];
        self.run(Hook::PreUnlock, &args, None)
    }

    /// Runs `post-unlock`.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`; the locks are gone all the same.
    pub fn post_unlock(&self, paths: &[FsPath], user: Option<&str>) -> Result<()> {
        self.run(Hook::PostUnlock, &[user.unwrap_or_default()], Some(&lines(paths)))
    }

    /// Returns the error of a hook that was not started because of `error`; `None` if there is no such hook.
    pub fn not_started(&self, hook: Hook, error: Error) -> Option<Error> {
        match run::find(&self.0.folder, hook) {
            HookFile::Absent => None,
            HookFile::BrokenLink(path) | HookFile::Program(path) => Some(run::not_started(error, &path)),
        }
    }

    fn revprop(
        &self,
        hook: Hook,
        rev: Revnum,
        user: Option<&str>,
        name: &str,
        action: RevpropAction,
        value: Option<&[u8]>,
    ) -> Result<()> {
        let rev = rev.to_string();
        let args = [
            rev.as_bytes(),
            user.unwrap_or_default().as_bytes(),
            name.as_bytes(),
            action.letter(),
        ];
        self.call(hook, &args, value, false).map(drop)
    }

    fn run(&self, hook: Hook, args: &[&str], stdin: Option<&[u8]>) -> Result<()> {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        self.call(hook, &args, stdin, false).map(drop)
    }

    fn call(&self, hook: Hook, args: &[&[u8]], stdin: Option<&[u8]>, capture: bool) -> Result<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let program = match run::find(&self.0.folder, hook) {
            HookFile::Absent => return Ok(Vec::new()),
            HookFile::BrokenLink(path) => return Err(run::broken_link(&path)),
            HookFile::Program(path) => path,
        };
        let mut all = vec![Cow::Borrowed(self.0.root.as_os_str().as_bytes())];
        for arg in args {
            all.push(disk_path::bytes_of_text(arg).map_err(|error| run::not_started(error, &program))?);
        }
        let call = HookCall {
            hook,
            args: &all,
            stdin,
            env: self.0.env.environment(hook.name()),
            capture,
        };
        let mut printed = Ok(Vec::new());
        self.0.waiting.run(&mut || printed = run::run(&program, &call));
        printed
    }
}

fn zero_or_one(flag: bool) -> &'static str {
    if flag { "1" } else { "0" }
}

/// Writes paths for a hook's input: one per line.
fn lines(paths: &[FsPath]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.extend_from_slice(path.as_bytes());
        text.push(b'\n');
    }
    text
}

/// Writes a path, with the characters that no URL may have as `%XX`; bytes outside of ASCII stay.
fn escape(out: &mut Vec<u8>, path: &str) {
    for &byte in path.as_bytes() {
        match byte {
            b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => {
                out.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
            0..0x20 | 0x7f => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            _ => out.push(byte),
        }
    }
}
