//! A session's repository as its user may use it: paths, rights, and the lines of the log.
//!
//! Nothing here touches the connection, except that the log shows the peer's address.

use std::net::IpAddr;
use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum};
use repos::access::{Everything, Readable};
use repos::authz::{Required, Rights, UserRights};
use repos::config::Access;

use crate::log::{self, OneLine, Origin};
use crate::percent_encoding::encoded;
use crate::service::Service;
use crate::svn::auth;
use crate::svn::login::SessionRepository;

/// A repository, the user of a session, and the rights of that user.
pub(crate) struct RepoAccess {
    pub(crate) service: Arc<Service>,
    pub(crate) repo: SessionRepository,
    /// The path of the session's URL in the repository.
    pub(crate) parent: FsPath,
    /// The peer's address, for logs and for what the peers of an address share.
    pub(crate) peer: Option<IpAddr>,
    /// The authenticated user. It never changes once it is set.
    pub(crate) user: Option<String>,
    /// The rights that the authz file grants the user; `None` without such a file.
    pub(crate) rights: Option<Arc<UserRights>>,
}

impl RepoAccess {
    /// Returns the access of an anonymous user.
    pub(crate) fn new(
        service: Arc<Service>,
        repo: SessionRepository,
        parent: FsPath,
        peer: Option<IpAddr>,
    ) -> RepoAccess {
        let mut access = RepoAccess {
            service,
            repo,
            parent,
            peer,
            user: None,
            rights: None,
        };
        access.look_up_rights();
        access
    }

    /// Returns the path in the repository of a path that the client has sent.
    pub(crate) fn path(&self, text: &str) -> Result<FsPath> {
        let whole = format!("{}/{text}", self.parent.as_str().trim_end_matches('/'));
        FsPath::canonicalize(&whole).map_err(|_| {
            // No node can have such a name.
            Error::new(Code::FS_NOT_FOUND, format!("Path '{whole}' not found"))
        })
    }

    /// Returns the revision that the client has sent, or the youngest one.
    pub(crate) fn rev(&self, rev: Option<Revnum>) -> Result<Revnum> {
        match rev {
            Some(rev) => Ok(rev),
            None => self.repo.repository.youngest(),
        }
    }

    /// Returns what the user may read.
    pub(crate) fn readable(&self) -> Arc<dyn Readable> {
        match &self.rights {
            Some(rights) => rights.clone(),
            None => Arc::new(Everything),
        }
    }

    /// Returns the access to the whole repository.
    pub(crate) fn blanket(&self) -> Access {
        let access = match self.user {
            Some(_) => self.repo.conf.auth_access,
            None => self.repo.conf.anon_access,
        };
        access.min(self.max_access())
    }

    /// Returns the highest access that this server grants.
    pub(crate) fn max_access(&self) -> Access {
        if self.service.context.options().read_only {
            Access::Read
        } else {
            Access::Write
        }
    }

    /// Returns whether the session has a right on `path`, or without a path on any.
    pub(crate) fn may(&self, access: Access, path: Option<&FsPath>, needs_user: bool) -> bool {
        if self.blanket() < access || (needs_user && self.user.is_none()) {
            return false;
        }
        let Some(rights) = &self.rights else {
            return true;
        };
        match path {
            Some(path) => {
                let required = if access == Access::Write {
                    Required::Write
                } else {
                    Required::Read
                };
                rights.allows(path, required, false)
            }
            None => {
                let needed = if access == Access::Write {
                    Rights::Write
                } else {
                    Rights::Read
                };
                rights.max_rights() >= needed
            }
        }
    }

    /// Fails unless the user may write `path`. Does not ask the client to authenticate.
    pub(crate) fn demand_write(&self, path: &FsPath) -> Result<()> {
        if self.may(Access::Write, Some(path), false) {
            return Ok(());
        }
        let error = Error::bare(Code::RA_NOT_AUTHORIZED);
        self.log_denial(Access::Write, Some(path));
        self.log_error(&error);
        Err(error)
    }

    /// Reads the rights that the authz file grants the current user.
    pub(crate) fn look_up_rights(&mut self) {
        let repo = &self.repo;
        self.rights = repo.authz.as_ref().map(|authz| {
            let folded = self
                .user
                .as_deref()
                .map(|user| repo.conf.username_case.fold(user));
            authz.rights(repo.authz_name.as_deref(), folded.as_deref())
        });
    }

    /// Returns the built-in mechanisms that could give this access.
    pub(crate) fn mechanisms(&self, access: Access, user_required: bool) -> Vec<String> {
        let conf = &self.repo.conf;
        let is_for_users = conf.auth_access.min(self.max_access()) >= access;
        let mut all = Vec::new();
        if !user_required && conf.anon_access >= access {
            all.push(auth::ANONYMOUS.to_owned());
        }
        if is_for_users && self.service.context.options().tunnel.is_some() {
            all.push(auth::EXTERNAL.to_owned());
        }
        if is_for_users && self.repo.passwords.is_some() {
            all.push(auth::CRAM_MD5.to_owned());
        }
        all
    }

    /// Returns whether a mechanism may give this access. With SASL one always may: what it offers is seen in the exchange.
    pub(crate) fn has_mechanisms(&self, access: Access, user_required: bool) -> bool {
        let conf = &self.repo.conf;
        let most = match user_required {
            true => conf.auth_access,
            false => conf.auth_access.max(conf.anon_access),
        };
        match &self.repo.sasl {
            Some(_) => most.min(self.max_access()) >= access,
            None => !self.mechanisms(access, user_required).is_empty(),
        }
    }

    /// Adds a line to the operational log.
    pub(crate) fn log_operation(&self, text: impl FnOnce() -> String) {
        if let Some(log) = &self.service.context.log {
            log.operation(self.origin(), &text());
        }
    }

    /// Logs an error for the administrator.
    pub(crate) fn log_error(&self, error: &Error) {
        if let Some(log) = &self.service.context.log {
            log.error(self.origin(), error);
        }
    }

    /// Adds an error that only an administrator can repair to the error log: one of the system, or damage.
    pub(crate) fn log_fault(&self, error: &Error) {
        if log::is_fault(error) {
            let peer = self.peer.map(|peer| peer.to_canonical().to_string());
            let peer = peer.unwrap_or_else(|| "-".to_owned());
            tracing::error!(%peer, repository = self.repo.log_name, "{}", OneLine(error));
        }
    }

    /// Logs that an authenticated user lacks a right on a path, or without a path on any. Where there is no authz file, the access to the
    /// whole repository is no right that the incumbent logs.
    pub(crate) fn log_denial(&self, access: Access, path: Option<&FsPath>) {
        if self.user.is_some() && (self.rights.is_some() || self.blanket() >= access) {
            let word = if access == Access::Write { "write" } else { "read" };
            let path = path.map_or_else(|| "/".to_owned(), |path| encoded(path));
            self.log_operation(|| format!("Authorization Failed {word} {path}"));
        }
    }

    /// Returns what log lines say about the session.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            peer: self.peer,
            user: self.user.as_deref(),
            repository: Some(&self.repo.log_name),
        }
    }
}
