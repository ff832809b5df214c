//! Authentication and authorization of requests, before any method is carried out.
//!
//! A location has access rules of its own, or each repository's `svnserve.conf` holds as it does over svn://. The table of the
//! rights that each method needs is Apache's, so that a set of rules means the same for both servers. A request without a needed
//! right is answered with 401 if it has no credentials and credentials could help, otherwise with 403. A refusal never hides
//! what exists.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{Error, FsPath};
use http::StatusCode;
use repos::authz::{Authz, Required, Rights, Source, UserRights};
use repos::config::{Access, AuthzFiles, UsernameCase};
use wire::dav::uri::Resource;

use super::connection_cache::AdmittedUser;
use super::context::RequestContext;
use super::mount;
use crate::auth::{AuthOutcome, AuthPolicy, User, plain_realm};
use crate::config::{AccessRules, Location, Provider, RequireVerdict};
use crate::http::{Fault, Request, ResponseWriter};
use crate::service::Service;
use crate::service::access_files::{authz_of, conf_of};

/// The access rules of a repository.
pub(super) struct RepositoryRules {
    pub(super) anonymous: Access,
    pub(super) authenticated: Access,
    /// How users log in; without providers no user can.
    pub(super) policy: AuthPolicy,
    /// Requests that anonymous users may make are served without authentication.
    pub(super) no_auth_when_anonymous: bool,
    /// The location has a `require` condition.
    pub(super) has_require: bool,
    pub(super) authz: Option<Arc<Authz>>,
    /// The rights that `authz` grants to anonymous users.
    pub(super) anonymous_rights: Option<Arc<UserRights>>,
    pub(super) username_case: UsernameCase,
}

impl RepositoryRules {
    /// Returns the anonymous user, unless more than the rules decides about anonymous requests.
    pub(super) fn anonymous_user(&self) -> Option<AdmittedUser> {
        // A `require` condition may depend on the address.
        (!self.no_auth_when_anonymous && !self.has_require).then(|| AdmittedUser {
            authorization: None,
            user: None,
            access: self.anonymous,
            rights: self.anonymous_rights.clone(),
        })
    }
}

/// Authenticates a request, and checks that its user has the rights that it needs.
///
/// # Errors
/// 401, 403; 400 for a destination outside of the repository; 503 if too many passwords wait to be checked.
pub(crate) fn authorize(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Result<(), Fault> {
    let rules = rules(context)?;
    let needed = needed_rights(context)?;
    context.rights = rules.anonymous_rights.clone();
    let before = required(context, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let is_allowed_anonymously = is_fulfilled(before) && has_rights(context, rules.anonymous, &needed);
    if is_allowed_anonymously && rules.no_auth_when_anonymous {
        return Ok(());
    }
    let service = &context.site.service;
    let outcome = service
        .authenticator
        .identify(&service.config, &rules.policy, context.request);
    // This is no 401: a client that is told of a wrong password forgets the right one.
    let broken = |error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error);
    let outcome = outcome.map_err(broken)?;
    let is_digest = matches!(outcome, AuthOutcome::Authenticated(_, Some(_)));
    let admitted = match outcome {
        AuthOutcome::NoCredentials if is_allowed_anonymously => Ok(rules.anonymous),
        // As Apache: where no login is required none is requested, and without an access file credentials are ignored.
        AuthOutcome::NoCredentials
            if before.is_some() && is_fulfilled(before) && rules.anonymous > Access::None =>
        {
            Err(Fault::html(StatusCode::FORBIDDEN))
        }
        AuthOutcome::Rejected { .. }
            if before.is_some() && is_allowed_anonymously && rules.authz.is_none() =>
        {
            Ok(rules.anonymous)
        }
        AuthOutcome::NoCredentials => Err(challenge(context, &rules, false)),
        AuthOutcome::Busy => Err(Fault::busy()),
        AuthOutcome::Rejected { stale } => Err(challenge(context, &rules, stale)),
        AuthOutcome::Authenticated(user, _)
            if !is_fulfilled(before) && !is_fulfilled(required(context, Some(&user))?) =>
        {
            Err(challenge(context, &rules, false))
        }
        AuthOutcome::Authenticated(user, info) => {
            if let Some(info) = info {
                reply.head.header("authentication-info", &info);
            }
            context.user = Some(user.name);
            look_up_rights(context, &rules, &user.groups);
            match has_rights(context, rules.authenticated, &needed) {
                true => Ok(rules.authenticated),
                false => Err(Fault::html(StatusCode::FORBIDDEN)),
            }
        }
    };
    let access = admitted?;
    // Digest credentials count once. And users of requests that are allowed anonymously are not checked.
    if !is_digest && !rules.no_auth_when_anonymous && (!rules.has_require || is_read_method(context.request))
    {
        store_user(context, access);
    }
    Ok(())
}

/// Evaluates the location's `require` condition for a user, or before the user is known; returns `None` if it has none.
///
/// # Errors
/// 500 if a file of groups cannot be read.
fn required(context: &RequestContext<'_>, user: Option<&User>) -> Result<Option<RequireVerdict>, Fault> {
    required_at(
        &context.site.service,
        context.request,
        &context.mount.location,
        user,
    )
}

/// As [`required`], without a repository.
///
/// # Errors
/// As of [`required`].
pub(super) fn required_at(
    service: &Service,
    request: &Request,
    location: &Location,
    user: Option<&User>,
) -> Result<Option<RequireVerdict>, Fault> {
    let Some(access) = &location.access else {
        return Ok(None);
    };
    let writing = access.require_write.as_ref().filter(|_| !is_read_method(request));
    let Some(require) = writing.or(access.require.as_ref()) else {
        return Ok(None);
    };
    let address = request.peer.address.ip();
    let authenticator = &service.authenticator;
    let verdict = authenticator.judge(require, address, user, access.group_file.as_deref());
    verdict
        .map(Some)
        .map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))
}

/// Returns whether nothing more is required.
pub(super) fn is_fulfilled(verdict: Option<RequireVerdict>) -> bool {
    matches!(verdict, None | Some(RequireVerdict::Granted))
}

/// Returns whether the method is one of those that Apache's manual for Subversion lists as reading.
fn is_read_method(request: &Request) -> bool {
    matches!(
        request.method.as_str(),
        "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT"
    )
}

/// Stores the user for the connection's next request, which is likely to be from the same one.
fn store_user(context: &RequestContext<'_>, access: Access) {
    let request = &*context.request;
    let credentials = request.headers.get(http::header::AUTHORIZATION);
    context.connection.store_user(&context.mount, || AdmittedUser {
        authorization: credentials.map(|value| value.as_bytes().trim_ascii().into()),
        user: context.user.clone(),
        access,
        rights: context.rights.clone(),
    });
}

/// Returns whether the request's user may read the resource, which is one of many that a page shows. `user` keeps the user from
/// one call to the next, where all repositories authenticate in the same way.
///
/// # Errors
/// 401 where anonymous users may read nothing; 403.
pub(crate) fn may_read(context: &mut RequestContext<'_>, user: &mut Option<User>) -> Result<bool, Fault> {
    let rules = rules(context)?;
    let needed = needed_rights(context)?;
    context.rights = rules.anonymous_rights.clone();
    let before = required(context, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    if is_fulfilled(before) && has_rights(context, rules.anonymous, &needed) {
        return Ok(true);
    }
    let (is_shared, must_log_in) = match &context.mount.location.access {
        Some(access) => (
            true,
            !access.anonymous || before == Some(RequireVerdict::NeedsUser),
        ),
        None => (false, false),
    };
    if !is_shared || user.is_none() {
        let service = &context.site.service;
        let outcome = service
            .authenticator
            .identify(&service.config, &rules.policy, context.request);
        match outcome.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))? {
            AuthOutcome::Authenticated(found, _) => *user = Some(found),
            AuthOutcome::Busy => return Err(Fault::busy()),
            AuthOutcome::NoCredentials if must_log_in => return Err(challenge(context, &rules, false)),
            AuthOutcome::Rejected { stale } if must_log_in => return Err(challenge(context, &rules, stale)),
            AuthOutcome::NoCredentials | AuthOutcome::Rejected { .. } => return Ok(false),
        }
    }
    if !is_fulfilled(before) && !is_fulfilled(required(context, user.as_ref())?) {
        return match must_log_in {
            true => Err(challenge(context, &rules, false)),
            false => Ok(false),
        };
    }
    let groups = user.as_ref().map(|user| user.groups.clone());
    context.user = user.as_ref().map(|user| user.name.clone());
    look_up_rights(context, &rules, groups.as_deref().unwrap_or_default());
    Ok(has_rights(context, rules.authenticated, &needed))
}

fn rules(context: &RequestContext<'_>) -> Result<Arc<RepositoryRules>, Fault> {
    if let Some(rules) = context.connection.rules(&context.mount) {
        return Ok(rules);
    }
    // A repository whose rules cannot be read is closed.
    let broken = |error: Error| Fault::hidden(StatusCode::FORBIDDEN, error);
    let rules = match &context.mount.location.access {
        Some(access) => of_location(context, access),
        None => of_repository(context),
    };
    let mut rules = rules.map_err(broken)?;
    let authz = rules.authz.as_ref();
    rules.anonymous_rights =
        authz.map(|authz| authz.rights_in_groups(context.mount.name.as_deref(), None, &[]));
    let rules = Arc::new(rules);
    context.connection.store_rules(&context.mount, &rules);
    Ok(rules)
}

/// Reads the rules of a location.
fn of_location(context: &RequestContext<'_>, access: &AccessRules) -> Result<RepositoryRules, Error> {
    let root = context.mount.repository.path();
    let uuid = || context.mount.repository.uuid();
    rules_at(&context.site.service, access, root, uuid)
}

/// Returns how a location's users log in; `realm` makes one where none is configured.
pub(super) fn policy_of(access: &AccessRules, realm: impl FnOnce() -> String) -> AuthPolicy {
    AuthPolicy {
        providers: access.providers.clone(),
        realm: match &access.realm {
            Some(realm) => plain_realm(realm),
            None => realm(),
        },
        basic: access.basic,
        digest: access.digest,
        remember: access.remember,
    }
}

/// Reads the rules of a location for the repository in the folder `root`, which may not exist. `realm` makes a realm where none is
/// configured.
pub(super) fn rules_at(
    service: &Service,
    access: &AccessRules,
    root: &Path,
    realm: impl FnOnce() -> String,
) -> Result<RepositoryRules, Error> {
    let files = match (&access.authz, &access.repository_authz) {
        (Some(files), _) => Some(AuthzFiles {
            authz: files.authz.within(root),
            groups: files.groups.as_ref().map(|groups| groups.within(root)),
        }),
        (None, Some(name)) => Some(AuthzFiles {
            authz: Source::new(name.as_bytes(), &root.join("conf")).within(root),
            groups: access.groups.clone().map(Source::File),
        }),
        (None, None) => None,
    };
    let has_groups = |provider: &Provider| matches!(provider, Provider::Ldap(ldap) if ldap.groups.is_some());
    let has_groups = access.providers.iter().any(has_groups);
    let has_require = access.require.is_some() || access.require_write.is_some();
    let anonymous = match (access.anonymous, files.is_some() || has_require) {
        (false, _) => Access::None,
        (true, true) => Access::Write,
        (true, false) => Access::Read,
    };
    Ok(RepositoryRules {
        anonymous,
        authenticated: Access::Write,
        policy: policy_of(access, realm),
        no_auth_when_anonymous: access.no_auth_when_anonymous,
        has_require,
        authz: authz_of(service, files, has_groups)?,
        anonymous_rights: None,
        username_case: access.username_case,
    })
}

/// Reads the rules in a repository's own `svnserve.conf`.
fn of_repository(context: &RequestContext<'_>) -> Result<RepositoryRules, Error> {
    let repository = &context.mount.repository;
    let conf = conf_of(&context.site.service, repository)?;
    let files = AuthzFiles::of(&conf, repository.path());
    let realm = match (&context.mount.location.realm, &conf.realm) {
        (Some(realm), _) => plain_realm(realm),
        (None, Some(realm)) => plain_realm(&String::from_utf8_lossy(realm)),
        (None, None) => repository.uuid(),
    };
    let providers: Vec<Provider> = conf
        .password_db
        .clone()
        .map(Provider::Passwd)
        .into_iter()
        .collect();
    Ok(RepositoryRules {
        anonymous: conf.anon_access,
        authenticated: conf.auth_access,
        policy: AuthPolicy {
            providers: providers.into(),
            realm,
            basic: true,
            digest: false,
            remember: Duration::ZERO,
        },
        no_auth_when_anonymous: false,
        has_require: false,
        authz: authz_of(&context.site.service, files, false)?,
        anonymous_rights: None,
        username_case: conf.username_case,
    })
}

fn look_up_rights(context: &mut RequestContext<'_>, rules: &RepositoryRules, groups: &[String]) {
    let user = context.user.as_deref().map(|user| rules.username_case.fold(user));
    context.rights = rules
        .authz
        .as_ref()
        .map(|authz| authz.rights_in_groups(context.mount.name.as_deref(), user.as_deref(), groups));
}

/// Returns a 401 with challenges; a 403 if no provider could check credentials.
fn challenge(context: &RequestContext<'_>, rules: &RepositoryRules, stale: bool) -> Fault {
    challenge_for(&context.site.service, context.request, rules, stale)
}

pub(super) fn challenge_for(
    service: &Service,
    request: &Request,
    rules: &RepositoryRules,
    stale: bool,
) -> Fault {
    let lines = service.authenticator.challenges(&rules.policy, request, stale);
    if lines.is_empty() {
        return Fault::html(StatusCode::FORBIDDEN);
    }
    let refused = Fault::html(StatusCode::UNAUTHORIZED);
    lines
        .into_iter()
        .fold(refused, |fault, line| fault.with("www-authenticate", line))
}

fn has_rights(context: &RequestContext<'_>, access: Access, needed: &[RequiredRight]) -> bool {
    let max = match context.mount.location.read_only {
        true => Access::Read,
        false => Access::Write,
    };
    let rights = context.rights.as_deref();
    needed
        .iter()
        .all(|right| has_right(rights, access.min(max), right))
}

/// A right that a request needs.
pub(super) struct RequiredRight {
    write: bool,
    /// The right is needed on everything below the path as well.
    recursive: bool,
    /// `None` is the right on any path.
    path: Option<FsPath>,
}

/// Returns the rights that the request needs.
fn needed_rights(context: &RequestContext<'_>) -> Result<Vec<RequiredRight>, Fault> {
    let resource_of_url = |url: &str| context.mount.resource_of_url(url);
    needed_rights_on(context.request, context.resource.path().cloned(), resource_of_url)
}

/// Returns the rights that a request needs whose URL names the node at `path`, or no node.
pub(super) fn needed_rights_on(
    request: &Request,
    path: Option<FsPath>,
    resource_of_url: impl Fn(&str) -> Option<Resource>,
) -> Result<Vec<RequiredRight>, Fault> {
    let need = |write, recursive| RequiredRight {
        write,
        recursive,
        path: path.clone(),
    };
    let destination = || -> Result<Option<RequiredRight>, Fault> {
        let Some(url) = request.header_utf8("destination") else {
            return Ok(None);
        };
        let resource = resource_of_url(url).ok_or_else(|| mount::no_resource(url))?;
        Ok(Some(RequiredRight {
            write: true,
            recursive: true,
            path: resource.path().cloned(),
        }))
    };
    Ok(match request.method.as_str() {
        "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT" => vec![need(false, false)],
        // A resource without a path cannot be copied. As with Apache, the method itself refuses it.
        "COPY" | "MOVE" if path.is_none() => vec![need(request.method == "MOVE", true)],
        "COPY" => [need(false, true)].into_iter().chain(destination()?).collect(),
        "MOVE" => [need(true, true)].into_iter().chain(destination()?).collect(),
        "MERGE" => vec![RequiredRight {
            path: None,
            ..need(true, false)
        }],
        "MKCOL" | "PUT" | "PROPPATCH" | "CHECKOUT" | "MKACTIVITY" | "LOCK" | "UNLOCK" => {
            vec![need(true, false)]
        }
        _ => vec![need(true, true)],
    })
}

/// Returns whether `access` and `rights` include a right.
pub(super) fn has_right(rights: Option<&UserRights>, access: Access, right: &RequiredRight) -> bool {
    let least = if right.write { Access::Write } else { Access::Read };
    if access < least {
        return false;
    }
    let Some(rights) = rights else {
        return true;
    };
    match (&right.path, right.write) {
        (Some(path), write) => {
            let required = if write { Required::Write } else { Required::Read };
            rights.allows(path, required, right.recursive)
        }
        (None, true) => rights.max_rights() >= Rights::Write,
        // The methods filter what such resources show.
        (None, false) => true,
    }
}
