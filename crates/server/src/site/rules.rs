//! The access rules of a repository: those of its location, or those in its own `svnserve.conf`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Error;
use http::StatusCode;
use repos::ReadMode;
use repos::authz::{Authz, Source, UserRights};
use repos::config::{Access, AuthzFiles, UsernameCase};

use super::connection_cache::AdmittedUser;
use super::context::RequestContext;
use crate::auth::{AuthPolicy, plain_realm};
use crate::config::{AccessRules, Provider};
use crate::http::Fault;
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

/// Returns the rules for the request's repository.
///
/// # Errors
/// 403 if they cannot be read.
pub(super) fn rules(context: &RequestContext<'_>) -> Result<Arc<RepositoryRules>, Fault> {
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
        authz.map(|authz| authz.rights_in_groups(context.mount.authz_name.as_deref(), None, &[]));
    let rules = Arc::new(rules);
    context.connection.store_rules(&context.mount, &rules);
    Ok(rules)
}

/// Reads the rules of a location.
fn of_location(context: &RequestContext<'_>, access: &AccessRules) -> Result<RepositoryRules, Error> {
    let root = context.mount.repository.path();
    let uuid = || context.mount.repository.uuid();
    rules_at(
        &context.site.service,
        access,
        root,
        uuid,
        &context.request.read_mode,
    )
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
    mode: &ReadMode,
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
        authz: authz_of(service, files, has_groups, mode)?,
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
    // With SASL the users are elsewhere: the file of passwords, if there is one, is not theirs.
    let passwords = conf.password_db.clone().filter(|_| conf.sasl.is_none());
    let providers: Vec<Provider> = passwords.map(Provider::Passwd).into_iter().collect();
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
        authz: authz_of(&context.site.service, files, false, &context.request.read_mode)?,
        anonymous_rights: None,
        username_case: conf.username_case,
    })
}
