//! What all client programs share: their options for access to repositories, how they open sessions, and the targets on their
//! command lines.
//!
//! [`AccessOptions`] are the options as typed, [`AccessSettings`] what they mean together with the configuration area and the environment.
//! A [`ClientContext`] is made of them once for each run: it opens sessions, for several threads too, asks the user, and has the
//! flag that a signal sets. [`ClientContext::with_account`] makes a second one for a program with two accounts.
//!
//! [`target`] parses targets, [`credentials`] and [`certificates`] answer the demands of servers, [`hosts`] has the options of sessions that
//! depend on the host, [`password_stores`] the programs that keep passwords, [`prompt`] the questions on the terminal, [`log_message`] gets the message of a commit.

pub mod certificates;
pub mod credentials;
pub mod hosts;
mod keyring;
pub mod log_message;
pub mod options;
mod pair;
mod password_stores;
pub mod prompt;
pub mod revprop_arg;
pub mod settings;
pub mod target;
pub mod targets_file;
pub mod url_targets;

use std::sync::Arc;

use base::{Cancel, Code, Error, Result, Revnum, Url};
use clap::{ArgMatches, FromArgMatches as _};
use client::config::RuntimeConfig;
use client::locate::{self, Revision};
use ra::{CertificateFailures, OpenOptions, RedirectNotice, Session, Traffic};

use credentials::UserCredentials;
pub use options::AccessOptions;
use prompt::Prompter;
pub use settings::AccessSettings;

use crate::interrupt::Interrupt;
use crate::out::Out;

/// The environment of one run of a client program.
pub struct ClientContext {
    open: OpenOptions,
    settings: AccessSettings,
    prompter: Arc<Prompter>,
}

impl ClientContext {
    /// Runs `work` with a context that is made of the options. SIGINT, SIGHUP and SIGTERM cancel it.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for options that exclude each other, those of the configuration area, and `errno`; those of `work`.
    pub fn run(
        options: AccessOptions,
        out: &mut Out,
        work: impl FnOnce(&ClientContext, &mut Out) -> Result<()>,
    ) -> Result<()> {
        let interrupt = Interrupt::install()?;
        let settings = AccessSettings::of_options(&options, out);
        let context = settings.and_then(|settings| ClientContext::new(settings, out, &interrupt.cancel));
        let outcome = context.and_then(|context| {
            let outcome = work(&context, out);
            outcome.map_err(|error| explain_refusal(error, context.is_interactive()))
        });
        interrupt.finish(out, outcome)
    }

    /// Returns a context of settings. `cancel` ends its waits.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for tunnels.
    pub fn new(settings: AccessSettings, out: &Out, cancel: &Cancel) -> Result<ClientContext> {
        let prompter = Prompter::new(settings.is_interactive, out.share(), cancel.clone());
        let client_name = out.program().rsplit(' ').next().unwrap_or_default();
        let shared = out.share();
        let show: RedirectNotice = Arc::new(move |url| shared.line(&format!("Redirecting to URL '{url}':")));
        let open = OpenOptions {
            redirected: Some(show).filter(|_| client_name == "svn" && !out.is_quiet()),
            client_name: Some(client_name.to_owned()),
            version_urls: client_name.ends_with("bench"),
            cancel: cancel.clone(),
            ..OpenOptions::default()
        };
        ClientContext {
            open,
            settings: settings.clone(),
            prompter: Arc::new(prompter),
        }
        .with_settings(settings)
    }

    /// Returns a context like this one for another account: svnsync has one for each repository.
    ///
    /// # Errors
    /// As [`ClientContext::new`].
    pub fn with_account(
        &self,
        username: Option<String>,
        password: Option<String>,
        trusted_failures: CertificateFailures,
    ) -> Result<ClientContext> {
        self.with_settings(self.settings.with_account(username, password, trusted_failures))
    }

    /// Returns a context like this one with other settings, and credentials of its own.
    ///
    /// # Errors
    /// As [`ClientContext::new`].
    pub fn with_settings(&self, settings: AccessSettings) -> Result<ClientContext> {
        let config = Arc::clone(&settings.config);
        let open = OpenOptions {
            credentials: Arc::new(UserCredentials::new(settings.clone(), Arc::clone(&self.prompter))),
            tunnels: hosts::tunnels(&config)?,
            http_of: Some(Arc::new(move |url| hosts::http_options(&config, url))),
            ..self.open.clone()
        };
        Ok(ClientContext {
            open,
            settings,
            prompter: Arc::clone(&self.prompter),
        })
    }

    /// Opens a session at a URL. Prints the URL to which the server redirects.
    ///
    /// # Errors
    /// Those of [`ra::open`]; `BAD_CONFIG_VALUE`.
    pub fn open(&self, url: &Url) -> Result<Box<dyn Session>> {
        self.open_with(url, &self.open)
    }

    /// Opens a session at a URL, for a command that does not follow redirects: those that change a repository or revision properties, and diff.
    ///
    /// # Errors
    /// As [`ClientContext::open`]; `RA_DAV_RELOCATED` for a URL that was moved.
    pub fn open_without_redirects(&self, url: &Url) -> Result<Box<dyn Session>> {
        let options = OpenOptions {
            redirects: 0,
            ..self.open.clone()
        };
        self.open_with(url, &options)
    }

    fn open_with(&self, url: &Url, options: &OpenOptions) -> Result<Box<dyn Session>> {
        hosts::check_storage(&self.settings.config, url)?;
        if url.scheme() != "file" {
            return ra::open(url, options);
        }
        let unable = |error: Error| {
            let message = format!("Unable to connect to a repository at URL '{url}'");
            error.wrap(Code::RA_CANNOT_CREATE_SESSION, message)
        };
        let configured = self.config().memory_cache_bytes().map_err(unable)?;
        let options = OpenOptions {
            cache_bytes: configured.unwrap_or(options.cache_bytes),
            ..options.clone()
        };
        ra::open(url, &options)
    }

    /// Opens a session at the node that a target names, where the node was in the operative revision.
    ///
    /// # Errors
    /// Those of [`ClientContext::open`] and of [`locate::move_to_node`].
    pub fn open_node(&self, url: &Url, peg: Revision, operative: Revision) -> Result<OpenNode> {
        let mut session = self.open(url)?;
        let rev = locate::move_to_node(&mut *session, peg, operative)?;
        Ok(OpenNode { session, rev })
    }

    /// Counts what is exchanged with servers.
    pub fn traffic(&self) -> &Traffic {
        &self.open.traffic
    }

    /// The flag that a signal sets.
    pub fn cancel(&self) -> &Cancel {
        &self.open.cancel
    }

    /// The configuration.
    pub fn config(&self) -> &RuntimeConfig {
        &self.settings.config
    }

    /// What asks the user.
    pub fn prompter(&self) -> Arc<Prompter> {
        Arc::clone(&self.prompter)
    }

    /// True if the user can be asked.
    pub fn is_interactive(&self) -> bool {
        self.settings.is_interactive
    }
}

/// Makes the checks of access options that the incumbent makes before those of a subcommand.
///
/// # Errors
/// As [`AccessSettings::of_options`].
pub fn check_early(matches: &ArgMatches, out: &mut Out) -> Result<()> {
    let Some((_, matches)) = matches.subcommand() else {
        return Ok(());
    };
    match AccessOptions::from_arg_matches(matches) {
        Ok(options) => settings::check_early(&options, out),
        // The subcommand does not have them.
        Err(_) => Ok(()),
    }
}

/// Says why the user was not asked for another password.
fn explain_refusal(error: Error, is_interactive: bool) -> Error {
    if is_interactive || error.code() != Code::AUTHN_FAILED {
        return error;
    }
    let message =
        "Authentication failed and interactive prompting is disabled; see the --force-interactive option";
    error.context(message)
}

/// A session at the URL of a node, and the revision of the node.
pub struct OpenNode {
    pub session: Box<dyn Session>,
    pub rev: Revnum,
}
