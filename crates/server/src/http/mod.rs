//! The HTTP server: listeners, connections, framing, timeouts, requests and responses. The only module with `async` in it.
//!
//! A connection is a task that drives hyper ([`connection`]). A request becomes a [`Request`] and is answered by blocking code on a
//! thread of the pool ([`exchange`], [`respond`]). Its body is read as it arrives ([`RequestBody`]); the response is sent while it is
//! made ([`ResponseWriter`]). Neither is whole in memory unless it is small. Requests that need nothing but memory are answered
//! without a thread, and whole responses can be sent again ([`cached_requests`]).
//!
//! Bytes from the client pass `request_reader` (one request at a time, with `request_framing`) and hyper. Bytes to the client pass
//! hyper and `buffered_socket`.
//!
//! This module does not know what requests mean: it knows no method of WebDAV, no mounted repository, no user. A [`Handler`] knows:
//! `dav` implements it. From `wire::dav` it uses the XML form of an error and the format of dates alone.

mod buffered_socket;
mod cached_requests;
mod client_wait;
mod connection;
mod date_line;
mod exchange;
mod fault;
mod handler;
mod keep_alive;
mod node_blocks;
mod request;
mod request_body;
mod request_framing;
mod request_head;
mod request_reader;
mod respond;
mod response_body;
mod response_writer;
mod server;
mod status_pages;
mod timeouts;
mod upstream;

pub(crate) use self::cached_requests::CacheableResponse;
pub(crate) use self::client_wait::ClientWait;
pub(crate) use self::fault::{Fault, status_of};
pub(crate) use self::handler::{CachedAuth, Handler};
pub(crate) use self::request::{Operation, Request};
pub(crate) use self::request_body::RequestBody;
pub(crate) use self::response_writer::{MAX_INLINE_BODY, ResponseWriter};
pub(crate) use self::server::{HttpServer, ListenerKind};
pub(crate) use self::upstream::Upstream;
