//! The listening sockets of a server: passed by the parent process, or opened at the configured addresses.

use base::Result;
use server::Listener;

use super::activation::{PassedSocket, Protocol};
use crate::config::address::ListenAddress;
use crate::config::resolve::Settings;

/// All listening sockets, grouped by protocol.
#[derive(Debug, Default)]
pub struct Listeners {
    pub svn: Vec<Listener>,
    pub http: Vec<Listener>,
    pub https: Vec<Listener>,
    pub metrics: Vec<Listener>,
    /// The summary for systemd, such as `Serving svn 0.0.0.0:3690`.
    pub status: String,
}

impl Listeners {
    /// Takes the sockets that were passed, and opens the configured addresses of the other protocols.
    ///
    /// # Errors
    /// If a socket cannot be opened, or the protocol of a passed socket is unknown.
    pub fn open(settings: &Settings, passed: Vec<PassedSocket>) -> Result<Listeners> {
        let mut listeners = Listeners::default();
        for socket in passed {
            let protocol = socket.protocol(settings)?;
            listeners.of(protocol).push(socket.listener);
        }
        for (protocol, addresses) in [
            (Protocol::Svn, &settings.svn),
            (Protocol::Http, &settings.http),
            (Protocol::Https, &settings.https),
            (Protocol::Metrics, &settings.metrics),
        ] {
            let of_protocol = listeners.of(protocol);
            if of_protocol.is_empty() {
                let opened: Result<Vec<Listener>> = addresses.iter().map(ListenAddress::bind).collect();
                *of_protocol = opened?;
            }
        }
        let mut serving = Vec::new();
        for (scheme, list) in listeners.public() {
            for listener in list {
                serving.push(format!("{scheme} {}", listener.address()?));
            }
        }
        listeners.status = format!("Serving {}", serving.join(", "));
        Ok(listeners)
    }

    /// Returns the listeners that serve repositories, each list with the scheme of its URLs.
    pub fn public(&self) -> [(&'static str, &[Listener]); 3] {
        [("svn", &self.svn), ("http", &self.http), ("https", &self.https)]
    }

    fn of(&mut self, protocol: Protocol) -> &mut Vec<Listener> {
        match protocol {
            Protocol::Svn => &mut self.svn,
            Protocol::Http => &mut self.http,
            Protocol::Https => &mut self.https,
            Protocol::Metrics => &mut self.metrics,
        }
    }
}
