//! Revision properties and locks, as far as they are written.

use base::{Code, Date, Error, FsPath, Result};
use repos::change_revprop::RevpropChange;
use repos::config::Access;
use repos::hooks::Hooks;
use repos::user_locks::{LockOutcome, LockRequest, LockTarget as Target};
use wire::svn::Writer;
use wire::svn::command::{ChangeRevProp, LockTarget, UnlockTarget};
use wire::svn::response::{write_failure, write_lock, write_success};

use crate::oplog;
use crate::service::now;
use crate::svn::session::Talk;
use crate::svn::url::encoded;

impl Talk {
    pub(crate) fn change_rev_prop(&mut self, change: &ChangeRevProp) -> Result<()> {
        if let Some(expect) = &change.expect
            && expect.dont_care
            && expect.previous.is_some()
        {
            let text = "'previous-value' and 'dont-care' cannot both be set in 'change-rev-prop2' request";
            let error = Error::new(Code::INCORRECT_PARAMS, text);
            self.log_error(&error);
            return Err(error);
        }
        self.require(Access::Write, None, false)?;
        // What was not UTF-8 has come as this character.
        if change.name.contains(char::REPLACEMENT_CHARACTER) {
            let text = format!("Bad property name: '{}'", change.name);
            return Err(Error::new(Code::CLIENT_PROPERTY_NAME, text));
        }
        self.log_operation(|| format!("change-rev-prop r{} {}", change.rev, encoded(&change.name)));
        let expected = match &change.expect {
            Some(expect) if !expect.dont_care => Some(expect.previous.as_deref()),
            _ => None,
        };
        let hooks = self.hooks()?;
        let change = RevpropChange {
            rev: change.rev,
            name: &change.name,
            expected,
            value: change.value.as_deref(),
            user: self.user.as_deref(),
        };
        let repository = &self.place.repository;
        repository.change_revprop(&change, Some(&hooks), Some(&hooks), &*self.readable())?;
        self.success(|_| ());
        Ok(())
    }

    pub(crate) fn lock(&mut self, target: &LockTarget, comment: Option<&str>, steal: bool) -> Result<()> {
        let path = self.path(&target.path)?;
        self.require(Access::Write, Some(&path), true)?;
        self.log_operation(|| oplog::lock(&[&path], steal));
        let target = Target {
            path,
            token: None,
            rev: target.rev,
        };
        let lock = only(self.lock_all(&[target], comment, steal)?)?;
        self.success(|w| {
            w.open();
            write_lock(w, &lock);
            w.close();
        });
        Ok(())
    }

    pub(crate) fn unlock(&mut self, target: &UnlockTarget, force: bool) -> Result<()> {
        let path = self.path(&target.path)?;
        self.require(Access::Write, Some(&path), !force)?;
        self.log_operation(|| oplog::unlock(&[&path], force));
        only(self.unlock_all(&[(path, target.token.clone())], force)?)?;
        self.success(|_| ());
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
        self.log_operation(|| oplog::lock(&oplog::valid(&paths), steal));
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
        self.log_operation(|| oplog::unlock(&oplog::valid(&paths), force));
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

    /// The hooks, with the environment that the configuration names for them.
    pub(crate) fn hooks(&self) -> Result<Hooks> {
        let place = &self.place;
        let usual = || place.repository.conf_dir().join("hooks-env");
        let path = place.conf.hooks_env.clone().unwrap_or_else(usual);
        let env = self.service.config.hooks_env(&path)?;
        Ok(Hooks::of(&place.repository, env).waited_for(self.conn.stream().hook_waiting()))
    }

    /// Fails unless the user may write `path`; asks nobody.
    pub(crate) fn demand_write(&self, path: &FsPath) -> Result<()> {
        if self.may(Access::Write, Some(path), false) {
            return Ok(());
        }
        let error = Error::bare(Code::RA_NOT_AUTHORIZED);
        self.log_denial(Access::Write, Some(path));
        self.log_error(&error);
        Err(error)
    }

    /// The paths of a request with many, those that exist in no repository or may not be written as their errors.
    fn targets<'a>(&self, sent: impl Iterator<Item = &'a str>) -> Vec<Result<FsPath>> {
        sent.map(|path| {
            let path = self.path(path)?;
            self.demand_write(&path)?;
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
            user: self.user.as_deref(),
            comment,
            is_dav_comment: false,
            expires: None,
            steal,
        };
        let repository = &self.place.repository;
        repository.lock_many(targets, &request, Some(&hooks), Date(now()))
    }

    fn unlock_all(&mut self, targets: &[(FsPath, Option<String>)], force: bool) -> Result<LockOutcome<()>> {
        let hooks = self.hooks()?;
        let repository = &self.place.repository;
        repository.unlock_many(targets, self.user.as_deref(), force, Some(&hooks))
    }

    /// A whole request is denied. The stock client waits for an answer to each path and then for `done`, for ever, so
    /// that is what it gets.
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

    /// Answers path by path, in the order of the request, then for the whole.
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
                    // The whole has failed before it came to single paths.
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

/// What became of the only path of a request.
fn only<T>(outcome: LockOutcome<T>) -> Result<T> {
    let done = outcome.each.into_iter().next();
    let (_, result) = done.ok_or_else(|| Error::bare(Code::RA_NOT_LOCKED))?;
    let done = result?;
    match outcome.post_hook_error {
        None => Ok(done),
        Some(error) => Err(error),
    }
}
