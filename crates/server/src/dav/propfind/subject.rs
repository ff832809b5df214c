//! What a path names, found and ready to be asked.

use std::sync::Arc;

use base::{FsPath, Props, Revnum, props};
use http::StatusCode;
use repos::tree::{Node, Tree};
use wire::dav::uri::{Resource, encode_lower};

use crate::dav::txn_step::no_transaction;
use crate::http::Fault;
use crate::site::RequestContext;

/// What properties are asked of.
pub(super) enum Subject {
    /// A node of a tree.
    Node {
        kind: NodeAddress,
        node: Node,
        /// URL, encoded; with a slash at its end for directories.
        href: String,
    },
    /// A revision, with those of its properties that may be seen.
    Revision { rev: Revnum, props: Arc<Props> },
    /// A transaction.
    Txn { props: Arc<Props> },
    /// The repository as such: `vcc` and `me`.
    Whole,
}

/// How a node was addressed.
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
    /// The node, if it is one in a revision's tree.
    pub(super) fn node(&self) -> Option<&Node> {
        match self {
            Subject::Node {
                kind: NodeAddress::Tree,
                node,
                ..
            } => Some(node),
            _ => None,
        }
    }

    /// The node, if its entries may be listed.
    pub(super) fn collection(&self) -> Option<&Node> {
        self.node().filter(|node| node.is_dir())
    }

    /// True for a directory of a revision's tree or of a transaction.
    pub(super) fn is_dir(&self) -> bool {
        match self {
            Subject::Node { kind, node, .. } => *kind != NodeAddress::Version && node.is_dir(),
            Subject::Revision { .. } | Subject::Txn { .. } | Subject::Whole => false,
        }
    }

    /// The revision that it is in.
    pub(super) fn revision(&self) -> Option<Revnum> {
        match self {
            Subject::Node { node, .. } => node.tree().revision(),
            Subject::Revision { rev, .. } => Some(*rev),
            Subject::Txn { .. } | Subject::Whole => None,
        }
    }

    /// Its stored properties.
    pub(super) fn props(&self) -> base::Result<Arc<Props>> {
        match self {
            Subject::Node { node, .. } => node.props(),
            Subject::Revision { props, .. } | Subject::Txn { props } => Ok(props.clone()),
            Subject::Whole => Ok(Arc::default()),
        }
    }

    /// Its URL's path, encoded.
    pub(super) fn href(&self, context: &RequestContext<'_>) -> String {
        match self {
            Subject::Node { href, .. } => href.clone(),
            // Also where it was asked for by its newer name.
            Subject::Revision { rev, .. } => context.base().named("bln", &rev.to_string()),
            Subject::Txn { .. } | Subject::Whole => without_slash(&context.request.path),
        }
    }
}

/// Finds what the request's path names.
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
            None => Ok(Subject::Whole),
        },
        Resource::Me => Ok(Subject::Whole),
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

/// The tree of the transaction that the request is about.
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

/// The request's path as answers name it: without the slash at its end.
fn without_slash(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let (components, _) = wire::dav::uri::split(path).unwrap_or_default();
    for component in components {
        out.push('/');
        encode_lower(&component, &mut out);
    }
    out
}

/// The number that a label begins with; 0 if there is none.
fn leading_number(label: &str) -> Revnum {
    let label = label.trim_start();
    let end = label.bytes().position(|b| !b.is_ascii_digit());
    let digits = &label[..end.unwrap_or(label.len())];
    Revnum::parse(digits.as_bytes()).unwrap_or(Revnum::ZERO)
}
