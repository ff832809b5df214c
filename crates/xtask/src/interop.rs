//! Runs the real clients (svn, svnsync, svnrdump, git-svn) against our server on repositories of every format.
//!
//! The scenarios live in `crates/cli/tests/interop`; this chore only names them and shows their progress.

use crate::run::{exists, run};

/// Runs the interop suite; `rest` may hold a filter for the names of scenarios.
pub fn main(rest: &[String]) -> Result<(), String> {
    for tool in ["svn", "svnadmin", "svnserve", "svnsync", "svnrdump", "git"] {
        if !exists(tool) {
            return Err(format!("{tool} is not installed: run ./dev deps"));
        }
    }
    let mut args = vec!["test", "--package", "cli", "--locked", "--test", "interop", "--"];
    args.extend(rest.iter().map(String::as_str));
    run("cargo", &args)
}
