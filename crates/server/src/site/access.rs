//! Authentication and authorization of requests, before any method is carried out.
//!
//! A location has access rules of its own, or each repository's `svnserve.conf` holds as it does over svn://. The table of the
//! rights that each method needs is Apache's, so that a set of rules means the same for both servers. A request without a needed
//! right is answered with 401 if it has no credentials and credentials could help, otherwise with 403. A refusal never hides
//! what exists.

use std::sync::Arc;

use http::StatusCode;
use repos::config::Access;

use super::connection_cache::AdmittedUser;
use super::context::RequestContext;
use super::forwarded::{FORWARDED, ForwardedUser};
use super::required_rights::{RequiredRight, has_right, needed_rights};
use super::rules::{RepositoryRules, rules};
use crate::auth::{AuthOutcome, User};
use crate::config::{Location, RequireVerdict};
use crate::http::{Fault, Request, ResponseWriter};
use crate::service::Service;

/// Authenticates a request, and checks that its user has the rights that it needs.
///
/// # Errors
/// 401, 403; 400 for a destination outside of the repository; 503 if too many passwords wait to be checked.
pub(crate) fn authorize(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Result<(), Fault> {
    if let Some(forwarded) = forwarded(context)? {
        return admit_forwarded(context, forwarded);
    }
    let check = AccessCheck::begin(context)?;
    let (rules, is_allowed_anonymously) = (&check.rules, check.is_allowed_anonymously);
    if is_allowed_anonymously && rules.no_auth_when_anonymous {
        return Ok(());
    }
    let outcome = check.identify(context)?;
    let is_digest = matches!(outcome, AuthOutcome::Authenticated(_, Some(_)));
    let admitted = match outcome {
        AuthOutcome::NoCredentials if is_allowed_anonymously => Ok(rules.anonymous),
        // As Apache: where no login is required none is requested, and without an access file credentials are ignored.
        AuthOutcome::NoCredentials if check.requires_no_login() && rules.anonymous > Access::None => {
            Err(Fault::html(StatusCode::FORBIDDEN))
        }
        AuthOutcome::Rejected { .. } | AuthOutcome::OtherResource
            if check.requires_no_login() && is_allowed_anonymously && rules.authz.is_none() =>
        {
            Ok(rules.anonymous)
        }
        AuthOutcome::NoCredentials => Err(challenge(context, rules, false)),
        AuthOutcome::Busy => Err(Fault::busy()),
        AuthOutcome::OtherResource => Err(Fault::html(StatusCode::BAD_REQUEST)),
        AuthOutcome::Rejected { stale } => Err(challenge(context, rules, stale)),
        AuthOutcome::Authenticated(user, _) if !check.fulfils_require(context, Some(&user))? => {
            Err(challenge(context, rules, false))
        }
        AuthOutcome::Authenticated(user, info) => {
            if let Some(info) = info {
                reply.head.header("authentication-info", &info);
            }
            context.user = Some(user.name);
            context.groups = user.groups.clone();
            match check.has_rights_of_user(context, &user.groups) {
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

/// Returns the user of a request that another machine of the cluster has authorized and passed on.
fn forwarded(context: &RequestContext<'_>) -> Result<Option<ForwardedUser>, Fault> {
    match context.repository().shared_nodes() {
        Some(nodes) if context.request.header(FORWARDED).is_some() => {
            context.request.check_may_wait()?;
            Ok(ForwardedUser::of_request(&**nodes, context.request)?)
        }
        _ => Ok(None),
    }
}

/// Gives a request that another machine has authorized the rights of its user. Conditions on the address or the certificate of the
/// client were checked there.
///
/// # Errors
/// 403 if the rules of this machine differ and refuse the request; those of reading the rules.
fn admit_forwarded(context: &mut RequestContext<'_>, forwarded: ForwardedUser) -> Result<(), Fault> {
    let rules = rules(context)?;
    let needed = needed_rights(context)?;
    let access = match forwarded.into_user() {
        None => {
            context.rights = rules.anonymous_rights.clone();
            rules.anonymous
        }
        Some(user) => {
            context.user = Some(user.name);
            context.groups = user.groups.clone();
            look_up_rights(context, &rules, &user.groups);
            rules.authenticated
        }
    };
    match has_rights(context, access, &needed) {
        true => Ok(()),
        false => Err(Fault::html(StatusCode::FORBIDDEN)),
    }
}

/// The check of a request, with the results that need no user.
struct AccessCheck {
    rules: Arc<RepositoryRules>,
    needed: Vec<RequiredRight>,
    /// The verdict of the location's `require` condition on anonymous users; `None` if it has none.
    anonymous_verdict: Option<RequireVerdict>,
    /// Anonymous users may make the request.
    is_allowed_anonymously: bool,
}

impl AccessCheck {
    /// Checks whether anonymous users may make the request, and gives it their rights.
    ///
    /// # Errors
    /// 403 if no user may make the request; those of reading the rules.
    fn begin(context: &mut RequestContext<'_>) -> Result<AccessCheck, Fault> {
        let rules = rules(context)?;
        let needed = needed_rights(context)?;
        context.rights = rules.anonymous_rights.clone();
        let anonymous_verdict = required(context, None)?;
        if anonymous_verdict == Some(RequireVerdict::Denied) {
            return Err(Fault::html(StatusCode::FORBIDDEN));
        }
        let is_allowed_anonymously =
            is_fulfilled(anonymous_verdict) && has_rights(context, rules.anonymous, &needed);
        Ok(AccessCheck {
            rules,
            needed,
            anonymous_verdict,
            is_allowed_anonymously,
        })
    }

    /// Returns whether the location has a `require` condition that anonymous users fulfil.
    fn requires_no_login(&self) -> bool {
        self.anonymous_verdict.is_some() && is_fulfilled(self.anonymous_verdict)
    }

    /// Checks the request's credentials.
    ///
    /// # Errors
    /// 500 if they cannot be checked. This is no 401: a client that gets "wrong password" forgets the right one.
    fn identify(&self, context: &RequestContext<'_>) -> Result<AuthOutcome, Fault> {
        let service = &context.site.service;
        let outcome = service
            .authenticator
            .identify(&service.config, &self.rules.policy, context.request);
        outcome.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))
    }

    /// Returns whether a user fulfils the location's `require` condition.
    ///
    /// # Errors
    /// 500 if a file of groups cannot be read.
    fn fulfils_require(&self, context: &RequestContext<'_>, user: Option<&User>) -> Result<bool, Fault> {
        Ok(is_fulfilled(self.anonymous_verdict) || is_fulfilled(required(context, user)?))
    }

    /// Gives the request the rights of its user, and returns whether they suffice.
    fn has_rights_of_user(&self, context: &mut RequestContext<'_>, groups: &[String]) -> bool {
        look_up_rights(context, &self.rules, groups);
        has_rights(context, self.rules.authenticated, &self.needed)
    }
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
    let check = AccessCheck::begin(context)?;
    if check.is_allowed_anonymously {
        return Ok(true);
    }
    let rules = &check.rules;
    let (is_shared, must_log_in) = match &context.mount.location.access {
        Some(access) => (
            true,
            !access.anonymous || check.anonymous_verdict == Some(RequireVerdict::NeedsUser),
        ),
        None => (false, false),
    };
    if !is_shared || user.is_none() {
        match check.identify(context)? {
            AuthOutcome::Authenticated(found, _) => *user = Some(found),
            AuthOutcome::Busy => return Err(Fault::busy()),
            AuthOutcome::OtherResource => return Err(Fault::html(StatusCode::BAD_REQUEST)),
            AuthOutcome::NoCredentials if must_log_in => return Err(challenge(context, rules, false)),
            AuthOutcome::Rejected { stale } if must_log_in => return Err(challenge(context, rules, stale)),
            AuthOutcome::NoCredentials | AuthOutcome::Rejected { .. } => return Ok(false),
        }
    }
    if !check.fulfils_require(context, user.as_ref())? {
        return match must_log_in {
            true => Err(challenge(context, rules, false)),
            false => Ok(false),
        };
    }
    let groups = user.as_ref().map(|user| user.groups.clone());
    context.user = user.as_ref().map(|user| user.name.clone());
    Ok(check.has_rights_of_user(context, groups.as_deref().unwrap_or_default()))
}

fn look_up_rights(context: &mut RequestContext<'_>, rules: &RepositoryRules, groups: &[String]) {
    let user = context.user.as_deref().map(|user| rules.username_case.fold(user));
    context.rights = rules
        .authz
        .as_ref()
        .map(|authz| authz.rights_in_groups(context.mount.authz_name.as_deref(), user.as_deref(), groups));
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
