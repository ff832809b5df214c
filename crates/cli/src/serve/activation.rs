//! Sockets that the parent process has opened: systemd's socket activation.
//!
//! Passed sockets replace the configured addresses of the same protocol. The protocol is the socket's name in the
//! unit (`FileDescriptorName=svn`, `http`, `https` or `metrics`). With any other name it follows from the port.

use std::env;

use base::{Code, Error, Result};
use listenfd::ListenFd;
use server::Listener;

use crate::config::address::ListenAddress;
use crate::config::resolve::{HTTP_PORT, HTTPS_PORT, METRICS_PORT, SVN_PORT, Settings};

/// The protocol of a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Svn,
    Http,
    Https,
    Metrics,
}

/// A listening socket that the parent process has opened.
#[derive(Debug)]
pub struct PassedSocket {
    /// The name from `LISTEN_FDNAMES`; may be empty.
    pub name: String,
    pub listener: Listener,
}

/// Takes all sockets that were passed to this process. Must be called once, before the process starts threads.
///
/// # Errors
/// If one of them is not a listening TCP socket.
pub fn take_passed_sockets() -> Result<Vec<PassedSocket>> {
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    // `ListenFd` sets close-on-exec, so that hooks do not inherit the sockets.
    let mut sockets = ListenFd::from_env();
    let mut all = Vec::new();
    for at in 0..sockets.len() {
        let name = names.next().unwrap_or_default().to_owned();
        let can_not = |e| Error::os(&e, "Can't take over a socket that was passed");
        if let Some(socket) = sockets.take_tcp_listener(at).map_err(can_not)? {
            let listener = Listener::inherited(socket.into())?;
            all.push(PassedSocket { name, listener });
        }
    }
    Ok(all)
}

impl PassedSocket {
    /// Returns the protocol to serve on the socket.
    ///
    /// # Errors
    /// If neither the name nor the port determines it.
    pub fn protocol(&self, settings: &Settings) -> Result<Protocol> {
        let named = [
            ("svn", Protocol::Svn),
            ("http", Protocol::Http),
            ("https", Protocol::Https),
            ("metrics", Protocol::Metrics),
        ];
        if let Some((_, protocol)) = named.into_iter().find(|(name, _)| *name == self.name) {
            return Ok(protocol);
        }
        let address = self.listener.address()?;
        let configured = [
            (&settings.svn, SVN_PORT, Protocol::Svn),
            (&settings.http, HTTP_PORT, Protocol::Http),
            (&settings.https, HTTPS_PORT, Protocol::Https),
            (&settings.metrics, METRICS_PORT, Protocol::Metrics),
        ];
        let there = |list: &[ListenAddress]| list.iter().any(|known| known.port == address.port());
        let mut fits = configured.iter().filter(|(list, ..)| there(list));
        let usual = || configured.iter().find(|(_, port, _)| *port == address.port());
        match fits.next().or_else(usual) {
            Some((_, _, protocol)) => Ok(*protocol),
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
