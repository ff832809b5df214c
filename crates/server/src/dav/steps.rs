//! What the methods that edit a transaction have in common: which transaction a request means, who takes the step, and what
//! the request says of the node that it changes.

use std::sync::Arc;

use base::{Code, Date, Error, FsPath, Revnum};
use http::StatusCode;
use repos::commit::Clock;
use repos::hooks::Hooks;
use repos::transaction::{Activities, Transaction};
use wire::dav::if_header::If;
use wire::dav::uri::{self, Resource};
use wire::dav::xml;

use super::fault::Fault;
use super::transactions::{InUse, NoStep, Stepper};
use super::visit::Visit;
use crate::rules::conf_of;
use crate::service::now;

/// Revision of a node that the client has.
const VERSION_NAME: &str = "x-svn-version-name";
/// What the client wants beside the method.
const OPTIONS: &str = "x-svn-options";

impl Visit<'_> {
    /// The map of names that clients chose.
    pub(crate) fn activities(&self) -> Activities {
        Activities::of(self.repository(), self.place.location.activities.as_deref())
    }

    /// The name of the transaction that the request's resource is of or in.
    ///
    /// # Errors
    /// 404 and 400 for unknown names of clients, 405 for what is not of a transaction.
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

    pub(crate) fn txn_of_activity(&self, id: &str, unknown: StatusCode) -> Result<String, Fault> {
        self.activities().find(id)?.ok_or_else(|| Fault::html(unknown))
    }

    /// The node of a transaction that the request is about.
    pub(crate) fn working_path(&self) -> Option<FsPath> {
        match &self.resource {
            Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
                Some(path.clone())
            }
            Resource::Public(path) if self.autoversion.is_some() => Some(path.clone()),
            _ => None,
        }
    }

    /// Takes a step in the transaction that the request means, as its user and with the tokens that it brings.
    ///
    /// # Errors
    /// Those of finding the transaction; 501 if it is another user's; those of the step.
    pub(crate) fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Self, InUse<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let name = self.txn_name()?;
        self.step_in(&name, step)
    }

    /// As [`Visit::step`], in the transaction of this name.
    ///
    /// # Errors
    /// As [`Visit::step`].
    pub(crate) fn step_in<T>(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Self, InUse<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let service = self.service.clone();
        let repository = self.repository().clone();
        let is_node = self.working_path().is_some();
        let refuse = |why| match why {
            NoStep::Unopened(error) => no_transaction(error, is_node),
            NoStep::NotOwner => Fault::html(StatusCode::NOT_IMPLEMENTED),
        };
        let (user, patience) = (self.user.clone(), self.request.patience.clone());
        let stepper = Stepper {
            user: user.as_deref(),
            patience: &patience,
        };
        let transactions = &service.transactions;
        transactions.step(&repository, name, &stepper, refuse, |in_use| {
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

    /// Takes the transaction of this name out, to make a revision of it.
    ///
    /// # Errors
    /// Those of opening it; the system's.
    pub(super) fn take(&self, name: &str) -> Result<Transaction, Error> {
        let transactions = &self.service.transactions;
        transactions.take(self.repository(), name, &self.request.patience)
    }

    /// Removes the transaction of this name.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub(super) fn abort(&self, name: &str) -> Result<(), Error> {
        let transactions = &self.service.transactions;
        transactions.abort(self.repository(), name, &self.request.patience)
    }

    /// The lock tokens that the request brings in its header.
    ///
    /// # Errors
    /// 400 for a header that is none.
    pub(crate) fn held_tokens(&self) -> Result<Vec<String>, Fault> {
        let header = self.if_header()?;
        let tokens = header.iter().flat_map(If::tokens);
        Ok(tokens.map(str::to_owned).collect())
    }

    /// The revision of a node that the client has, if it says so.
    pub(crate) fn version_name(&self) -> Option<Revnum> {
        let text = self.request.header(VERSION_NAME)?.trim();
        if text.starts_with('-') {
            return None;
        }
        // As the incumbent reads numbers: what is none is 0.
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        match Revnum::parse(&text.as_bytes()[..digits]) {
            Some(rev) => Some(rev),
            None if digits == 0 => Some(Revnum(0)),
            None => None,
        }
    }

    /// True if the client wants this beside the method.
    pub(crate) fn has_option(&self, word: &str) -> bool {
        let options = self.request.header_list(OPTIONS);
        options.split([' ', ',']).any(|option| option == word)
    }

    /// The repository's hooks, with the environment that the configuration names for them.
    ///
    /// # Errors
    /// Those of reading it.
    pub(crate) fn hooks(&self) -> Result<Hooks, Error> {
        let repository = self.repository();
        let conf = conf_of(self.service, repository)?;
        let usual = || repository.conf_dir().join("hooks-env");
        let named = self.place.location.hooks_env.clone().or(conf.hooks_env.clone());
        let env = self.service.config.hooks_env(&named.unwrap_or_else(usual))?;
        Ok(Hooks::of(repository, env).waited_for(self.request.patience.hook_waiting()))
    }
}

/// What tells the time to commits.
pub(crate) fn clock() -> Clock {
    Arc::new(|| Date(now()))
}

/// What becomes of a transaction that cannot be opened.
pub(super) fn no_transaction(error: Error, is_node: bool) -> Fault {
    match error.code() {
        Code::FS_NO_SUCH_TRANSACTION if is_node => Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error),
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    }
}

/// Errors of a step in a tree, with the statuses that clients know them by.
pub(crate) fn refused(error: Error) -> Fault {
    match error.code() {
        Code::RA_OUT_OF_DATE => Fault::new(StatusCode::CONFLICT, error),
        Code::FS_PATH_SYNTAX => Fault::new(StatusCode::BAD_REQUEST, error),
        _ => error.into(),
    }
}

/// Refuses the name of a new node that is not UTF-8. One that has control characters as well is refused for these, by the step
/// itself.
///
/// # Errors
/// 500 with `FS_PATH_SYNTAX`.
pub(super) fn check_utf8(path: &FsPath) -> Result<(), Fault> {
    match uri::bytes_not_utf8(path.as_str()) {
        Some(bytes) if !bytes.iter().any(u8::is_ascii_control) => {
            let message = format!("Path '{}' is not in UTF-8", xml::fuzzy(&bytes));
            Err(Error::new(Code::FS_PATH_SYNTAX, message).into())
        }
        _ => Ok(()),
    }
}
