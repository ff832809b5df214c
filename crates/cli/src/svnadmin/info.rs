//! `svnadmin info`: prints the formats and identity of a repository.

use std::ffi::OsString;
use std::fmt::Write as _;

use base::Result;
use base::disk_path;
use repos::FsInfo;

use super::repository;
use crate::local_path;
use crate::out::Out;

/// Prints what kind of repository is at REPOS_PATH: formats, layout, youngest
/// revision, UUID.
#[derive(clap::Args)]
#[command(override_usage = "info REPOS_PATH")]
pub struct InfoArgs {
    operands: Vec<OsString>,
}

impl InfoArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = repository::open(out, &self.operands)?;
        let storage = repository.fs_info()?;
        let youngest = repository.youngest()?;
        let yes = |is| if is { "yes" } else { "no" };
        let mut text = format!(
            "Path: {}\nUUID: {}\nRevisions: {youngest}\nRepository Format: {}\nCompatible With Version: {}\n",
            local_path::shown(repository.path()),
            repository.uuid(),
            repository.format(),
            oldest_reader(&storage, repository.format()),
        );
        if repository.tracks_merges() {
            text.push_str("Repository Capability: mergeinfo\n");
        }
        let (fs_type, name) = (storage.fs_type, storage.fs_type.to_uppercase());
        let is_fsfs = fs_type == "fsfs";
        let _ = writeln!(
            text,
            "Filesystem Type: {fs_type}\nFilesystem Format: {}",
            storage.format
        );
        if is_fsfs {
            let _ = writeln!(text, "FSFS Sharded: {}", yes(storage.shard_size > 0));
        }
        if let Some(packed) = storage.min_unpacked_rev.0.checked_div(storage.shard_size) {
            let complete = youngest.next().0 / storage.shard_size;
            let _ = writeln!(
                text,
                "{name} Shard Size: {}\n{name} Shards Packed: {packed}/{complete}",
                storage.shard_size
            );
        }
        if is_fsfs {
            let logical = yes(storage.logical_addressing);
            let _ = writeln!(text, "FSFS Logical Addressing: {logical}");
        }
        let conf = repository.path().join("db").join(format!("{fs_type}.conf"));
        let _ = writeln!(text, "Configuration File: {}\n", disk_path::shown(&conf));
        out.print(&text)
    }
}

/// Returns the oldest version of Subversion that can read these formats.
fn oldest_reader(filesystem: &FsInfo, layout: u32) -> &'static str {
    if filesystem.fs_type != "fsfs" {
        return "1.10.0";
    }
    match filesystem.format {
        ..=1 if layout < 5 => "1.1.0",
        ..=2 => "1.4.0",
        3 => "1.5.0",
        4 | 5 => "1.6.0",
        6 => "1.8.0",
        7 => "1.9.0",
        _ => "1.10.0",
    }
}
