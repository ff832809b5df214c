//! Who sends a request, and whether they may: before any handler sees it.
//!
//! A location has rules of its own, or each repository's `svnserve.conf` speaks for it as it does over `svn://`. Which right a
//! method needs on which path is Apache's table, so that a set of rules means the same over both servers. A right that is
//! lacking asks for a password if none was given and one could help (401), and else refuses (403); it never hides
//! what exists.

use std::sync::Arc;

use base::{Error, FsPath};
use http::StatusCode;
use repos::authz::{Authz, Required, Rights};
use repos::config::{Access, AuthzFiles, Passwords, UsernameCase};

use super::fault::Fault;
use super::visit::Visit;
use crate::auth;
use crate::rules::{authz_of, conf_of};

/// The rules for one request.
struct Rules {
    anonymous: Access,
    authenticated: Access,
    passwords: Option<Arc<Passwords>>,
    authz: Option<Arc<Authz>>,
    realm: String,
    case: UsernameCase,
}

/// Finds out who is there, and lets them in or not.
///
/// # Errors
/// 401, 403; 400 for a destination outside of the repository.
pub(super) fn admit(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let rules = rules(visit)?;
    visit.user = match visit.request.header_utf8("authorization").and_then(auth::basic) {
        None => None,
        Some((user, password)) => {
            let known = rules
                .passwords
                .as_ref()
                .and_then(|known| known.password(user.as_bytes()));
            match known {
                Some(known) if auth::same(known, &password) => Some(user),
                _ => return Err(challenge(&rules)),
            }
        }
    };
    look_up_rights(visit, &rules);
    let access = match visit.user {
        Some(_) => rules.authenticated,
        None => rules.anonymous,
    };
    let wanted = needs(visit)?;
    let most = if visit.place.location.read_only {
        Access::Read
    } else {
        Access::Write
    };
    let granted = wanted.iter().all(|need| may(visit, access.min(most), need));
    match (granted, &visit.user) {
        (true, _) => Ok(()),
        (false, None) if rules.passwords.is_some() => Err(challenge(&rules)),
        (false, _) => Err(Fault::html(StatusCode::FORBIDDEN)),
    }
}

fn rules(visit: &Visit<'_>) -> Result<Rules, Fault> {
    let broken = |error: Error| Fault::hidden(StatusCode::FORBIDDEN, error);
    let repository = &visit.place.repository;
    let conf = conf_of(visit.service, repository).map_err(broken)?;
    let passwords = match &conf.password_db {
        Some(path) => visit.service.config.passwords(path).map_err(broken)?,
        None => None,
    };
    let files = AuthzFiles::of(&conf, repository.path());
    let realm = match &conf.realm {
        Some(realm) => String::from_utf8_lossy(realm).into_owned(),
        None => repository.uuid(),
    };
    Ok(Rules {
        anonymous: conf.anon_access,
        authenticated: conf.auth_access,
        passwords,
        authz: authz_of(visit.service, files).map_err(broken)?,
        realm,
        case: conf.username_case,
    })
}

fn look_up_rights(visit: &mut Visit<'_>, rules: &Rules) {
    let user = visit.user.as_deref().map(|user| rules.case.fold(user));
    visit.rights = rules
        .authz
        .as_ref()
        .map(|authz| authz.rights(visit.place.name.as_deref(), user.as_deref()));
}

fn challenge(rules: &Rules) -> Fault {
    let realm = rules.realm.replace(['"', '\\'], "'");
    Fault::html(StatusCode::UNAUTHORIZED).with("www-authenticate", format!("Basic realm=\"{realm}\""))
}

/// A right that a request needs.
struct Need {
    write: bool,
    /// Everything below the path as well.
    recursive: bool,
    /// `None` asks for the right anywhere.
    path: Option<FsPath>,
}

/// What the method of a request needs.
fn needs(visit: &Visit<'_>) -> Result<Vec<Need>, Fault> {
    let path = || visit.resource.path().cloned();
    let need = |write, recursive| Need {
        write,
        recursive,
        path: path(),
    };
    let destination = || -> Result<Option<Need>, Fault> {
        let Some(url) = visit.request.header_utf8("destination") else {
            return Ok(None);
        };
        let resource = visit.place.resource_of_url(url);
        let resource = resource.ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
        Ok(Some(Need {
            write: true,
            recursive: true,
            path: resource.path().cloned(),
        }))
    };
    Ok(match visit.request.method.as_str() {
        "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT" => vec![need(false, false)],
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

fn may(visit: &Visit<'_>, access: Access, need: &Need) -> bool {
    let least = if need.write { Access::Write } else { Access::Read };
    if access < least {
        return false;
    }
    let Some(rights) = &visit.rights else {
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
