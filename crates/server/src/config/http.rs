//! The options of HTTP: locations, limits, web pages.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wire::dav::xml;

use super::{AccessRules, Recursion, Redirect};

/// The options of HTTP. A request keeps the options that it began with.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// The locations. The one with the longest matching prefix counts.
    pub locations: Vec<Arc<Location>>,
    /// The redirects. The first matching one counts, before any location.
    pub redirects: Vec<Redirect>,
    /// Compression of text deltas, 0 to 9 as `SVNCompressionLevel`.
    pub compression: u8,
    /// The gzip level of responses for clients that accept gzip; `None` is no compression.
    pub gzip: Option<u32>,
    /// Limits on what a peer may send, and on the time that it may take.
    pub limits: Limits,
    /// Pages for browsers.
    pub web: Web,
    /// All listeners serve metrics and health under `/-/`, which hides a repository of that name.
    pub status: bool,
}

/// A URL prefix with its own settings.
#[derive(Clone, Debug)]
pub struct Location {
    /// The path of the URL, decoded, without a final slash; empty is the whole server.
    pub prefix: String,
    /// The repository, or the directory of repositories.
    pub source: Source,
    /// The name for titles (`SVNReposName`).
    pub name: Option<String>,
    /// The location's own URL lists the repositories (`SVNListParentPath`).
    pub list: bool,
    /// The path of Subversion's own resources, without slashes around it (`SVNSpecialURI`).
    pub special: String,
    /// The XSLT stylesheet of listings (`SVNIndexXSLT`).
    pub index_xslt: Option<String>,
    /// Writes of plain WebDAV programs become revisions (`SVNAutoversioning`).
    pub autoversioning: bool,
    /// How paths in responses are authorized (`SVNPathAuthz`).
    pub path_authz: PathAuthz,
    /// The server that takes the writes for this one (`SVNMasterURI`).
    pub master: Option<Master>,
    /// The directory of activities; by default in each repository (`SVNActivitiesDB`).
    pub activities: Option<PathBuf>,
    /// Whether whole trees may be sent in one response (`SVNAllowBulkUpdates`).
    pub bulk: Bulk,
    /// The server advertises HTTPv2 (`SVNAdvertiseV2Protocol`).
    pub advertise_v2: bool,
    /// The file with the environment of hooks; by default the repository's own (`SVNHooksEnv`).
    pub hooks_env: Option<PathBuf>,
    /// The paths on which recursive operations are refused (mod_dontdothat).
    pub recursion: Option<Recursion>,
    /// The access rules. `None`: those in each repository's own `svnserve.conf`.
    pub access: Option<AccessRules>,
    /// The realm where a repository's own `svnserve.conf` has the access rules, in place of the realm in that file.
    pub realm: Option<String>,
    /// No user may write.
    pub read_only: bool,
}

impl Location {
    /// The name of the only repository of this location in authz sections: the last component of the location's path, as in mod_authz_svn. There is
    /// none for the whole server, and where each repository has its rules for itself, as with svnserve.
    pub fn authz_name(&self) -> Option<&str> {
        let name = self.prefix.rsplit('/').next().filter(|name| !name.is_empty());
        name.filter(|_| self.access.is_some() && matches!(self.source, Source::Repository(_)))
    }

    /// Returns `source` at `prefix`, with default settings.
    pub fn new(prefix: impl Into<String>, source: Source) -> Location {
        Location {
            prefix: prefix.into(),
            source,
            name: None,
            list: true,
            special: wire::dav::uri::SPECIAL.to_owned(),
            index_xslt: None,
            autoversioning: false,
            path_authz: PathAuthz::On,
            master: None,
            activities: None,
            bulk: Bulk::On,
            advertise_v2: true,
            hooks_env: None,
            recursion: None,
            access: None,
            realm: None,
            read_only: false,
        }
    }
}

/// What a location serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// One repository (`SVNPath`).
    Repository(PathBuf),
    /// Every repository below a directory (`SVNParentPath`), at any depth.
    Parent(PathBuf),
}

/// `SVNPathAuthz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathAuthz {
    /// Each path in a response is checked.
    #[default]
    On,
    /// Only the request's own path is checked.
    Off,
}

/// `SVNAllowBulkUpdates`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bulk {
    /// If the client requests it.
    #[default]
    On,
    /// Never.
    Off,
    /// The server recommends it to clients.
    Prefer,
}

/// Another server to which writes are passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Master {
    /// The URL of the same location there.
    pub url: String,
    /// Its Subversion version, major and minor. Features that it is too old for are not offered.
    pub version: Option<(u32, u32)>,
}

/// Limits on what a peer may send, and on the time that it may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of an XML body other than an update report (`LimitXMLRequestBody`), and of a property list.
    pub xml_body: u64,
    /// Bytes of an update report, which is parsed while it arrives.
    pub update_body: u64,
    /// The nesting depth of elements.
    pub xml_depth: usize,
    /// Bytes of any body, 0 is no limit (`LimitRequestBody`).
    pub body: u64,
    /// Bytes of all header lines together.
    pub header_bytes: usize,
    /// Header lines.
    pub header_lines: usize,
    /// How long a request's head may take.
    pub header_timeout: Duration,
    /// How long a request's body may take, besides the time that its bytes need at [`Limits::body_rate`].
    pub body_timeout: Duration,
    /// The lowest average rate of a body, bytes a second; 0 is no limit.
    pub body_rate: u64,
    /// Bytes of requests in memory, over all protocols together.
    pub request_memory: u64,
    /// How long a connection may be idle between two requests (`KeepAliveTimeout`). A client that cannot read the file that it is about
    /// to send waits until the server ends the connection, and only then aborts its transaction.
    pub keep_alive: Duration,
    /// How long a client may send nothing within the body of a request (`Timeout`). A client that cannot read the rest of the file that
    /// it sends waits until the server ends the connection.
    pub body_silence: Duration,
    /// How long a peer may neither send nor read in the middle of a request.
    pub stall: Duration,
    /// The highest number of connections.
    pub connections: usize,
    /// The highest number of connections of one network; 0 is half of all.
    pub connections_per_address: usize,
}

impl Limits {
    /// Returns the longest update report, bytes; 0 is no limit.
    pub(crate) fn longest_report(&self) -> u64 {
        match self.update_body {
            0 => 0,
            bytes => bytes.max(self.xml_body),
        }
    }

    /// Returns the limits for a document of `bytes` bytes, or for one child of its root where children are read one by one. The memory
    /// is in proportion to the length.
    pub(crate) fn xml(&self, bytes: u64) -> xml::XmlLimits {
        let memory = XML_MEMORY + bytes.saturating_mul(XML_FACTOR);
        xml::XmlLimits {
            depth: self.xml_depth,
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            bytes,
        }
    }
}

/// The memory that a parsed document may take, in bytes for each of its bytes.
pub(crate) const XML_FACTOR: u64 = 32;

/// The memory that a short document may take, bytes.
const XML_MEMORY: u64 = 256 << 10;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            xml_body: 1 << 20,
            update_body: 256 << 20,
            xml_depth: 64,
            body: 0,
            header_bytes: 64 << 10,
            header_lines: 100,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            body_rate: 500,
            request_memory: 512 << 20,
            body_silence: Duration::from_secs(60),
            keep_alive: Duration::from_secs(5),
            stall: Duration::from_secs(30 * 60),
            connections: 100_000,
            connections_per_address: 0,
        }
    }
}

/// Pages for browsers.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// Browsers get pages; otherwise the plain listings of Apache.
    pub browse: bool,
    /// The longest file that is highlighted, bytes.
    pub highlight: u64,
    /// How long a page may compare texts or search for revisions. Blame has twice that time.
    pub time_limit: Duration,
}

impl Default for Web {
    fn default() -> Self {
        Web {
            browse: true,
            highlight: 1 << 20,
            time_limit: Duration::from_secs(5),
        }
    }
}
