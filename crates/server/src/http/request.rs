//! A request as handlers see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Version};

use super::again::Lasting;
use super::body::{Patience, RequestBody};
use crate::dav::Known;
use crate::shares::{Share, Turn, Turns};

/// A request whose head has been read.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) version: Version,
    /// The path as it was sent.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// It was sent with more, which is lost.
    pub(crate) had_fragment: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Arc<Peer>,
    /// Names this request in logs and in the texts of errors.
    pub(crate) id: String,
    pub(crate) begun: Instant,
    /// Who has proved to have sent it; for logs.
    pub(crate) user: Option<String>,
    /// What it was in Subversion's words; for logs.
    pub(crate) operation: Option<Operation>,
    /// The answer will be the same for whoever may read it.
    pub(crate) lasting: Option<Lasting>,
    pub(crate) body: RequestBody,
    /// What the body, and what is made of it, counts of the memory for requests.
    pub(crate) _memory: Share,
    /// How its thread waits.
    pub(crate) patience: Patience,
}

/// A line for the operational log.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The repository's name, URI-encoded.
    pub(crate) repository: String,
    pub(crate) text: String,
}

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The connection is encrypted.
    pub(crate) tls: bool,
    /// Common name of the client's certificate, if it has shown one that we trust.
    pub(crate) certificate: Option<String>,
    /// What its last request was about.
    pub(crate) known: Known,
}

impl Request {
    /// Waits for a turn; `None` if too many wait already. Its thread does not count meanwhile.
    pub(crate) fn turn<'t>(&self, turns: &'t Turns) -> Option<Turn<'t>> {
        self.patience.while_blocked(|| turns.wait(self.peer.address.ip()))
    }

    /// A header line's value, if there is one and it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A header's value as UTF-8: user names and paths are not always ASCII.
    pub(crate) fn header_utf8(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    /// All lines of a header, joined by commas.
    pub(crate) fn header_list(&self, name: &str) -> String {
        let lines: Vec<&str> = self
            .headers
            .get_all(name)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .collect();
        lines.join(",")
    }

    /// Scheme and authority of this server, as the client knows it.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.peer.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.header("host").unwrap_or("localhost"))
    }

    /// The level of gzip for the answer, if the client takes it compressed.
    pub(crate) fn takes_gzip(&self, level: Option<u32>) -> Option<u32> {
        let level = level.filter(|level| *level > 0)?;
        accepts_gzip(&self.header_list("accept-encoding")).then_some(level)
    }

    /// The client is Subversion's own or SVNKit's.
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
    fn who_takes_gzip() {
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
