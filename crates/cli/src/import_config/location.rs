//! Translates a location of Apache, with its directives about users.

use std::path::Path;

use super::access::access;
use super::draft::{TableDraft, quoted};
use super::hosts::LocationContext;
use super::ldap::ldap;
use super::syntax::Directive;
use super::{closed, directives};

/// The translation of one location.
#[derive(Debug)]
pub struct TranslatedLocation {
    pub path: String,
    pub location: TableDraft,
    pub auth: TableDraft,
    pub ldap: TableDraft,
}

/// Translates a location; relative file names are relative to `root`.
pub fn translate(context: &LocationContext<'_>, root: &Path) -> TranslatedLocation {
    let mut table = TableDraft::new("[[location]]");
    table.text("path", context.path.clone());
    let file = |directive: &Directive| absolute_name(directive.arg(0), root);
    // A location within another one may have both: then Apache looks at the first.
    if let Some(path) = context.last("SVNPath") {
        table.text("repository", file(path));
    } else if let Some(path) = context.last("SVNParentPath") {
        table.text("parent", file(path));
        table.flag(
            "list",
            context.last("SVNListParentPath").is_some_and(Directive::on),
        );
    }
    if context.last("SVNPath").is_none() && context.last("SVNParentPath").is_none() {
        table.remark(format!("{}: neither SVNPath nor SVNParentPath", context.at));
    }
    plain_keys(context, root, &mut table);
    recursion(context, root, &mut table);
    rules(context, root, &mut table);
    let (auth, ldap) = users(context, root, &mut table);
    if let Some(directive) = context
        .last("AuthzSVNAuthoritative")
        .filter(|directive| !directive.on())
    {
        table.remark(format!(
            "{}: {}: a user whom the access file refuses is refused here, whatever 'Require' says",
            directive.at,
            directive.shown()
        ));
    }
    for directive in context.all(true) {
        if let Some(why) = directives::untranslated_reason(&directive.name, true) {
            table.remark(format!("{}: {}: {why}", directive.at, directive.shown()));
        }
    }
    TranslatedLocation {
        path: context.path.clone(),
        location: table,
        auth,
        ldap,
    }
}

/// Translates the directives whose values are those of a key.
fn plain_keys(context: &LocationContext<'_>, root: &Path, table: &mut TableDraft) {
    for (name, key) in [
        ("SVNReposName", "name"),
        ("SVNIndexXSLT", "index-xslt"),
        ("SVNMasterURI", "master-uri"),
    ] {
        if let Some(directive) = context.last(name) {
            table.text(key, directive.arg(0));
        }
    }
    if let Some(directive) = context.last("SVNMasterVersion") {
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
        if let Some(directive) = context.last(name) {
            table.flag(key, directive.on());
        }
    }
    for (name, key) in [
        ("SVNPathAuthz", "path-authz"),
        ("SVNAllowBulkUpdates", "bulk-updates"),
        ("AuthzForceUsernameCase", "force-username-case"),
    ] {
        if let Some(directive) = context.last(name) {
            table.text(key, directive.arg(0).to_ascii_lowercase().replace('_', "-"));
        }
    }
    for (name, key) in [("SVNActivitiesDB", "activities-db"), ("SVNHooksEnv", "hooks-env")] {
        if let Some(directive) = context.last(name) {
            table.text(key, absolute_name(directive.arg(0), root));
        }
    }
}

/// Translates the rules of mod_dontdothat.
fn recursion(context: &LocationContext<'_>, root: &Path, table: &mut TableDraft) {
    if context
        .last("DontDoThatDisallowReplay")
        .is_some_and(Directive::on)
    {
        table.flag("refuse-replay", true);
    }
    let Some(directive) = context.last("DontDoThatConfigFile") else {
        return;
    };
    let text = std::fs::read_to_string(absolute_name(directive.arg(0), root)).unwrap_or_default();
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

/// Translates the authz file and the requirements.
fn rules(context: &LocationContext<'_>, root: &Path, table: &mut TableDraft) {
    let source = |directive: &Directive| match directive.arg(0) {
        name if name.starts_with("^/") || name.contains("://") => name.to_owned(),
        name => absolute_name(name, root),
    };
    let authz = context.last("AuthzSVNAccessFile");
    let apart = context.last("AuthzSVNReposRelativeAccessFile");
    match (authz, apart) {
        (Some(directive), _) => table.text("authz", source(directive)),
        (None, Some(directive)) if directive.arg(0).starts_with("^/") || directive.arg(0).contains("://") => {
            table.text("authz", directive.arg(0));
        }
        (None, Some(directive)) => table.text("repository-authz", directive.arg(0)),
        (None, None) => {}
    }
    if let Some(directive) = context.last("AuthzSVNGroupsFile") {
        table.text("groups", source(directive));
    }
    let access = access(context, authz.or(apart).is_some());
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

/// Returns `[auth]` and `[auth.ldap]` for this location.
fn users(context: &LocationContext<'_>, root: &Path, remarks: &mut TableDraft) -> (TableDraft, TableDraft) {
    let (mut auth, directory) = (TableDraft::new("[auth]"), TableDraft::new("[auth.ldap]"));
    let Some(kind) = context.last("AuthType") else {
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
    if let Some(realm) = context.last("AuthName") {
        auth.text("realm", realm.arg(0));
    }
    if let Some(groups) = context.last("AuthGroupFile") {
        auth.text("group-file", absolute_name(groups.arg(0), root));
    }
    let directory = providers(context, root, &mut auth, remarks);
    let knows_passwords = auth.value("htpasswd-file").is_some() || directory.has_keys();
    if !knows_passwords && needs_login(remarks) {
        let why = "names no file and no directory that knows passwords, so every login fails in Apache; nobody is let in here: say where \
                   the passwords are, and take the 'require' below away";
        closed::close(remarks, format!("{}: {} {why}", kind.at, kind.shown()));
    }
    (auth, directory)
}

/// True if a location lets some requests in after a login only.
fn needs_login(location: &TableDraft) -> bool {
    let admits_all = |key: &str| location.value(key).is_none_or(|value| value == quoted("anyone"));
    location.value("anonymous") == Some("false") || !admits_all("require") || !admits_all("require-write")
}

/// Translates the providers into `auth`, and returns `[auth.ldap]`.
fn providers(
    context: &LocationContext<'_>,
    root: &Path,
    auth: &mut TableDraft,
    remarks: &mut TableDraft,
) -> TableDraft {
    let mut directory = TableDraft::new("[auth.ldap]");
    let mut providers = Vec::new();
    let named = context
        .last("AuthBasicProvider")
        .or(context.last("AuthDigestProvider"));
    let names: Vec<&str> = named.map_or(vec!["file"], |d| d.args.iter().map(String::as_str).collect());
    for name in names {
        match (name.to_ascii_lowercase().as_str(), named) {
            ("file", _) => {
                if let Some(file) = context.last("AuthUserFile") {
                    auth.text("htpasswd-file", absolute_name(file.arg(0), root));
                    providers.push("htpasswd".to_owned());
                }
            }
            ("ldap", _) if context.last("AuthLDAPURL").is_some() => {
                directory = ldap(context, root);
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
    directory
}

/// Returns the absolute name of a file, relative to Apache's root.
pub fn absolute_name(name: &str, root: &Path) -> String {
    root.join(name).display().to_string()
}
