//! Sockets that the parent process has opened: systemd's socket activation.
//!
//! A passed socket takes the place of the configured addresses of its kind. Its kind is its name in the unit
//! (`FileDescriptorName=svn`, `http`, `https` or `metrics`); without one of these names its port says it.

use std::env;

use base::{Code, Error, Result};
use listenfd::ListenFd;
use server::Listener;

use crate::config::address::Address;
use crate::config::resolve::{HTTP_PORT, HTTPS_PORT, METRICS_PORT, SVN_PORT, Settings};

/// What is spoken at a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Svn,
    Http,
    Https,
    Metrics,
}

/// A socket that listens already.
#[derive(Debug)]
pub struct Passed {
    /// The name that the parent process gave it; may be empty.
    pub name: String,
    pub listener: Listener,
}

/// Takes all sockets that were passed to this process; once, before there are threads.
///
/// # Errors
/// If one of them is not a listening TCP socket.
pub fn passed() -> Result<Vec<Passed>> {
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    // It keeps them from the programs that we start.
    let mut sockets = ListenFd::from_env();
    let mut all = Vec::new();
    for at in 0..sockets.len() {
        let name = names.next().unwrap_or_default().to_owned();
        let can_not = |e| Error::os(&e, "Can't take over a socket that was passed");
        if let Some(socket) = sockets.take_tcp_listener(at).map_err(can_not)? {
            let listener = Listener::inherited(socket.into())?;
            all.push(Passed { name, listener });
        }
    }
    Ok(all)
}

impl Passed {
    /// What is spoken there.
    ///
    /// # Errors
    /// If neither the name nor the port tells.
    pub fn kind(&self, settings: &Settings) -> Result<Kind> {
        let named = [
            ("svn", Kind::Svn),
            ("http", Kind::Http),
            ("https", Kind::Https),
            ("metrics", Kind::Metrics),
        ];
        if let Some((_, kind)) = named.into_iter().find(|(name, _)| *name == self.name) {
            return Ok(kind);
        }
        let address = self.listener.address()?;
        let configured = [
            (&settings.svn, SVN_PORT, Kind::Svn),
            (&settings.http, HTTP_PORT, Kind::Http),
            (&settings.https, HTTPS_PORT, Kind::Https),
            (&settings.metrics, METRICS_PORT, Kind::Metrics),
        ];
        let there = |list: &[Address]| list.iter().any(|known| known.port == address.port());
        let mut fits = configured.iter().filter(|(list, ..)| there(list));
        let usual = || configured.iter().find(|(_, port, _)| *port == address.port());
        match fits.next().or_else(usual) {
            Some((_, _, kind)) => Ok(*kind),
            None => Err(Error::new(
                Code::BAD_CONFIG_VALUE,
                format!(
                    "The socket '{}' at {address} was passed, and nothing says what to serve there: call it svn, http, https or \
                     metrics (FileDescriptorName=)",
                    self.name
                ),
            )),
        }
    }
}
