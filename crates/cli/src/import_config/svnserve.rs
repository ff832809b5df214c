//! Translates svnserve's options and its `svnserve.conf`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base::Result;
use clap::{ArgMatches, CommandFactory as _};
use repos::Repository;
use repos::authz::Source;
use repos::config::{Access, ServerConf, UsernameCase};

use super::draft::{TableDraft, TranslatedTables, quoted};
use crate::args::{self, ArgumentError};
use crate::config::address::ListenAddress;
use crate::svnserve::SvnserveArgs;

/// Translates the files, and the options with which svnserve is started.
///
/// # Errors
/// If svnserve does not have an option, or a file cannot be read.
pub fn translated(files: &[PathBuf], options: &[OsString]) -> Result<TranslatedTables, ArgumentError> {
    let given = args::parse_flat(SvnserveArgs::command(), options.iter().cloned())?;
    let mut serve = TableDraft::new("[serve]");
    let mut root: Option<PathBuf> = given.get_one::<PathBuf>("root").cloned();
    let mut general: Option<PathBuf> = given.get_one::<PathBuf>("config_file").cloned();
    let mut confs: Vec<(PathBuf, ServerConf)> = Vec::new();
    for file in files {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let conf = ServerConf::read(&file)?;
        match repository_of(&file) {
            Some(repository) => {
                serve.remark(format!(
                    "{}: holds as it is for its repository over svn://, and over http:// where a location says nothing else.",
                    file.display()
                ));
                root.get_or_insert(repository);
            }
            None => _ = general.get_or_insert(file.clone()),
        }
        confs.push((file, conf));
    }
    if let (Some(path), true) = (&general, confs.is_empty()) {
        confs.push((path.clone(), ServerConf::read(path)?));
    }
    let root = match root {
        Some(root) => std::path::absolute(&root).unwrap_or(root),
        None => {
            serve.remark("No option -r says which folder is served: svnserve then serves the whole machine.");
            PathBuf::from("/")
        }
    };
    serve.text("root", root.display().to_string());
    if given.get_flag("read_only") {
        serve.flag("read-only", true);
    }
    if given.get_flag("virtual_host") {
        serve.flag("virtual-host", true);
    }
    if let Some(path) = &general {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        serve.text("svnserve-config", path.display().to_string());
    }
    let mut outcome: TranslatedTables = vec![(listen(&given), true), (serve, true)];
    outcome.extend(numbers(&given).into_iter().map(|table| (table, true)));
    for (file, conf) in &confs {
        for table in over_http(file, conf, &root) {
            outcome.push((table, false));
        }
    }
    outcome.retain(|(table, _)| !table.is_empty());
    Ok(outcome)
}

fn listen(given: &ArgMatches) -> TableDraft {
    let mut table = TableDraft::new("[listen]");
    let address = ListenAddress {
        host: given.get_one::<String>("listen_host").cloned(),
        port: given.get_one::<u16>("listen_port").copied().unwrap_or(3690),
    };
    table.text("svn", address.to_string());
    table
}

fn numbers(given: &ArgMatches) -> Vec<TableDraft> {
    let (mut cache, mut compression) = (TableDraft::new("[cache]"), TableDraft::new("[compression]"));
    let (mut limits, mut log) = (TableDraft::new("[limits]"), TableDraft::new("[log]"));
    let number = |id: &str| given.get_one::<i64>(id).and_then(|n| u64::try_from(*n).ok());
    if let Some(megabytes) = given.get_one::<u64>("memory-cache-size").filter(|n| **n > 0) {
        cache.text("memory", format!("{megabytes} MiB"));
    }
    if let Some(level) = number("compression") {
        compression.number("level", level.min(9));
    }
    if let Some(threads) = number("max_threads").filter(|n| *n > 0) {
        limits.number("threads", threads);
    }
    for (id, key) in [("max_request_size", "request"), ("max_response_size", "response")] {
        if let Some(megabytes) = number(id) {
            limits.set(
                key,
                if megabytes == 0 {
                    "0".to_owned()
                } else {
                    quoted(&format!("{megabytes} MiB"))
                },
            );
        }
    }
    if let Some(path) = given.get_one::<PathBuf>("log_file") {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        log.text("operational", path.display().to_string());
    }
    vec![cache, compression, limits, log]
}

/// Returns a location with the rules of an `svnserve.conf`, to serve the repositories over http:// too.
fn over_http(file: &Path, conf: &ServerConf, root: &Path) -> [TableDraft; 2] {
    let (mut location, mut auth) = (
        TableDraft::new("[[location]]"),
        TableDraft::new("[location.auth]"),
    );
    location.remark(format!(
        "What {} says, for http:// too: take the signs away, and give 'http' an address in [listen].",
        file.display()
    ));
    location.text("path", "/svn");
    let repository = repository_of(file).unwrap_or_else(|| root.to_owned());
    let key = if Repository::is_repository(&repository) {
        "repository"
    } else {
        "parent"
    };
    location.text(key, repository.display().to_string());
    for (key, source) in [("authz", &conf.authz_db), ("groups", &conf.groups_db)] {
        if let Some(source) = source {
            location.text(key, shown(source));
        }
    }
    location.flag("anonymous", conf.anon_access != Access::None);
    if conf.anon_access == Access::Write && conf.authz_db.is_none() {
        location.remark(
            "anon-access = write: everybody may write there; here only if an access file ('authz') says so.",
        );
    }
    if conf.auth_access != Access::Write {
        location.flag("read-only", true);
    }
    match conf.username_case {
        UsernameCase::AsIs => {}
        UsernameCase::Upper => location.text("force-username-case", "upper"),
        UsernameCase::Lower => location.text("force-username-case", "lower"),
    }
    if let Some(path) = &conf.hooks_env {
        location.text("hooks-env", path.display().to_string());
    }
    if let Some(realm) = &conf.realm {
        auth.text("realm", String::from_utf8_lossy(realm).into_owned());
    }
    if conf.sasl.is_some() {
        auth.remark("use-sasl = true: name the users of http:// here, for example in the directory that saslauthd asks (ldap-url).");
    } else if let Some(path) = &conf.password_db {
        auth.text("passwd-file", path.display().to_string());
        auth.remark("Passwords are sent as they are: use https, or digest = true.");
    }
    [location, auth]
}

fn shown(source: &Source) -> String {
    source.shown()
}

/// Returns the repository to which an `svnserve.conf` belongs.
fn repository_of(file: &Path) -> Option<PathBuf> {
    let conf = file
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "conf"))?;
    let repository = conf.parent()?;
    Repository::is_repository(repository).then(|| repository.to_owned())
}
