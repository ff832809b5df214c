//! The runtime configuration area: the files `config` and `servers`, and the cache of credentials.
//!
//! There are two areas: one of the system (`/etc/subversion`) and one of the user (`~/.subversion`, or the directory of
//! `--config-dir`). A value of the user replaces one of the system, and a value on the command line replaces both. [`RuntimeConfig`] has
//! the values, [`ServerConfig`] those for one host: the section of `servers` whose group has the host, with `[global]` as the default.
//!
//! [`area`] makes the user's area if there is none. [`option`] parses `--config-option`. [`credential_cache`] reads and writes what
//! is stored in `auth/`, in the incumbent's format; [`gpg_agent`] and [`kwallet`] ask other programs for passwords.
//!
//! What is absent: the environment. All directories are parameters.

pub mod area;
pub mod credential_cache;
mod dbus_message;
mod file;
pub mod gpg_agent;
mod groups;
pub mod kwallet;
pub mod option;
mod session_bus;
mod settings;
mod texts;

use std::path::{Path, PathBuf};

use base::{Error, Result};

pub use file::{ConfigFile, parse_number};
pub use groups::{ServerConfig, Tristate, list};
use option::{ConfigOption, OptionFile};

/// The values of both areas and of the command line.
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    /// The file `config`: what does not depend on servers.
    pub config: ConfigFile,
    /// The file `servers`.
    pub servers: ConfigFile,
    dir: Option<PathBuf>,
}

/// The values that could be read, and the error of a file that could not be opened.
#[derive(Debug)]
pub struct LoadedConfig {
    /// The values; none if there is an error.
    pub values: RuntimeConfig,
    /// The error, which is a warning to the user.
    pub unreadable: Option<Error>,
}

impl RuntimeConfig {
    /// Reads the files of the system's area and of the user's. A missing file has no values. If the user has no permission to open
    /// a file, no values are used at all.
    ///
    /// # Errors
    /// `MALFORMED_FILE` for a file with a wrong syntax, and the system's number for one that cannot be read; the message has its path.
    pub fn load(system: Option<&Path>, user: Option<&Path>) -> Result<LoadedConfig> {
        let mut values = RuntimeConfig::default();
        let mut unreadable = None;
        let files = [("servers", &mut values.servers), ("config", &mut values.config)];
        'files: for (name, file) in files {
            for dir in [system, user].into_iter().flatten() {
                if let Err(error) = file.read(&dir.join(name))? {
                    unreadable = Some(error);
                    break 'files;
                }
            }
        }
        if unreadable.is_some() {
            values = RuntimeConfig::default();
        }
        values.dir = user.map(Path::to_owned);
        Ok(LoadedConfig { values, unreadable })
    }

    /// Sets a value of the command line.
    pub fn set(&mut self, option: &ConfigOption) {
        let file = match option.file {
            OptionFile::Config => &mut self.config,
            OptionFile::Servers => &mut self.servers,
            OptionFile::Unknown => return,
        };
        file.set(&option.section, &option.option, &option.value);
    }

    /// Returns the user's area, if there is one.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Returns the values for a host.
    pub fn server(&self, host: &str) -> ServerConfig<'_> {
        ServerConfig::new(&self.servers, host)
    }
}
