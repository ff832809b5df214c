//! A request as handlers get it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Version};
use repos::ReadMode;

use super::cached_requests::CacheableResponse;
use super::client_wait::ClientWait;
use super::request_body::RequestBody;
use crate::net::{ConcurrencyLimit, ConcurrencyPermit, QuotaShare};

/// A request whose head has been read.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) version: Version,
    /// The path as it was sent.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// The target had a fragment, which hyper has dropped.
    pub(crate) had_fragment: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Arc<Peer>,
    /// The request ID: logs and error pages show it.
    pub(crate) id: String,
    pub(crate) begun: Instant,
    /// The user who has proved a name; for logs.
    pub(crate) user: Option<String>,
    /// The operation in Subversion's terms; for logs.
    pub(crate) operation: Option<Operation>,
    /// What the handler says if the response may be stored.
    pub(crate) cacheable: Option<CacheableResponse>,
    pub(crate) body: RequestBody,
    /// The share of the memory for requests that the body and its parsed form take.
    pub(crate) _memory: QuotaShare,
    /// How the request's thread waits.
    pub(crate) wait: ClientWait,
    /// Whether the handler may wait for the disk: not in an inline attempt.
    pub(crate) read_mode: ReadMode,
}

/// A line for the operational log.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The repository's name, URI-encoded.
    pub(crate) repository: String,
    pub(crate) text: String,
}

/// The other end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The connection is encrypted.
    pub(crate) tls: bool,
    /// The common name in the client's certificate, if it has shown a trusted one.
    pub(crate) certificate: Option<String>,
}

impl Request {
    /// Waits for a permit; returns `None` if too many requests wait already. The thread does not count among the running ones
    /// meanwhile.
    pub(crate) fn acquire<'l>(&self, limit: &'l ConcurrencyLimit) -> Option<ConcurrencyPermit<'l>> {
        self.wait.while_blocked(|| limit.acquire(self.peer.address.ip()))
    }

    /// As [`ReadMode::check_may_wait`].
    ///
    /// # Errors
    /// In an inline attempt: the request is then given to a thread of the pool.
    pub(crate) fn check_may_wait(&self) -> base::Result<()> {
        self.read_mode.check_may_wait()
    }

    /// Returns the value of a header if it is ASCII.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the value of a header if it is UTF-8: user names and paths are not always ASCII.
    pub(crate) fn header_utf8(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    /// Returns all lines of a header, joined by commas.
    pub(crate) fn header_list(&self, name: &str) -> String {
        let lines: Vec<&str> = self
            .headers
            .get_all(name)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .collect();
        lines.join(",")
    }

    /// Returns scheme and authority of this server, as the client has named it.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.peer.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.header("host").unwrap_or("localhost"))
    }

    /// Returns the gzip level for the response: `level` if the client accepts gzip.
    pub(crate) fn takes_gzip(&self, level: Option<u32>) -> Option<u32> {
        let level = level.filter(|level| *level > 0)?;
        accepts_gzip(&self.header_list("accept-encoding")).then_some(level)
    }

    /// Returns whether the client is Subversion's own or SVNKit.
    pub(crate) fn is_svn_client(&self) -> bool {
        self.header_utf8("user-agent")
            .is_some_and(|agent| agent.starts_with("SVN/"))
    }
}

fn accepts_gzip(list: &str) -> bool {
    let mut any = false;
    for item in list.split(',') {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").or(part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
        });
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return !refused;
        }
        any |= name == "*" && !refused;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_by_name_or_wildcard_and_weight() {
        for yes in [
            "gzip",
            "deflate, gzip;q=0.5",
            "gzip,svndiff1;q=0.9",
            "*",
            "GZIP",
            "br;q=0, *",
        ] {
            assert!(accepts_gzip(yes), "{yes}");
        }
        for no in ["", "svndiff1", "gzip;q=0", "*;q=0", "gzip;q=0.0, *", "identity"] {
            assert!(!accepts_gzip(no), "{no}");
        }
    }
}
