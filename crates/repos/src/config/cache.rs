//! Shares one parsed copy of each configuration file in the process, and renews it when the file changes.
//!
//! A connection gets the parsed value when it begins and keeps it. Each request reads the file's stamp (identity,
//! size, times). Only if that has changed, or proves nothing, is the file read again, and only if its contents differ
//! is it parsed again. So an edit applies to the next connection, a connection keeps the configuration with which it
//! began, and a broken file is an error for new connections only: errors are never cached.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::ini::Case;
use base::{Code, Error, Result, ResultExt as _, disk_path};
use parking_lot::Mutex;

use super::hooks_env::HooksEnv;
use super::passwd::Passwords;
use super::sasl::SaslSettings;
use super::sasldb::SaslDb;
use super::svnserve_conf::ServerConf;
use crate::authz::{Authz, FetchRevisioned, Source};
use crate::config_file::{FileStamp, read_limited};

/// The configuration files in use, shared by all connections.
#[derive(Default)]
pub struct ConfigCache {
    servers: ParsedFiles<PathBuf, ServerConf>,
    passwords: ParsedFiles<PathBuf, Passwords>,
    hooks_envs: ParsedFiles<PathBuf, HooksEnv>,
    sasl_settings: ParsedFiles<PathBuf, SaslSettings>,
    sasldbs: ParsedFiles<PathBuf, SaslDb>,
    authzs: ParsedFiles<AuthzFiles, Authz>,
    /// As `authzs`, for files with further groups of a directory service.
    open_authzs: ParsedFiles<AuthzFiles, Authz>,
    notices: Mutex<Vec<Error>>,
    /// Password files that could not be read the last time, and for which there was a notice.
    unreadable: Mutex<HashSet<PathBuf>>,
}

/// The files that make up one set of rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthzFiles {
    /// `authz-db`
    pub authz: Source,
    /// `groups-db`
    pub groups: Option<Source>,
}

impl AuthzFiles {
    /// Returns the files that `conf` names, for the repository at `root`; `None` if it has no path-based
    /// authorization.
    pub fn of(conf: &ServerConf, root: &Path) -> Option<Self> {
        Some(AuthzFiles {
            authz: conf.authz_db.as_ref()?.within(root),
            groups: conf.groups_db.as_ref().map(|source| source.within(root)),
        })
    }
}

impl ConfigCache {
    /// Returns the server configuration in the file at `path`; the defaults if there is no file.
    ///
    /// # Errors
    /// As [`ServerConf::read`]. Clients get all links.
    pub fn server(&self, path: &Path) -> Result<Arc<ServerConf>> {
        match FileStamp::of(path)? {
            None => Ok(Arc::default()),
            Some(_) => self.server_required(path),
        }
    }

    /// Returns the server configuration in the file at `path`, which must exist (`--config-file`).
    ///
    /// # Errors
    /// As [`ServerConf::read`].
    pub fn server_required(&self, path: &Path) -> Result<Arc<ServerConf>> {
        let folder = path.parent().unwrap_or(Path::new(""));
        self.servers.one(path, |text| {
            let values = crate::config_file::parse_file(text, path, Case::Ignored)?;
            let conf = ServerConf::from_values(&values, folder)?;
            self.notice_doubts(path, super::svnserve_conf::doubts(&values)?);
            Ok(conf)
        })
    }

    /// Notes settings of a file that apply, but perhaps not as they were meant.
    fn notice_doubts(&self, path: &Path, doubts: Vec<String>) {
        for doubt in doubts {
            let text = format!("{}: {doubt}", disk_path::shown(path));
            self.notice(Error::new(Code::BAD_CONFIG_VALUE, text));
        }
    }

    fn notice(&self, notice: Error) {
        let mut notices = self.notices.lock();
        // Bounded: perhaps no caller takes them.
        if notices.len() < MAX_NOTICES {
            notices.push(notice);
        }
    }

    /// Takes the notices for the log about files that were loaded since the last call: they apply, but perhaps not as
    /// they were meant.
    pub fn take_notices(&self) -> Vec<Error> {
        std::mem::take(&mut *self.notices.lock())
    }

    /// Returns the passwords in the file at `path`; `None` if this process may not read it, as in the incumbent: then
    /// no user can log in with one.
    ///
    /// # Errors
    /// `AUTHN_FAILED` without a message of its own, which a client may get, above the cause, which is for the log.
    pub fn passwords(&self, path: &Path) -> Result<Option<Arc<Passwords>>> {
        let read = self.passwords.one(path, |text| {
            Passwords::from_values(&crate::config_file::parse_file(text, path, Case::Ignored)?)
        });
        match read {
            Ok(passwords) => {
                self.unreadable.lock().remove(path);
                Ok(Some(passwords))
            }
            Err(e) if e.code() == PERMISSION_DENIED => {
                if self.unreadable.lock().insert(path.to_owned()) {
                    let notice = "Nobody can log in with a password";
                    self.notice(e.context(notice.to_owned()));
                }
                Ok(None)
            }
            Err(e) => Err(e.wrap_bare(Code::AUTHN_FAILED)),
        }
    }

    /// Returns the hook environments in the file at `path`; none if there is no such file.
    ///
    /// # Errors
    /// As [`HooksEnv::read`].
    pub fn hooks_env(&self, path: &Path) -> Result<Arc<HooksEnv>> {
        match FileStamp::of(path)? {
            None => Ok(Arc::default()),
            Some(_) => self.hooks_envs.one(path, |text| {
                HooksEnv::from_values(&crate::config_file::parse_file(text, path, Case::Sensitive)?)
            }),
        }
    }

    /// Returns the settings of Cyrus SASL in the first of `folders` that has the file `svn.conf`; the defaults if none has.
    ///
    /// # Errors
    /// As [`SaslSettings::parse`]; the system's.
    pub fn sasl_settings(&self, folders: &[PathBuf]) -> Result<Arc<SaslSettings>> {
        for folder in folders {
            let path = folder.join("svn.conf");
            if FileStamp::of(&path)?.is_some() {
                let in_file = || format!("Error while parsing config file: {}:", disk_path::shown(&path));
                return self.sasl_settings.one(&path, |text| {
                    let settings = SaslSettings::parse(text).context(in_file)?;
                    self.notice_doubts(&path, settings.doubts());
                    Ok(settings)
                });
            }
        }
        Ok(Arc::default())
    }

    /// Returns the users of Cyrus SASL in the file at `path`; `None` if there is no such file.
    ///
    /// # Errors
    /// As [`SaslDb::parse`]; the system's.
    pub fn sasldb(&self, path: &Path) -> Result<Option<Arc<SaslDb>>> {
        match FileStamp::of(path)? {
            None => Ok(None),
            Some(_) => {
                let in_file = || format!("Can't read file '{}':", disk_path::shown(path));
                self.sasldbs
                    .one(path, |bytes| SaslDb::parse(bytes).context(in_file))
                    .map(Some)
            }
        }
    }

    /// Returns the rules in `files`. A file inside a repository is fetched each time, but parsed again only if it
    /// differs.
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG` without a message of its own, which a client may get, above the cause, which is for the
    /// log. [`Authz::warnings`] are for the log, too.
    pub fn authz(&self, files: &AuthzFiles, fetch: &FetchRevisioned<'_>) -> Result<Arc<Authz>> {
        self.authz_of(&self.authzs, false, files, fetch)
    }

    /// As [`ConfigCache::authz`], with further groups of a directory service ([`Authz::parse_open`]).
    ///
    /// # Errors
    /// As of [`ConfigCache::authz`].
    pub fn open_authz(&self, files: &AuthzFiles, fetch: &FetchRevisioned<'_>) -> Result<Arc<Authz>> {
        self.authz_of(&self.open_authzs, true, files, fetch)
    }

    fn authz_of(
        &self,
        among: &ParsedFiles<AuthzFiles, Authz>,
        others: bool,
        files: &AuthzFiles,
        fetch: &FetchRevisioned<'_>,
    ) -> Result<Arc<Authz>> {
        let read = || {
            let authz = files.authz.load(fetch)?;
            let groups = files
                .groups
                .as_ref()
                .map(|source| source.load(fetch))
                .transpose()?;
            Ok(vec![Some(authz), groups])
        };
        let parse_all = |texts: &[Option<Vec<u8>>]| {
            let mut texts = texts.iter().map(Option::as_deref);
            let authz = texts.next().flatten().unwrap_or_default();
            let parsed = Authz::parse_placed(authz, texts.next().flatten(), others).map_err(|mistake| {
                // The incumbent names the authz file in either case, and no line.
                let (source, line) = match (mistake.position, &files.groups) {
                    (None, _) => (&files.authz, String::new()),
                    (Some(place), Some(groups)) if place.is_in_groups => (groups, line(place.line)),
                    (Some(place), _) => (&files.authz, line(place.line)),
                };
                let shown = source.shown();
                mistake
                    .error
                    .context(format!("Error while parsing config file: '{shown}'{line}:"))
            })?;
            let warnings = parsed.warnings().iter().cloned();
            warnings.for_each(|warning| self.notice(warning));
            Ok(parsed)
        };
        let stamps = || {
            let of = |source: &Source| match source {
                Source::File(path) => FileStamp::of(path).ok().flatten(),
                Source::InRepository(_) | Source::Url(_) => None,
            };
            let authz = of(&files.authz)?;
            Some(match &files.groups {
                None => vec![authz],
                Some(groups) => vec![authz, of(groups)?],
            })
        };
        among
            .get(files, stamps, read, parse_all)
            .map_err(|e| e.wrap_bare(Code::AUTHZ_INVALID_CONFIG))
    }
}

impl std::fmt::Debug for ConfigCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConfigCache")
    }
}

/// Parsed files of one kind.
struct ParsedFiles<K, T> {
    known: Mutex<HashMap<K, ParsedFile<T>>>,
}

struct ParsedFile<T> {
    /// `None` if stamps prove nothing.
    stamps: Option<Vec<FileStamp>>,
    texts: Arc<Vec<Option<Vec<u8>>>>,
    value: Arc<T>,
}

impl<K, T> Default for ParsedFiles<K, T> {
    fn default() -> Self {
        ParsedFiles {
            known: Mutex::default(),
        }
    }
}

impl<T> ParsedFiles<PathBuf, T> {
    fn one(&self, path: &Path, parse: impl Fn(&[u8]) -> Result<T>) -> Result<Arc<T>> {
        self.get(
            &path.to_owned(),
            || Some(vec![FileStamp::of(path).ok()??]),
            || Ok(vec![Some(read_limited(path)?)]),
            |texts| parse(texts.first().and_then(Option::as_deref).unwrap_or_default()),
        )
    }
}

impl<K: Hash + Eq + Clone, T> ParsedFiles<K, T> {
    fn get(
        &self,
        key: &K,
        stamps: impl Fn() -> Option<Vec<FileStamp>>,
        read: impl Fn() -> Result<Vec<Option<Vec<u8>>>>,
        parse: impl Fn(&[Option<Vec<u8>>]) -> Result<T>,
    ) -> Result<Arc<T>> {
        // Taken before the file is read: if it changes in between, the stamp is too old and the next request reads
        // again.
        let now = stamps().filter(|stamps| stamps.iter().all(FileStamp::is_proof));
        let known = {
            let known = self.known.lock();
            match known.get(key) {
                Some(entry) if now.is_some() && entry.stamps == now => return Ok(Arc::clone(&entry.value)),
                Some(entry) => Some((Arc::clone(&entry.texts), Arc::clone(&entry.value))),
                None => None,
            }
        };
        let texts = read()?;
        let (texts, value) = match known {
            Some((old, value)) if *old == texts => (old, value),
            _ => {
                let value = Arc::new(parse(&texts)?);
                (Arc::new(texts), value)
            }
        };
        let mut known = self.known.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let entry = ParsedFile {
            stamps: now,
            texts,
            value: Arc::clone(&value),
        };
        known.insert(key.clone(), entry);
        Ok(value)
    }
}

fn line(number: u64) -> String {
    format!(" (line {number})")
}

/// Files of a kind that are cached; beyond that the cache is emptied.
const MAX_KNOWN: usize = 4096;

/// Notices that are kept for the log.
const MAX_NOTICES: usize = 64;

/// `EACCES`
const PERMISSION_DENIED: Code = Code(13);

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
