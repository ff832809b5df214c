//! The options of svn:// sessions and of threads.

use std::path::PathBuf;
use std::time::Duration;

/// The options of all svn:// sessions.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that stands for `/` in URLs.
    pub root: PathBuf,
    /// No user may write, whatever a repository's configuration says.
    pub read_only: bool,
    /// One `svnserve.conf` for all repositories, in place of their own.
    pub config_file: Option<PathBuf>,
    /// Virtual hosts: the host in a URL is the first directory of the path.
    pub virtual_host: bool,
    /// Compression on the wire, 0 to 9; 0 also means svndiff version 0.
    pub compression: u8,
    /// Compress for peers that read fast as well.
    pub always_compress: bool,
    /// The longest message of a client, bytes; 0 is no limit.
    pub max_request: u64,
    /// The longest response, bytes; 0 is no limit.
    pub max_response: u64,
    /// How long a peer may neither send nor read in the middle of a command; `None` is no limit.
    pub stall_timeout: Option<Duration>,
    /// The tunnel that has authenticated the peer, if there is one.
    pub tunnel: Option<Tunnel>,
    /// The directories that may have the configuration of Cyrus SASL, `svn.conf`; the first counts.
    pub sasl_folders: Vec<PathBuf>,
}

/// A tunnel, as `svn+ssh://` makes one.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// The user name of the peer.
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
            sasl_folders: SASL_FOLDERS.map(PathBuf::from).to_vec(),
        }
    }
}

/// Where Cyrus SASL looks for its configuration, as distributions build it.
const SASL_FOLDERS: [&str; 5] = [
    "/etc/sasl2",
    "/etc/sasl",
    #[cfg(target_arch = "aarch64")]
    "/usr/lib/aarch64-linux-gnu/sasl2",
    #[cfg(not(target_arch = "aarch64"))]
    "/usr/lib/x86_64-linux-gnu/sasl2",
    "/usr/lib64/sasl2",
    "/usr/lib/sasl2",
];

/// The limits on the threads for busy sessions.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// How many idle threads stay.
    pub min: usize,
    /// The highest number of running threads. Further work waits.
    pub max: usize,
}

impl Default for Threads {
    fn default() -> Self {
        Threads { min: 1, max: 512 }
    }
}
