//! The listening sockets of a server: passed to it, or opened where its settings say.

use base::Result;
use server::Listener;

use super::activation::{Kind, Passed};
use crate::config::address::Address;
use crate::config::resolve::Settings;

/// All sockets, by what is spoken there.
#[derive(Debug, Default)]
pub struct Listeners {
    pub svn: Vec<Listener>,
    pub http: Vec<Listener>,
    pub https: Vec<Listener>,
    pub metrics: Vec<Listener>,
    /// For health checks and metrics.
    pub status: String,
}

impl Listeners {
    /// Opens all of them, or takes those that were passed.
    ///
    /// # Errors
    /// The first that cannot be opened, or is of no known kind.
    pub fn open(settings: &Settings, passed: Vec<Passed>) -> Result<Listeners> {
        let mut listeners = Listeners::default();
        for socket in passed {
            let kind = socket.kind(settings)?;
            listeners.of(kind).push(socket.listener);
        }
        for (kind, addresses) in [
            (Kind::Svn, &settings.svn),
            (Kind::Http, &settings.http),
            (Kind::Https, &settings.https),
            (Kind::Metrics, &settings.metrics),
        ] {
            let of_kind = listeners.of(kind);
            if of_kind.is_empty() {
                let opened: Result<Vec<Listener>> = addresses.iter().map(Address::bind).collect();
                *of_kind = opened?;
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

    /// Those where repositories are served, with the scheme of their URLs.
    pub fn public(&self) -> [(&'static str, &[Listener]); 3] {
        [("svn", &self.svn), ("http", &self.http), ("https", &self.https)]
    }

    fn of(&mut self, kind: Kind) -> &mut Vec<Listener> {
        match kind {
            Kind::Svn => &mut self.svn,
            Kind::Http => &mut self.http,
            Kind::Https => &mut self.https,
            Kind::Metrics => &mut self.metrics,
        }
    }
}
