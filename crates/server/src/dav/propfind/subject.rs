//! The resource that a `PROPFIND` is about.

use std::sync::Arc;

use base::{FsPath, Props, Revnum, props};
use http::StatusCode;
use repos::tree::{Tree, TreeNode};
use wire::dav::uri::{Resource, encode_lower};

use crate::dav::txn_step::no_transaction;
use crate::http::Fault;
use crate::site::RequestContext;

/// A resource with properties.
pub(super) enum Subject {
    /// A node of a tree.
    Node {
        kind: NodeAddress,
        node: TreeNode,
        /// The path of its URL, encoded; with a final slash for directories.
        href: String,
    },
    /// A revision, with the properties that the user may read.
    Revision { rev: Revnum, props: Arc<Props> },
    /// A transaction.
    Txn { props: Arc<Props> },
    /// The repository itself: `vcc` and `me`.
    Repository,
}

/// How the URL addresses a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeAddress {
    /// In the tree of a revision.
    Tree,
    /// As a version of its own.
    Version,
    /// In a transaction.
    Working,
}

impl Subject {
    /// Returns the node, if it is in a revision's tree.
    pub(super) fn node(&self) -> Option<&TreeNode> {
        match self {
            Subject::Node {
                kind: NodeAddress::Tree,
                node,
                ..
            } => Some(node),
            _ => None,
        }
    }

    /// Returns the node, if its entries can be listed.
    pub(super) fn collection(&self) -> Option<&TreeNode> {
        self.node().filter(|node| node.is_dir())
    }

    /// Returns whether it is a directory of a revision's tree or of a transaction.
    pub(super) fn is_dir(&self) -> bool {
        match self {
            Subject::Node { kind, node, .. } => *kind != NodeAddress::Version && node.is_dir(),
            Subject::Revision { .. } | Subject::Txn { .. } | Subject::Repository => false,
        }
    }

    /// Returns the revision that it is in.
    pub(super) fn revision(&self) -> Option<Revnum> {
        match self {
            Subject::Node { node, .. } => node.tree().revision(),
            Subject::Revision { rev, .. } => Some(*rev),
            Subject::Txn { .. } | Subject::Repository => None,
        }
    }

    /// Returns its stored properties.
    pub(super) fn props(&self) -> base::Result<Arc<Props>> {
        match self {
            Subject::Node { node, .. } => node.props(),
            Subject::Revision { props, .. } | Subject::Txn { props } => Ok(props.clone()),
            Subject::Repository => Ok(Arc::default()),
        }
    }

    /// Returns the path of its URL, encoded.
    pub(super) fn href(&self, context: &RequestContext<'_>) -> String {
        match self {
            Subject::Node { href, .. } => href.clone(),
            // The old form of the URL, even if the request has the new one.
            Subject::Revision { rev, .. } => context.base().named("bln", &rev.to_string()),
            Subject::Txn { .. } | Subject::Repository => without_slash(&context.request.path),
        }
    }
}

/// Finds the resource of the request.
///
/// # Errors
/// 404 and 400.
pub(super) fn find(context: &RequestContext<'_>) -> Result<Subject, Fault> {
    let repository = context.repository();
    let in_revision = |kind, rev: Revnum, path: &FsPath| node(context, kind, &context.tree(rev)?, path);
    match &context.resource {
        Resource::Public(path) => in_revision(NodeAddress::Tree, context.youngest()?, path),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => {
            in_revision(NodeAddress::Tree, *rev, path)
        }
        Resource::Version(rev, path) => in_revision(NodeAddress::Version, *rev, path),
        Resource::Baseline(rev) | Resource::Revision(rev) => revision(context, *rev),
        Resource::Vcc => match context.request.header("label") {
            Some(label) => revision(context, leading_number(label)),
            None => Ok(Subject::Repository),
        },
        Resource::Me => Ok(Subject::Repository),
        Resource::Txn(_) | Resource::Vtxn(_) | Resource::Activity(_) | Resource::WorkingBaseline(..) => {
            let props = repository.txn_props(&context.txn_name()?);
            Ok(Subject::Txn {
                props: Arc::new(props.map_err(|error| no_transaction(error, false))?),
            })
        }
        Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
            node(context, NodeAddress::Working, &working_tree(context)?, path)
        }
    }
}

/// Returns the tree of the request's transaction.
///
/// # Errors
/// 404 and 400 if there is none; 501 if it is another user's.
pub(in crate::dav) fn working_tree(context: &RequestContext<'_>) -> Result<Tree, Fault> {
    let (repository, name) = (context.repository(), context.txn_name()?);
    let missing = |error| no_transaction(error, true);
    let tree = repository.txn_tree(&name).map_err(missing)?;
    if let Some(user) = &context.user {
        let list = repository.txn_props(&name).map_err(missing)?;
        if list
            .get(props::AUTHOR)
            .is_some_and(|author| author != user.as_bytes())
        {
            return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
        }
    }
    Ok(tree)
}

fn node(
    context: &RequestContext<'_>,
    kind: NodeAddress,
    tree: &Tree,
    path: &FsPath,
) -> Result<Subject, Fault> {
    let found = tree.find(path)?;
    let node = found.ok_or_else(|| Fault::html(StatusCode::NOT_FOUND))?;
    let mut href = without_slash(&context.request.path);
    if node.is_dir() {
        href.push('/');
    }
    Ok(Subject::Node { kind, node, href })
}

fn revision(context: &RequestContext<'_>, rev: Revnum) -> Result<Subject, Fault> {
    let props = context.repository().revprops(rev, &*context.readable())?;
    Ok(Subject::Revision {
        rev,
        props: Arc::new(props),
    })
}

/// Returns the request's path as responses have it: without a final slash, with escapes in lower case.
pub(in crate::dav) fn without_slash(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let (components, _) = wire::dav::uri::split(path).unwrap_or_default();
    for component in components {
        out.push('/');
        encode_lower(&component, &mut out);
    }
    out
}

/// Returns the number at the beginning of a label; 0 without one.
fn leading_number(label: &str) -> Revnum {
    let label = label.trim_start();
    let end = label.bytes().position(|b| !b.is_ascii_digit());
    let digits = &label[..end.unwrap_or(label.len())];
    Revnum::parse(digits.as_bytes()).unwrap_or(Revnum::ZERO)
}
