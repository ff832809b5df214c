//! The node that path and query of a `GET` name.

use base::{FsPath, Revnum};
use http::StatusCode;
use repos::tree::{Tree, TreeNode};
use wire::dav::uri::Resource;

use crate::dav::propfind::working_tree;
use crate::dav::revision_query::{self, QueriedTree};
use crate::dav::txn_step::no_transaction;
use crate::http::Fault;
use crate::site::RequestContext;

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
/// 404, 400, 409 for resources without a text, and a redirect if the node has another URL.
pub(super) fn find(context: &RequestContext<'_>) -> Result<GetTarget, Fault> {
    match &context.resource {
        Resource::Public(path) => queried(context, path, None),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => {
            queried(context, path, Some(*rev))
        }
        Resource::Version(rev, path) => Ok(GetTarget {
            node: at(&context.tree(*rev)?, path)?,
            public: false,
            immutable: true,
            working: false,
            peg: None,
            keywords: false,
        }),
        Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
            Ok(GetTarget {
                node: at(&working_tree(context)?, path)?,
                public: false,
                immutable: false,
                working: true,
                peg: None,
                keywords: false,
            })
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
fn queried(context: &RequestContext<'_>, path: &FsPath, rev: Option<Revnum>) -> Result<GetTarget, Fault> {
    let QueriedTree { tree, query, .. } = revision_query::find(context, path, rev)?;
    Ok(GetTarget {
        node: at(&tree, path)?,
        public: rev.is_none(),
        // With a query only its peg revision counts.
        immutable: query.peg.is_some() || rev.is_some() && context.request.query.is_none(),
        working: false,
        peg: query.peg,
        keywords: query.keywords,
    })
}

fn at(tree: &Tree, path: &FsPath) -> Result<TreeNode, Fault> {
    tree.find_announced(path)?
        .ok_or_else(|| Fault::html(StatusCode::NOT_FOUND))
}
