//! Pages for people: directories, files, logs, revisions and blame in a browser.
//!
//! They stand at the same URLs as everything else. A browser (something that asks for `text/html` and is not a Subversion
//! client) gets a page where others get Apache's plain listing; the other pages have `?view=…`. A file without `view` is
//! the file itself, as ever. `p` is the revision to look at and `r` an older one to which the path's history is followed, as in all
//! URLs of this server.
//!
//! No page needs JavaScript, and none can hold any: everything that comes from a repository is escaped, the policy sent with each
//! page forbids scripts, and pages carry their own style. What a user may not read is not on them.

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

/// What a page is about: a node in a revision.
struct ViewedNode {
    path: FsPath,
    rev: Revnum,
    kind: NodeKind,
    /// The URL named a revision: links keep it.
    pegged: bool,
}

/// True if a page is wanted, not what Subversion's clients get.
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

/// True for what shows HTML to people.
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

/// Sends the page that a request asks for.
///
/// # Errors
/// 404 for what does not exist, 400 for what makes no sense; those of the engine.
pub(crate) fn page(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let query = Query::parse(context.request.query.as_deref());
    let Some(place) = find(context, reply, &query)? else {
        return Ok(());
    };
    // What compares or colours texts takes long: many of them must not take all processors.
    let is_long = matches!(query.view.as_str(), "file" | "blame" | "revision" | "log") && !reply.bodiless();
    let turn = match is_long {
        true => match context.request.acquire(&context.site.service.page_limit) {
            Some(turn) => Some(turn),
            None => return Err(Fault::busy()),
        },
        false => None,
    };
    match (query.view.as_str(), place.kind) {
        ("", NodeKind::Dir) | ("dir", NodeKind::Dir) => directory::page(context, reply, &place),
        ("file", NodeKind::File) => file::page(context, reply, &place, turn),
        ("blame", NodeKind::File) => blame::page(context, reply, &place, turn),
        ("download", NodeKind::File) => file::download(context, reply, &place),
        ("log", _) => log::page(context, reply, &place, &query, turn),
        ("revision", _) => revision::page(context, reply, &place, turn),
        // A directory's link with a file's view, or the other way round: the path became something else.
        (_, NodeKind::Dir) => redirect(context, reply, &place, ""),
        (_, NodeKind::File) => redirect(context, reply, &place, "file"),
        _ => Err(Fault::html(StatusCode::NOT_FOUND)),
    }
}

/// Finds the node; `None` if the browser was sent elsewhere.
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
        // A revision is there even if the path is not.
        true => NodeKind::Dir,
        false => repository.check_path(rev, path)?,
    };
    if kind == NodeKind::None {
        return Err(not_found());
    }
    let place = ViewedNode {
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
                ..place
            };
            redirect(context, reply, &older, &query.view)?;
            Ok(None)
        }
        Some(younger) if younger > rev => Err(Fault::html(StatusCode::BAD_REQUEST)),
        _ => Ok(Some(place)),
    }
}

fn redirect(
    context: &RequestContext<'_>,
    reply: &mut ResponseWriter,
    place: &ViewedNode,
    view: &str,
) -> Outcome {
    let target = url(
        context,
        &place.path,
        place.kind,
        view,
        place.pegged.then_some(place.rev),
    );
    reply.status(StatusCode::FOUND).header("location", &target);
    Ok(())
}

/// The URL of a page: `view` of a path, at a revision or the youngest.
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

/// Sends a page while it is made, with the policy that keeps it from running anything.
fn send(reply: &mut ResponseWriter, page: &impl Template, immutable: bool) -> Outcome {
    guard(reply);
    reply.content_type("text/html; charset=utf-8");
    // Not for ever: the rules may change.
    let age = if immutable {
        "private, max-age=60"
    } else {
        "no-cache"
    };
    reply.header("cache-control", age);
    reply.header("vary", "Accept");
    Template::write_into(page, reply)?;
    Ok(())
}

/// Header lines of everything that a browser shows.
fn guard(reply: &mut ResponseWriter) {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        )
    });
    reply
        .header("content-security-policy", &POLICY)
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "same-origin");
}

/// The page that lists the repositories of a location: URL and name of each.
///
/// # Errors
/// None but those of templates.
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

/// What the operational log says of a page about a node.
fn operation(what: &str, place: &ViewedNode) -> String {
    let mut path = String::new();
    uri::encode(place.path.as_str(), &mut path);
    format!("{what} {path} r{} text props", place.rev)
}
