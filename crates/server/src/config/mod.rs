//! The settings of a server, resolved: plain values that other modules read.
//!
//! [`Options`] hold for svn:// sessions, [`HttpOptions`] for requests over HTTP: locations, access rules, redirects, limits, TLS.
//! Programs make them of command lines and configuration files.
//!
//! This module opens no file and no socket. The decisions that depend on settings alone are here: what `require` grants
//! ([`Require`]), where a redirect leads ([`Redirect`]), which paths allow recursive operations ([`Recursion`]).

mod access;
mod http;
mod recursion;
mod redirect;
mod require;
mod server;
mod tls;

pub use access::{AccessRules, Ldap, LdapGroups, LdapScope, Provider, Secret};
pub(crate) use http::XML_FACTOR;
pub use http::{Bulk, HttpOptions, Limits, Location, Master, PathAuthz, Source, Web};
pub use recursion::Recursion;
pub use redirect::Redirect;
pub(crate) use require::{LoggedIn, RequireVerdict};
pub use require::{Network, Require};
pub use server::{Options, Threads, Tunnel};
pub use tls::{ClientCertificates, TlsOptions, TlsVersion};
