//! From a request's path to a repository and a resource in it.
//!
//! The location with the longest fitting prefix counts. Below a directory of repositories the components that follow are
//! walked down until one of them is a repository; what follows that is the resource.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Error;
use http::StatusCode;
use repos::Repository;
use wire::dav::uri::{self, Base, Resource};

use super::fault::Fault;
use crate::http::{HttpOptions, Location, Request, Source};
use crate::service::Service;

/// A repository, and where it stands.
pub(crate) struct Place {
    pub(crate) repository: Repository,
    pub(crate) location: Arc<Location>,
    pub(crate) base: Base,
    /// The name in authz sections; none for a repository that stands at a location by itself.
    pub(crate) name: Option<String>,
}

/// What a path leads to.
pub(crate) enum Found {
    /// A directory of repositories itself.
    Listing(Arc<Location>),
    /// A repository.
    Repository(Arc<Place>, Resource),
    /// A repository, and below it a URL that cannot be parsed.
    NoResource(Arc<Place>),
    /// No repository that can be served.
    NoRepository(NoRepository),
}

/// A path below a location that leads to no repository, or to one that cannot be opened.
pub(crate) struct NoRepository {
    pub(crate) location: Arc<Location>,
    /// The components of the path below the location.
    pub(crate) below: Vec<String>,
    /// How many of them name the repository. Where there is none the first would be its name, as with the incumbent.
    pub(crate) names: usize,
    /// Why it cannot be opened; `None` if it does not exist.
    pub(crate) error: Option<Error>,
}

impl Place {
    /// The resource of this repository that a URL (or the path of one) names.
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

    /// The name in log lines, URI-encoded.
    pub(crate) fn log_name(&self) -> String {
        let mut log_name = String::new();
        match &self.name {
            Some(name) => uri::encode(name, &mut log_name),
            None => uri::encode(&self.basename(), &mut log_name),
        }
        log_name
    }

    /// The last part of the repository's path: titles show it.
    pub(crate) fn basename(&self) -> String {
        let name = self.repository.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Finds what a request is about.
///
/// # Errors
/// 404, and 400 for paths that nobody should follow.
pub(crate) fn find(service: &Service, http: &Arc<HttpOptions>, request: &Request) -> Result<Found, Fault> {
    let nowhere = || Fault::html(StatusCode::NOT_FOUND);
    let known = &request.peer.known;
    if let Some((place, rest)) = known.place(&service.recent, http, &request.path)
        && let Some((below, _)) = uri::split(rest)
    {
        return Ok(found(place, &below));
    }
    let (components, _) = uri::split(&request.path).ok_or_else(|| not_followed(&request.path))?;
    let (location, count) = best(&http.locations, &components).ok_or_else(nowhere)?;
    let below = &components[count..];
    let unserved = |names: usize, error: Option<Error>| {
        Ok(Found::NoRepository(NoRepository {
            location: location.clone(),
            below: below.to_vec(),
            names,
            error,
        }))
    };
    let (path, names) = match &location.source {
        Source::Repository(path) => (path.clone(), 0),
        Source::Parent(_) if below.is_empty() => return Ok(Found::Listing(location.clone())),
        Source::Parent(folder) => match walk_down(folder, below) {
            Ok(Some(found)) => found,
            Ok(None) => return unserved(1, None),
            Err(error) => return unserved(1, Some(error)),
        },
    };
    let repository = match service.repositories.open(&path) {
        Ok(repository) => repository,
        Err(error) => return unserved(names, Some(error)),
    };
    let mut root = String::new();
    for component in &components[..count + names] {
        root.push('/');
        uri::encode(component, &mut root);
    }
    let name = (names > 0).then(|| below[..names].join("/"));
    let place = Arc::new(Place {
        repository,
        base: Base::new(root, &location.special),
        location: location.clone(),
        name,
    });
    known.remember_place(&service.recent, http, &place, &components[..count + names]);
    Ok(found(place, &below[names..]))
}

/// Why a URL in a request names no resource of its repository.
pub(super) fn no_resource(url: &str) -> Fault {
    match uri::path_of(url) {
        Some(path) if uri::split(path).is_none() => not_followed(path),
        _ => Fault::html(StatusCode::BAD_REQUEST),
    }
}

/// Why a path is not followed.
fn not_followed(path: &str) -> Fault {
    match uri::has_bad_escape(path) {
        true => Fault::html(StatusCode::BAD_REQUEST),
        false => Fault::html(StatusCode::NOT_FOUND),
    }
}

fn found(place: Arc<Place>, below: &[String]) -> Found {
    match place.resource(below) {
        Some(resource) => Found::Repository(place, resource),
        None => Found::NoResource(place),
    }
}

fn best<'a>(locations: &'a [Arc<Location>], components: &[String]) -> Option<(&'a Arc<Location>, usize)> {
    let fitting = locations.iter().filter_map(|location| {
        let (prefix, _) = uri::split(&location.prefix)?;
        components
            .starts_with(&prefix)
            .then_some((location, prefix.len()))
    });
    fitting.max_by_key(|(_, count)| *count)
}

/// The first repository on the way down, and how many components lead to it.
///
/// # Errors
/// The system's, if a directory on the way may not be searched.
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
