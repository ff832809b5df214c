//! What the path and the query of a `GET` name.

use base::{Error, FsPath, Revnum};
use http::StatusCode;
use repos::history;
use repos::tree::{Node, Tree};
use wire::dav::query::{Query, QueryFault};
use wire::dav::uri::Resource;

use crate::dav::fault::Fault;
use crate::dav::propfind::working_tree;
use crate::dav::steps::no_transaction;
use crate::dav::visit::Visit;

/// What was asked for.
pub(super) enum Found {
    Target(Target),
    /// It is to be asked for at another URL.
    Elsewhere(StatusCode, String),
}

/// A node to be sent.
pub(super) struct Target {
    pub(super) node: Node,
    /// By its place in the youngest tree, or in that of a peg revision.
    pub(super) public: bool,
    /// The URL will always mean the same.
    pub(super) immutable: bool,
    /// It is in a transaction.
    pub(super) working: bool,
    /// The peg revision that the query names.
    pub(super) peg: Option<Revnum>,
    /// Keywords are to be expanded.
    pub(super) keywords: bool,
}

/// Finds what the request names.
///
/// # Errors
/// 404, 400, and 409 for what has no text.
pub(super) fn find(visit: &Visit<'_>) -> Result<Found, Fault> {
    match &visit.resource {
        Resource::Public(path) => queried(visit, path, None),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => {
            queried(visit, path, Some(*rev))
        }
        Resource::Version(rev, path) => Ok(Found::Target(Target {
            node: at(&visit.tree(*rev)?, path)?,
            public: false,
            immutable: true,
            working: false,
            peg: None,
            keywords: false,
        })),
        Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
            Ok(Found::Target(Target {
                node: at(&working_tree(visit)?, path)?,
                public: false,
                immutable: false,
                working: true,
                peg: None,
                keywords: false,
            }))
        }
        // What has no text is a conflict if it is there.
        Resource::Activity(_) | Resource::WorkingBaseline(..) => {
            visit.txn_name()?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Txn(_) | Resource::Vtxn(_) => {
            let props = visit.repository().txn_props(&visit.txn_name()?);
            props.map_err(|error| no_transaction(error, false))?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            visit.tree(*rev)?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Vcc | Resource::Me => Err(Fault::html(StatusCode::CONFLICT)),
    }
}

/// A node of the tree at `rev` (the youngest if none), unless the query says otherwise.
fn queried(visit: &Visit<'_>, path: &FsPath, rev: Option<Revnum>) -> Result<Found, Fault> {
    let repository = visit.repository();
    let query = Query::parse(visit.request.query.as_deref().unwrap_or_default());
    let query = query.map_err(|fault| match fault {
        QueryFault::NoRevision => Fault::html(StatusCode::NOT_FOUND),
        QueryFault::Negative => Fault::html(StatusCode::BAD_REQUEST),
    })?;
    let peg = match query.peg.or(rev) {
        Some(peg) => peg,
        None => visit.youngest()?,
    };
    let tree = visit.tree(peg)?;
    let wanted = query.wanted.unwrap_or(peg);
    if wanted > peg {
        return Err(Fault::html(StatusCode::BAD_REQUEST));
    }
    if wanted < peg {
        tree.node(path)?;
        let gone = |_: Error| Fault::html(StatusCode::NOT_FOUND);
        let before = history::locations(repository, path, peg, &[wanted], &*visit.readable());
        let before = before.map_err(gone)?;
        let Some((_, before)) = before.first() else {
            return Err(Fault::html(StatusCode::NOT_FOUND));
        };
        let status = match query.peg {
            Some(_) => StatusCode::MOVED_PERMANENTLY,
            None => StatusCode::FOUND,
        };
        let keywords = if query.keywords { "&kw=1" } else { "" };
        let url = visit.base().public(before);
        let url = format!("{}{url}?p={wanted}{keywords}", visit.request.origin());
        return Ok(Found::Elsewhere(status, url));
    }
    Ok(Found::Target(Target {
        node: at(&tree, path)?,
        public: rev.is_none(),
        // As soon as there is a query only its peg counts.
        immutable: query.peg.is_some() || rev.is_some() && visit.request.query.is_none(),
        working: false,
        peg: query.peg,
        keywords: query.keywords,
    }))
}

fn at(tree: &Tree, path: &FsPath) -> Result<Node, Fault> {
    tree.find_announced(path)?
        .ok_or_else(|| Fault::html(StatusCode::NOT_FOUND))
}
