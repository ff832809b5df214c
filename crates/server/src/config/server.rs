//! What a server is told when it starts.

use std::path::PathBuf;
use std::time::Duration;

/// Options of all conversations of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that takes the place of `/` in URLs.
    pub root: PathBuf,
    /// Nobody may write, whatever a repository's configuration says.
    pub read_only: bool,
    /// One `svnserve.conf` for all repositories; theirs are then not read.
    pub config_file: Option<PathBuf>,
    /// The host in a URL is the first component of the path.
    pub virtual_host: bool,
    /// Compression on the wire, 0 to 9; 0 also means svndiff version 0.
    pub compression: u8,
    /// Compress also for a peer that takes bytes as fast as they are made.
    pub always_compress: bool,
    /// Most bytes in one message of a client; 0 is no limit.
    pub max_request: u64,
    /// Most bytes in one answer; 0 is no limit.
    pub max_response: u64,
    /// How long a peer may neither read nor write in the middle of something.
    pub stall_timeout: Option<Duration>,
    /// The peer comes through a tunnel that has authenticated it.
    pub tunnel: Option<Tunnel>,
}

/// A tunnel, as `svn+ssh://` makes one.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// Who the peer is.
    pub user: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            root: PathBuf::from("/"),
            read_only: false,
            config_file: None,
            virtual_host: false,
            compression: 5,
            always_compress: false,
            max_request: 16 << 20,
            max_response: 0,
            stall_timeout: Some(Duration::from_secs(30 * 60)),
            tunnel: None,
        }
    }
}

/// How many threads a server may use for conversations that are busy.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// How many are kept when there is nothing to do.
    pub min: usize,
    /// How many there are at most; what comes beyond waits.
    pub max: usize,
}

impl Default for Threads {
    fn default() -> Self {
        Threads { min: 1, max: 512 }
    }
}
