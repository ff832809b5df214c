//! Commands that would write. Nothing here can yet: they are refused as the incumbent refuses them when started with `-R`.

use base::Result;
use repos::config::Access;
use wire::svn::command::{ChangeRevProp, Commit};

use crate::svn::session::Talk;

impl Talk {
    pub(crate) fn change_rev_prop(&mut self, _change: &ChangeRevProp) -> Result<()> {
        self.require(Access::Write, None, false)
    }

    pub(crate) fn commit(&mut self, commit: &Commit) -> Result<()> {
        self.require(Access::Write, None, !commit.lock_tokens.is_empty())
    }

    pub(crate) fn lock(&mut self, path: &str) -> Result<()> {
        let path = self.path(path)?;
        self.require(Access::Write, Some(&path), true)
    }

    pub(crate) fn lock_many(&mut self) -> Result<()> {
        self.require(Access::Write, None, true)
    }

    pub(crate) fn unlock(&mut self, path: &str, force: bool) -> Result<()> {
        let path = self.path(path)?;
        self.require(Access::Write, Some(&path), !force)
    }

    pub(crate) fn unlock_many(&mut self, force: bool) -> Result<()> {
        self.require(Access::Write, None, !force)
    }
}
