//! What the HTTP side of a server is told: which repositories stand at which URLs, under which rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wire::dav::xml;

use super::{AccessRules, Recursion, Redirect};

/// Everything that HTTP connections share. A request keeps the options with which it began; new ones count for the next.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// Where repositories are found; the longest prefix that fits a request counts.
    pub locations: Vec<Arc<Location>>,
    /// What has moved; the first that fits a request counts, before any location.
    pub redirects: Vec<Redirect>,
    /// Compression of text deltas, 0 to 9 as `SVNCompressionLevel`.
    pub compression: u8,
    /// Level of gzip for answers that clients take compressed; `None` sends them as they are.
    pub gzip: Option<u32>,
    /// What a peer may send and how long it may take.
    pub limits: Limits,
    /// Pages for browsers.
    pub web: Web,
    /// Metrics and health are told under `/-/` to everybody who can connect; a repository of that name is then hidden.
    pub status: bool,
}

/// One part of the URL space.
#[derive(Clone, Debug)]
pub struct Location {
    /// Path of the URL, decoded, without slash at its end; empty is the whole server.
    pub prefix: String,
    /// What stands there.
    pub source: Source,
    /// Name for titles (`SVNReposName`).
    pub name: Option<String>,
    /// Lists the repositories to whoever asks for the location itself (`SVNListParentPath`).
    pub list: bool,
    /// Special part of the URL space, without slashes around it (`SVNSpecialURI`).
    pub special: String,
    /// XSLT that listings name (`SVNIndexXSLT`).
    pub index_xslt: Option<String>,
    /// Writes of plain WebDAV programs become revisions (`SVNAutoversioning`).
    pub autoversioning: bool,
    /// How paths inside of answers are authorised (`SVNPathAuthz`).
    pub path_authz: PathAuthz,
    /// The server that takes the writes for this one (`SVNMasterURI`).
    pub master: Option<Master>,
    /// Where activities are kept; by default in each repository (`SVNActivitiesDB`).
    pub activities: Option<PathBuf>,
    /// Whether whole trees may be sent in one answer (`SVNAllowBulkUpdates`).
    pub bulk: Bulk,
    /// Clients are told of HTTPv2 (`SVNAdvertiseV2Protocol`).
    pub advertise_v2: bool,
    /// Environment of hooks; by default the repository's own file (`SVNHooksEnv`).
    pub hooks_env: Option<PathBuf>,
    /// Paths on which recursive actions are refused (mod_dontdothat).
    pub recursion: Option<Recursion>,
    /// Who may come in. `None`: each repository's own `svnserve.conf` says it.
    pub access: Option<AccessRules>,
    /// Shown to whoever is asked for a password where a repository's own file says who may come in, in place of what that says.
    pub realm: Option<String>,
    /// Nobody may write.
    pub read_only: bool,
}

impl Location {
    /// `source` at `prefix`, and everything else as it is without configuration.
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

/// What stands at a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// One repository (`SVNPath`).
    Repository(PathBuf),
    /// Every repository below a directory (`SVNParentPath`), at any depth.
    Parent(PathBuf),
}

/// `SVNPathAuthz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathAuthz {
    /// Each path that an answer would show is checked.
    #[default]
    On,
    /// Only the request's own path is checked.
    Off,
}

/// `SVNAllowBulkUpdates`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bulk {
    /// Where a client asks for it.
    #[default]
    On,
    /// Never.
    Off,
    /// Clients are told that we like it.
    Prefer,
}

/// Another server to which writes are passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Master {
    /// Its URL of the same location.
    pub url: String,
    /// Its Subversion version, major and minor; what it is too old for is not offered.
    pub version: Option<(u32, u32)>,
}

/// What a peer may send, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of an XML body (`LimitXMLRequestBody`), and of a list of properties, other than what a working copy reports.
    pub xml_body: u64,
    /// Bytes of what a working copy reports (`update-report`), which is read as it comes.
    pub update_body: u64,
    /// Elements within elements.
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
    /// Bytes a second that a body must have on average; 0 is any.
    pub body_rate: u64,
    /// Bytes of requests in memory, over all protocols together.
    pub request_memory: u64,
    /// How long a connection may be quiet between two requests (`KeepAliveTimeout`). A client that cannot read the file that it
    /// is about to send says nothing: it waits until the server ends the connection, and only then gives its transaction up.
    pub keep_alive: Duration,
    /// How long a client may be silent within the body of a request (`Timeout`). A client that cannot read the file that it sends
    /// neither ends the body nor the connection: it waits until the server does.
    pub body_silence: Duration,
    /// How long a peer may neither send nor take anything in the middle of a request.
    pub stall: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Connections of one address at once; 0 is half of all.
    pub connections_per_address: usize,
    /// Requests that are worked on at once.
    pub threads: usize,
}

impl Limits {
    /// The most bytes of a working copy's report; 0 is no limit.
    pub(crate) fn longest_report(&self) -> u64 {
        match self.update_body {
            0 => 0,
            bytes => bytes.max(self.xml_body),
        }
    }

    /// The limits of a document of so many bytes, or of one child of its root where children are read one by one: what it needs
    /// in memory is in proportion to its length.
    pub(crate) fn xml(&self, bytes: u64) -> xml::Limits {
        let memory = XML_MEMORY + bytes.saturating_mul(XML_FACTOR);
        xml::Limits {
            depth: self.xml_depth,
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            bytes,
        }
    }
}

/// What the elements of a document may need in memory for each of its bytes.
pub(crate) const XML_FACTOR: u64 = 32;

/// What the elements of a short document may need, bytes.
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
            threads: 1024,
        }
    }
}

/// Pages for browsers.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// They are there; else browsers get the plain listings that Apache sends.
    pub browse: bool,
    /// Longest file, in bytes, that is shown in colours.
    pub highlight: u64,
    /// How long a page may compare texts or look for revisions; blame has twice that.
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
