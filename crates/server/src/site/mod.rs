//! The URL space of the HTTP server: locations, the repositories mounted there, and who may use them.
//!
//! A request passes three steps before a method is carried out: a redirect for moved repositories ([`redirect`]), the repository and
//! the resource that its path names ([`mount`]), and the user with the rights that the method needs ([`access`]). The result
//! is a [`RequestContext`]. A path without a repository is authorized as well, before it is refused ([`no_repository`]).
//!
//! [`Site`] is the state that outlives requests: recent look-ups ([`connection_cache`]), the transactions that clients have open
//! ([`open_transactions`]) and the digests that were announced to them ([`announced_digests`]).
//!
//! This module knows no method's semantics: `dav` and `web` are above it.

pub(crate) mod access;
mod announced_digests;
mod connection_cache;
mod context;
mod forwarded;
pub(crate) mod mount;
pub(crate) mod no_repository;
mod open_transactions;
pub(crate) mod redirect;
mod required_rights;
mod rules;

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;

pub(crate) use self::connection_cache::{ConnectionAuth, ConnectionCache};
pub(crate) use self::context::RequestContext;
pub(crate) use self::forwarded::{FORWARDED, ForwardedUser};
pub(crate) use self::open_transactions::{LockedTxn, StepCaller, StepRefusal};

use self::announced_digests::AnnouncedDigests;
use self::connection_cache::RecentLookups;
use self::open_transactions::OpenTransactions;
use crate::net::tls::authorities;
use crate::service::Service;

/// What all HTTP requests share. Shared by all threads.
pub(crate) struct Site {
    pub(crate) service: Arc<Service>,
    /// The repositories and rules that requests have found a few milliseconds ago.
    pub(crate) recent: RecentLookups,
    /// The digests that were announced to clients a short while ago.
    pub(crate) announced_digests: AnnouncedDigests,
    /// The transactions of commits over HTTP.
    pub(crate) transactions: Arc<OpenTransactions>,
    /// The TLS settings for other servers; read when the first one is connected to.
    upstream_tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Site {
    /// Returns the site of a service. It has no location before the options of HTTP are set.
    pub(crate) fn new(service: Arc<Service>) -> Site {
        Site {
            service,
            recent: RecentLookups::default(),
            announced_digests: AnnouncedDigests::default(),
            transactions: Arc::default(),
            upstream_tls: OnceLock::new(),
        }
    }

    /// Returns the TLS settings for connections to other servers: the authorities that the system trusts.
    ///
    /// # Errors
    /// Those of reading their certificates.
    pub(crate) fn upstream_tls(&self) -> io::Result<Arc<ClientConfig>> {
        let read = authorities::system_client_config;
        self.upstream_tls
            .get_or_init(read)
            .clone()
            .map_err(io::Error::other)
    }
}
