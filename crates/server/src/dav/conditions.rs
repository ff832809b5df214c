//! What a request may make itself depend on: that a resource is, or is not, what the client takes it to be.
//!
//! Plain WebDAV programs, which know no revisions, keep each other from overwriting what they have not seen by this alone.
//! Subversion's clients name revisions instead.

use base::{Date, FsPath, NodeKind, Revnum, props};
use http::StatusCode;
use wire::dav::conditions::Conditions;
use wire::dav::uri::Resource;
use wire::dav::xml;

use super::Outcome;
use super::fault::Fault;
use super::propfind::etag;
use super::visit::Visit;
use crate::http::Request;
use crate::service::now;

impl Visit<'_> {
    /// Refuses to change what is at a path of the youngest tree if it is not what the request says that it is. Nodes of
    /// transactions, which nobody else changes, are not looked at.
    ///
    /// # Errors
    /// 412.
    pub(super) fn check_conditions(&self, path: &FsPath) -> Outcome {
        if !matches!(self.resource, Resource::Public(_)) {
            return Ok(());
        }
        let conditions = conditions(self.request);
        let lists = ["if-match", "if-none-match"].map(|name| whole(self.request, name));
        let conditions = Conditions {
            if_match: lists[0].as_deref(),
            if_none_match: lists[1].as_deref(),
            ..conditions
        };
        if conditions.is_empty() {
            return Ok(());
        }
        let node = self.repository().stat(self.youngest()?, path)?;
        let is_empty = node
            .as_ref()
            .is_some_and(|node| node.kind == NodeKind::File && node.size == Some(0));
        if conditions.if_match.is_none()
            && conditions.if_none_match == Some("*")
            && is_empty
            && self.holds_lock(path)?
        {
            return Ok(());
        }
        let (tag, modified) = match node {
            None => (None, None),
            Some(node) => {
                let revprops = self.repository().all_revprops(node.created_rev)?;
                let date = revprops.get(props::DATE).and_then(|date| Date::parse(date).ok());
                let tag = entity_tag(node.kind == NodeKind::Dir, node.created_rev, path);
                (Some(tag), date)
            }
        };
        match conditions.let_change(tag.as_deref(), modified, Date(now())) {
            true => Ok(()),
            false => Err(Fault::html(StatusCode::PRECONDITION_FAILED)),
        }
    }
}

impl Visit<'_> {
    /// True if the request brings the token of the node's lock. An empty file that is locked by its client is, to some
    /// programs (davfs2), a name that was locked and is not there yet: they put its text only if nothing is there.
    fn holds_lock(&self, path: &FsPath) -> Result<bool, Fault> {
        let Some(lock) = self.repository().get_lock(path)? else {
            return Ok(false);
        };
        Ok(self.held_tokens()?.contains(&lock.token))
    }
}

/// The entity tag of a node, as it stands in the header line.
pub(super) fn entity_tag(is_dir: bool, rev: Revnum, path: &FsPath) -> String {
    let mut escaped = String::new();
    xml::escape_text(path.as_str(), &mut escaped);
    etag(is_dir, rev, &escaped)
}

/// The request's header lines of this kind.
pub(super) fn conditions(request: &Request) -> Conditions<'_> {
    Conditions {
        if_match: request.header_utf8("if-match"),
        if_none_match: request.header_utf8("if-none-match"),
        if_modified_since: request.header("if-modified-since"),
        if_unmodified_since: request.header("if-unmodified-since"),
    }
}

/// All lines of a header; what is not UTF-8 in them matches nothing.
fn whole(request: &Request, name: &str) -> Option<String> {
    let lines = request.headers.get_all(name).into_iter();
    let lines: Vec<_> = lines
        .map(|line| String::from_utf8_lossy(line.as_bytes()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(","))
}
