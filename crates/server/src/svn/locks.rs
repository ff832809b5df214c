//! Users' locks: reading, taking and releasing them.

use base::{Code, Date, Depth, Error, FsPath, Result};
use repos::config::Access;
use repos::user_locks::{LockOutcome, LockRequest, LockTarget as Target};
use wire::svn::Writer;
use wire::svn::command::{LockTarget, UnlockTarget};
use wire::svn::response::{write_failure, write_lock, write_success};

use crate::clock::now;
use crate::log::operation_text;
use crate::percent_encoding::encoded;
use crate::svn::repo_session::RepoSession;

impl RepoSession {
    pub(crate) fn get_lock(&mut self, path: &str) -> Result<()> {
        let path = self.access.path(path)?;
        self.require(Access::Read, Some(&path), false)?;
        self.access
            .log_operation(|| format!("get-lock {}", encoded(&path)));
        let lock = self.access.repo.repository.get_lock(&path)?;
        self.conn.success(|w| {
            w.open();
            if let Some(lock) = &lock {
                w.open();
                write_lock(w, lock);
                w.close();
            }
            w.close();
        });
        Ok(())
    }

    pub(crate) fn get_locks(&mut self, path: &str, depth: Option<Depth>) -> Result<()> {
        let path = self.access.path(path)?;
        let depth = depth.unwrap_or(Depth::Infinity);
        if depth < Depth::Empty {
            let error = Error::new(
                Code::INCORRECT_PARAMS,
                "Invalid 'depth' specified in get-locks request",
            );
            self.access.log_error(&error);
            return Err(error);
        }
        self.access
            .log_operation(|| format!("get-locks {}", encoded(&path)));
        self.conn.write_empty_auth_request();
        let locks = self
            .access
            .repo
            .repository
            .locks(&path, depth, &*self.access.readable())?;
        self.conn.success(|w| {
            w.open();
            for lock in &locks {
                w.open();
                write_lock(w, lock);
                w.close();
            }
            w.close();
        });
        Ok(())
    }

    pub(crate) fn lock(&mut self, target: &LockTarget, comment: Option<&str>, steal: bool) -> Result<()> {
        let path = self.access.path(&target.path)?;
        self.require(Access::Write, Some(&path), true)?;
        self.access
            .log_operation(|| operation_text::lock(&[&path], steal));
        let target = Target {
            path,
            token: None,
            rev: target.rev,
        };
        let lock = only(self.lock_all(&[target], comment, steal)?)?;
        self.conn.success(|w| {
            w.open();
            write_lock(w, &lock);
            w.close();
        });
        Ok(())
    }

    pub(crate) fn unlock(&mut self, target: &UnlockTarget, force: bool) -> Result<()> {
        let path = self.access.path(&target.path)?;
        self.require(Access::Write, Some(&path), !force)?;
        self.access
            .log_operation(|| operation_text::unlock(&[&path], force));
        only(self.unlock_all(&[(path, target.token.clone())], force)?)?;
        self.conn.success(|_| ());
        Ok(())
    }

    pub(crate) fn lock_many(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
    ) -> Result<()> {
        if let Err(denied) = self.require(Access::Write, None, true) {
            return self.deny_each(targets.len(), denied);
        }
        let paths = self.targets(targets.iter().map(|target| target.path.as_str()));
        self.access
            .log_operation(|| operation_text::lock(&operation_text::valid(&paths), steal));
        let allowed: Vec<Target> = paths
            .iter()
            .zip(targets)
            .filter_map(|(path, target)| {
                let path = path.as_ref().ok()?.clone();
                let (token, rev) = (None, target.rev);
                Some(Target { path, token, rev })
            })
            .collect();
        let outcome = match allowed.is_empty() {
            true => Ok(LockOutcome {
                each: Vec::new(),
                post_hook_error: None,
            }),
            false => self.lock_all(&allowed, comment, steal),
        };
        let sent = |at: usize| targets[at].path.as_str();
        self.answer_each(paths, outcome, sent, |w, _, lock| write_lock(w, lock))
    }

    pub(crate) fn unlock_many(&mut self, targets: &[UnlockTarget], force: bool) -> Result<()> {
        if let Err(denied) = self.require(Access::Write, None, !force) {
            return self.deny_each(targets.len(), denied);
        }
        let paths = self.targets(targets.iter().map(|target| target.path.as_str()));
        self.access
            .log_operation(|| operation_text::unlock(&operation_text::valid(&paths), force));
        let allowed: Vec<(FsPath, Option<String>)> = paths
            .iter()
            .zip(targets)
            .filter_map(|(path, target)| Some((path.as_ref().ok()?.clone(), target.token.clone())))
            .collect();
        let outcome = match allowed.is_empty() {
            true => Ok(LockOutcome {
                each: Vec::new(),
                post_hook_error: None,
            }),
            false => self.unlock_all(&allowed, force),
        };
        let sent = |at: usize| targets[at].path.as_str();
        self.answer_each(paths, outcome, sent, |w, at, ()| _ = w.string(sent(at)))
    }

    /// Returns the paths of a request; an error for each path that is not valid or that the user may not write.
    fn targets<'a>(&self, sent: impl Iterator<Item = &'a str>) -> Vec<Result<FsPath>> {
        sent.map(|path| {
            let path = self.access.path(path)?;
            self.access.demand_write(&path)?;
            Ok(path)
        })
        .collect()
    }

    fn lock_all(
        &mut self,
        targets: &[Target],
        comment: Option<&str>,
        steal: bool,
    ) -> Result<LockOutcome<base::Lock>> {
        let hooks = self.hooks()?;
        let request = LockRequest {
            user: self.access.user.as_deref(),
            comment,
            is_dav_comment: false,
            expires: None,
            steal,
        };
        let repository = &self.access.repo.repository;
        repository.lock_many(targets, &request, Some(&hooks), Date(now()))
    }

    fn unlock_all(&mut self, targets: &[(FsPath, Option<String>)], force: bool) -> Result<LockOutcome<()>> {
        let hooks = self.hooks()?;
        let repository = &self.access.repo.repository;
        repository.unlock_many(targets, self.access.user.as_deref(), force, Some(&hooks))
    }

    /// Denies a whole request. The stock client waits forever for a response to each path and then for `done`, so that is what it
    /// gets.
    fn deny_each(&mut self, count: usize, denied: Error) -> Result<()> {
        if self.conn.lost().is_some() {
            return Err(denied);
        }
        for _ in 0..count {
            write_failure(self.conn.out(), &denied);
        }
        Writer(self.conn.out()).word("done");
        write_success(self.conn.out());
        Ok(())
    }

    /// Sends the outcome of each path, in the order of the request, then that of the whole request.
    fn answer_each<'a, T>(
        &mut self,
        paths: Vec<Result<FsPath>>,
        outcome: Result<LockOutcome<T>>,
        sent: impl Fn(usize) -> &'a str,
        write: impl Fn(&mut Writer<'_>, usize, &T),
    ) -> Result<()> {
        let (each, whole) = match outcome {
            Ok(outcome) => (outcome.each, outcome.post_hook_error),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut each = each.into_iter();
        for (at, path) in paths.into_iter().enumerate() {
            let result = match path {
                Err(denied) => Err(denied),
                Ok(_) => match each.next() {
                    Some((_, result)) => result,
                    // The whole request has failed before any path was handled.
                    None => Err(no_result(sent(at))),
                },
            };
            match result {
                Ok(done) => {
                    let w = &mut Writer(self.conn.out());
                    w.open().word("success").open();
                    write(w, at, &done);
                    w.close().close();
                }
                Err(error) => write_failure(self.conn.out(), &error),
            }
            self.conn.spill()?;
        }
        Writer(self.conn.out()).word("done");
        match whole {
            None => {
                write_success(self.conn.out());
                Ok(())
            }
            Some(error) => Err(error),
        }
    }
}

fn no_result(path: &str) -> Error {
    Error::new(Code::FS_LOCK_OPERATION_FAILED, format!("No result for '{path}'."))
}

/// Returns the outcome of a request with one path.
fn only<T>(outcome: LockOutcome<T>) -> Result<T> {
    let done = outcome.each.into_iter().next();
    let (_, result) = done.ok_or_else(|| Error::bare(Code::RA_NOT_LOCKED))?;
    let done = result?;
    match outcome.post_hook_error {
        None => Ok(done),
        Some(error) => Err(error),
    }
}
