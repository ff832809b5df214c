//! What all client programs share: their options for access to repositories, how they open sessions, and the targets on their
//! command lines.
//!
//! [`AccessOptions`] are the options as typed. A [`ClientContext`] is made of them once for each run: it opens sessions, for several
//! threads too, and has the flag that a signal sets. [`target`] parses targets, [`credentials`] answers the demands of servers,
//! [`log_message`] gets the message of a commit.

pub mod credentials;
pub mod log_message;
pub mod options;
mod pair;
pub mod revprop_arg;
pub mod target;
pub mod url_targets;

use std::sync::Arc;

use base::{Cancel, Result, Revnum, Url};
use client::locate::{self, Revision};
use ra::{OpenOptions, Session, Traffic};

pub use options::AccessOptions;

use crate::interrupt::Interrupt;
use crate::out::Out;

/// The environment of one run of a client program.
pub struct ClientContext {
    open: OpenOptions,
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
        let context = ClientContext::new(options, out, &interrupt);
        let outcome = context.and_then(|context| work(&context, out));
        interrupt.finish(out, outcome)
    }

    fn new(options: AccessOptions, out: &Out, interrupt: &Interrupt) -> Result<ClientContext> {
        let open = OpenOptions {
            credentials: Arc::new(credentials::OptionCredentials::new(&options)),
            client_name: Some(out.program().to_owned()),
            version_urls: out.program().ends_with("bench"),
            cancel: interrupt.cancel.clone(),
            ..OpenOptions::default()
        };
        Ok(ClientContext { open })
    }

    /// Opens a session at a URL.
    ///
    /// # Errors
    /// Those of [`ra::open`].
    pub fn open(&self, url: &Url) -> Result<Box<dyn Session>> {
        ra::open(url, &self.open)
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
}

/// A session at the URL of a node, and the revision of the node.
pub struct OpenNode {
    pub session: Box<dyn Session>,
    pub rev: Revnum,
}
