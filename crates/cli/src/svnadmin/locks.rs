//! `svnadmin lock`, `unlock` and `rmlocks`: set and remove users' locks as administrator.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Code, Date, Error, Result, charset};
use repos::hooks::{Hook, Hooks};
use repos::user_locks::{LockOutcome, LockRequest, LockTarget};

use super::repository;
use super::revprop::read;
use crate::args::operand::{at_least, at_most, fs_path, misuse, text};
use crate::local_path;
use crate::out::Out;

/// Locks a file for a user, with a comment from a file. The token of the lock is
/// made up unless one is given.
#[derive(clap::Args)]
#[command(override_usage = "lock REPOS_PATH PATH USERNAME COMMENT-FILE [TOKEN]")]
pub struct LockArgs {
    #[command(flatten)]
    options: LockOptions,
    operands: Vec<OsString>,
}

/// Unlocks a file as its user would.
#[derive(clap::Args)]
#[command(override_usage = "unlock REPOS_PATH LOCKED_PATH USERNAME TOKEN")]
pub struct UnlockArgs {
    #[command(flatten)]
    options: LockOptions,
    operands: Vec<OsString>,
}

/// Removes the locks of files, of any owner.
#[derive(clap::Args)]
#[command(override_usage = "rmlocks REPOS_PATH LOCKED_PATH...")]
pub struct RmLocksArgs {
    /// say nothing but what goes wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    operands: Vec<OsString>,
}

/// The options of `lock` and `unlock`.
#[derive(clap::Args)]
struct LockOptions {
    /// run neither the hook before nor the one after
    #[arg(long)]
    bypass_hooks: bool,
    /// say nothing but what goes wrong
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl LockArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 5, out.program(), "Too many arguments")?;
        at_least(&self.operands, 4, out.program(), "Not enough arguments")?;
        let path = fs_path(&self.operands[1])?;
        let user = text(&self.operands[2])?;
        let comment = read(&local_path::canonical(&self.operands[3]))?;
        let token = self.operands.get(4).map(|typed| text(typed)).transpose()?;
        let repository = repository::open(out, &self.operands[..1])?;
        let hooks = Hooks::of(&repository, Default::default());
        let target = LockTarget {
            path: path.clone(),
            token: token.map(Cow::into_owned),
            rev: None,
        };
        let hooks = (!self.options.bypass_hooks).then_some(&hooks);
        let comment =
            charset::utf8(OsStr::from_bytes(&comment)).map_err(|error| wrong_comment(error, hooks))?;
        let request = LockRequest {
            user: Some(&user),
            comment: Some(comment),
            is_dav_comment: false,
            expires: None,
            steal: false,
        };
        let outcome = repository.lock_many(&[target], &request, hooks, now())?;
        first_error(outcome)?;
        if !self.options.quiet {
            out.line(&format!("'{path}' locked by user '{user}'."))?;
        }
        Ok(())
    }
}

impl UnlockArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 4, out.program(), "Too many arguments")?;
        at_least(&self.operands, 4, out.program(), "Not enough arguments")?;
        let path = fs_path(&self.operands[1])?;
        let user = text(&self.operands[2])?;
        let token = text(&self.operands[3])?.into_owned();
        let repository = repository::open(out, &self.operands[..1])?;
        let hooks = Hooks::of(&repository, Default::default());
        let hooks = (!self.options.bypass_hooks).then_some(&hooks);
        let target = (path.clone(), Some(token));
        let outcome = repository.unlock_many(&[target], Some(&user), false, hooks)?;
        first_error(outcome)?;
        if !self.options.quiet {
            out.line(&format!("'{path}' unlocked by user '{user}'."))?;
        }
        Ok(())
    }
}

impl RmLocksArgs {
    /// Runs the subcommand. A path that cannot be unlocked is reported and does not make the program fail.
    pub fn run(self, out: &mut Out) -> Result<()> {
        if self.operands.len() < 2 {
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, "No paths to unlock provided");
            return Err(misuse(out.program(), error));
        }
        let repository = repository::open(out, &self.operands[..1])?;
        for typed in &self.operands[1..] {
            let line = fs_path(typed).and_then(|path| {
                let Some(lock) = repository.get_lock(&path)? else {
                    return Ok(format!("Path '{path}' isn't locked."));
                };
                first_error(repository.unlock_many(&[(path, Some(lock.token))], None, true, None)?)?;
                Ok(format!("Removed lock on '{}'.", lock.path))
            });
            match line {
                Err(error) => out.print_error(&error),
                Ok(_) if self.quiet => {}
                Ok(line) => out.line(&line)?,
            }
        }
        Ok(())
    }
}

/// Returns the error for a comment that is not UTF-8. The hook, if there is one, would get it as an argument.
fn wrong_comment(error: Error, hooks: Option<&Hooks>) -> Error {
    match hooks.and_then(|hooks| hooks.not_started(Hook::PreLock, error)) {
        Some(error) => error,
        None => Error::new(
            Code::XML_UNESCAPABLE_DATA,
            "Lock comment contains illegal characters",
        ),
    }
}

fn first_error<T>(outcome: LockOutcome<T>) -> Result<()> {
    for (_, result) in outcome.each {
        result?;
    }
    outcome.post_hook_error.map_or(Ok(()), Err)
}

pub fn now() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
