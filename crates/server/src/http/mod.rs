//! The HTTP room: connections, framing, TLS. The only place with `async` in it.
//!
//! A connection is a task of hyper's; a request that has been read becomes a [`Request`] and is answered by ordinary,
//! blocking code on a thread of its own ([`exchange`]): the same engine, authorisation and log as over `svn://`. The body
//! of a request is read as it comes ([`RequestBody`]), the answer is sent while it is made ([`Reply`]); neither is ever
//! whole in memory unless it is small.
//!
//! What is absent: what the methods mean. That is in `dav` (clients of version control) and `web` (people with browsers).

mod again;
mod answer;
mod body;
mod certificate;
mod connection;
mod exchange;
mod heads;
mod intake;
mod options;
mod pulse;
mod reply;
mod request;
mod room;
mod socket;
mod status;
mod tls;
mod upstream;

pub(crate) use again::{Depends, Lasting};
pub(crate) use answer::METHODS;
pub(crate) use body::{Patience, RequestBody};
pub use options::{
    AccessRules, Bulk, ClientCertificates, HttpOptions, Ldap, LdapGroups, LdapScope, Limits, Location,
    Master, Network, PathAuthz, Provider, Recursion, Redirect, Require, Secret, Source, TlsOptions,
    TlsVersion, Web,
};
pub(crate) use options::{LoggedIn, RequireVerdict};
pub(crate) use reply::{AT_ONCE, Reply};
pub(crate) use request::{Operation, Request};
pub(crate) use room::{Kind, Room};
pub(crate) use tls::Tls;
pub(crate) use upstream::Upstream;
