//! The `If` header: what a request must contain to change a locked node, as WebDAV reads it.
//!
//! The engine checks tokens again, with the user, when the change is made and when it is committed. The checks here only decide
//! which error a client gets. Subversion's clients name the public URL that a token is for; others mean the resource of the
//! request.

use base::{FsPath, Lock, NodeKind};
use http::StatusCode;
use wire::dav::if_header::{ConditionKind, ConditionList, IfHeader};
use wire::dav::uri::Resource;

use super::Outcome;
use super::preconditions::entity_tag;
use crate::http::Fault;
use crate::site::RequestContext;

impl RequestContext<'_> {
    /// Parses the request's `If` header.
    ///
    /// # Errors
    /// 400 for a malformed header.
    pub(super) fn if_header(&self) -> Result<Option<IfHeader>, Fault> {
        match self.request.header_utf8("if") {
            None => Ok(None),
            Some(text) => match IfHeader::parse(text) {
                Some(header) => Ok(Some(header)),
                None => Err(Fault::html(StatusCode::BAD_REQUEST)),
            },
        }
    }

    /// Refuses to change a node for which the header does not hold, or that is locked with a token that neither the header nor `more`
    /// contains.
    ///
    /// # Errors
    /// 400, 403, 412, 423.
    pub(super) fn check_locked(&self, path: &FsPath, more: &[String]) -> Outcome {
        let header = self.if_header()?.unwrap_or_default();
        let lock = self.repository().get_lock(path)?;
        self.check_lists(&header, path, lock.as_ref())?;
        match lock {
            Some(Lock { token, .. }) if !header.tokens().any(|t| t == token) && !more.contains(&token) => {
                Err(Fault::html(StatusCode::LOCKED))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a request whose header does not hold for a node, locked or not.
    ///
    /// # Errors
    /// 400, 403, 412.
    pub(super) fn check_if_header(&self, path: &FsPath) -> Outcome {
        match self.if_header()? {
            None => Ok(()),
            Some(header) => self.check_lists(&header, path, self.repository().get_lock(path)?.as_ref()),
        }
    }

    fn check_lists(&self, header: &IfHeader, path: &FsPath, lock: Option<&Lock>) -> Outcome {
        let mut lists = header
            .lists
            .iter()
            .filter(|list| self.is_about(list, path))
            .peekable();
        if lists.peek().is_none() {
            return Ok(());
        }
        let etag = self.public_etag(path)?;
        let Some(list) = lists.find(|list| holds(list, lock, etag.as_deref())) else {
            return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
        };
        match lock {
            // Another user's token is no permission.
            Some(lock) if names(list, &lock.token) && self.user.as_deref() != Some(&lock.owner) => {
                Err(Fault::html(StatusCode::FORBIDDEN))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a list is about the resource of the request, which is at `path`.
    fn is_about(&self, list: &ConditionList, path: &FsPath) -> bool {
        match (&list.resource, &self.resource) {
            (None, _) => true,
            (Some(url), Resource::Public(_)) => {
                self.mount.resource_of_url(url) == Some(Resource::Public(path.clone()))
            }
            (Some(_), _) => false,
        }
    }

    /// Returns the entity tag of a public resource; nodes of transactions have none.
    fn public_etag(&self, path: &FsPath) -> Result<Option<String>, Fault> {
        if !matches!(self.resource, Resource::Public(_)) {
            return Ok(None);
        }
        let found = self.repository().stat(self.youngest()?, path)?;
        Ok(found.map(|node| entity_tag(node.kind == NodeKind::Dir, node.created_rev, path)))
    }
}

/// Returns whether a list requires this token.
fn names(list: &ConditionList, token: &str) -> bool {
    let wanted = |what: &ConditionKind| matches!(what, ConditionKind::Token(wanted) if wanted == token);
    let mut conditions = list.conditions.iter();
    conditions.any(|condition| !condition.not && wanted(&condition.what))
}

/// Returns whether all conditions of a list are true.
fn holds(list: &ConditionList, lock: Option<&Lock>, etag: Option<&str>) -> bool {
    list.conditions.iter().all(|condition| {
        let is_so = match &condition.what {
            ConditionKind::Token(token) => lock.is_some_and(|lock| lock.token == *token),
            ConditionKind::Etag(tag) => etag == Some(tag),
        };
        is_so != condition.not
    })
}
