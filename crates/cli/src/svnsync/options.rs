//! The options that all subcommands of `svnsync` share.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};

use crate::client_context::AccessOptions;
use crate::client_context::options::{config_option, failures};
use crate::client_context::target::{self, TypedTarget};
use base::charset::Charset;

/// The options, as typed.
#[derive(Clone, Debug, clap::Args)]
pub struct SyncAccessOptions {
    /// ask nothing
    #[arg(long)]
    non_interactive: bool,
    /// ask even if standard input is not a terminal
    #[arg(long)]
    force_interactive: bool,
    /// do not store names and passwords
    #[arg(long)]
    no_auth_cache: bool,
    /// log in to both repositories as user ARG (deprecated: see '--source-username' and '--sync-username')
    #[arg(long)]
    username: Option<String>,
    /// log in to both repositories with the password ARG (deprecated: see '--source-password' and '--sync-password')
    #[arg(long)]
    password: Option<String>,
    /// the old form of '--source-trust-server-cert-failures=unknown-ca
    /// --sync-trust-server-cert-failures=unknown-ca'
    #[arg(long)]
    trust_server_cert: bool,
    /// with '--non-interactive', accept certificates of the source's server in spite of the failures ARG, separated by
    /// commas: unknown-ca, cn-mismatch, expired, not-yet-valid, other
    #[arg(long, value_parser = failures)]
    source_trust_server_cert_failures: Option<String>,
    /// as '--source-trust-server-cert-failures', for the mirror's server
    #[arg(long, value_parser = failures)]
    sync_trust_server_cert_failures: Option<String>,
    /// log in to the source as user ARG
    #[arg(long)]
    source_username: Option<String>,
    /// log in to the source with the password ARG
    #[arg(long)]
    source_password: Option<String>,
    /// log in to the mirror as user ARG
    #[arg(long)]
    sync_username: Option<String>,
    /// log in to the mirror with the password ARG
    #[arg(long)]
    sync_password: Option<String>,
    /// read the configuration in directory ARG
    #[arg(long)]
    config_dir: Option<String>,
    /// set an option of the configuration: FILE:SECTION:OPTION=VALUE, where FILE is 'config' or 'servers'
    #[arg(long, action = clap::ArgAction::Append, value_parser = config_option)]
    config_option: Vec<String>,
}

impl SyncAccessOptions {
    /// Returns the options for the source and those for the mirror.
    pub fn split(self) -> [AccessOptions; 2] {
        let side =
            |username: Option<String>, password: Option<String>, failures: Option<String>| AccessOptions {
                username: username.or(self.username.clone()),
                password: password.or(self.password.clone()),
                password_from_stdin: false,
                no_auth_cache: self.no_auth_cache,
                non_interactive: self.non_interactive,
                force_interactive: self.force_interactive,
                trust_server_cert: self.trust_server_cert,
                trust_server_cert_failures: failures,
                config_dir: self.config_dir.clone(),
                config_option: self.config_option.clone(),
            };
        [
            side(
                self.source_username.clone(),
                self.source_password.clone(),
                self.source_trust_server_cert_failures.clone(),
            ),
            side(
                self.sync_username.clone(),
                self.sync_password.clone(),
                self.sync_trust_server_cert_failures.clone(),
            ),
        ]
    }
}

/// The options of subcommands that change a mirror.
#[derive(Clone, Debug, clap::Args)]
pub struct ChangeOptions {
    /// convert 'svn:' properties of the source from encoding ARG to UTF-8
    #[arg(long)]
    pub source_prop_encoding: Option<String>,
    /// print no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// do not lock the mirror; another svnsync at the same time can damage it
    #[arg(long)]
    pub disable_locking: bool,
    /// take the lock of the mirror from its owner
    #[arg(long)]
    pub steal_lock: bool,
    /// spend at most ARG megabytes on the cache of repositories on disk
    #[arg(short = 'M', long = "memory-cache-size")]
    memory_cache_size: Option<OsString>,
}

impl ChangeOptions {
    /// Returns the size of the cache in bytes. As in Subversion's program, an argument that is no number is ignored.
    pub fn cache_bytes(&self) -> Option<u64> {
        let megabytes: u64 = self.memory_cache_size.as_ref()?.to_str()?.parse().ok()?;
        Some(megabytes.saturating_mul(1 << 20))
    }
}

/// Makes the operands canonical. An `@` is not special.
///
/// # Errors
/// `RESERVED_FILENAME_SPECIFIED` for names of administrative directories; `BAD_URL`; `errno` 22 for text in another character set.
pub fn targets(operands: &[OsString]) -> Result<Vec<TypedTarget>> {
    let mut targets = Vec::with_capacity(operands.len());
    let mut reserved: Option<Error> = None;
    for word in operands {
        match target::canonical_whole(&Charset::of_process().read_word(word)?) {
            Ok(target) => targets.push(target),
            Err(error) if error.code() == Code::RESERVED_FILENAME_SPECIFIED => {
                reserved = Some(match reserved {
                    None => error,
                    Some(earlier) => earlier.wrap(error.code(), error.message()),
                });
            }
            Err(error) => return Err(error),
        }
    }
    reserved.map_or(Ok(targets), Err)
}

/// Parses the targets: at least `least` URLs, at most `most`.
///
/// # Errors
/// `CL_INSUFFICIENT_ARGS` and `CL_ARG_PARSING_ERROR`.
pub fn urls(targets: &[TypedTarget], least: usize, most: usize) -> Result<Vec<Url>> {
    if targets.len() < least {
        return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
    }
    if targets.len() > most {
        return Err(Error::bare(Code::CL_ARG_PARSING_ERROR));
    }
    let not_a_url = |target: &&TypedTarget| !target.is_url();
    if let Some(path) = targets.iter().find(not_a_url) {
        let message = format!("Path '{}' is not a URL", path.as_str());
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    targets.iter().map(TypedTarget::url).collect()
}
