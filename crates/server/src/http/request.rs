//! A request as handlers see it.

use std::net::SocketAddr;

use http::{HeaderMap, Method};

use super::body::RequestBody;

/// A request whose head has been read.
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path as it was sent.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Peer,
    /// Names this request in logs and in the texts of errors.
    pub(crate) id: String,
    pub(crate) body: RequestBody,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The connection is encrypted.
    pub(crate) tls: bool,
    /// Common name of the client's certificate, if it has shown one that we trust.
    pub(crate) certificate: Option<String>,
}

impl Request {
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

    /// The client is Subversion's own or SVNKit's.
    pub(crate) fn is_svn_client(&self) -> bool {
        self.header_utf8("user-agent")
            .is_some_and(|agent| agent.starts_with("SVN/"))
    }
}
