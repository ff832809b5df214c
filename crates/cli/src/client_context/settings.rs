//! The settings of access to repositories, as values: what options, configuration and environment say together.

use std::env;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Error, Result};
use client::config::option::{ConfigOption, OptionFile};
use client::config::{RuntimeConfig, area};
use nix::unistd::{Uid, User};
use ra::CertificateFailures;

use super::options::AccessOptions;
use super::password_stores::PasswordStore;
use crate::args::operand;
use crate::out::Out;

/// The configuration area of the system.
const SYSTEM_AREA: &str = "/etc/subversion";
/// The longest password that is read from standard input, in bytes.
const MOST_PASSWORD: u64 = 64 << 10;

/// The settings of access to repositories. A program that needs two accounts makes one value of another by
/// [`AccessSettings::with_account`].
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// The user name of the options.
    pub username: Option<String>,
    /// The password of the options.
    pub password: Option<String>,
    /// Nothing is stored in the cache of credentials.
    pub no_auth_cache: bool,
    /// The user can be asked.
    pub is_interactive: bool,
    /// The failures of certificates that are accepted without a question.
    pub trusted_failures: CertificateFailures,
    /// The configuration.
    pub config: Arc<RuntimeConfig>,
    /// The programs that keep passwords, the preferred one first.
    pub stores: Vec<PasswordStore>,
}

impl AccessSettings {
    /// Checks the options, reads the configuration, and the password if it is on standard input. Prints warnings about the configuration.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for options that exclude each other; `MALFORMED_FILE` and `BAD_CONFIG_VALUE` for the configuration.
    pub fn of_options(options: &AccessOptions, out: &mut Out) -> Result<AccessSettings> {
        warn_of_unknown_names(&options.config_option, out)?;
        let user = user_area(options.config_dir.as_deref());
        // The incumbent's svnmucc makes none.
        if let Some(user) = user.as_deref().filter(|_| !out.program().ends_with("svnmucc")) {
            area::create(user);
        }
        options.check()?;
        let config = load(user.as_deref(), &options.config_option, Some(out))?;
        check_auth(&config, options.is_interactive())?;
        let password = match options.password_from_stdin {
            true => Some(password_of_stdin()?),
            false => options.password.clone(),
        };
        Ok(AccessSettings {
            username: options.username.clone(),
            password,
            no_auth_cache: options.no_auth_cache,
            is_interactive: options.is_interactive(),
            trusted_failures: options.trusted_failures()?,
            stores: PasswordStore::configured(&config)?,
            config: Arc::new(config),
        })
    }

    /// Returns these settings with the user, the password and the trusted failures of another account.
    pub fn with_account(
        &self,
        username: Option<String>,
        password: Option<String>,
        trusted_failures: CertificateFailures,
    ) -> AccessSettings {
        AccessSettings {
            username,
            password,
            trusted_failures,
            ..self.clone()
        }
    }
}

/// Makes the checks of [`AccessSettings::of_options`] that come before those of a subcommand. Prints nothing unless one fails.
///
/// # Errors
/// As [`AccessSettings::of_options`].
pub fn check_early(options: &AccessOptions, out: &mut Out) -> Result<()> {
    let check = || {
        for option in &options.config_option {
            ConfigOption::parse(option)?.check()?;
        }
        let user = user_area(options.config_dir.as_deref());
        if let Some(user) = &user {
            area::create(user);
        }
        options.check()?;
        let config = load(user.as_deref(), &options.config_option, None)?;
        check_auth(&config, options.is_interactive())?;
        config.check_interactive_conflicts()
    };
    check().or_else(|error| {
        warn_of_unknown_names(&options.config_option, out)?;
        Err(error)
    })
}

/// Returns the name of the user who runs the program.
pub fn os_user() -> Option<String> {
    let user = User::from_uid(Uid::current()).ok().flatten()?;
    Some(user.name)
}

/// Returns the configuration area of the user: that of the options, or the one in the home directory.
fn user_area(config_dir: Option<&str>) -> Option<PathBuf> {
    if let Some(dir) = config_dir {
        let tidy = operand::tidy(dir);
        return Some(PathBuf::from(tidy));
    }
    home().map(|home| home.join(".subversion"))
}

/// Returns the home directory of the user.
pub(super) fn home() -> Option<PathBuf> {
    match env::var_os("HOME") {
        Some(home) => Some(PathBuf::from(home)),
        None => Some(User::from_uid(Uid::current()).ok().flatten()?.dir),
    }
}

/// The programs that need to open all files of the configuration area.
const STRICT: [&str; 2] = ["svnrdump", "svnsync"];

/// Reads the configuration area, and the options of the command line. A file that the user may not open is a warning, and for some
/// programs an error.
fn load(user: Option<&Path>, options: &[String], out: Option<&mut Out>) -> Result<RuntimeConfig> {
    let loaded = RuntimeConfig::load(Some(Path::new(SYSTEM_AREA)), user)?;
    if let (Some(unreadable), Some(out)) = (loaded.unreadable, out) {
        // Called as `sven svnsync`, that is the program's name.
        if STRICT.iter().any(|tool| out.program().ends_with(tool)) {
            return Err(unreadable);
        }
        out.print_warning(&unreadable);
    }
    let mut config = loaded.values;
    for option in options {
        config.set(&ConfigOption::parse(option)?);
    }
    Ok(config)
}

/// Checks the options of `[auth]` that are read when a program starts.
fn check_auth(config: &RuntimeConfig, is_interactive: bool) -> Result<()> {
    config.config.flag("auth", "store-passwords", true)?;
    config.config.flag("auth", "store-auth-creds", true)?;
    if is_interactive {
        config.config.flag("auth", "ssl-client-cert-file-prompt", false)?;
    }
    Ok(())
}

fn warn_of_unknown_names(options: &[String], out: &mut Out) -> Result<()> {
    let mut warn = |message: String| out.print_warning(&Error::new(Code::CL_ARG_PARSING_ERROR, message));
    for option in options {
        let option = ConfigOption::parse(option)?;
        if let Some(unknown) = option.unknown_name() {
            let hint = match unknown.similar {
                Some(similar) => format!("; did you mean '{similar}'?"),
                None => String::new(),
            };
            warn(format!("Ignoring unknown value '{}'{hint}", unknown.name));
        }
        option.check()?;
    }
    for option in options {
        let option = ConfigOption::parse(option)?;
        if option.file == OptionFile::Unknown {
            warn("Unrecognized file in argument of --config-option".to_owned());
        }
    }
    Ok(())
}

/// Reads the first line of standard input, without its end.
fn password_of_stdin() -> Result<String> {
    let failed = |error: &io::Error| Error::os(error, "Can't read stdin");
    let mut line = Vec::new();
    let mut bytes = io::stdin().lock().take(MOST_PASSWORD).bytes();
    loop {
        match bytes.next().transpose().map_err(|error| failed(&error))? {
            None | Some(b'\n') => break,
            Some(byte) => line.push(byte),
        }
    }
    // A NUL ends the text.
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}
