//! `svndumpfilter`: leaves nodes out of a dump stream.
//!
//! The stream is read from standard input and written to standard output. Progress and a summary are printed on standard
//! error.

mod filter;
mod prefixes;
mod report;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::out::Out;
use crate::tool_runner;

/// Filters a dump stream of a Subversion repository by paths. The stream is read
/// from standard input and written to standard output.
#[derive(Parser)]
#[command(name = "svndumpfilter", subcommand_value_name = "PATH_PREFIX...")]
pub struct SvnDumpFilterCli {
    #[command(subcommand)]
    command: DumpFilterCommand,
}

#[derive(Subcommand)]
enum DumpFilterCommand {
    Exclude(filter::ExcludeArgs),
    Include(filter::IncludeArgs),
    Help(HelpArgs),
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svndumpfilter",
    command: SvnDumpFilterCli::command,
    may_follow: args::any_order,
    no_subcommand: "Subcommand argument required",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run_with_codes(&TOOL, out, argv, 1, |matches, out| {
        match SvnDumpFilterCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
        {
            // `tool_runner` has answered it.
            DumpFilterCommand::Help(_) => Ok(ExitCode::SUCCESS),
            DumpFilterCommand::Exclude(this) => this.run(out),
            DumpFilterCommand::Include(this) => this.run(out),
        }
    })
}

fn conflicts(given: IsGiven<'_>) -> Result<()> {
    match given("drop_empty_revs") && given("drop_all_empty_revs") {
        true => Err(Error::new(
            Code::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--drop-empty-revs cannot be used with --drop-all-empty-revs",
        )),
        false => Ok(()),
    }
}

fn repository(_subcommand: &str, given: IsGiven<'_>, first: Option<&OsStr>) -> Result<(), ArgumentError> {
    match first.is_none() && !given("targets") {
        true => Err(ArgumentError::Unexplained(NO_PREFIXES.to_owned())),
        false => Ok(()),
    }
}

const NO_PREFIXES: &str = "\nError: no prefixes supplied.";
