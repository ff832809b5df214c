//! A location of Apache's as one of ours, with what it says about users.

use std::path::Path;

use super::access::access;
use super::draft::{Table, quoted};
use super::hosts::LocationContext;
use super::ldap::ldap;
use super::syntax::Directive;
use super::words;

/// What comes of one location.
#[derive(Debug)]
pub struct Translated {
    pub path: String,
    pub location: Table,
    pub auth: Table,
    pub ldap: Table,
}

/// Translates `place`; relative names of files are relative to `root`.
pub fn translate(place: &LocationContext<'_>, root: &Path) -> Translated {
    let mut table = Table::new("[[location]]");
    table.text("path", place.path.clone());
    let file = |directive: &Directive| located(directive.arg(0), root);
    if let Some(path) = place.last("SVNPath") {
        table.text("repository", file(path));
    }
    if let Some(path) = place.last("SVNParentPath") {
        table.text("parent", file(path));
        table.flag("list", place.last("SVNListParentPath").is_some_and(Directive::on));
    }
    if place.last("SVNPath").is_none() && place.last("SVNParentPath").is_none() {
        table.remark(format!("{}: neither SVNPath nor SVNParentPath", place.at));
    }
    for (name, key) in [
        ("SVNReposName", "name"),
        ("SVNIndexXSLT", "index-xslt"),
        ("SVNMasterURI", "master-uri"),
    ] {
        if let Some(directive) = place.last(name) {
            table.text(key, directive.arg(0));
        }
    }
    if let Some(directive) = place.last("SVNMasterVersion") {
        table.text("master-version", directive.arg(0));
    }
    for (name, key) in [
        ("SVNAutoversioning", "autoversioning"),
        ("SVNAdvertiseV2Protocol", "advertise-v2"),
        (
            "AuthzSVNNoAuthWhenAnonymousAllowed",
            "no-auth-when-anonymous-allowed",
        ),
    ] {
        if let Some(directive) = place.last(name) {
            table.flag(key, directive.on());
        }
    }
    for (name, key) in [
        ("SVNPathAuthz", "path-authz"),
        ("SVNAllowBulkUpdates", "bulk-updates"),
        ("AuthzForceUsernameCase", "force-username-case"),
    ] {
        if let Some(directive) = place.last(name) {
            table.text(key, directive.arg(0).to_ascii_lowercase().replace('_', "-"));
        }
    }
    for (name, key) in [("SVNActivitiesDB", "activities-db"), ("SVNHooksEnv", "hooks-env")] {
        if let Some(directive) = place.last(name) {
            table.text(key, file(directive));
        }
    }
    recursion(place, root, &mut table);
    rules(place, root, &mut table);
    let (auth, ldap) = users(place, root, &mut table);
    for directive in place.all(true) {
        if let Some(why) = words::left_out(&directive.name, true) {
            table.remark(format!("{}: {}: {why}", directive.at, directive.shown()));
        }
    }
    Translated {
        path: place.path.clone(),
        location: table,
        auth,
        ldap,
    }
}

/// What mod_dontdothat keeps away.
fn recursion(place: &LocationContext<'_>, root: &Path, table: &mut Table) {
    if place.last("DontDoThatDisallowReplay").is_some_and(Directive::on) {
        table.flag("refuse-replay", true);
    }
    let Some(directive) = place.last("DontDoThatConfigFile") else {
        return;
    };
    let text = std::fs::read_to_string(located(directive.arg(0), root)).unwrap_or_default();
    let mut patterns = Vec::new();
    for (path, action) in text.lines().filter_map(|line| line.split_once('=')) {
        match action.trim() {
            "deny" => patterns.push(quoted(path.trim())),
            "allow" => patterns.push(quoted(&format!("!{}", path.trim()))),
            _ => {}
        }
    }
    table.idle(
        "refuse-recursive",
        format!("[{}]", patterns.join(", ")),
        format!(
            "{}: {}: paths in the repository, without its name; the first pattern that fits decides",
            directive.at,
            directive.shown()
        ),
    );
}

/// The access file, and what requirements make of those without a name.
fn rules(place: &LocationContext<'_>, root: &Path, table: &mut Table) {
    let source = |directive: &Directive| match directive.arg(0) {
        name if name.starts_with("^/") || name.contains("://") => name.to_owned(),
        name => located(name, root),
    };
    let authz = place.last("AuthzSVNAccessFile");
    let apart = place.last("AuthzSVNReposRelativeAccessFile");
    match (authz, apart) {
        (Some(directive), _) => table.text("authz", source(directive)),
        (None, Some(directive)) if directive.arg(0).starts_with("^/") || directive.arg(0).contains("://") => {
            table.text("authz", directive.arg(0));
        }
        (None, Some(directive)) => table.text("repository-authz", directive.arg(0)),
        (None, None) => {}
    }
    if let Some(directive) = place.last("AuthzSVNGroupsFile") {
        table.text("groups", source(directive));
    }
    let access = access(place, authz.or(apart).is_some());
    if let Some(require) = access.require {
        table.text("require", require);
    }
    if let Some(require) = access.require_write {
        table.text("require-write", require);
    }
    if let Some(anonymous) = access.anonymous {
        table.flag("anonymous", anonymous);
    }
    access.remarks.into_iter().for_each(|remark| table.remark(remark));
}

/// `[auth]` and `[auth.ldap]` for this location.
fn users(place: &LocationContext<'_>, root: &Path, remarks: &mut Table) -> (Table, Table) {
    let (mut auth, mut directory) = (Table::new("[auth]"), Table::new("[auth.ldap]"));
    let Some(kind) = place.last("AuthType") else {
        return (auth, directory);
    };
    match kind.arg(0).to_ascii_lowercase().as_str() {
        "basic" => {}
        "digest" => {
            auth.flag("basic", false);
            auth.flag("digest", true);
        }
        "none" => return (auth, directory),
        _ => {
            let text = format!(
                "{}: {}: only Basic, Digest and client certificates are known here",
                kind.at,
                kind.shown()
            );
            remarks.remark(text);
            return (auth, directory);
        }
    }
    if let Some(realm) = place.last("AuthName") {
        auth.text("realm", realm.arg(0));
    }
    if let Some(groups) = place.last("AuthGroupFile") {
        auth.text("group-file", located(groups.arg(0), root));
    }
    let mut providers = Vec::new();
    let named = place
        .last("AuthBasicProvider")
        .or(place.last("AuthDigestProvider"));
    let names: Vec<&str> = named.map_or(vec!["file"], |d| d.args.iter().map(String::as_str).collect());
    for name in names {
        match (name.to_ascii_lowercase().as_str(), named) {
            ("file", _) => {
                if let Some(file) = place.last("AuthUserFile") {
                    auth.text("htpasswd-file", located(file.arg(0), root));
                    providers.push("htpasswd".to_owned());
                }
            }
            ("ldap", _) if place.last("AuthLDAPURL").is_some() => {
                directory = ldap(place, root);
                providers.push("ldap".to_owned());
            }
            (name, Some(directive)) => {
                remarks.remark(format!(
                    "{}: {}: '{name}' is not known here",
                    directive.at,
                    directive.shown()
                ));
            }
            (_, None) => {}
        }
    }
    if providers.len() > 1 {
        let all: Vec<String> = providers.iter().map(|name| quoted(name)).collect();
        auth.set("providers", format!("[{}]", all.join(", ")));
    }
    (auth, directory)
}

/// A file's name as Apache understands it.
pub fn located(name: &str, root: &Path) -> String {
    root.join(name).display().to_string()
}
