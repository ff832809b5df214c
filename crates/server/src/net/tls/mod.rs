//! TLS: the certificates of the server ([`Tls`]), the common name in a client's certificate ([`certificate`]), and the
//! authorities that this server trusts where it is the client itself ([`authorities`]).
//!
//! `rustls` does the protocol. This module knows files and settings, no connection.

pub(crate) mod authorities;
pub(crate) mod certificate;
mod server;

pub(crate) use self::server::Tls;
