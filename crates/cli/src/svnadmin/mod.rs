//! `svnadmin`: administers a repository.
//!
//! One file a subcommand; [`repository`] opens, [`range`] turns `-r` into revisions of an open repository.

mod dump;
mod info;
mod lslocks;
mod lstxns;
mod range;
mod repository;
mod rev_size;
mod verify;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::{self, Refusal, Tool};
use crate::out::Out;
use crate::{front, local_path};

/// Administers a Subversion repository.
#[derive(Parser)]
#[command(name = "svnadmin")]
struct Cli {
    #[command(subcommand)]
    command: Admin,
}

#[derive(Subcommand)]
enum Admin {
    Dump(dump::Dump),
    DumpRevprops(dump::DumpRevprops),
    Help(Help),
    Info(info::Info),
    #[command(name = "lslocks")]
    LsLocks(lslocks::LsLocks),
    #[command(name = "lstxns")]
    LsTxns(lstxns::LsTxns),
    RevSize(rev_size::RevSize),
    Verify(verify::Verify),
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
struct Help {
    topics: Vec<String>,
}

impl Admin {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            // Answered before any subcommand runs.
            Admin::Help(_) => Ok(()),
            Admin::Dump(this) => this.run(out),
            Admin::DumpRevprops(this) => this.run(out),
            Admin::Info(this) => this.run(out),
            Admin::LsLocks(this) => this.run(out),
            Admin::LsTxns(this) => this.run(out),
            Admin::RevSize(this) => this.run(out),
            Admin::Verify(this) => this.run(out),
        }
    }
}

const TOOL: Tool = Tool {
    name: "svnadmin",
    command: Cli::command,
    once: &["revision"],
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    front::run(&TOOL, out, argv, |matches, out| {
        Cli::from_arg_matches(&matches)
            .map_err(args::unreadable)?
            .command
            .run(out)
    })
}

fn repository(first: Option<&OsStr>) -> Result<(), Refusal> {
    let wrong = |text: String| Err(Error::new(Code::CL_ARG_PARSING_ERROR, text).into());
    match first {
        None => wrong("Repository argument required".into()),
        Some(url) if local_path::is_url(url) => wrong(format!(
            "'{}' is a URL when it should be a local path",
            url.to_string_lossy()
        )),
        Some(_) => Ok(()),
    }
}
