//! The files that a configuration names: are they there, may they be read, and do they hold what they should?
//!
//! Everything is read by the same code that the server reads it with, as the user who asks: `check-config` should be run
//! as the server's.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use repos::authz::{Authz, Source};
use repos::config::{HooksEnv, Passwords, ServerConf};
use repos::{Cache, Repository};

use super::Config;
use super::file::{Auth, Location};
use super::keys::Mistake;

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What must be mended.
    pub mistakes: Vec<Mistake>,
    /// What might be meant otherwise.
    pub warnings: Vec<Mistake>,
}

/// Most repositories of a location whose own access files are looked at.
const LOOKED_AT: usize = 10_000;

/// Looks at every file that `config` names.
pub fn check(config: &Config) -> Findings {
    let mut look = FileChecks {
        config,
        cache: Cache::new(16 << 20),
        findings: Findings::default(),
    };
    let file = &config.file;
    look.folder("serve.root", file.serve.root.as_deref());
    look.file(
        "serve.svnserve-config",
        file.serve.svnserve_config.as_deref(),
        |path| ServerConf::read(path).map(drop),
    );
    if let Ok(settings) = config.resolve()
        && let Some(tls) = settings.tls
    {
        let outcome = tls.check();
        look.outcome("tls.certificate", outcome);
    }
    look.auth("auth", &file.auth);
    for (at, location) in file.location.iter().enumerate() {
        look.location(&format!("location[{at}]"), location);
    }
    for (key, log) in [
        ("log.access", &file.log.access),
        ("log.operational", &file.log.operational),
        ("log.error", &file.log.error),
    ] {
        look.log(key, log.as_deref());
    }
    look.findings.mistakes.sort_by_key(|mistake| mistake.line);
    look.findings.warnings.sort_by_key(|warning| warning.line);
    look.findings
}

struct FileChecks<'a> {
    config: &'a Config,
    cache: Arc<Cache>,
    findings: Findings,
}

impl FileChecks<'_> {
    fn wrong(&mut self, key: &str, text: impl Into<String>) {
        self.findings.mistakes.push(self.config.mistake(key, text));
    }

    fn warn(&mut self, key: &str, text: impl Into<String>) {
        self.findings.warnings.push(self.config.mistake(key, text));
    }

    fn outcome(&mut self, key: &str, outcome: Result<()>) {
        if let Err(error) = outcome {
            let links: Vec<String> = error.links().map(|link| link.text()).collect();
            self.wrong(key, links.join(": "));
        }
    }

    /// A file that `read` must be able to make sense of.
    fn file(&mut self, key: &str, name: Option<&Path>, read: impl FnOnce(&Path) -> Result<()>) {
        if let Some(name) = name {
            let outcome = read(&self.config.located(name));
            self.outcome(key, outcome);
        }
    }

    fn folder(&mut self, key: &str, name: Option<&Path>) {
        self.file(key, name, |path| {
            let can_not = |e: std::io::Error| Error::io("Can't open directory", path, &e);
            fs::read_dir(path).map(drop).map_err(can_not)
        });
    }

    fn auth(&mut self, at: &str, auth: &Auth) {
        let key = |name: &str| format!("{at}.{name}");
        self.file(&key("htpasswd-file"), auth.htpasswd_file.as_deref(), readable);
        self.file(&key("passwd-file"), auth.passwd_file.as_deref(), |path| {
            Passwords::read(path).map(drop)
        });
        self.file(&key("group-file"), auth.group_file.as_deref(), readable);
        if let Some(ldap) = &auth.ldap {
            let password = ldap.bind_password_file.as_deref();
            self.file(&key("ldap.bind-password-file"), password, readable);
            self.file(&key("ldap.ca"), ldap.ca.as_deref(), readable);
        }
    }

    fn location(&mut self, at: &str, location: &Location) {
        let key = |name: &str| format!("{at}.{name}");
        self.folder(&key("parent"), location.parent.as_deref());
        self.folder(&key("activities-db"), location.activities_db.as_deref());
        let cache = self.cache.clone();
        self.file(&key("repository"), location.repository.as_deref(), |path| {
            Repository::open(path, &cache).map(drop)
        });
        self.file(&key("hooks-env"), location.hooks_env.as_deref(), |path| {
            HooksEnv::read(path).map(drop)
        });
        self.auth(&key("auth"), &location.auth);
        if let Some(name) = &location.authz {
            let source = Source::new(name.as_bytes(), self.config.folder());
            self.authz(&key("authz"), &source, location);
        }
        if let Some(name) = &location.repository_authz {
            self.repository_authz(&key("repository-authz"), name, location);
        }
    }

    /// Parses an access file, beside the groups file if there is one.
    fn authz(&mut self, key: &str, source: &Source, location: &Location) {
        // What lies inside a repository is looked at where the location says in which.
        let inside = location
            .repository
            .as_deref()
            .map(|name| self.config.located(name));
        let placed = |source: &Source| match &inside {
            Some(root) => Some(source.within(root)),
            None => (!matches!(source, Source::InRepository(_))).then(|| source.clone()),
        };
        let groups = location.groups.as_deref();
        let groups = groups.map(|name| Source::new(name.as_bytes(), self.config.folder()));
        let Some(source) = placed(source) else { return };
        let groups = match groups.as_ref().map(placed) {
            Some(None) => return,
            Some(groups) => groups,
            None => None,
        };
        let cache = self.cache.clone();
        let fetch = |path: &[u8]| crate::svnauthz::fetch(&cache, Path::new(OsStr::from_bytes(path)));
        let parsed = source.load(&fetch).and_then(|text| {
            let groups = groups.map(|source| source.load(&fetch)).transpose()?;
            Authz::parse(&text, groups.as_deref())
        });
        match parsed {
            Ok(authz) => {
                for warning in authz.warnings() {
                    self.warn(key, format!("'{}': {}", source.shown(), warning.message()));
                }
            }
            Err(error) => {
                let links: Vec<String> = error.links().map(|link| link.text()).collect();
                self.wrong(key, format!("'{}': {}", source.shown(), links.join(": ")));
            }
        }
    }

    /// The access file of each repository. A repository without the file is closed to all users.
    fn repository_authz(&mut self, key: &str, name: &str, location: &Location) {
        for root in self.repositories(location).into_iter().take(LOOKED_AT) {
            let path = root.join("conf").join(name);
            if !path.exists() {
                let text = format!(
                    "'{}' is not there: nobody may enter that repository",
                    path.display()
                );
                self.warn(key, text);
                continue;
            }
            self.authz(key, &Source::File(path), location);
        }
    }

    /// The repositories of a location, as far as they lie in its folder itself.
    fn repositories(&self, location: &Location) -> Vec<PathBuf> {
        if let Some(name) = &location.repository {
            return vec![self.config.located(name)];
        }
        let Some(parent) = &location.parent else {
            return Vec::new();
        };
        let entries = fs::read_dir(self.config.located(parent));
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = paths.filter(|path| Repository::is_repository(path)).collect();
        found.sort();
        found
    }

    /// A log need not be there yet, but must come into being.
    fn log(&mut self, key: &str, name: Option<&Path>) {
        self.file(key, name, |path| {
            if path.exists() {
                let opened = File::options().append(true).open(path);
                return opened
                    .map(drop)
                    .map_err(|e| Error::io("Can't open file", path, &e));
            }
            let folder = path.parent().unwrap_or(Path::new("/"));
            let can_not = |e: std::io::Error| Error::io("Can't open directory", folder, &e);
            fs::read_dir(folder).map(drop).map_err(can_not)
        });
    }
}

/// A file that can be opened.
fn readable(path: &Path) -> Result<()> {
    let can_not = |e: std::io::Error| Error::io("Can't open file", path, &e);
    let file = File::open(path).map_err(can_not)?;
    match file.metadata().map_err(can_not)?.is_file() {
        true => Ok(()),
        false => Err(Error::new(
            base::Code::ILLEGAL_TARGET,
            format!("'{}' is not a file", path.display()),
        )),
    }
}
