//! What is served, for people: URLs, and the repositories behind them.

use std::fs::{self, DirEntry};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base::percent;
use repos::Repository;

/// Where clients find what listens on `address`, as seen from this machine; `usual` is the port that needs no word.
pub fn url(scheme: &str, address: SocketAddr, usual: u16) -> String {
    let port = match address.port() {
        port if port == usual => String::new(),
        port => format!(":{port}"),
    };
    match address.ip() {
        ip if ip.is_unspecified() => format!("{scheme}://localhost{port}/"),
        IpAddr::V4(ip) => format!("{scheme}://{ip}{port}/"),
        IpAddr::V6(ip) => format!("{scheme}://[{ip}]{port}/"),
    }
}

/// The repositories below `root` (or the empty path if it is one itself), for people to see: not more of them, nor from
/// more places, than can be looked at in a moment. True if these are all.
pub fn repositories(root: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let mut level = vec![PathBuf::new()];
    let (mut looks, mut all) = (LOOKS, true);
    for _ in 0..=DEEPEST {
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
                if looks == 0 {
                    all = false;
                    break;
                }
                looks -= 1;
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

/// What the directory says is enough; only links must be followed.
fn is_dir(entry: &DirEntry) -> bool {
    match entry.file_type() {
        Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
        Ok(kind) => kind.is_dir(),
        Err(_) => false,
    }
}

/// A path as it stands in a URL.
pub fn percent_encoded(path: &Path) -> String {
    percent::encode(path.as_os_str().as_bytes(), percent::FILE_PATH).collect()
}

/// How many repositories are named when the server starts.
pub const SHOWN: usize = 10;
/// How many folders deep they are looked for.
const DEEPEST: usize = 3;
/// How many entries of folders are looked at.
const LOOKS: usize = 2_000;
