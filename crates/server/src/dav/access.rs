//! Who sends a request, and whether they may: before any handler sees it.
//!
//! A location has rules of its own, or each repository's `svnserve.conf` speaks for it as it does over `svn://`. Which right a
//! method needs on which path is Apache's table, so that a set of rules means the same over both servers. A right that is
//! lacking asks for a password if none was given and one could help (401), and else refuses (403); it never hides
//! what exists.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{Error, FsPath};
use http::StatusCode;
use repos::authz::{Authz, Required, Rights, Source, UserRights};
use repos::config::{Access, AuthzFiles, UsernameCase};
use wire::dav::uri::Resource;

use super::fault::Fault;
use super::known::Admitted;
use super::place;
use super::visit::Visit;
use crate::auth::{Door, Proof, User, plain_realm};
use crate::http::{AccessRules, Location, Provider, Reply, Request, RequireVerdict};
use crate::rules::{authz_of, conf_of};
use crate::service::Service;

/// The rules for a repository.
pub(super) struct Rules {
    pub(super) anonymous: Access,
    pub(super) authenticated: Access,
    /// How names are proved; without providers nobody can.
    pub(super) door: Door,
    /// Who may do as nobody what they want is not asked for a password.
    pub(super) no_auth_when_anonymous: bool,
    /// The location says who may come in at all.
    pub(super) requires: bool,
    pub(super) authz: Option<Arc<Authz>>,
    /// What they grant to nobody in particular.
    pub(super) of_nobody: Option<Arc<UserRights>>,
    pub(super) case: UsernameCase,
}

impl Rules {
    /// Somebody who says and proves no name, if that is all that is asked about them.
    pub(super) fn nobody(&self) -> Option<Admitted> {
        // What is required may depend on where the request comes from.
        (!self.no_auth_when_anonymous && !self.requires).then(|| Admitted {
            authorization: None,
            user: None,
            access: self.anonymous,
            rights: self.of_nobody.clone(),
        })
    }
}

/// Finds out who is there, and lets them in or not.
///
/// # Errors
/// 401, 403; 400 for a destination outside of the repository, and for an `If` header that is none.
pub(super) fn admit(visit: &mut Visit<'_>, reply: &mut Reply) -> Result<(), Fault> {
    identify(visit, reply)?;
    // Of those who may come in it must make sense, whatever the method makes of it.
    visit.if_header()?;
    Ok(())
}

fn identify(visit: &mut Visit<'_>, reply: &mut Reply) -> Result<(), Fault> {
    let rules = rules(visit)?;
    let wanted = needs(visit)?;
    visit.rights = rules.of_nobody.clone();
    let before = required(visit, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let as_nobody = is_open(before) && may_all(visit, rules.anonymous, &wanted);
    if as_nobody && rules.no_auth_when_anonymous {
        return Ok(());
    }
    let proof = visit
        .service
        .keeper
        .identify(visit.service, &rules.door, visit.request);
    // An administrator must see to it: a client that hears of a wrong password forgets the right one.
    let broken = |error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error);
    let proof = proof.map_err(broken)?;
    let is_told = matches!(proof, Proof::Name(_, Some(_)));
    let admitted = match proof {
        Proof::Nothing if as_nobody => Ok(rules.anonymous),
        // As Apache: who need not log in is not asked to, and without an access file not even listened to.
        Proof::Nothing if before.is_some() && is_open(before) && rules.anonymous > Access::None => {
            Err(Fault::html(StatusCode::FORBIDDEN))
        }
        Proof::Wrong { .. } if before.is_some() && as_nobody && rules.authz.is_none() => Ok(rules.anonymous),
        Proof::Nothing => Err(challenge(visit, &rules, false)),
        Proof::Busy => Err(Fault::busy()),
        Proof::Wrong { stale } => Err(challenge(visit, &rules, stale)),
        Proof::Name(user, _) if !is_open(before) && !is_open(required(visit, Some(&user))?) => {
            Err(challenge(visit, &rules, false))
        }
        Proof::Name(user, info) => {
            if let Some(info) = info {
                reply.header("authentication-info", &info);
            }
            visit.user = Some(user.name);
            look_up_rights(visit, &rules, &user.groups);
            match may_all(visit, rules.authenticated, &wanted) {
                true => Ok(rules.authenticated),
                false => Err(Fault::html(StatusCode::FORBIDDEN)),
            }
        }
    };
    let access = admitted?;
    // Answers to digests count once; and who may be nobody is not always who they say.
    if !is_told && !rules.no_auth_when_anonymous && (!rules.requires || only_looks(visit.request)) {
        remember(visit, access);
    }
    Ok(())
}

/// Whether what the location requires is fulfilled, by a user or before it is known who sends the request; `None` if it requires
/// nothing.
///
/// # Errors
/// 500 if a file of groups cannot be read.
fn required(visit: &Visit<'_>, user: Option<&User>) -> Result<Option<RequireVerdict>, Fault> {
    required_at(visit.service, visit.request, &visit.place.location, user)
}

/// As [`required`], of a location where there may be no repository.
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
    let writing = access.require_write.as_ref().filter(|_| !only_looks(request));
    let Some(require) = writing.or(access.require.as_ref()) else {
        return Ok(None);
    };
    let address = request.peer.address.ip();
    let keeper = &service.keeper;
    let verdict = keeper.judge(require, address, user, access.group_file.as_deref());
    verdict
        .map(Some)
        .map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))
}

/// True if nothing more is required.
pub(super) fn is_open(verdict: Option<RequireVerdict>) -> bool {
    matches!(verdict, None | Some(RequireVerdict::Granted))
}

/// The methods that Apache's manual for Subversion lists as those that read.
fn only_looks(request: &Request) -> bool {
    matches!(
        request.method.as_str(),
        "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT"
    )
}

/// The connection's next request is likely to come from the same user.
fn remember(visit: &Visit<'_>, access: Access) {
    let request = &*visit.request;
    let said = request.headers.get(http::header::AUTHORIZATION);
    request.peer.known.remember_admitted(&visit.place, || Admitted {
        authorization: said.map(|said| said.as_bytes().trim_ascii().into()),
        user: visit.user.clone(),
        access,
        rights: visit.rights.clone(),
    });
}

/// True if who sends the request may look at the resource, which is one of many that a page shows. `user` remembers who that
/// is, where all of them ask in the same way.
///
/// # Errors
/// 401 where nobody may look at anything without a name; 403.
pub(super) fn may_look(visit: &mut Visit<'_>, user: &mut Option<User>) -> Result<bool, Fault> {
    let rules = rules(visit)?;
    let wanted = needs(visit)?;
    visit.rights = rules.of_nobody.clone();
    let before = required(visit, None)?;
    if before == Some(RequireVerdict::Denied) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    if is_open(before) && may_all(visit, rules.anonymous, &wanted) {
        return Ok(true);
    }
    let (shared, must_ask) = match &visit.place.location.access {
        Some(access) => (
            true,
            !access.anonymous || before == Some(RequireVerdict::NeedsUser),
        ),
        None => (false, false),
    };
    if !shared || user.is_none() {
        let keeper = &visit.service.keeper;
        let proof = keeper.identify(visit.service, &rules.door, visit.request);
        match proof.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))? {
            Proof::Name(found, _) => *user = Some(found),
            Proof::Busy => return Err(Fault::busy()),
            Proof::Nothing if must_ask => return Err(challenge(visit, &rules, false)),
            Proof::Wrong { stale } if must_ask => return Err(challenge(visit, &rules, stale)),
            Proof::Nothing | Proof::Wrong { .. } => return Ok(false),
        }
    }
    if !is_open(before) && !is_open(required(visit, user.as_ref())?) {
        return match must_ask {
            true => Err(challenge(visit, &rules, false)),
            false => Ok(false),
        };
    }
    let groups = user.as_ref().map(|user| user.groups.clone());
    visit.user = user.as_ref().map(|user| user.name.clone());
    look_up_rights(visit, &rules, groups.as_deref().unwrap_or_default());
    Ok(may_all(visit, rules.authenticated, &wanted))
}

fn rules(visit: &Visit<'_>) -> Result<Arc<Rules>, Fault> {
    let known = &visit.request.peer.known;
    if let Some(rules) = known.rules(&visit.place) {
        return Ok(rules);
    }
    // Without its rules nobody may enter a repository.
    let broken = |error: Error| Fault::hidden(StatusCode::FORBIDDEN, error);
    let rules = match &visit.place.location.access {
        Some(access) => of_location(visit, access),
        None => of_repository(visit),
    };
    let mut rules = rules.map_err(broken)?;
    let authz = rules.authz.as_ref();
    rules.of_nobody = authz.map(|authz| authz.rights_in_groups(visit.place.name.as_deref(), None, &[]));
    let rules = Arc::new(rules);
    known.remember_rules(&visit.place, &rules);
    Ok(rules)
}

/// What the configuration says of a location.
fn of_location(visit: &Visit<'_>, access: &AccessRules) -> Result<Rules, Error> {
    let root = visit.place.repository.path();
    let uuid = || visit.place.repository.uuid();
    rules_at(visit.service, access, root, uuid)
}

/// How a location's users prove their names; `realm` is for where none is configured.
pub(super) fn door_of(access: &AccessRules, realm: impl FnOnce() -> String) -> Door {
    Door {
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

/// The rules of a location for the repository in the folder `root`, which may not exist; `realm` is for where none is configured.
pub(super) fn rules_at(
    service: &Service,
    access: &AccessRules,
    root: &Path,
    realm: impl FnOnce() -> String,
) -> Result<Rules, Error> {
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
    let others = |provider: &Provider| matches!(provider, Provider::Ldap(ldap) if ldap.groups.is_some());
    let others = access.providers.iter().any(others);
    let requires = access.require.is_some() || access.require_write.is_some();
    let anonymous = match (access.anonymous, files.is_some() || requires) {
        (false, _) => Access::None,
        (true, true) => Access::Write,
        (true, false) => Access::Read,
    };
    Ok(Rules {
        anonymous,
        authenticated: Access::Write,
        door: door_of(access, realm),
        no_auth_when_anonymous: access.no_auth_when_anonymous,
        requires,
        authz: authz_of(service, files, others)?,
        of_nobody: None,
        case: access.username_case,
    })
}

/// What a repository's own `svnserve.conf` says.
fn of_repository(visit: &Visit<'_>) -> Result<Rules, Error> {
    let repository = &visit.place.repository;
    let conf = conf_of(visit.service, repository)?;
    let files = AuthzFiles::of(&conf, repository.path());
    let realm = match (&visit.place.location.realm, &conf.realm) {
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
    Ok(Rules {
        anonymous: conf.anon_access,
        authenticated: conf.auth_access,
        door: Door {
            providers: providers.into(),
            realm,
            basic: true,
            digest: false,
            remember: Duration::ZERO,
        },
        no_auth_when_anonymous: false,
        requires: false,
        authz: authz_of(visit.service, files, false)?,
        of_nobody: None,
        case: conf.username_case,
    })
}

fn look_up_rights(visit: &mut Visit<'_>, rules: &Rules, groups: &[String]) {
    let user = visit.user.as_deref().map(|user| rules.case.fold(user));
    visit.rights = rules
        .authz
        .as_ref()
        .map(|authz| authz.rights_in_groups(visit.place.name.as_deref(), user.as_deref(), groups));
}

/// Asks for a name and a password; refuses where nobody could give one.
fn challenge(visit: &Visit<'_>, rules: &Rules, stale: bool) -> Fault {
    challenge_for(visit.service, visit.request, rules, stale)
}

pub(super) fn challenge_for(service: &Service, request: &Request, rules: &Rules, stale: bool) -> Fault {
    let lines = service.keeper.challenges(&rules.door, request, stale);
    if lines.is_empty() {
        return Fault::html(StatusCode::FORBIDDEN);
    }
    let refused = Fault::html(StatusCode::UNAUTHORIZED);
    lines
        .into_iter()
        .fold(refused, |fault, line| fault.with("www-authenticate", line))
}

fn may_all(visit: &Visit<'_>, access: Access, wanted: &[Need]) -> bool {
    let most = match visit.place.location.read_only {
        true => Access::Read,
        false => Access::Write,
    };
    let rights = visit.rights.as_deref();
    wanted.iter().all(|need| may(rights, access.min(most), need))
}

/// A right that a request needs.
pub(super) struct Need {
    write: bool,
    /// Everything below the path as well.
    recursive: bool,
    /// `None` asks for the right anywhere.
    path: Option<FsPath>,
}

/// What the method of a request needs.
fn needs(visit: &Visit<'_>) -> Result<Vec<Need>, Fault> {
    let resource_of_url = |url: &str| visit.place.resource_of_url(url);
    needs_of(visit.request, visit.resource.path().cloned(), resource_of_url)
}

/// What a request needs whose URL is of the node at `path`, or of none.
pub(super) fn needs_of(
    request: &Request,
    path: Option<FsPath>,
    resource_of_url: impl Fn(&str) -> Option<Resource>,
) -> Result<Vec<Need>, Fault> {
    let need = |write, recursive| Need {
        write,
        recursive,
        path: path.clone(),
    };
    let destination = || -> Result<Option<Need>, Fault> {
        let Some(url) = request.header_utf8("destination") else {
            return Ok(None);
        };
        let resource = resource_of_url(url).ok_or_else(|| place::no_resource(url))?;
        Ok(Some(Need {
            write: true,
            recursive: true,
            path: resource.path().cloned(),
        }))
    };
    Ok(match request.method.as_str() {
        "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT" => vec![need(false, false)],
        // What has no path is never copied: as Apache, such a request is let through to be told so.
        "COPY" | "MOVE" if path.is_none() => vec![need(request.method == "MOVE", true)],
        "COPY" => [need(false, true)].into_iter().chain(destination()?).collect(),
        "MOVE" => [need(true, true)].into_iter().chain(destination()?).collect(),
        "MERGE" => vec![Need {
            path: None,
            ..need(true, false)
        }],
        "MKCOL" | "PUT" | "PROPPATCH" | "CHECKOUT" | "MKACTIVITY" | "LOCK" | "UNLOCK" => {
            vec![need(true, false)]
        }
        _ => vec![need(true, true)],
    })
}

pub(super) fn may(rights: Option<&UserRights>, access: Access, need: &Need) -> bool {
    let least = if need.write { Access::Write } else { Access::Read };
    if access < least {
        return false;
    }
    let Some(rights) = rights else {
        return true;
    };
    match (&need.path, need.write) {
        (Some(path), write) => {
            let required = if write { Required::Write } else { Required::Read };
            rights.allows(path, required, need.recursive)
        }
        (None, true) => rights.max_rights() >= Rights::Write,
        // What such resources show is filtered by their handlers.
        (None, false) => true,
    }
}
