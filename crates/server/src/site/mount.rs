//! Finds the repository and the resource that a request's path names.
//!
//! The location with the longest matching prefix counts. Below a directory of repositories the following components are walked down
//! until one is a repository; the rest is the resource.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Error;
use http::StatusCode;
use repos::Repository;
use wire::dav::uri::{self, RepositoryUrls, Resource};

use super::Site;
use super::connection_cache::ConnectionCache;
use crate::config::{HttpOptions, Location, Source};
use crate::http::{Fault, Request};

/// A repository, and the location where it is mounted.
pub(crate) struct MountedRepository {
    /// Its reads may wait: it is kept for later requests. A request works with [`RequestContext::repository`](super::RequestContext::repository).
    pub(crate) repository: Repository,
    pub(crate) location: Arc<Location>,
    /// The builder of its URLs.
    pub(crate) base: RepositoryUrls,
    /// The path of its URL, as [`RepositoryUrls::root`] returns it.
    pub(crate) root: Arc<str>,
    /// The name below the location; `None` for the only repository of a location.
    pub(crate) name: Option<String>,
    /// The name in authz sections.
    pub(crate) authz_name: Option<String>,
}

/// The result of a look-up.
pub(crate) enum MountLookup {
    /// The path is that of a location with a directory of repositories.
    Listing(Arc<Location>),
    /// A repository.
    Repository(Arc<MountedRepository>, Resource),
    /// A repository; the rest of the path names no resource.
    NoResource(Arc<MountedRepository>),
    /// No repository, or one that cannot be opened.
    Missing(MissingRepository),
}

/// A path below a location that leads to no repository, or to one that cannot be opened.
pub(crate) struct MissingRepository {
    pub(crate) location: Arc<Location>,
    /// The components of the path below the location.
    pub(crate) below: Vec<String>,
    /// How many of them name the repository. If there is none, the first is taken for its name, as by the incumbent.
    pub(crate) names: usize,
    /// Why it cannot be opened; `None` if it does not exist.
    pub(crate) error: Option<Error>,
}

impl MountedRepository {
    /// Returns the resource of this repository that a URL, or the path of one, names.
    pub(crate) fn resource_of_url(&self, url: &str) -> Option<Resource> {
        let (all, _) = uri::split(uri::path_of(url)?)?;
        let (root, _) = uri::split(self.base.root())?;
        let below = all.strip_prefix(&root[..])?;
        self.resource(below)
    }

    fn resource(&self, below: &[String]) -> Option<Resource> {
        match self.location.special.contains('/') {
            false => Resource::parse(below, &[&self.location.special]),
            true => Resource::parse(below, &self.location.special.split('/').collect::<Vec<_>>()),
        }
    }

    /// Returns the name for log lines, URI-encoded.
    pub(crate) fn log_name(&self) -> String {
        let mut log_name = String::new();
        match &self.name {
            Some(name) => uri::encode(name, &mut log_name),
            None => uri::encode(&self.basename(), &mut log_name),
        }
        log_name
    }

    /// Returns the last component of the repository's path, for titles.
    pub(crate) fn basename(&self) -> String {
        let name = self.repository.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Finds the repository and the resource of a request.
///
/// # Errors
/// 404 without a location; 400 or 404 for paths that are not followed.
pub(crate) fn find(
    site: &Site,
    options: &Arc<HttpOptions>,
    connection: &ConnectionCache,
    request: &Request,
) -> Result<MountLookup, Fault> {
    let not_found = || Fault::html(StatusCode::NOT_FOUND);
    if let Some((mount, rest)) = connection.mount(&site.recent, options, &request.path)
        && let Some((below, _)) = uri::split(rest)
    {
        return Ok(found(mount, &below));
    }
    let (components, _) = uri::split(&request.path).ok_or_else(|| not_followed(&request.path))?;
    let (location, count) = longest_match(&options.locations, &components).ok_or_else(not_found)?;
    let below = &components[count..];
    let missing = |names: usize, error: Option<Error>| {
        Ok(MountLookup::Missing(MissingRepository {
            location: location.clone(),
            below: below.to_vec(),
            names,
            error,
        }))
    };
    let (path, names) = match &location.source {
        Source::Repository(path) => (path.clone(), 0),
        Source::Parent(_) if below.is_empty() => return Ok(MountLookup::Listing(location.clone())),
        Source::Parent(folder) => match walk_down(folder, below) {
            Ok(Some(found)) => found,
            Ok(None) => return missing(1, None),
            Err(error) => return missing(1, Some(error)),
        },
    };
    let repository = match site.service.repositories.open(&path, &request.read_mode) {
        Ok(repository) => repository,
        Err(error) => return missing(names, Some(error)),
    };
    let mut root = String::new();
    for component in &components[..count + names] {
        root.push('/');
        uri::encode(component, &mut root);
    }
    let name = (names > 0).then(|| below[..names].join("/"));
    let authz_name = name.as_deref().or(location.authz_name()).map(str::to_owned);
    let mount = Arc::new(MountedRepository {
        repository,
        root: root.as_str().into(),
        base: RepositoryUrls::new(root, &location.special),
        location: location.clone(),
        name,
        authz_name,
    });
    connection.store_mount(&site.recent, options, &mount, &components[..count + names]);
    Ok(found(mount, &below[names..]))
}

/// Returns the error response for a URL in a request that names no resource of its repository.
pub(crate) fn no_resource(url: &str) -> Fault {
    match uri::path_of(url) {
        Some(path) if uri::split(path).is_none() => not_followed(path),
        _ => Fault::html(StatusCode::BAD_REQUEST),
    }
}

/// Returns the error response for a path that is not followed.
fn not_followed(path: &str) -> Fault {
    match uri::has_bad_escape(path) {
        true => Fault::html(StatusCode::BAD_REQUEST),
        false => Fault::html(StatusCode::NOT_FOUND),
    }
}

fn found(mount: Arc<MountedRepository>, below: &[String]) -> MountLookup {
    match mount.resource(below) {
        Some(resource) => MountLookup::Repository(mount, resource),
        None => MountLookup::NoResource(mount),
    }
}

fn longest_match<'a>(
    locations: &'a [Arc<Location>],
    components: &[String],
) -> Option<(&'a Arc<Location>, usize)> {
    let fitting = locations.iter().filter_map(|location| {
        let (prefix, _) = uri::split(&location.prefix)?;
        components
            .starts_with(&prefix)
            .then_some((location, prefix.len()))
    });
    fitting.max_by_key(|(_, count)| *count)
}

/// Returns the first repository on the way down, and how many components lead to it.
///
/// # Errors
/// The system's, if a directory on the way cannot be searched.
fn walk_down(folder: &Path, components: &[String]) -> Result<Option<(PathBuf, usize)>, Error> {
    let mut path = folder.to_owned();
    for (at, component) in components.iter().enumerate() {
        path.push(component);
        if Repository::check_repository(&path)? {
            return Ok(Some((path, at + 1)));
        }
        if !path.is_dir() {
            return Ok(None);
        }
    }
    Ok(None)
}
