//! Connections and threads, below every protocol.
//!
//! - [`Listener`] accepts connections; [`Stream`] is one connection of a blocking protocol, or standard input and output.
//! - [`ThreadPool`] runs jobs; networks take turns in its queue. A thread that waits for its peer does not count.
//! - [`Quota`] divides what a peer may hold only a part of: memory, connections. [`ConcurrencyLimit`] bounds expensive work.
//! - [`PeerSpeed`] measures how fast a peer reads, and so whether compression pays.
//! - [`tls`] reads certificates and keys.
//!
//! This module knows no protocol: no message, no command, no request. It knows no repository; `repos` appears only where a
//! thread waits for the process of a hook.

mod listener;
mod peer_speed;
mod quota;
mod stream;
mod thread_pool;
pub(crate) mod tls;

pub use self::listener::Listener;
pub(crate) use self::peer_speed::{FAST_NETWORK, PeerSpeed};
pub(crate) use self::quota::{ConcurrencyLimit, ConcurrencyPermit, Quota, QuotaShare, network_of};
pub use self::stream::Stream;
pub(crate) use self::stream::unacknowledged_of;
pub(crate) use self::thread_pool::{BlockOutcome, ThreadPool};
