//! The subcommands that need a working copy. They are known, with their options, and refused by name.

use std::ffi::OsString;

use base::{Code, Error, Result};

use super::options::{ChangelistOption, parse_int};
use crate::client_context::AccessOptions;

/// The names of the subcommands.
pub const SUBCOMMANDS: &[&str] = &[
    "add",
    "changelist",
    "checkout",
    "cleanup",
    "commit",
    "merge",
    "patch",
    "relocate",
    "resolve",
    "resolved",
    "revert",
    "status",
    "switch",
    "update",
    "upgrade",
];

/// Returns the error for one of [`SUBCOMMANDS`].
pub fn not_supported(subcommand: &str) -> Error {
    let message = format!("'svn {subcommand}' needs a working copy; working copies are not supported yet");
    Error::new(Code::UNSUPPORTED_FEATURE, message)
}

/// The options of these subcommands that no other subcommand has.
///
/// Works on a working copy, which is not supported yet.
#[derive(clap::Args)]
#[command(hide = true)]
pub struct WorkingCopyArgs {
    #[arg(long, value_name = "ARG", value_parser = parse_set_depth)]
    set_depth: Option<String>,
    #[arg(long, value_parser = parse_accept)]
    accept: Option<String>,
    #[arg(long)]
    adds_as_modification: bool,
    #[arg(long)]
    allow_mixed_revisions: bool,
    #[arg(long)]
    dry_run: bool,
    #[arg(long)]
    diff3_cmd: Option<String>,
    #[arg(long)]
    ignore_ancestry: bool,
    #[arg(long)]
    ignore_whitespace: bool,
    #[arg(long)]
    include_externals: bool,
    #[arg(long)]
    keep_changelists: bool,
    #[arg(long)]
    no_unlock: bool,
    #[arg(long)]
    record_only: bool,
    #[arg(long)]
    reintegrate: bool,
    #[arg(long)]
    relocate: bool,
    #[arg(long)]
    remove: bool,
    #[arg(long)]
    remove_added: bool,
    #[arg(long)]
    remove_ignored: bool,
    #[arg(long)]
    remove_unversioned: bool,
    #[arg(long)]
    reverse_diff: bool,
    #[arg(short = 'u', long)]
    show_updates: bool,
    #[arg(long, value_parser = parse_strip, allow_hyphen_values = true)]
    strip: Option<i32>,
    #[arg(long)]
    vacuum_pristines: bool,
    #[command(flatten)]
    changelist: ChangelistOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

fn parse_set_depth(text: &str) -> Result<String> {
    match text {
        "exclude" | "empty" | "files" | "immediates" | "infinity" => Ok(text.to_owned()),
        _ => {
            let depths = "'exclude', 'empty', 'files', 'immediates', or 'infinity'";
            let message = format!("'{text}' is not a valid depth; try {depths}");
            Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
        }
    }
}

/// The ways to resolve a conflict, and their short forms.
const ACCEPTED: &[&str] = &[
    "postpone",
    "p",
    "working",
    "base",
    "mine-conflict",
    "mc",
    "theirs-conflict",
    "tc",
    "mine-full",
    "mf",
    "theirs-full",
    "tf",
    "edit",
    "e",
    "launch",
    "l",
    "recommended",
    "r",
];

fn parse_accept(text: &str) -> Result<String> {
    if ACCEPTED.contains(&text) {
        return Ok(text.to_owned());
    }
    let message = format!("'{text}' is not a valid --accept value");
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

fn parse_strip(text: &str) -> Result<i32> {
    let outer = || format!("Invalid strip count '{text}'");
    match parse_int(text).map_err(|error| error.wrap(Code::CL_ARG_PARSING_ERROR, outer()))? {
        ..0 => Err(Error::new(
            Code::INCORRECT_PARAMS,
            "Argument to --strip must be positive",
        )),
        count => Ok(count),
    }
}
