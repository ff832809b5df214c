//! Pages for browsers: directories, files, logs, revisions and blame.
//!
//! They have the same URLs as everything else. A browser (a client that accepts `text/html` and is not one of Subversion) gets a page
//! where others get Apache's plain listing; the other pages have `?view=…`. A file without `view` is the file itself. `p` is the peg
//! revision and `r` an older one to which the path's history is followed, as in all URLs of this server.
//!
//! No page needs JavaScript, and none can contain any: everything from a repository is escaped, the content security policy of each
//! page forbids scripts, and pages contain their style. A page shows nothing that its user may not read.
//!
//! This module reads repositories through a [`RequestContext`]. It knows no method but GET and HEAD.

mod blame;
mod directory;
mod file;
mod frame;
mod highlight;
mod log;
mod query;
mod revision;

use std::sync::LazyLock;

use askama::Template;
use base::{FsPath, NodeKind, Revnum};
use base64::Engine as _;
use http::{Method, StatusCode};
use sha2::{Digest as _, Sha256};
use wire::dav::uri::{self, Resource};

use self::frame::{Crumb, PageFrame, STYLE};
use self::query::Query;
use crate::config::HttpOptions;
use crate::http::{Fault, Request, ResponseWriter};
use crate::site::RequestContext;

type Outcome = Result<(), Fault>;

/// The node that a page is about.
struct ViewedNode {
    path: FsPath,
    rev: Revnum,
    kind: NodeKind,
    /// The URL names a revision: links keep it.
    pegged: bool,
}

/// Returns whether the response is a page, and not what Subversion's clients get.
pub(crate) fn wanted(http: &HttpOptions, request: &Request, resource: &Resource) -> bool {
    if !http.web.browse || !matches!(request.method, Method::GET | Method::HEAD) || request.is_svn_client() {
        return false;
    }
    if !matches!(resource, Resource::Public(_)) {
        return false;
    }
    let view = Query::parse(request.query.as_deref()).view;
    !view.is_empty() || (is_browser(request) && has_final_slash(&request.path))
}

/// Returns whether the client is a browser.
pub(crate) fn is_browser(request: &Request) -> bool {
    let accepted = request.header_list("accept");
    accepted
        .split(',')
        .any(|kind| kind.trim_start().starts_with("text/html"))
        && !request.is_svn_client()
}

fn has_final_slash(path: &str) -> bool {
    uri::split(path).is_some_and(|(_, slash)| slash)
}

/// Writes the requested page.
///
/// # Errors
/// 404 for a missing node or revision, 400 for a query without a meaning; those of the engine.
pub(crate) fn page(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let query = Query::parse(context.request.query.as_deref());
    let Some(viewed) = find(context, reply, &query)? else {
        return Ok(());
    };
    // Pages that compare or highlight texts take long: they must not occupy all processors.
    let is_long = matches!(query.view.as_str(), "file" | "blame" | "revision" | "log") && !reply.bodiless();
    let permit = match is_long {
        true => match context.request.acquire(&context.site.service.page_limit) {
            Some(permit) => Some(permit),
            None => return Err(Fault::busy()),
        },
        false => None,
    };
    match (query.view.as_str(), viewed.kind) {
        ("", NodeKind::Dir) | ("dir", NodeKind::Dir) => directory::page(context, reply, &viewed),
        ("file", NodeKind::File) => file::page(context, reply, &viewed, permit),
        ("blame", NodeKind::File) => blame::page(context, reply, &viewed, permit),
        ("download", NodeKind::File) => file::download(context, reply, &viewed),
        ("log", _) => log::page(context, reply, &viewed, &query, permit),
        ("revision", _) => revision::page(context, reply, &viewed, permit),
        // A link with the view of another kind of node: the path is of another kind in this revision.
        (_, NodeKind::Dir) => redirect(context, reply, &viewed, ""),
        (_, NodeKind::File) => redirect(context, reply, &viewed, "file"),
        _ => Err(Fault::html(StatusCode::NOT_FOUND)),
    }
}

/// Finds the node; returns `None` if the response is a redirect.
fn find(
    context: &RequestContext<'_>,
    reply: &mut ResponseWriter,
    query: &Query,
) -> Result<Option<ViewedNode>, Fault> {
    let not_found = || Fault::html(StatusCode::NOT_FOUND);
    let Resource::Public(path) = &context.resource else {
        return Err(not_found());
    };
    let youngest = context.youngest()?;
    let rev = query.peg.unwrap_or(youngest);
    if rev > youngest {
        return Err(not_found());
    }
    let repository = context.repository();
    let kind = match query.view == "revision" {
        // The page of a revision does not need the path to exist.
        true => NodeKind::Dir,
        false => repository.check_path(rev, path)?,
    };
    if kind == NodeKind::None {
        return Err(not_found());
    }
    let viewed = ViewedNode {
        path: path.clone(),
        rev,
        kind,
        pegged: query.peg.is_some(),
    };
    match query.operative {
        Some(older) if older < rev => {
            let found = repos::history::locations(repository, path, rev, &[older], &*context.readable())?;
            let (rev, path) = found.into_iter().next().ok_or_else(not_found)?;
            let older = ViewedNode {
                path,
                rev,
                pegged: true,
                ..viewed
            };
            redirect(context, reply, &older, &query.view)?;
            Ok(None)
        }
        Some(younger) if younger > rev => Err(Fault::html(StatusCode::BAD_REQUEST)),
        _ => Ok(Some(viewed)),
    }
}

fn redirect(
    context: &RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
    view: &str,
) -> Outcome {
    let target = url(
        context,
        &viewed.path,
        viewed.kind,
        view,
        viewed.pegged.then_some(viewed.rev),
    );
    reply.head.status(StatusCode::FOUND).header("location", &target);
    Ok(())
}

/// Returns the URL of a page: `view` of a path, at a revision or the youngest one.
fn url(
    context: &RequestContext<'_>,
    path: &FsPath,
    kind: NodeKind,
    view: &str,
    rev: Option<Revnum>,
) -> String {
    let mut out = context.base().public(path);
    if kind == NodeKind::Dir && !out.ends_with('/') {
        out.push('/');
    }
    let mut mark = '?';
    if !view.is_empty() {
        out.push(mark);
        out.push_str("view=");
        query::encode(view, &mut out);
        mark = '&';
    }
    if let Some(rev) = rev {
        out.push(mark);
        out.push_str(&format!("p={rev}"));
    }
    out
}

/// Writes a page, with the content security policy.
fn send(reply: &mut ResponseWriter, page: &impl Template, immutable: bool) -> Outcome {
    write_policy(reply);
    reply.head.content_type("text/html; charset=utf-8");
    // Not longer: access rules may change.
    let age = if immutable {
        "private, max-age=60"
    } else {
        "no-cache"
    };
    reply.head.header("cache-control", age);
    reply.head.header("vary", "Accept");
    Template::write_into(page, reply)?;
    Ok(())
}

/// Writes the header lines that keep a browser from running content.
fn write_policy(reply: &mut ResponseWriter) {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        )
    });
    reply
        .head
        .header("content-security-policy", &POLICY)
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "same-origin");
}

/// Writes the page that lists the repositories of a location: URL and name of each.
///
/// # Errors
/// Those of templates.
pub(crate) fn repositories(reply: &mut ResponseWriter, prefix: &str, rows: Vec<(String, String)>) -> Outcome {
    let mut href = String::new();
    uri::encode(prefix, &mut href);
    href.push('/');
    let crumbs = vec![Crumb {
        name: "Collection of Repositories".to_owned(),
        href,
    }];
    let frame = PageFrame::bare("Collection of Repositories".to_owned(), crumbs);
    send(reply, &Repositories { frame, rows }, false)
}

#[derive(Template)]
#[template(path = "web/repositories.html")]
struct Repositories {
    frame: PageFrame,
    rows: Vec<(String, String)>,
}

/// Returns the line for the operational log of a page about a node.
fn operation(what: &str, viewed: &ViewedNode) -> String {
    let mut path = String::new();
    uri::encode(viewed.path.as_str(), &mut path);
    format!("{what} {path} r{} text props", viewed.rev)
}
