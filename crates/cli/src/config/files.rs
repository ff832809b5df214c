//! Checks the files that a configuration names: that they exist, can be read, and are valid.
//!
//! They are read by the code that the server uses, with the rights of the user who runs `check-config`. That should
//! be the server's user.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use repos::authz::{Authz, Source};
use repos::config::{HooksEnv, Passwords, ServerConf};
use repos::{Cache, Repository};
use rustix::fs::Access;

use super::Config;
use super::file::{AuthTable, LocationTable};
use super::keys::Mistake;

/// The results of the check.
#[derive(Debug, Default)]
pub struct Findings {
    /// Errors: the server would not start, or would not serve correctly.
    pub mistakes: Vec<Mistake>,
    /// Settings that are valid and probably not intended.
    pub warnings: Vec<Mistake>,
}

/// The largest number of repositories of a location whose own authz files are checked.
const MAX_REPOSITORIES: usize = 10_000;

/// Checks every file that `config` names.
pub fn check(config: &Config) -> Findings {
    let mut checks = FileChecks {
        config,
        cache: Cache::new(16 << 20),
        findings: Findings::default(),
    };
    let file = &config.file;
    checks.folder("serve.root", file.serve.root.as_deref());
    checks.file(
        "serve.svnserve-config",
        file.serve.svnserve_config.as_deref(),
        |path| ServerConf::read(path).map(drop),
    );
    if let Ok(settings) = config.resolve()
        && let Some(tls) = settings.tls
    {
        let outcome = tls.check();
        checks.outcome("tls.certificate", outcome);
    }
    checks.auth("auth", &file.auth);
    for (at, location) in file.location.iter().enumerate() {
        checks.location(&format!("location[{at}]"), location);
    }
    for (key, log) in [
        ("log.access", &file.log.access),
        ("log.operational", &file.log.operational),
        ("log.error", &file.log.error),
    ] {
        checks.log(key, log.as_deref());
    }
    checks.findings.mistakes.sort_by_key(|mistake| mistake.line);
    checks.findings.warnings.sort_by_key(|warning| warning.line);
    checks.findings
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

    /// Checks a file with `read`, which opens and parses it.
    fn file(&mut self, key: &str, name: Option<&Path>, read: impl FnOnce(&Path) -> Result<()>) {
        if let Some(name) = name {
            let outcome = read(&self.config.absolute_path(name));
            self.outcome(key, outcome);
        }
    }

    fn folder(&mut self, key: &str, name: Option<&Path>) {
        self.file(key, name, |path| {
            let can_not = |e: std::io::Error| Error::io("Can't open directory", path, &e);
            fs::read_dir(path).map(drop).map_err(can_not)
        });
    }

    fn auth(&mut self, at: &str, auth: &AuthTable) {
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

    fn location(&mut self, at: &str, location: &LocationTable) {
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

    /// Parses an authz file, together with the groups file if there is one.
    fn authz(&mut self, key: &str, source: &Source, location: &LocationTable) {
        // A path inside a repository can be checked only if the location names that repository.
        let inside = location
            .repository
            .as_deref()
            .map(|name| self.config.absolute_path(name));
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

    /// Checks the authz file of each repository. A repository without that file is closed to all users.
    fn repository_authz(&mut self, key: &str, name: &str, location: &LocationTable) {
        for root in self.repositories(location).into_iter().take(MAX_REPOSITORIES) {
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

    /// Returns the repositories of a location. Those in subdirectories of its directory are not included.
    fn repositories(&self, location: &LocationTable) -> Vec<PathBuf> {
        if let Some(name) = &location.repository {
            return vec![self.config.absolute_path(name)];
        }
        let Some(parent) = &location.parent else {
            return Vec::new();
        };
        let entries = fs::read_dir(self.config.absolute_path(parent));
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = paths.filter(|path| Repository::is_repository(path)).collect();
        found.sort();
        found
    }

    /// Checks that a log file can be opened, or made in its directory.
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
            fs::read_dir(folder).map(drop).map_err(can_not)?;
            let can_write = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK);
            can_write.map_err(|e| Error::io("Can't create file", path, &e.into()))
        });
    }
}

/// Checks that `path` is a regular file that can be opened.
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
