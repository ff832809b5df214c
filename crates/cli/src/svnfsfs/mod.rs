//! `svnfsfs`: the sizes of a repository's parts, and the contents of its indexes.
//!
//! One file per subcommand. They are for repairs and statistics.

mod dump_index;
mod entry_text;
mod load_index;
mod stats;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use fsfs::Fs;
use repos::Cache;

use crate::args::option::Memory;
use crate::args::{self, Given, Refusal, Tool};
use crate::out::Out;
use crate::{front, local_path};

/// Examines how a Subversion repository is stored, and repairs its indexes.
#[derive(Parser)]
#[command(name = "svnfsfs")]
pub struct Cli {
    #[command(subcommand)]
    command: Fsfs,
}

#[derive(Subcommand)]
enum Fsfs {
    Help(Help),
    DumpIndex(dump_index::DumpIndex),
    LoadIndex(load_index::LoadIndex),
    Stats(stats::Stats),
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
struct Help {
    topics: Vec<String>,
}

const TOOL: Tool = Tool {
    name: "svnfsfs",
    command: Cli::command,
    once: &["revision"],
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    front::run(&TOOL, out, argv, |matches, out| {
        match Cli::from_arg_matches(&matches).map_err(args::unreadable)?.command {
            // Answered before any subcommand runs.
            Fsfs::Help(_) => Ok(()),
            Fsfs::DumpIndex(this) => this.run(out),
            Fsfs::LoadIndex(this) => this.run(out),
            Fsfs::Stats(this) => this.run(out),
        }
    })
}

fn repository(_subcommand: &str, _given: Given<'_>, first: Option<&OsStr>) -> Result<(), Refusal> {
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

/// Opens the storage of the repository that the first operand names; more operands are ignored, as by the incumbent. What
/// lies around the storage need not be whole.
fn open(operands: &[OsString], memory: Memory) -> Result<Fs> {
    let path = local_path::canonical(operands.first().map(OsString::as_os_str).unwrap_or_default());
    let db = path.join("db");
    // A repository without this file is Berkeley DB's; a directory without it is most likely no repository at all.
    let kind = db.join("fs-type");
    std::fs::metadata(&kind).map_err(|e| Error::io("Can't open file", &kind, &e))?;
    Fs::open(&db, &Cache::new(memory.budget()))
}
