//! The repositories that the interop suite works on: which back end they have, and which implementation makes them.
//!
//! | variable | values | default |
//! |---|---|---|
//! | `$SVEN_INTEROP_FS_TYPE` | `fsfs`, `fsx` | `fsfs` |
//! | `$SVEN_INTEROP_MAKER` | `theirs`, `ours` | `theirs` |
//!
//! Only `cargo xtask interop` sets them. Without them all repositories are what the tests say.

use std::path::Path;

use super::Spec;
use crate::tool::Side;

/// Makes an empty repository of the chosen kind, which Subversion 1.14 can use.
pub fn create_repository(path: &Path) {
    create_compatible("1.14", path);
}

/// Makes an empty repository of the chosen kind, which this version of Subversion can use. FSX has one format.
pub fn create_compatible(version: &str, path: &Path) {
    create_by(maker(), version, path);
}

/// As [`create_compatible`], by one implementation.
pub fn create_by(maker: Side, version: &str, path: &Path) {
    let options = match is_fsx() {
        true => ["--fs-type", "fsx"],
        false => ["--compatible-version", version],
    };
    maker.tool("svnadmin").arg("create").args(options).arg(path).ok();
}

/// True if the repositories are of FSX.
pub fn is_fsx() -> bool {
    std::env::var("SVEN_INTEROP_FS_TYPE").is_ok_and(|name| name == "fsx")
}

/// Returns the chosen maker.
fn maker() -> Side {
    match std::env::var("SVEN_INTEROP_MAKER").as_deref() {
        Ok("ours") => Side::Ours,
        _ => Side::Theirs,
    }
}

impl Spec {
    /// Returns the same repository with the chosen back end and maker. FSX has one format, no linear layout and one compression.
    pub(super) fn as_chosen(&self) -> Spec {
        if !is_fsx() {
            return self.clone();
        }
        Spec {
            name: format!("{}-fsx", self.name),
            maker: maker(),
            history: self.history.clone(),
            shard: self.shard.filter(|shard| *shard > 0),
            pack: self.pack,
            locks: self.locks,
            open_txn: self.open_txn,
            revprop_edits: self.revprop_edits,
            ..Spec::fsx()
        }
    }
}
