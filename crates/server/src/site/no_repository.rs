//! Requests for repositories that do not exist or cannot be opened.
//!
//! A user without the right to read must not learn what exists. So such a request is authenticated and authorized like any other
//! one at its location, and only then refused with 404. Where each repository's own `svnserve.conf` has the rules, a missing
//! repository has none, and the answer is 404.

use std::hash::BuildHasher as _;
use std::path::PathBuf;

use base::{Code, Error, FsPath};
use http::StatusCode;
use repos::ReadMode;
use repos::config::Access;
use wire::dav::uri::Resource;

use super::access;
use super::mount::MissingRepository;
use super::required_rights::{has_right, needed_rights_on};
use super::rules::{RepositoryRules, policy_of, rules_at};
use crate::auth::{AuthOutcome, User};
use crate::config::{AccessRules, Location, RequireVerdict, Source};
use crate::http::{Fault, Request, ResponseWriter};
use crate::service::Service;

/// Refuses a request for a repository that does not exist or cannot be opened.
///
/// # Errors
/// Always: 401, 403 or 404; 500 and the error's number for a repository that cannot be opened.
pub(crate) fn refuse(
    service: &Service,
    request: &mut Request,
    reply: &mut ResponseWriter,
    missing: MissingRepository,
) -> Result<(), Fault> {
    let MissingRepository {
        location,
        below,
        names,
        error,
    } = missing;
    let (names, rest) = below.split_at(names.min(below.len()));
    let joined = names.join("/");
    let (name, folder) = match &location.source {
        Source::Repository(path) => (location.authz_name(), path.clone()),
        Source::Parent(folder) => (Some(joined.as_str()), folder.join(&joined)),
    };
    let specials: Vec<&str> = location.special.split('/').collect();
    // A resource that cannot be parsed counts as the root.
    let resource = Resource::parse(rest, &specials).unwrap_or(Resource::Public(FsPath::root()));
    let target = MissingTarget {
        location: &location,
        folder,
        name,
        realm: made_up_realm(service, &location, &joined),
        path: resource.path().cloned(),
    };
    authorize(&target, service, request, reply)?;
    Err(match error {
        Some(error) if error.code() != ENOENT => Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            error.context("Could not open the requested SVN filesystem"),
        ),
        Some(error) => Fault::new(StatusCode::NOT_FOUND, error.context(NOT_FOUND)),
        None => Fault::new(StatusCode::NOT_FOUND, Error::new(ENOENT, NOT_FOUND)),
    })
}

/// Authenticates a request for the list of a location's repositories: a user who may not read any gets an empty list, but where
/// anonymous users may read nothing, a login is required.
///
/// # Errors
/// 401.
pub(crate) fn authenticate(
    service: &Service,
    request: &mut Request,
    reply: &mut ResponseWriter,
    location: &Location,
) -> Result<(), Fault> {
    let Source::Parent(folder) = &location.source else {
        return Ok(());
    };
    let target = MissingTarget {
        location,
        folder: folder.clone(),
        name: None,
        realm: made_up_realm(service, location, ""),
        path: None,
    };
    let Some(rules) = rules_of(&target, service)? else {
        return Ok(());
    };
    let before = access::required_at(service, request, location, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    // Where each repository has its own access file, the list itself has none.
    let of_each = |access: &AccessRules| {
        access.anonymous && access.repository_authz.is_some() && access.authz.is_none()
    };
    let is_open = rules.anonymous != Access::None || location.access.as_ref().is_some_and(of_each);
    if is_open && access::is_fulfilled(before) {
        return Ok(());
    }
    match log_in(&rules, service, request, reply)? {
        Some(user) if is_fulfilled_by(before, service, request, location, &user)? => Ok(()),
        _ => Err(access::challenge_for(service, request, &rules, false)),
    }
}

/// Returns whether the location's `require` condition, evaluated to `before` without a user, is fulfilled by `user`.
fn is_fulfilled_by(
    before: Option<RequireVerdict>,
    service: &Service,
    request: &Request,
    location: &Location,
    user: &User,
) -> Result<bool, Fault> {
    let with_user = || access::required_at(service, request, location, Some(user)).map(access::is_fulfilled);
    Ok(access::is_fulfilled(before) || with_user()?)
}

/// Returns a realm in the form of a UUID for a missing repository, so that the realm does not tell what exists. It stays the same
/// while the server runs.
fn made_up_realm(service: &Service, location: &Location, name: &str) -> String {
    let [high, low] = service
        .realm_keys
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

/// The target of a request without a repository.
struct MissingTarget<'a> {
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

/// Checks that the request has the rights that it would need if the repository existed.
///
/// # Errors
/// 401, 403.
fn authorize(
    target: &MissingTarget<'_>,
    service: &Service,
    request: &mut Request,
    reply: &mut ResponseWriter,
) -> Result<(), Fault> {
    let Some(rules) = rules_of(target, service)? else {
        return Ok(());
    };
    // No repository can contain a destination, so any resource stands for it.
    let needed = needed_rights_on(request, target.path.clone(), |_| Some(Resource::Me))?;
    let case = |user: &str| rules.username_case.fold(user).into_owned();
    let has_rights = |access, user: Option<&str>, groups: &[String]| {
        let authz = rules.authz.as_ref();
        let user = user.map(case);
        let rights = authz.map(|authz| authz.rights_in_groups(target.name, user.as_deref(), groups));
        needed
            .iter()
            .all(|right| has_right(rights.as_deref(), access, right))
    };
    let before = access::required_at(service, request, target.location, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let is_allowed_anonymously = access::is_fulfilled(before) && has_rights(rules.anonymous, None, &[]);
    // As with a repository: without an access file, credentials that are not required are ignored.
    let is_ignored = before.is_some() && rules.authz.is_none();
    if is_allowed_anonymously && (rules.no_auth_when_anonymous || is_ignored) {
        return Ok(());
    }
    // A wrong password is refused even where none is needed.
    let user = match log_in(&rules, service, request, reply)? {
        Some(user) => user,
        None if is_allowed_anonymously => return Ok(()),
        None if before.is_some() && access::is_fulfilled(before) && rules.anonymous > Access::None => {
            return Err(Fault::html(StatusCode::FORBIDDEN));
        }
        None => return Err(access::challenge_for(service, request, &rules, false)),
    };
    if !is_fulfilled_by(before, service, request, target.location, &user)? {
        return Err(access::challenge_for(service, request, &rules, false));
    }
    match has_rights(rules.authenticated, Some(&user.name), &user.groups) {
        true => Ok(()),
        false => Err(Fault::html(StatusCode::FORBIDDEN)),
    }
}

fn rules_of(target: &MissingTarget<'_>, service: &Service) -> Result<Option<RepositoryRules>, Fault> {
    let Some(access) = &target.location.access else {
        return Ok(None);
    };
    // These requests are not answered inline.
    let mode = ReadMode::MayWait;
    let rules = rules_at(service, access, &target.folder, || target.realm.clone(), &mode);
    rules.map(Some).or_else(|error| match access.authz {
        // The rules of a missing repository are missing: no user has a right in it.
        None => Ok(Some(RepositoryRules {
            anonymous: Access::None,
            authenticated: Access::None,
            policy: policy_of(access, || target.realm.clone()),
            no_auth_when_anonymous: false,
            has_require: false,
            authz: None,
            anonymous_rights: None,
            username_case: access.username_case,
        })),
        Some(_) => Err(Fault::hidden(StatusCode::FORBIDDEN, error)),
    })
}

/// Returns the user of the request's credentials, if it has any.
fn log_in(
    rules: &RepositoryRules,
    service: &Service,
    request: &mut Request,
    reply: &mut ResponseWriter,
) -> Result<Option<User>, Fault> {
    let outcome = service
        .authenticator
        .identify(&service.config, &rules.policy, request);
    match outcome.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))? {
        AuthOutcome::NoCredentials => Ok(None),
        AuthOutcome::Busy => Err(Fault::busy()),
        AuthOutcome::OtherResource => Err(Fault::html(StatusCode::BAD_REQUEST)),
        AuthOutcome::Rejected { stale } => Err(access::challenge_for(service, request, rules, stale)),
        AuthOutcome::Authenticated(user, info) => {
            if let Some(info) = info {
                reply.head.header("authentication-info", &info);
            }
            request.user = Some(user.name.clone());
            Ok(Some(user))
        }
    }
}

/// The incumbent's message and number for a missing repository.
const NOT_FOUND: &str = "Could not find the requested SVN filesystem";
const ENOENT: Code = Code(2);
