//! The revisions that the query of a URL names, for all methods: `?p=` and `?r=`.

use base::{Error, FsPath, Revnum};
use http::StatusCode;
use repos::history;
use repos::tree::Tree;
use wire::dav::query::{QueryFault, RevisionQuery};
use wire::dav::uri::Resource;

use crate::http::Fault;
use crate::site::RequestContext;

/// Which tree a URL with its query means.
pub(super) struct QueriedTree {
    pub(super) rev: Revnum,
    pub(super) tree: Tree,
    pub(super) query: RevisionQuery,
}

/// Finds the tree for a path. Without a query it is that of `rev`, or of the youngest revision. With one, whatever it says, the revision in the
/// URL does not count.
///
/// # Errors
/// A redirect if the node was at another path in the revision that is wanted; 404, 400.
pub(super) fn find(
    context: &RequestContext<'_>,
    path: &FsPath,
    rev: Option<Revnum>,
) -> Result<QueriedTree, Fault> {
    let repository = context.repository();
    let text = context.request.query.as_deref();
    let rev = rev.filter(|_| text.is_none());
    let query = RevisionQuery::parse(text.unwrap_or_default());
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
        return Err(Fault::html(status).with("location", &url));
    }
    Ok(QueriedTree {
        rev: peg,
        tree,
        query,
    })
}

/// Makes the resource of a request without a text that of the revision that its query names. What writes goes on with the youngest one;
/// what is copied may be older.
///
/// # Errors
/// As [`find`].
pub(super) fn apply(context: &mut RequestContext<'_>) -> Result<(), Fault> {
    if context.request.query.is_none() {
        return Ok(());
    }
    let (Resource::Public(path) | Resource::BaselineCollection(_, path) | Resource::RevisionRoot(_, path)) =
        &context.resource
    else {
        return Ok(());
    };
    let found = find(context, path, None)?;
    if matches!(
        context.request.method.as_str(),
        "OPTIONS" | "PROPFIND" | "REPORT" | "COPY"
    ) {
        context.resource = Resource::RevisionRoot(found.rev, path.clone());
    }
    Ok(())
}
