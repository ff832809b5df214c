//! Requests that lead to no repository, or to nothing that its URLs can name.
//!
//! A user who may not read learns nothing of what exists: so such a request is authenticated and authorised like any other
//! one at its location, and only then refused with 404. Where each repository's own `svnserve.conf` holds the rules, a repository that
//! is not there has none, and 404 is all that can be said.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use base::{Code, Error, FsPath};
use http::StatusCode;
use repos::config::Access;
use wire::dav::uri::Resource;

use super::access::{self, Rules};
use super::fault::Fault;
use super::place::NoRepository;
use crate::auth::{Proof, User};
use crate::http::{Location, Reply, Request, RequireVerdict, Source};
use crate::service::Service;

/// The answer to a request whose path leads to no repository, or to one that cannot be opened.
///
/// # Errors
/// Always: 401, 403 or 404; 500 and the number of the error for a repository that cannot be opened.
pub(super) fn no_repository(
    service: &Arc<Service>,
    request: &mut Request,
    reply: &mut Reply,
    missing: NoRepository,
) -> Result<(), Fault> {
    let NoRepository {
        location,
        below,
        names,
        error,
    } = missing;
    let (names, rest) = below.split_at(names.min(below.len()));
    let joined = names.join("/");
    let (name, folder) = match &location.source {
        Source::Repository(path) => (None, path.clone()),
        Source::Parent(folder) => (Some(joined.as_str()), folder.join(&joined)),
    };
    let specials: Vec<&str> = location.special.split('/').collect();
    // What cannot be parsed counts as the root: who may do this there is told that it is not found.
    let resource = Resource::parse(rest, &specials).unwrap_or(Resource::Public(FsPath::root()));
    let gate = Gate {
        location: &location,
        folder,
        name,
        realm: made_up_realm(&location, &joined),
        path: resource.path().cloned(),
    };
    pass(&gate, service, request, reply)?;
    Err(match error {
        Some(error) if error.code() != ENOENT => Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            error.context("Could not open the requested SVN filesystem"),
        ),
        Some(error) => Fault::new(StatusCode::NOT_FOUND, error.context(NOT_FOUND)),
        None => Fault::new(StatusCode::NOT_FOUND, Error::new(ENOENT, NOT_FOUND)),
    })
}

/// Lets a request in that is for the location itself: who may not read any of its repositories gets an empty list, but who must
/// log in to read anything logs in first.
///
/// # Errors
/// 401.
pub(super) fn authenticate(
    service: &Arc<Service>,
    request: &mut Request,
    reply: &mut Reply,
    location: &Location,
) -> Result<(), Fault> {
    let Source::Parent(folder) = &location.source else {
        return Ok(());
    };
    let gate = Gate {
        location,
        folder: folder.clone(),
        name: None,
        realm: made_up_realm(location, ""),
        path: None,
    };
    let Some(rules) = rules_of(&gate, service)? else {
        return Ok(());
    };
    let before = access::required_at(service, request, location, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    if rules.anonymous != Access::None && access::is_open(before) {
        return Ok(());
    }
    match log_in(&rules, service, request, reply)? {
        Some(user) if is_fulfilled(before, service, request, location, &user)? => Ok(()),
        _ => Err(access::challenge_for(service, request, &rules, false)),
    }
}

/// True if the location requires nothing more of `user` than `before` a login.
fn is_fulfilled(
    before: Option<RequireVerdict>,
    service: &Service,
    request: &Request,
    location: &Location,
    user: &User,
) -> Result<bool, Fault> {
    let is_open = || access::required_at(service, request, location, Some(user)).map(access::is_open);
    Ok(access::is_open(before) || is_open()?)
}

/// A realm for what has no UUID, of the same form: so that it does not tell what exists. The same for the life of the process.
fn made_up_realm(location: &Location, name: &str) -> String {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    let [high, low] = KEYS
        .each_ref()
        .map(|keys| keys.hash_one((&location.prefix, name)));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

/// What a request is for that leads to no repository.
struct Gate<'a> {
    location: &'a Location,
    /// Where the repository would be.
    folder: PathBuf,
    /// Its name in authz sections.
    name: Option<&'a str>,
    /// The realm where none is configured.
    realm: String,
    /// The path in it.
    path: Option<FsPath>,
}

/// Lets a request pass that has the rights which it would need if there were a repository.
///
/// # Errors
/// 401, 403.
fn pass(gate: &Gate<'_>, service: &Service, request: &mut Request, reply: &mut Reply) -> Result<(), Fault> {
    let Some(rules) = rules_of(gate, service)? else {
        return Ok(());
    };
    // A destination is not asked about: there is no repository for it to be in.
    let wanted = access::needs_of(request, gate.path.clone(), |_| Some(Resource::Me))?;
    let case = |user: &str| rules.case.fold(user).into_owned();
    let may_all = |access, user: Option<&str>, groups: &[String]| {
        let authz = rules.authz.as_ref();
        let user = user.map(case);
        let rights = authz.map(|authz| authz.rights_in_groups(gate.name, user.as_deref(), groups));
        wanted
            .iter()
            .all(|need| access::may(rights.as_deref(), access, need))
    };
    let before = access::required_at(service, request, gate.location, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let is_open = access::is_open(before) && may_all(rules.anonymous, None, &[]);
    // As where there is a repository: without an access file, who need not log in is not listened to.
    let is_unasked = before.is_some() && rules.authz.is_none();
    if is_open && (rules.no_auth_when_anonymous || is_unasked) {
        return Ok(());
    }
    // A wrong password is refused where none is needed, too.
    let user = match log_in(&rules, service, request, reply)? {
        Some(user) => user,
        None if is_open => return Ok(()),
        None if before.is_some() && access::is_open(before) && rules.anonymous > Access::None => {
            return Err(Fault::html(StatusCode::FORBIDDEN));
        }
        None => return Err(access::challenge_for(service, request, &rules, false)),
    };
    if !is_fulfilled(before, service, request, gate.location, &user)? {
        return Err(access::challenge_for(service, request, &rules, false));
    }
    match may_all(rules.authenticated, Some(&user.name), &user.groups) {
        true => Ok(()),
        false => Err(Fault::html(StatusCode::FORBIDDEN)),
    }
}

fn rules_of(gate: &Gate<'_>, service: &Service) -> Result<Option<Rules>, Fault> {
    let Some(access) = &gate.location.access else {
        return Ok(None);
    };
    let rules = access::rules_at(service, access, &gate.folder, || gate.realm.clone());
    rules.map(Some).or_else(|error| match access.authz {
        // The files of a repository that does not exist are not there: nobody has a right in it.
        None => Ok(Some(Rules {
            anonymous: Access::None,
            authenticated: Access::None,
            door: access::door_of(access, || gate.realm.clone()),
            no_auth_when_anonymous: false,
            requires: false,
            authz: None,
            of_nobody: None,
            case: access.username_case,
        })),
        Some(_) => Err(Fault::hidden(StatusCode::FORBIDDEN, error)),
    })
}

/// The user whose name and password a request brings, if it brings any.
fn log_in(
    rules: &Rules,
    service: &Service,
    request: &mut Request,
    reply: &mut Reply,
) -> Result<Option<User>, Fault> {
    let proof = service.keeper.identify(service, &rules.door, request);
    match proof.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))? {
        Proof::Nothing => Ok(None),
        Proof::Busy => Err(Fault::busy()),
        Proof::Wrong { stale } => Err(access::challenge_for(service, request, rules, stale)),
        Proof::Name(user, info) => {
            if let Some(info) = info {
                reply.header("authentication-info", &info);
            }
            request.user = Some(user.name.clone());
            Ok(Some(user))
        }
    }
}

/// What a client is told of a repository that does not exist, and the number.
const NOT_FOUND: &str = "Could not find the requested SVN filesystem";
const ENOENT: Code = Code(2);
