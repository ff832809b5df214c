//! A session that has a repository: its state, and what its commands share.

use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum};
use delta::svndiff::Codec;
use repos::access::{Everything, Readable};
use repos::authz::UserRights;
use repos::config::Access;
use repos::hooks::Hooks;
use wire::svn::Writer;
use wire::svn::handshake::{AuthRequest, Capabilities};

use crate::log::Origin;
use crate::service::Service;
use crate::svn::connection::SvnConnection;
use crate::svn::login::SessionRepository;
use crate::svn::report::PendingReport;

/// A session that has a repository.
pub(crate) struct RepoSession {
    pub(crate) service: Arc<Service>,
    pub(crate) conn: SvnConnection,
    pub(crate) repo: SessionRepository,
    /// The authenticated user. It never changes once it is set.
    pub(crate) user: Option<String>,
    /// The rights that the authz file grants the user; `None` without such a file.
    pub(crate) rights: Option<Arc<UserRights>>,
    pub(crate) capabilities: Capabilities,
    /// The path of the session's URL in the repository.
    pub(crate) parent: FsPath,
    /// The buffers of compression, allocated when they are needed.
    pub(crate) codec: Codec,
    /// The report of a working copy that is being read.
    pub(crate) pending_report: Option<Box<PendingReport>>,
    /// The number of failed attempts to authenticate.
    pub(crate) refusals: u32,
}

impl RepoSession {
    /// Writes the authentication request that asks for nothing: every response begins with one.
    pub(crate) fn write_empty_auth_request(&mut self) {
        AuthRequest::write_trivial(self.conn.out());
    }

    /// Writes a successful response with parameters.
    pub(crate) fn success(&mut self, params: impl FnOnce(&mut Writer<'_>)) {
        let w = &mut Writer(self.conn.out());
        w.open().word("success").open();
        params(w);
        w.close().close();
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

    /// Returns what log lines say about the session.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            peer: self.conn.stream().peer(),
            user: self.user.as_deref(),
            repository: Some(&self.repo.log_name),
        }
    }

    /// Returns the hooks, with their configured environment.
    pub(crate) fn hooks(&self) -> Result<Hooks> {
        let repo = &self.repo;
        let usual = || repo.repository.conf_dir().join("hooks-env");
        let path = repo.conf.hooks_env.clone().unwrap_or_else(usual);
        let env = self.service.config.hooks_env(&path)?;
        Ok(Hooks::of(&repo.repository, env).waited_for(self.conn.stream().hook_waiting()))
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
}
