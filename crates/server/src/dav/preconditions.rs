//! Preconditions of requests (`If-Match` and its kin): a resource must be, or must not be, what the client expects.
//!
//! Plain WebDAV programs do not know revisions: only preconditions keep them from overwriting unseen changes. Subversion's clients
//! name revisions instead.

use base::{Date, FsPath, NodeKind, Revnum, props};
use http::StatusCode;
use repos::Dirent;
use wire::dav::conditions::Conditions;
use wire::dav::uri::Resource;
use wire::dav::xml;

use super::Outcome;
use super::propfind::etag;
use crate::clock::now;
use crate::http::{Fault, Request};
use crate::site::RequestContext;

/// What preconditions are about: a resource's entity tag and date.
#[derive(Default)]
struct Entity {
    /// `None` if the resource does not exist; empty if it has no tag.
    tag: Option<String>,
    modified: Option<Date>,
}

impl RequestContext<'_> {
    /// Refuses a step for which the request's preconditions do not hold: with autoversioning they are about the node of the youngest tree.
    /// Nodes of transactions have neither tag nor date, so a tag never matches, and a date must not be past. `exists` is true if the
    /// transaction has the node.
    ///
    /// # Errors
    /// 412.
    pub(super) fn check_step_conditions(&self, path: &FsPath, exists: bool) -> Outcome {
        match self.resource {
            Resource::Public(_) => self.check_conditions(path),
            _ => self.check_unversioned_conditions(exists),
        }
    }

    /// Refuses a request for which the preconditions do not hold, about a resource without tag and date.
    ///
    /// # Errors
    /// 412.
    pub(super) fn check_unversioned_conditions(&self, exists: bool) -> Outcome {
        self.meet_conditions(|_| {
            let tag = exists.then(String::new);
            Ok(Some(Entity { tag, modified: None }))
        })
    }

    /// Refuses to change a node of the youngest tree for which the request's preconditions do not hold.
    ///
    /// # Errors
    /// 412.
    pub(super) fn check_conditions(&self, path: &FsPath) -> Outcome {
        self.meet_conditions(|conditions| {
            let node = self.repository().stat(self.youngest()?, path)?;
            let is_empty = node
                .as_ref()
                .is_some_and(|node| node.kind == NodeKind::File && node.size == Some(0));
            let is_of_davfs = conditions.if_match.is_none() && conditions.if_none_match == Some("*");
            if is_of_davfs && is_empty && self.holds_lock(path)? {
                return Ok(None);
            }
            self.entity(node, path).map(Some)
        })
    }

    /// Refuses to copy a node of a revision for which the request's preconditions do not hold.
    ///
    /// # Errors
    /// 412.
    pub(super) fn check_source_conditions(&self, rev: Revnum, path: &FsPath) -> Outcome {
        self.meet_conditions(|_| {
            let node = self.repository().stat(rev, path)?;
            self.entity(node, path).map(Some)
        })
    }

    /// Compares the request's preconditions, if there are any, with what `entity` returns; `None` holds.
    fn meet_conditions(
        &self,
        entity: impl FnOnce(&Conditions<'_>) -> Result<Option<Entity>, Fault>,
    ) -> Outcome {
        let lists = ["if-match", "if-none-match"].map(|name| joined(self.request, name));
        let conditions = Conditions {
            if_match: lists[0].as_deref(),
            if_none_match: lists[1].as_deref(),
            ..conditions(self.request)
        };
        if conditions.is_empty() {
            return Ok(());
        }
        let Some(Entity { tag, modified }) = entity(&conditions)? else {
            return Ok(());
        };
        match conditions.let_change(tag.as_deref(), modified, Date(now())) {
            true => Ok(()),
            false => Err(Fault::html(StatusCode::PRECONDITION_FAILED)),
        }
    }

    fn entity(&self, node: Option<Dirent>, path: &FsPath) -> Result<Entity, Fault> {
        let Some(node) = node else {
            return Ok(Entity::default());
        };
        let revprops = self.repository().all_revprops(node.created_rev)?;
        Ok(Entity {
            tag: Some(entity_tag(node.kind == NodeKind::Dir, node.created_rev, path)),
            modified: revprops.get(props::DATE).and_then(|date| Date::parse(date).ok()),
        })
    }
}

impl RequestContext<'_> {
    /// Returns whether the request has the token of the node's lock. To some programs (davfs2) an empty file that they have locked is a
    /// locked name without a file: they write its text only on condition that nothing is there.
    fn holds_lock(&self, path: &FsPath) -> Result<bool, Fault> {
        let Some(lock) = self.repository().get_lock(path)? else {
            return Ok(false);
        };
        Ok(self.held_tokens()?.contains(&lock.token))
    }
}

/// Returns the entity tag of a node, as header lines have it. The path is escaped as in an attribute: a quote would end the tag. Paths have no
/// control characters.
pub(super) fn entity_tag(is_dir: bool, rev: Revnum, path: &FsPath) -> String {
    let mut escaped = String::new();
    xml::escape_attribute(path.as_str(), &mut escaped);
    etag(is_dir, rev, &escaped)
}

/// Returns the preconditions in the request's headers.
pub(super) fn conditions(request: &Request) -> Conditions<'_> {
    Conditions {
        if_match: request.header_utf8("if-match"),
        if_none_match: request.header_utf8("if-none-match"),
        if_modified_since: request.header("if-modified-since"),
        if_unmodified_since: request.header("if-unmodified-since"),
    }
}

/// Returns all lines of a header, joined. Bytes that are not UTF-8 match nothing.
fn joined(request: &Request, name: &str) -> Option<String> {
    let lines = request.headers.get_all(name).into_iter();
    let lines: Vec<_> = lines
        .map(|line| String::from_utf8_lossy(line.as_bytes()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(","))
}
