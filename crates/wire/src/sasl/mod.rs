//! SASL (RFC 4422) as svn:// uses it: the mechanisms of Cyrus SASL by which a client proves who it is, for both peers.
//!
//! A server with `use-sasl = true` offers a list of [`Mechanism`]s. The client names one, and both exchange tokens until the server
//! accepts or refuses: [`server::Exchange`] and [`client::Exchange`]. Tokens travel in base64 ([`token`]), except those of CRAM-MD5.
//! DIGEST-MD5 may agree on a security [`layer`], which protects every byte behind the exchange.
//!
//! Sources: RFC 4616 (PLAIN), RFC 2195 (CRAM-MD5), RFC 2831 (DIGEST-MD5), RFC 5802 and 7677 (SCRAM), RFC 4505 (ANONYMOUS); the texts of
//! refusals are those of Cyrus SASL 2.1.28, since clients show them.
//!
//! What is absent: passwords, configuration, randomness and sockets. The caller supplies these.

pub mod client;
mod digest_fields;
mod digest_md5;
mod failure;
pub mod layer;
mod mechanism;
mod scram;
pub mod server;
pub mod token;

pub use failure::Failure;
pub use mechanism::Mechanism;
