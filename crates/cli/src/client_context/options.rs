//! The options of client programs for access to repositories.
//!
//! The checks are in the incumbent's order. Values are checked while the words are parsed ([`config_option`], [`failures`]); options that
//! exclude each other before the subcommand is known ([`conflicts`]); the rest before the subcommand runs.

use std::io::{self, IsTerminal as _};

use base::{Code, Error, Result};
use client::config::option::ConfigOption;
use ra::CertificateFailures;

use crate::args::IsGiven;

/// The options, as typed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct AccessOptions {
    /// log in as user ARG
    #[arg(long)]
    pub username: Option<String>,
    /// log in with the password ARG; other users of this machine can see it while the command runs
    #[arg(long)]
    pub password: Option<String>,
    /// read the password from the first line of standard input
    #[arg(long)]
    pub password_from_stdin: bool,
    /// do not store names and passwords
    #[arg(long)]
    pub no_auth_cache: bool,
    /// ask nothing
    #[arg(long)]
    pub non_interactive: bool,
    /// ask even if standard input is not a terminal
    #[arg(long)]
    pub force_interactive: bool,
    /// the old form of '--trust-server-cert-failures=unknown-ca'
    #[arg(long)]
    pub trust_server_cert: bool,
    /// with '--non-interactive', accept certificates of servers in spite of the failures ARG, separated by commas:
    /// unknown-ca, cn-mismatch, expired, not-yet-valid, other
    #[arg(long, value_parser = failures)]
    pub trust_server_cert_failures: Option<String>,
    /// read the configuration in directory ARG
    #[arg(long)]
    pub config_dir: Option<String>,
    /// set an option of the configuration: FILE:SECTION:OPTION=VALUE, where FILE is 'config' or 'servers'
    #[arg(long, action = clap::ArgAction::Append, value_parser = config_option)]
    pub config_option: Vec<String>,
}

impl AccessOptions {
    /// True if the user can be asked: unless it is excluded, if standard input is a terminal.
    pub fn is_interactive(&self) -> bool {
        is_interactive(self.non_interactive, self.force_interactive)
    }

    /// Returns the failures of certificates that are accepted.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for an unknown failure.
    pub fn trusted_failures(&self) -> Result<CertificateFailures> {
        let words = self.trust_server_cert_failures.as_deref();
        let mut trusted = parse_failures(words.unwrap_or_default())?;
        trusted.unknown_issuer |= self.trust_server_cert;
        Ok(trusted)
    }

    /// Checks options that need or exclude each other.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR`.
    pub fn check(&self) -> Result<()> {
        if self.non_interactive && self.force_interactive {
            return Err(both_interactive());
        }
        let is_trusting =
            self.trust_server_cert || self.trusted_failures()? != CertificateFailures::default();
        need_non_interactive(is_trusting, self.password_from_stdin, self.is_interactive())
    }
}

/// Checks options that exclude each other in every subcommand.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn conflicts(given: IsGiven<'_>) -> Result<()> {
    match given("non_interactive") && given("force_interactive") {
        true => Err(both_interactive()),
        false => Ok(()),
    }
}

/// As [`conflicts`], for tools of which these options need `--non-interactive` itself: svnrdump and svnbench, which ask also if standard
/// input is not a terminal.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn conflicts_of_options_that_ask(given: IsGiven<'_>) -> Result<()> {
    conflicts(given)?;
    let is_trusting = given("trust_server_cert") || given("trust_server_cert_failures");
    need_non_interactive(
        is_trusting,
        given("password_from_stdin"),
        !given("non_interactive"),
    )
}

/// Checks options that need `--non-interactive`.
fn need_non_interactive(is_trusting: bool, password_from_stdin: bool, is_interactive: bool) -> Result<()> {
    for (is_given, name) in [
        (is_trusting, "--trust-server-cert-failures"),
        (password_from_stdin, "--password-from-stdin"),
    ] {
        if is_given && is_interactive {
            let message = format!("{name} requires --non-interactive");
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
    }
    Ok(())
}

/// Checks the argument of `--config-option`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn config_option(text: &str) -> Result<String> {
    ConfigOption::parse(text).map(|_| text.to_owned())
}

/// Checks the argument of `--trust-server-cert-failures`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn failures(text: &str) -> Result<String> {
    parse_failures(text).map(|_| text.to_owned())
}

/// Parses the argument of `--trust-server-cert-failures`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for an unknown failure.
pub fn parse_failures(text: &str) -> Result<CertificateFailures> {
    let mut failures = CertificateFailures::default();
    // The incumbent's white space: other than in lists of the configuration, a form feed is not among it.
    let separators = [',', ' ', '\t', '\n', '\r', '\u{b}'];
    for word in text.split(separators) {
        match word {
            "" => {}
            "unknown-ca" => failures.unknown_issuer = true,
            "cn-mismatch" => failures.other_host = true,
            "expired" => failures.expired = true,
            "not-yet-valid" => failures.not_yet_valid = true,
            "other" => failures.other = true,
            _ => {
                let message = format!(
                    "Unknown value '{word}' for --trust-server-cert-failures.\n\
                     Supported values: unknown-ca, cn-mismatch, expired, not-yet-valid, other"
                );
                return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
            }
        }
    }
    Ok(failures)
}

fn both_interactive() -> Error {
    Error::new(
        Code::CL_ARG_PARSING_ERROR,
        "--non-interactive and --force-interactive are mutually exclusive",
    )
}

/// True if the user can be asked, by the two options and by standard input.
pub fn is_interactive(non_interactive: bool, force_interactive: bool) -> bool {
    force_interactive || (!non_interactive && io::stdin().is_terminal())
}
