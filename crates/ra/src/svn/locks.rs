//! Users' locks.

use base::{Code, Depth, Error, FsPath, Lock, RelPath, Result};
use wire::svn::command::{self, Command};
use wire::svn::response::parse_lock;
use wire::svn::response_read::{LockAnswer, revision};
use wire::svn::{Item, Malformed, Tuple};

use super::SvnSession;
use crate::requests::{LockTarget, UnlockTarget};

impl SvnSession {
    pub(super) fn read_locks(&mut self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>> {
        let command = Command::GetLocks {
            path: self.path(path),
            depth: Some(depth),
        };
        let mut locks = self.call(&command, |mut params| {
            let mut list = params.list()?;
            let mut locks = Vec::new();
            while !list.is_empty() {
                locks.push(parse_lock(&mut list.list()?)?);
            }
            Ok(locks)
        })?;
        // Servers before 1.7 send all locks below the path.
        let top = self.fs_path(path);
        locks.retain(|lock| is_within(&lock.path, &top, depth));
        locks.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(locks)
    }

    pub(super) fn lock_all(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()> {
        let comment = comment.map(str::to_owned);
        let wire_targets: Vec<_> = targets.iter().map(|target| self.lock_target(target)).collect();
        let command = Command::LockMany {
            comment: comment.clone(),
            steal,
            targets: wire_targets.clone(),
        };
        let paths: Vec<&RelPath> = targets.iter().map(|target| &target.path).collect();
        let mut read = |path: &RelPath, answer| match answer {
            LockAnswer::Locked(lock) => outcome(path, Ok(lock)),
            LockAnswer::Failed(error) => outcome(path, Err(error)),
            LockAnswer::Unlocked | LockAnswer::NextCommand => Err(Malformed::Kind.into()),
        };
        match self.each_lock(&command, &paths, &mut read) {
            Err(error) if error.has(Code::RA_SVN_UNKNOWN_CMD) => {}
            result => return result,
        }
        // A server before 1.7.
        for (path, target) in paths.iter().zip(wire_targets) {
            let command = Command::Lock {
                target,
                comment: comment.clone(),
                steal,
            };
            let result = self.call(&command, |mut params| parse_lock(&mut params.list()?));
            outcome(path, self.of_one_path(result, LOCK_FAILURES)?)?;
        }
        Ok(())
    }

    pub(super) fn unlock_all(
        &mut self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()> {
        let wire_targets: Vec<_> = targets.iter().map(|target| self.unlock_target(target)).collect();
        let command = Command::UnlockMany {
            force,
            targets: wire_targets.clone(),
        };
        let paths: Vec<&RelPath> = targets.iter().map(|target| &target.path).collect();
        let mut read = |path: &RelPath, answer| match answer {
            LockAnswer::Unlocked => outcome(path, Ok(())),
            LockAnswer::Failed(error) => outcome(path, Err(error)),
            LockAnswer::Locked(_) | LockAnswer::NextCommand => Err(Malformed::Kind.into()),
        };
        match self.each_lock(&command, &paths, &mut read) {
            Err(error) if error.has(Code::RA_SVN_UNKNOWN_CMD) => {}
            result => return result,
        }
        for (path, target) in paths.iter().zip(wire_targets) {
            let result = self.call(&Command::Unlock { target, force }, |_| Ok(()));
            outcome(path, self.of_one_path(result, UNLOCK_FAILURES)?)?;
        }
        Ok(())
    }

    fn lock_target(&self, target: &LockTarget) -> command::LockTarget {
        command::LockTarget {
            path: self.path(&target.path),
            rev: target.rev,
        }
    }

    fn unlock_target(&self, target: &UnlockTarget) -> command::UnlockTarget {
        command::UnlockTarget {
            path: self.path(&target.path),
            token: target.token.clone(),
        }
    }

    /// Runs a command with an outcome for each path.
    ///
    /// A server that still refuses the command after a login sends one failure, and no `done`. It looks like the outcome of
    /// the first path. To see the difference, a second command follows at once in this case: the start of its response
    /// then comes where an outcome or `done` was expected.
    fn each_lock(
        &mut self,
        command: &Command,
        paths: &[&RelPath],
        each: &mut dyn FnMut(&RelPath, LockAnswer) -> Result<()>,
    ) -> Result<()> {
        command.write(self.conn.out());
        let has_second = self.authenticate()?;
        if has_second {
            Command::GetLatestRev.write(self.conn.out());
        }
        let mut paths = paths.iter();
        // With a second command, the first failure is held back until the item behind it shows what it means.
        let mut held: Option<Error> = None;
        let mut is_first = has_second;
        loop {
            let answer = match self.conn.receive()? {
                Item::Word("done") => None,
                Item::List(tuple) => Some(LockAnswer::parse(tuple)),
                _ => Some(Err(Malformed::Kind)),
            };
            let answer = answer.transpose().map_err(|what| self.conn.lose(what.into()))?;
            if let (Some(LockAnswer::NextCommand), Some(error)) = (&answer, &held) {
                let error = error.clone();
                self.response(|mut params| revision(&mut params))?;
                return Err(error);
            }
            let mut pass = |answer| match paths.next() {
                Some(path) => each(path, answer),
                None => Err(Malformed::Order.into()),
            };
            let passed = match held.take() {
                Some(error) => pass(LockAnswer::Failed(error)),
                None => Ok(()),
            };
            let passed = passed.and_then(|()| match answer {
                None => Ok(false),
                Some(LockAnswer::Failed(error)) if is_first => {
                    held = Some(error);
                    Ok(true)
                }
                Some(answer) => pass(answer).map(|()| true),
            });
            is_first = false;
            match passed {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(self.conn.lose(error)),
            }
        }
        let result = self.response(|_| Ok(()));
        if has_second {
            self.authenticate()?;
            self.response(|mut params| revision(&mut params))?;
        }
        result
    }

    /// Separates errors of one path from errors that concern all.
    fn of_one_path<T>(&self, result: Result<T>, of_path: &[Code]) -> Result<Result<T>> {
        match result {
            Err(error) if !of_path.contains(&error.code()) || self.conn.lost().is_some() => Err(error),
            result => Ok(result),
        }
    }
}

/// The numbers of errors that concern one path, not the whole request.
const LOCK_FAILURES: &[Code] = &[
    Code::FS_PATH_ALREADY_LOCKED,
    Code::FS_NOT_FOUND,
    Code::FS_OUT_OF_DATE,
    Code::FS_BAD_LOCK_TOKEN,
    Code::REPOS_HOOK_FAILURE,
    Code::FS_NO_SUCH_REVISION,
    Code::FS_NOT_FILE,
];
const UNLOCK_FAILURES: &[Code] = &[
    Code::FS_PATH_NOT_LOCKED,
    Code::FS_BAD_LOCK_TOKEN,
    Code::FS_LOCK_OWNER_MISMATCH,
    Code::FS_NO_SUCH_LOCK,
    Code::RA_NOT_LOCKED,
    Code::FS_LOCK_EXPIRED,
    Code::REPOS_HOOK_FAILURE,
];

/// Reads the parameters of the response to `get-lock`.
pub(super) fn maybe_lock(mut params: Tuple<'_>) -> Result<Option<Lock>, Malformed> {
    let mut bracket = params.list()?;
    match bracket.is_empty() {
        true => Ok(None),
        false => parse_lock(&mut bracket.list()?).map(Some),
    }
}

/// Returns true if `path` is at `top` or below it, within `depth`.
pub(crate) fn is_within(path: &FsPath, top: &FsPath, depth: Depth) -> bool {
    let Some(below) = path.relative_to(top) else {
        return false;
    };
    match depth {
        Depth::Infinity | Depth::Unknown => true,
        // Only files have locks.
        Depth::Files | Depth::Immediates => below.components().count() <= 1,
        Depth::Empty | Depth::Exclude => below.is_empty(),
    }
}
