//! ConditionKind the methods that edit a transaction share: the transaction of a request, one step in it, and the request headers about
//! the node that is changed.

use std::sync::Arc;

use base::{Code, Date, Error, FsPath, Revnum, bytes_not_utf8};
use http::StatusCode;
use repos::commit::Clock;
use repos::hooks::Hooks;
use repos::transaction::{Activities, Transaction};
use wire::dav::if_header::IfHeader;
use wire::dav::uri::Resource;
use wire::text::fuzzy;

use crate::clock::now;
use crate::http::Fault;
use crate::service::access_files::conf_of;
use crate::site::{LockedTxn, RequestContext, StepCaller, StepRefusal};

/// The header with the client's revision of the node.
const VERSION_NAME: &str = "x-svn-version-name";
/// The header with options of Subversion's clients.
const OPTIONS: &str = "x-svn-options";

impl RequestContext<'_> {
    /// Returns the map from clients' names to transactions.
    pub(crate) fn activities(&self) -> Activities {
        Activities::of(self.repository(), self.mount.location.activities.as_deref())
    }

    /// Returns the name of the transaction that the request's resource is, or is in.
    ///
    /// # Errors
    /// 404 and 400 for unknown names of clients, 405 for resources outside of transactions.
    pub(crate) fn txn_name(&self) -> Result<String, Fault> {
        match &self.resource {
            Resource::Txn(name) | Resource::TxnRoot(name, _) => Ok(name.clone()),
            Resource::Activity(id) => self.txn_of_activity(id, StatusCode::NOT_FOUND),
            Resource::Vtxn(id)
            | Resource::VtxnRoot(id, _)
            | Resource::Working(id, _)
            | Resource::WorkingBaseline(id, _) => self.txn_of_activity(id, StatusCode::BAD_REQUEST),
            _ => match &self.autoversion {
                Some(name) => Ok(name.clone()),
                None => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
            },
        }
    }

    /// Returns the transaction of an activity; the status `unknown` if there is none.
    pub(crate) fn txn_of_activity(&self, id: &str, unknown: StatusCode) -> Result<String, Fault> {
        self.activities().find(id)?.ok_or_else(|| Fault::html(unknown))
    }

    /// Returns the path of the request's node in its transaction, if it has one.
    pub(crate) fn working_path(&self) -> Option<FsPath> {
        match &self.resource {
            Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
                Some(path.clone())
            }
            Resource::Public(path) if self.autoversion.is_some() => Some(path.clone()),
            _ => None,
        }
    }

    /// Takes a step in the request's transaction, as the request's user and with its lock tokens.
    ///
    /// # Errors
    /// Those of finding the transaction; 501 if it is another user's; those of the step.
    pub(crate) fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Self, LockedTxn<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let name = self.txn_name()?;
        self.step_in(&name, step)
    }

    /// As [`RequestContext::step`], in the transaction of this name.
    ///
    /// # Errors
    /// As [`RequestContext::step`].
    pub(crate) fn step_in<T>(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Self, LockedTxn<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let site = self.site.clone();
        let repository = self.repository().clone();
        let is_node = self.working_path().is_some();
        let refuse = |why| match why {
            StepRefusal::Unopened(error) => no_transaction(error, is_node),
            StepRefusal::NotOwner => Fault::html(StatusCode::NOT_IMPLEMENTED),
        };
        let (user, wait) = (self.user.clone(), self.request.wait.clone());
        let caller = StepCaller {
            user: user.as_deref(),
            wait: &wait,
        };
        let transactions = &site.transactions;
        transactions.step(&repository, name, &caller, refuse, |in_use| {
            let user = self.user.as_deref();
            let tokens = self.held_tokens()?;
            if !tokens.is_empty() && user.is_none() {
                return Err(Error::new(
                    Code::FS_LOCK_OWNER_MISMATCH,
                    "Lock token is in request, but no user name",
                )
                .into());
            }
            in_use.transaction.set_access(user, tokens);
            step(self, in_use)
        })
    }

    /// Removes the transaction of this name from memory, for its commit.
    ///
    /// # Errors
    /// Those of opening it; the system's.
    pub(super) fn take(&self, name: &str) -> Result<Transaction, Error> {
        let transactions = &self.site.transactions;
        transactions.take(self.repository(), name, &self.request.wait)
    }

    /// Removes the transaction of this name.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub(super) fn abort(&self, name: &str) -> Result<(), Error> {
        let transactions = &self.site.transactions;
        transactions.abort(self.repository(), name, &self.request.wait)
    }

    /// Returns the lock tokens in the request's `If` header.
    ///
    /// # Errors
    /// 400 for a malformed header.
    pub(crate) fn held_tokens(&self) -> Result<Vec<String>, Fault> {
        let header = self.if_header()?;
        let tokens = header.iter().flat_map(IfHeader::tokens);
        Ok(tokens.map(str::to_owned).collect())
    }

    /// Returns the client's revision of the node, if the request has that header.
    pub(crate) fn version_name(&self) -> Option<Revnum> {
        let text = self.request.header(VERSION_NAME)?.trim();
        if text.starts_with('-') {
            return None;
        }
        // As the incumbent reads numbers: text without digits is 0, and a number that is too large is the largest one.
        let text = text.strip_prefix('+').unwrap_or(text);
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        Some(match Revnum::parse(&text.as_bytes()[..digits]) {
            Some(rev) => rev,
            None if digits == 0 => Revnum(0),
            None => Revnum::MAX,
        })
    }

    /// Returns whether the request has this option.
    pub(crate) fn has_option(&self, word: &str) -> bool {
        let options = self.request.header_list(OPTIONS);
        options.split([' ', ',']).any(|option| option == word)
    }

    /// Returns the repository's hooks, with their configured environment.
    ///
    /// # Errors
    /// Those of reading the configuration.
    pub(crate) fn hooks(&self) -> Result<Hooks, Error> {
        let repository = self.repository();
        let conf = conf_of(&self.site.service, repository)?;
        let usual = || repository.conf_dir().join("hooks-env");
        let named = self.mount.location.hooks_env.clone().or(conf.hooks_env.clone());
        let env = self.site.service.config.hooks_env(&named.unwrap_or_else(usual))?;
        Ok(Hooks::of(repository, env).waited_for(self.request.wait.hook_waiting()))
    }
}

/// Returns the clock for commits.
pub(crate) fn clock() -> Clock {
    Arc::new(|| Date(now()))
}

/// Returns the error response for a transaction that cannot be opened.
pub(super) fn no_transaction(error: Error, is_node: bool) -> Fault {
    match error.code() {
        Code::FS_NO_SUCH_TRANSACTION if is_node => Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error),
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    }
}

/// Returns the error response for a failed step, with the status that clients expect.
pub(crate) fn refused(error: Error) -> Fault {
    match error.code() {
        Code::RA_OUT_OF_DATE => Fault::new(StatusCode::CONFLICT, error),
        Code::FS_PATH_SYNTAX => Fault::new(StatusCode::BAD_REQUEST, error),
        _ => error.into(),
    }
}

/// Refuses the name of a new node that is not UTF-8. The step itself refuses one with control characters, for these.
///
/// # Errors
/// 500 with `FS_PATH_SYNTAX`.
pub(super) fn check_utf8(path: &FsPath) -> Result<(), Fault> {
    match bytes_not_utf8(path.as_str()) {
        Some(bytes) if !bytes.iter().any(u8::is_ascii_control) => {
            let message = format!("Path '{}' is not in UTF-8", fuzzy(&bytes));
            Err(Error::new(Code::FS_PATH_SYNTAX, message).into())
        }
        _ => Ok(()),
    }
}
