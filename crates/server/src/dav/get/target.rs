//! The node that path and query of a `GET` name.

use base::{Error, FsPath, Revnum};
use http::StatusCode;
use repos::history;
use repos::tree::{Tree, TreeNode};
use wire::dav::query::{QueryFault, RevisionQuery};
use wire::dav::uri::Resource;

use crate::dav::propfind::working_tree;
use crate::dav::txn_step::no_transaction;
use crate::http::Fault;
use crate::site::RequestContext;

/// The result of a look-up.
pub(super) enum GetLookup {
    Found(GetTarget),
    /// The node has another URL.
    Redirect(StatusCode, String),
}

/// A node to send.
pub(super) struct GetTarget {
    pub(super) node: TreeNode,
    /// The URL is the public one: the node is in the youngest tree, or in that of a peg revision.
    pub(super) public: bool,
    /// The URL always names the same node-revision.
    pub(super) immutable: bool,
    /// The node is in a transaction.
    pub(super) working: bool,
    /// The peg revision that the query names.
    pub(super) peg: Option<Revnum>,
    /// Keywords are to be expanded.
    pub(super) keywords: bool,
}

/// Finds the node that the request names.
///
/// # Errors
/// 404, 400, and 409 for resources without a text.
pub(super) fn find(context: &RequestContext<'_>) -> Result<GetLookup, Fault> {
    match &context.resource {
        Resource::Public(path) => queried(context, path, None),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => {
            queried(context, path, Some(*rev))
        }
        Resource::Version(rev, path) => Ok(GetLookup::Found(GetTarget {
            node: at(&context.tree(*rev)?, path)?,
            public: false,
            immutable: true,
            working: false,
            peg: None,
            keywords: false,
        })),
        Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
            Ok(GetLookup::Found(GetTarget {
                node: at(&working_tree(context)?, path)?,
                public: false,
                immutable: false,
                working: true,
                peg: None,
                keywords: false,
            }))
        }
        // An existing resource without a text is a conflict.
        Resource::Activity(_) | Resource::WorkingBaseline(..) => {
            context.txn_name()?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Txn(_) | Resource::Vtxn(_) => {
            let props = context.repository().txn_props(&context.txn_name()?);
            props.map_err(|error| no_transaction(error, false))?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            context.tree(*rev)?;
            Err(Fault::html(StatusCode::CONFLICT))
        }
        Resource::Vcc | Resource::Me => Err(Fault::html(StatusCode::CONFLICT)),
    }
}

/// Finds a node of the tree at `rev`, or at the youngest revision; the query may name others.
fn queried(context: &RequestContext<'_>, path: &FsPath, rev: Option<Revnum>) -> Result<GetLookup, Fault> {
    let repository = context.repository();
    let query = RevisionQuery::parse(context.request.query.as_deref().unwrap_or_default());
    let query = query.map_err(|fault| match fault {
        QueryFault::NoRevision => Fault::html(StatusCode::NOT_FOUND),
        QueryFault::Negative => Fault::html(StatusCode::BAD_REQUEST),
    })?;
    let peg = match query.peg.or(rev) {
        Some(peg) => peg,
        None => context.youngest()?,
    };
    let tree = context.tree(peg)?;
    let wanted = query.wanted.unwrap_or(peg);
    if wanted > peg {
        return Err(Fault::html(StatusCode::BAD_REQUEST));
    }
    if wanted < peg {
        tree.node(path)?;
        let gone = |_: Error| Fault::html(StatusCode::NOT_FOUND);
        let before = history::locations(repository, path, peg, &[wanted], &*context.readable());
        let before = before.map_err(gone)?;
        let Some((_, before)) = before.first() else {
            return Err(Fault::html(StatusCode::NOT_FOUND));
        };
        let status = match query.peg {
            Some(_) => StatusCode::MOVED_PERMANENTLY,
            None => StatusCode::FOUND,
        };
        let keywords = if query.keywords { "&kw=1" } else { "" };
        let url = context.base().public(before);
        let url = format!("{}{url}?p={wanted}{keywords}", context.request.origin());
        return Ok(GetLookup::Redirect(status, url));
    }
    Ok(GetLookup::Found(GetTarget {
        node: at(&tree, path)?,
        public: rev.is_none(),
        // With a query only its peg revision counts.
        immutable: query.peg.is_some() || rev.is_some() && context.request.query.is_none(),
        working: false,
        peg: query.peg,
        keywords: query.keywords,
    }))
}

fn at(tree: &Tree, path: &FsPath) -> Result<TreeNode, Fault> {
    tree.find_announced(path)?
        .ok_or_else(|| Fault::html(StatusCode::NOT_FOUND))
}
