//! The list of a location's repositories.

use std::path::Path;
use std::sync::Arc;

use http::StatusCode;
use repos::Repository;
use wire::dav::index::{DirectoryIndex, IndexEntry};

use super::Outcome;
use super::get::{index, media, with_slash};
use crate::auth::User;
use crate::config::{HttpOptions, Location, Source};
use crate::http::{Fault, Request, ResponseWriter};
use crate::site::RequestContext;
use crate::site::mount::{self, MountLookup};
use crate::site::{ConnectionCache, Site, access, no_repository};
use crate::web;

/// The depth of the search for repositories.
const MAX_DEPTH: usize = 4;
/// The highest number of repositories on the page.
const MAX_REPOSITORIES: usize = 100_000;

/// Writes the list, as a page of the browser or as Apache's plain listing.
///
/// # Errors
/// 401, 403, 405; 301 for a URL without a final slash.
pub(super) fn send(
    site: &Arc<Site>,
    options: &Arc<HttpOptions>,
    connection: &ConnectionCache,
    request: &mut Request,
    location: &Location,
    reply: &mut ResponseWriter,
) -> Outcome {
    let Source::Parent(folder) = &location.source else {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    };
    if !location.list {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    no_repository::authenticate(&site.service, request, reply, location)?;
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED).with("allow", "GET,HEAD"));
    }
    if !request.path.ends_with('/') {
        let moved = Fault::html(StatusCode::MOVED_PERMANENTLY);
        return Err(moved.with("location", with_slash(request)));
    }
    let mut names = Vec::new();
    collect(folder, "", MAX_DEPTH, &mut names);
    names.sort_unstable();
    let mut shown = Vec::new();
    let mut user = None;
    for name in names {
        if may_list(site, options, connection, request, location, &name, &mut user)? {
            shown.push(name);
        }
    }
    if options.web.browse && web::is_browser(request) {
        let rows = shown.into_iter().map(|name| (url(location, &name), name));
        return web::repositories(reply, &location.prefix, rows.collect());
    }
    reply
        .head
        .content_type(media::of_index(location))
        .header("cache-control", "max-age=0");
    let page = DirectoryIndex {
        name: location.name.as_deref(),
        base: "",
        at: None,
        peg: None,
        up: false,
    };
    let lines = shown.iter().map(|name| IndexEntry { name, is_dir: true });
    index::send(&page, location.index_xslt.as_deref(), lines, reply)
}

/// Returns the path of a repository's URL.
fn url(location: &Location, name: &str) -> String {
    let mut path = String::new();
    wire::dav::uri::encode(&format!("{}/{name}/", location.prefix), &mut path);
    path
}

/// Finds repositories; returns their paths below the location. Unreadable directories are skipped.
fn collect(folder: &Path, above: &str, deep: usize, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{above}{name}")) else {
            continue;
        };
        let path = entry.path();
        if found.len() >= MAX_REPOSITORIES
            || entry.file_name().as_encoded_bytes().starts_with(b".")
            || !path.is_dir()
        {
            continue;
        }
        if Repository::is_repository(&path) {
            found.push(name);
        } else if deep > 1 {
            collect(&path, &format!("{name}/"), deep - 1, found);
        }
    }
}

/// Returns whether the request's user may read the root of this repository. A repository that cannot be opened is not listed.
fn may_list(
    site: &Arc<Site>,
    options: &Arc<HttpOptions>,
    connection: &ConnectionCache,
    request: &mut Request,
    location: &Location,
    name: &str,
    user: &mut Option<User>,
) -> Result<bool, Fault> {
    let before = std::mem::replace(&mut request.path, url(location, name));
    let found = mount::find(site, options, connection, request);
    let seen = match found {
        Ok(MountLookup::Repository(mount, resource)) => {
            let mut context =
                RequestContext::new(site, options.clone(), connection, request, mount, resource);
            match access::may_read(&mut context, user) {
                Err(fault) if fault.status == StatusCode::UNAUTHORIZED => Err(fault),
                seen => Ok(seen.unwrap_or(false)),
            }
        }
        _ => Ok(false),
    };
    request.path = before;
    seen
}
