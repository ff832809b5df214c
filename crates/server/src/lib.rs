//! The server side of svn:// and of HTTP.
//!
//! A [`Service`] is what all connections share: settings, open repositories, the cache, logs. A [`Server`] accepts connections for it.
//! svn:// sessions are blocking code on threads; between two commands an idle session is parked without a thread, so ten thousand
//! idle clients cost ten thousand small structs. HTTP connections are async tasks; their requests are answered by the same
//! blocking engine.
//!
//! # Layers
//!
//! A module uses modules above it in this table, never those below. `cargo xtask tidy` checks that.
//!
//! | module | contents |
//! |---|---|
//! | `clock`, `percent_encoding` | the time of day, the encoding of paths in logs and URLs |
//! | `log` | the operational log, the access log, log files |
//! | `config` | resolved settings, without I/O |
//! | `metrics` | counters and samples |
//! | `signals` | SIGTERM, SIGINT, SIGHUP, and the request to stop |
//! | `net` | listeners, streams, threads, quotas, TLS; no protocol |
//! | `response_cache` | responses that are sent again |
//! | `context` | what connections of all protocols share: settings, logs, limits |
//! | `http` | the protocol of HTTP/1.1; no WebDAV, no repository's URL |
//! | `auth` | user names, passwords, certificates of HTTP requests |
//! | `service` | repositories, access files, the cache |
//! | `svn` | svn:// sessions |
//! | `site` | locations, mounted repositories, access rules of HTTP |
//! | `web` | pages for browsers |
//! | `dav` | WebDAV and DeltaV: the methods of HTTP |
//! | `server` | the accept loops of all protocols |
//!
//! Everything that a peer causes passes `repos`, where authorization is: this crate never names the storage engine. It parses no
//! command line and no bytes of a protocol that `wire` can parse.
//!
//! ```
//! use base::Date;
//! use repos::CreateOptions;
//! use server::{Listener, MemoryBudget, Options, Server, Service, Stop, Threads};
//!
//! # fn main() -> base::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! repos::create(&folder.path().join("project"), &CreateOptions::default(), Date(0))?;
//! let options = Options { root: folder.path().to_owned(), ..Options::default() };
//! let service = Service::new(options, MemoryBudget::new(16 << 20, false), None);
//!
//! let listener = Listener::bind(Some("127.0.0.1"), 0, false)?;
//! println!("svn checkout svn://{}/project", listener.address()?);
//! let server = Server::new(service, vec![listener], Threads::default());
//! let stop = Stop::new()?;
//! # stop.stop();
//! server.run(&stop)?; // Until another thread calls `stop.stop()`.
//! # Ok(())
//! # }
//! ```

mod auth;
mod clock;
pub mod config;
mod context;
mod dav;
mod http;
mod log;
mod metrics;
mod net;
mod percent_encoding;
mod response_cache;
mod server;
mod service;
mod signals;
mod site;
mod svn;
mod web;

pub use config::{Options, Threads, Tunnel};
pub use context::{SealedBlock, SharedStorage};
pub use log::{AccessLog, LogFile, OperationLog};
pub use metrics::MetricSample;
pub use net::{Listener, Stream};
pub use response_cache::MemoryBudget;
pub use server::{Server, serve_session};
pub use service::Service;
pub use signals::{Signals, Stop};
