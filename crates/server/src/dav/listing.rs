//! The page that lists the repositories of a location.

use std::path::Path;
use std::sync::Arc;

use http::StatusCode;
use repos::Repository;
use wire::dav::index::{Index, IndexEntry};

use super::fault::Fault;
use super::get::{index, media, with_slash};
use super::place::{self, Found};
use super::visit::Visit;
use super::{Outcome, access, nowhere};
use crate::auth::User;
use crate::http::{HttpOptions, Location, Reply, Request, Source};
use crate::service::Service;
use crate::web;

/// How far down repositories are looked for.
const DEEP: usize = 4;
/// Most repositories of a page.
const MANY: usize = 100_000;

pub(super) fn listing(
    service: &Arc<Service>,
    http: &Arc<HttpOptions>,
    request: &mut Request,
    location: &Location,
    reply: &mut Reply,
) -> Outcome {
    let Source::Parent(folder) = &location.source else {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    };
    if !location.list {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    nowhere::authenticate(service, request, reply, location)?;
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED).with("allow", "GET,HEAD"));
    }
    if !request.path.ends_with('/') {
        let elsewhere = Fault::html(StatusCode::MOVED_PERMANENTLY);
        return Err(elsewhere.with("location", with_slash(request)));
    }
    let mut names = Vec::new();
    collect(folder, "", DEEP, &mut names);
    names.sort_unstable();
    let mut shown = Vec::new();
    let mut user = None;
    for name in names {
        if may_see(service, http, request, location, &name, &mut user)? {
            shown.push(name);
        }
    }
    if http.web.browse && web::is_browser(request) {
        let rows = shown.into_iter().map(|name| (url(location, &name), name));
        return web::repositories(reply, &location.prefix, rows.collect());
    }
    reply
        .content_type(media::of_index(location))
        .header("cache-control", "max-age=0");
    let page = Index {
        name: location.name.as_deref(),
        base: "",
        at: None,
        peg: None,
        up: false,
    };
    let lines = shown.iter().map(|name| IndexEntry { name, is_dir: true });
    index::send(&page, location.index_xslt.as_deref(), lines, reply)
}

/// The path of a repository's URL.
fn url(location: &Location, name: &str) -> String {
    let mut path = String::new();
    wire::dav::uri::encode(&format!("{}/{name}/", location.prefix), &mut path);
    path
}

/// Finds repositories, by their paths below the location. What cannot be read is passed over.
fn collect(folder: &Path, above: &str, deep: usize, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{above}{name}")) else {
            continue;
        };
        let path = entry.path();
        if found.len() >= MANY || entry.file_name().as_encoded_bytes().starts_with(b".") || !path.is_dir() {
            continue;
        }
        if Repository::is_repository(&path) {
            found.push(name);
        } else if deep > 1 {
            collect(&path, &format!("{name}/"), deep - 1, found);
        }
    }
}

/// True if who asks may look at the root of this repository. One that cannot be opened is not there.
fn may_see(
    service: &Arc<Service>,
    http: &Arc<HttpOptions>,
    request: &mut Request,
    location: &Location,
    name: &str,
    user: &mut Option<User>,
) -> Result<bool, Fault> {
    let before = std::mem::replace(&mut request.path, url(location, name));
    let found = place::find(service, http, request);
    let seen = match found {
        Ok(Found::Repository(place, resource)) => {
            let mut visit = Visit::new(service, http.clone(), request, place, resource);
            match access::may_look(&mut visit, user) {
                Err(fault) if fault.status == StatusCode::UNAUTHORIZED => Err(fault),
                seen => Ok(seen.unwrap_or(false)),
            }
        }
        _ => Ok(false),
    };
    request.path = before;
    seen
}
