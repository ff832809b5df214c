//! A session that has a repository: its state, and what its commands share.

use base::Result;
use delta::svndiff::Codec;
use repos::hooks::Hooks;
use wire::svn::handshake::Capabilities;

use crate::svn::connection::SvnConnection;
use crate::svn::repo_access::RepoAccess;
use crate::svn::report::PendingReport;

/// A session that has a repository.
pub(crate) struct RepoSession {
    pub(crate) access: RepoAccess,
    pub(crate) conn: SvnConnection,
    /// The client's capabilities.
    pub(crate) capabilities: Capabilities,
    /// The buffers of compression, allocated when they are needed.
    pub(crate) codec: Codec,
    /// The report of a working copy that is being read.
    pub(crate) pending_report: Option<Box<PendingReport>>,
    /// The number of failed attempts to authenticate.
    pub(crate) refusals: u32,
}

impl RepoSession {
    /// Returns the hooks, with their configured environment.
    pub(crate) fn hooks(&self) -> Result<Hooks> {
        let repo = &self.access.repo;
        let usual = || repo.repository.conf_dir().join("hooks-env");
        let path = repo.conf.hooks_env.clone().unwrap_or_else(usual);
        let env = self.access.service.config.hooks_env(&path)?;
        Ok(Hooks::of(&repo.repository, env).waited_for(self.conn.stream().hook_waiting()))
    }
}
