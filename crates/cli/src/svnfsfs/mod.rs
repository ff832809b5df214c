//! `svnfsfs`: prints the sizes of a repository's parts, and prints and repairs its indexes.
//!
//! One file for each subcommand.

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

use crate::args::help::HelpArgs;
use crate::args::option::CacheSizeOption;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::out::Out;
use crate::{local_path, tool_runner};

/// Examines how a Subversion repository is stored, and repairs its indexes.
#[derive(Parser)]
#[command(name = "svnfsfs")]
pub struct SvnFsfsCli {
    #[command(subcommand)]
    command: FsfsCommand,
}

#[derive(Subcommand)]
enum FsfsCommand {
    Help(HelpArgs),
    DumpIndex(dump_index::DumpIndexArgs),
    LoadIndex(load_index::LoadIndexArgs),
    Stats(stats::StatsArgs),
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnfsfs",
    command: SvnFsfsCli::command,
    may_follow: args::one_revision,
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        match SvnFsfsCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
        {
            // `tool_runner` has answered it.
            FsfsCommand::Help(_) => Ok(()),
            FsfsCommand::DumpIndex(this) => this.run(out),
            FsfsCommand::LoadIndex(this) => this.run(out),
            FsfsCommand::Stats(this) => this.run(out),
        }
    })
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, first: Option<&OsStr>) -> Result<(), ArgumentError> {
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

/// Opens the filesystem of the repository that the first operand names. The other files of the repository may be
/// damaged. More operands are ignored, as the incumbent does.
fn open(operands: &[OsString], memory: CacheSizeOption) -> Result<Fs> {
    let path = local_path::canonical(operands.first().map(OsString::as_os_str).unwrap_or_default());
    let db = path.join("db");
    // Every FSFS repository has this file. Its absence gives a clear error for a directory that is no repository.
    let kind = db.join("fs-type");
    std::fs::metadata(&kind).map_err(|e| Error::io("Can't open file", &kind, &e))?;
    let fs = Fs::open(&db, &Cache::new(memory.budget()))?;
    match fs.info()?.fs_type {
        "fsfs" => Ok(fs),
        other => Err(Error::new(
            Code::FS_UNSUPPORTED_TYPE,
            format!("{other} repositories are not supported"),
        )),
    }
}
