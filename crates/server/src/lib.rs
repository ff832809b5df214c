//! The processes that serve repositories.
//!
//! A [`Service`] is what all connections share: options, the cache, the repositories that are open, the log. A
//! conversation runs over a [`Stream`] (a socket, or standard input and output) as straight-line, blocking code on a
//! thread of its own; between two commands a quiet conversation is put aside without a thread ([`Server`]), so ten
//! thousand idle clients cost ten thousand small structs.
//!
//! What a peer causes passes `repos`, where authorisation is: this crate never names the storage engine.
//!
//! What is absent: argument lists (the programs'), the protocol's grammar (`wire`), any knowledge of what is on disk.

mod access_log;
mod auth;
mod dav;
pub mod http;
mod idle;
mod listen;
mod log;
mod log_file;
mod metrics;
mod oplog;
mod options;
mod pace;
mod repositories;
mod rules;
mod serve;
mod service;
mod shares;
mod signals;
mod stream;
mod svn;
mod svn_sessions;
mod thread_pool;
mod trust;
mod web;

pub use access_log::AccessLog;
pub use listen::Listener;
pub use log::OperationLog;
pub use log_file::LogFile;
pub use options::{Options, Threads, Tunnel};
pub use serve::Server;
pub use service::Service;
pub use signals::{Signals, Stop};
pub use stream::Stream;
