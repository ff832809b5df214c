//! Licences, duplicate versions and sources of dependencies, by `cargo-deny`.

use crate::run::{exists, run};

/// Runs the checks of `deny.toml` that need no network. Does nothing but say so where `cargo-deny` is not installed.
pub fn main() -> Result<(), String> {
    if !exists("cargo-deny") {
        println!("deny: NOT CHECKED, cargo-deny is not installed (cargo install --locked cargo-deny)");
        return Ok(());
    }
    run(
        "cargo",
        &["deny", "--locked", "check", "licenses", "bans", "sources"],
    )
}
