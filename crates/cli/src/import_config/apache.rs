//! Translates Apache's configuration files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::Result;

use super::draft::{TableDraft, TranslatedTables};
use super::hosts::ApacheServer;
use super::location::{TranslatedLocation, translate};
use super::syntax::{ApacheReader, Directive};
use super::{closed, directives, redirects, server_tables};

/// Translates the configuration in `files`.
///
/// # Errors
/// Errors of reading the files.
pub fn translated(
    files: &[PathBuf],
    defines: &[String],
    server_root: Option<&Path>,
) -> Result<TranslatedTables> {
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let mut modules = None;
    loop {
        let (tree, reader) = read(files, defines, server_root.unwrap_or(&root_of(first)), modules)?;
        modules = reader.all_modules();
        // A second time if the modules are known now.
        if reader.modules.is_some() || modules.is_none() {
            return Ok(compose(&tree, &reader));
        }
    }
}

/// Reads the files. `modules` are the loaded ones, if they are known.
fn read(
    files: &[PathBuf],
    defines: &[String],
    root: &Path,
    modules: Option<BTreeSet<String>>,
) -> Result<(Vec<Directive>, ApacheReader)> {
    let mut reader = ApacheReader::new(root.to_owned());
    reader.modules = modules;
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, ""));
        reader.defines.insert(name.to_owned(), value.to_owned());
    }
    reader.read_variables(&reader.root.join("envvars"));
    let mut tree: Vec<Directive> = Vec::new();
    for file in files {
        tree.extend(reader.read(file)?);
    }
    Ok((tree, reader))
}

fn compose(tree: &[Directive], reader: &ApacheReader) -> TranslatedTables {
    let server = ApacheServer::of(tree);
    let root = &reader.root;
    let mut remarks = TableDraft::default();
    let contexts = server.served_locations();
    let Some(first) = contexts.first() else {
        remarks.remark("No <Location> of these files has 'DAV svn': there is nothing to serve.");
        return vec![(remarks, true)];
    };
    for (at, text) in &reader.skipped {
        remarks.remark(format!("{at}: {text}"));
    }
    remark_untranslated(&server, &mut remarks);
    let redirects = redirects::redirects(&server, &mut remarks);
    let mut outcome: TranslatedTables = vec![(remarks, true), (server_tables::listen(&server), true)];
    if let Some(special) = server_tables::special_uri(first) {
        let mut serve = TableDraft::new("[serve]");
        serve.text("special-uri", special);
        outcome.push((serve, true));
    }
    outcome.push((server_tables::tls(&server, root), true));
    let [cache, compression] = server_tables::performance(first);
    outcome.extend([
        (server_tables::limits(first), true),
        (cache, true),
        (compression, true),
        (server_tables::logs(&server, first, root), true),
    ]);
    let mut all: Vec<TranslatedLocation> = contexts.iter().map(|context| translate(context, root)).collect();
    closed::add_restrictions(&server, &contexts, &mut all);
    remark_certificate_users(&server, &mut all);
    outcome.extend(redirects.into_iter().map(|table| (table, true)));
    append_locations(all, &mut outcome);
    outcome.retain(|(table, _)| !table.is_empty());
    outcome
}

/// Appends the locations and their `[auth]` tables. If these are equal in all locations, one `[auth]` serves all.
fn append_locations(all: Vec<TranslatedLocation>, outcome: &mut TranslatedTables) {
    let mut speaking = all
        .iter()
        .filter(|one| one.auth.has_keys() || one.ldap.has_keys());
    let general = speaking.next();
    let shared = general.filter(|first| {
        speaking.all(|one| one.auth.same_keys(&first.auth) && one.ldap.same_keys(&first.ldap))
    });
    if let Some(first) = shared {
        outcome.push((first.auth.clone(), true));
        outcome.push((first.ldap.clone(), true));
    }
    let own = shared.is_none();
    let mut seen: Vec<&TranslatedLocation> = Vec::new();
    for one in &all {
        let before = seen.iter().find(|other| other.path == one.path);
        let same = |other: &&&TranslatedLocation| {
            other.location.same_keys(&one.location)
                && other.auth.same_keys(&one.auth)
                && other.ldap.same_keys(&one.ldap)
        };
        let in_force = before.is_none();
        if before.as_ref().is_some_and(same) {
            // The same location again, usually for http and https.
            continue;
        }
        let mut location = one.location.clone();
        if !in_force {
            location.remark(format!(
                "There is another location for {} above: names of hosts are not looked at here. Run a second server for this one, \
                 or give it another path.",
                one.path
            ));
        }
        outcome.push((location, in_force));
        if own {
            let mut auth = one.auth.clone();
            auth.head = "[location.auth]".to_owned();
            let mut ldap = one.ldap.clone();
            ldap.head = "[location.auth.ldap]".to_owned();
            outcome.push((auth, in_force));
            outcome.push((ldap, in_force));
        }
        seen.push(one);
    }
}

/// Adds a remark if users are identified by their certificates.
fn remark_certificate_users(server: &ApacheServer<'_>, all: &mut [TranslatedLocation]) {
    let hosts = std::iter::once(&server.global).chain(&server.hosts);
    let by_name = hosts.filter_map(|host| host.setting("SSLUserName")).next();
    if let Some(directive) = by_name {
        for one in all {
            let text = "users are known by the common name of their certificates";
            one.location
                .remark(format!("{}: {}: {text}", directive.at, directive.shown()));
        }
    }
}

/// Adds remarks about directives outside of locations, and sections, that are not translated.
fn remark_untranslated(server: &ApacheServer<'_>, remarks: &mut TableDraft) {
    let serving = server.hosts.iter().filter(|host| server.serves_in(host));
    for directive in std::iter::once(&server.global)
        .chain(serving)
        .flat_map(|host| &host.settings)
    {
        let why = match &directive.inner {
            Some(inner)
                if directive.is("LocationMatch")
                    || directive.is("Location")
                    || directive.is("Directory")
                    || directive.is("DirectoryMatch") =>
            {
                let serves = inner
                    .iter()
                    .any(|d| d.is("DAV") && d.arg(0).eq_ignore_ascii_case("svn"));
                serves
                    .then_some("patterns and folders are not translated: write a [[location]] for each path")
            }
            Some(_) => None,
            None => directives::untranslated_reason(&directive.name, false),
        };
        if let Some(why) = why {
            remarks.remark(format!("{}: {}: {why}", directive.at, directive.shown()));
        }
    }
}

/// Returns the default of `ServerRoot`, derived from the file's path. In Debian's layout the files are in directories
/// below it.
fn root_of(file: &Path) -> PathBuf {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = whole.parent().unwrap_or(Path::new("/"));
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let inner = ["sites-", "conf-", "mods-"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    match folder.parent() {
        Some(parent) if inner || name == "conf.d" => parent.to_owned(),
        _ => folder.to_owned(),
    }
}
