//! From Apache's files to ours.

use std::path::{Path, PathBuf};

use base::Result;

use super::draft::Table;
use super::hosts::Server;
use super::location::{Translated, translate};
use super::syntax::{Directive, Reader};
use super::{closed, machine, moved, words};

/// What comes of Apache's configuration: tables in the order of the file, and whether each is in force.
pub type Outcome = Vec<(Table, bool)>;

/// Translates what `files` say together.
///
/// # Errors
/// Those of reading them.
pub fn translated(files: &[PathBuf], defines: &[String], server_root: Option<&Path>) -> Result<Outcome> {
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let mut reader = Reader::new(server_root.map_or_else(|| root_of(first), Path::to_owned));
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, ""));
        reader.defines.insert(name.to_owned(), value.to_owned());
    }
    reader.read_variables(&reader.root.join("envvars"));
    let mut tree: Vec<Directive> = Vec::new();
    for file in files {
        tree.extend(reader.read(file)?);
    }
    Ok(compose(&tree, &reader))
}

fn compose(tree: &[Directive], reader: &Reader) -> Outcome {
    let server = Server::of(tree);
    let root = &reader.root;
    let mut remarks = Table::default();
    let places = server.places();
    let Some(first) = places.first() else {
        remarks.remark("No <Location> of these files has 'DAV svn': there is nothing to serve.");
        return vec![(remarks, true)];
    };
    for (at, text) in &reader.passed_over {
        remarks.remark(format!("{at}: {text}"));
    }
    elsewhere(&server, &mut remarks);
    let redirects = moved::redirects(&server, &mut remarks);
    let mut outcome: Outcome = vec![(remarks, true), (machine::listen(&server), true)];
    if let Some(special) = machine::special_uri(first) {
        let mut serve = Table::new("[serve]");
        serve.text("special-uri", special);
        outcome.push((serve, true));
    }
    outcome.push((machine::tls(&server, root), true));
    let [cache, compression] = machine::performance(first);
    outcome.extend([
        (machine::limits(first), true),
        (cache, true),
        (compression, true),
        (machine::logs(&server, first, root), true),
    ]);
    let mut all: Vec<Translated> = places.iter().map(|place| translate(place, root)).collect();
    closed::close(&server, &places, &mut all);
    certificates(&server, &mut all);
    outcome.extend(redirects.into_iter().map(|table| (table, true)));
    locations(all, &mut outcome);
    outcome.retain(|(table, _)| !table.is_empty());
    outcome
}

/// The locations, with what they say about users: once for all if all say the same.
fn locations(all: Vec<Translated>, outcome: &mut Outcome) {
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
    let mut seen: Vec<&Translated> = Vec::new();
    for one in &all {
        let before = seen.iter().find(|other| other.path == one.path);
        let same = |other: &&&Translated| {
            other.location.same_keys(&one.location)
                && other.auth.same_keys(&one.auth)
                && other.ldap.same_keys(&one.ldap)
        };
        let in_force = before.is_none();
        if before.as_ref().is_some_and(same) {
            // The same once more: for http and https, mostly.
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

/// Users who are known by their certificates.
fn certificates(server: &Server<'_>, all: &mut [Translated]) {
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

/// What stands outside of locations and matters, or is a kind of section that is not translated.
fn elsewhere(server: &Server<'_>, remarks: &mut Table) {
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
            None => words::left_out(&directive.name, false),
        };
        if let Some(why) = why {
            remarks.remark(format!("{}: {}: {why}", directive.at, directive.shown()));
        }
    }
}

/// Where relative names are relative to, if no `ServerRoot` says it: Debian's layout has folders below it.
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
