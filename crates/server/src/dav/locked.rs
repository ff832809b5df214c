//! What a request must bring to change something that is locked: the `If` header, as WebDAV reads it.
//!
//! The storage engine asks again, for the user too, when the change is made and when it becomes a revision. What is here decides
//! only which refusal a client hears: Subversion's name the public URL that a token is for, others mean the resource of
//! the request.

use base::{FsPath, Lock, NodeKind};
use http::StatusCode;
use wire::dav::if_header::{If, List, What};
use wire::dav::uri::Resource;

use super::conditions::entity_tag;
use super::fault::Fault;
use super::visit::Visit;

impl Visit<'_> {
    /// The request's `If` header.
    ///
    /// # Errors
    /// 400 for one that is none.
    pub(super) fn if_header(&self) -> Result<Option<If>, Fault> {
        match self.request.header_utf8("if") {
            None => Ok(None),
            Some(text) => match If::parse(text) {
                Some(header) => Ok(Some(header)),
                None => Err(Fault::html(StatusCode::BAD_REQUEST)),
            },
        }
    }

    /// Refuses to change a node for which the header does not hold, or that is locked with a token that it does not bring.
    /// `more` are tokens from elsewhere.
    ///
    /// # Errors
    /// 400, 403, 412, 423.
    pub(super) fn check_locked(&self, path: &FsPath, more: &[String]) -> Result<(), Fault> {
        let header = self.if_header()?.unwrap_or_default();
        let lock = self.repository().get_lock(path)?;
        let untagged: Vec<&List> = header.lists.iter().filter(|l| l.resource.is_none()).collect();
        let refuse = |status| Err(Fault::html(status));
        let etag = match untagged.is_empty() {
            true => None,
            false => self.public_etag(path)?,
        };
        let holds = |list: &&List| holds(list, lock.as_ref(), etag.as_deref());
        if !untagged.is_empty() && !untagged.iter().any(holds) {
            return refuse(StatusCode::PRECONDITION_FAILED);
        }
        let Some(lock) = lock else { return Ok(()) };
        let is_held = header.tokens().any(|token| token == lock.token) || more.contains(&lock.token);
        match (is_held, untagged.is_empty()) {
            (true, true) => Ok(()),
            (true, false) if self.user.as_deref() == Some(&lock.owner) => Ok(()),
            (true, false) => refuse(StatusCode::FORBIDDEN),
            (false, true) => refuse(StatusCode::LOCKED),
            (false, false) => refuse(StatusCode::PRECONDITION_FAILED),
        }
    }

    /// The entity tag of what everybody sees; nodes of transactions have none.
    fn public_etag(&self, path: &FsPath) -> Result<Option<String>, Fault> {
        if !matches!(self.resource, Resource::Public(_)) {
            return Ok(None);
        }
        let found = self.repository().stat(self.youngest()?, path)?;
        Ok(found.map(|node| entity_tag(node.kind == NodeKind::Dir, node.created_rev, path)))
    }
}

/// True if everything in a list is so.
fn holds(list: &List, lock: Option<&Lock>, etag: Option<&str>) -> bool {
    list.conditions.iter().all(|condition| {
        let is_so = match &condition.what {
            What::Token(token) => lock.is_some_and(|lock| lock.token == *token),
            What::Etag(tag) => etag == Some(tag),
        };
        is_so != condition.not
    })
}
