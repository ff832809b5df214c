//! Whether a repository in the cluster and one of files have the same history.
//!
//! Two repositories with the same UUID and the same number of revisions may have different ones: one of them was restored from a backup and went
//! on. A copy that adds the new revisions of one to the old ones of the other would be neither.

use std::fs;
use std::sync::Arc;

use base::{Error, Result, Revnum};
use fsfs::disk::RealDisk;
use fsfs::shared::{Head, SHARED_FS_TYPE};
use fsfs::{Cache, Fs};

use crate::cluster::{Cluster, RepositoryInfo};

/// True if `files` and a repository of the cluster have the same history up to `rev`. `unfinished` is the state of the latter if its
/// import has not ended.
///
/// # Errors
/// Those of reading the revision in both; the system's.
pub(super) fn has_same_history(
    cluster: &Cluster,
    info: &RepositoryInfo,
    unfinished: Option<Head>,
    files: &Fs,
    rev: Revnum,
) -> Result<bool> {
    let failed = |e: std::io::Error| Error::os(&e, "Can't make a temporary directory");
    let dir = tempfile::tempdir().map_err(failed)?;
    let fs_type = format!("{SHARED_FS_TYPE}\n");
    for (name, bytes) in [
        ("fs-type", fs_type.as_bytes()),
        ("format", info.format.as_bytes()),
        ("uuid", info.uuid.as_bytes()),
        ("fsfs.conf", &info.fsfs_conf),
    ] {
        fs::write(dir.path().join(name), bytes).map_err(failed)?;
    }
    let shared = cluster.shared_fs_in(info, unfinished);
    let there = Fs::open_shared(dir.path(), &Cache::new(CACHE), Arc::new(RealDisk), shared)?;
    files.has_same_history(&there, rev)
}

/// For the node-revisions of a revision.
const CACHE: u64 = 1 << 20;
