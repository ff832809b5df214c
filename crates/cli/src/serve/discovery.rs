//! URLs and names of the served repositories, for the messages at the start of the server.

use std::fs::{self, DirEntry};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base::percent;
use repos::Repository;

/// Returns the URL of a listener on `address`, as clients on this machine write it. `default_port` is the port that the URL
/// can omit.
pub fn url(scheme: &str, address: SocketAddr, default_port: u16) -> String {
    let port = match address.port() {
        port if port == default_port => String::new(),
        port => format!(":{port}"),
    };
    match address.ip() {
        ip if ip.is_unspecified() => format!("{scheme}://localhost{port}/"),
        IpAddr::V4(ip) => format!("{scheme}://{ip}{port}/"),
        IpAddr::V6(ip) => format!("{scheme}://[{ip}]{port}/"),
    }
}

/// Returns some repositories below `root` (the empty path if `root` is one itself), and true if these are all. The
/// search stops after [`SHOWN`] repositories, [`MAX_ENTRIES`] directory entries and [`MAX_DEPTH`] levels, so that a
/// large directory does not delay the start.
pub fn repositories(root: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let mut level = vec![PathBuf::new()];
    let (mut entries_left, mut all) = (MAX_ENTRIES, true);
    for _ in 0..=MAX_DEPTH {
        let mut next = Vec::new();
        for name in level {
            let path = root.join(&name);
            if Repository::is_repository(&path) {
                found.push(name);
                if found.len() > SHOWN {
                    return (found, false);
                }
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                if entries_left == 0 {
                    all = false;
                    break;
                }
                entries_left -= 1;
                if is_dir(&entry) {
                    next.push(name.join(entry.file_name()));
                }
            }
        }
        next.sort();
        level = next;
    }
    (found, all && level.is_empty())
}

/// True if the entry is a directory or a link to one. Only a link costs a system call.
fn is_dir(entry: &DirEntry) -> bool {
    match entry.file_type() {
        Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
        Ok(kind) => kind.is_dir(),
        Err(_) => false,
    }
}

/// Returns the path with the escapes of a URL.
pub fn percent_encoded(path: &Path) -> String {
    percent::encode(path.as_os_str().as_bytes(), percent::FILE_PATH).collect()
}

/// The number of repositories that are listed when the server starts.
pub const SHOWN: usize = 10;
/// The number of directory levels that the search descends.
const MAX_DEPTH: usize = 3;
/// The number of directory entries that the search reads.
const MAX_ENTRIES: usize = 2_000;
