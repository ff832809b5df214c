//! `svn`: the client's commands, for repositories without a working copy.
//!
//! One file for each subcommand. Options and targets are parsed here; the work is in the crate `client`. [`options`] has the options
//! that several subcommands share, [`help`] the layout of help texts, [`working_copy`] the names of the subcommands that are missing.

mod cat;
mod commit_output;
mod copy;
mod delete;
mod diff;
mod export;
mod help;
mod lock;
mod mkdir;
mod move_;
pub mod options;
mod propdel;
mod propedit;
mod propset;
mod revprop_target;
mod unlock;
mod working_copy;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::working_copy::WorkingCopyArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition, ToolRequest};
use crate::out::Out;
use crate::{tool_runner, version};

/// Subversion's client.
#[derive(Parser)]
#[command(name = "svn")]
pub struct SvnCli {
    #[command(subcommand)]
    command: SvnCommand,
}

#[derive(Subcommand)]
enum SvnCommand {
    Cat(cat::CatArgs),
    Copy(copy::CopyArgs),
    Delete(delete::DeleteArgs),
    #[command(visible_alias = "di")]
    Diff(diff::DiffArgs),
    Export(export::ExportArgs),
    Help(help::HelpArgs),
    Lock(lock::LockArgs),
    Mkdir(mkdir::MkdirArgs),
    Move(move_::MoveArgs),
    Propdel(propdel::PropdelArgs),
    Propedit(propedit::PropeditArgs),
    Propset(propset::PropsetArgs),
    Unlock(unlock::UnlockArgs),
    // The subcommands that need a working copy.
    Add(WorkingCopyArgs),
    #[command(visible_alias = "cl")]
    Changelist(WorkingCopyArgs),
    #[command(visible_alias = "co")]
    Checkout(WorkingCopyArgs),
    Cleanup(WorkingCopyArgs),
    #[command(visible_alias = "ci")]
    Commit(WorkingCopyArgs),
    Merge(WorkingCopyArgs),
    Patch(WorkingCopyArgs),
    Relocate(WorkingCopyArgs),
    Resolve(WorkingCopyArgs),
    Resolved(WorkingCopyArgs),
    Revert(WorkingCopyArgs),
    #[command(visible_aliases = ["stat", "st"])]
    Status(WorkingCopyArgs),
    #[command(visible_alias = "sw")]
    Switch(WorkingCopyArgs),
    #[command(visible_alias = "up")]
    Update(WorkingCopyArgs),
    Upgrade(WorkingCopyArgs),
}

impl SvnCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            SvnCommand::Cat(this) => this.run(out),
            SvnCommand::Copy(this) => this.run(out),
            SvnCommand::Delete(this) => this.run(out),
            SvnCommand::Diff(this) => this.run(out),
            SvnCommand::Export(this) => this.run(out),
            SvnCommand::Lock(this) => this.run(out),
            SvnCommand::Mkdir(this) => this.run(out),
            SvnCommand::Move(this) => this.run(out),
            SvnCommand::Propdel(this) => this.run(out),
            SvnCommand::Propedit(this) => this.run(out),
            SvnCommand::Propset(this) => this.run(out),
            SvnCommand::Unlock(this) => this.run(out),
            // `run` has answered help, and `repository` has refused the others.
            _ => Ok(()),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svn",
    command: SvnCli::command,
    once: &[],
    no_subcommand: "Subcommand argument required",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let outcome = match args::parse(&TOOL, argv) {
        Err(error) => {
            tool_runner::print_argument_error(&TOOL, out, error);
            return ExitCode::FAILURE;
        }
        Ok(ToolRequest::Help { topics, verbose }) => {
            help::print(&SvnCli::command(), &topics, verbose, &mut out)
        }
        Ok(ToolRequest::Version { quiet, verbose }) => out.print(&version::of_client("svn", quiet, verbose)),
        Ok(ToolRequest::Run(matches)) => run_subcommand(&matches, &mut out),
    };
    out.finish(outcome.map(|()| ExitCode::SUCCESS))
}

fn run_subcommand(matches: &clap::ArgMatches, out: &mut Out) -> Result<()> {
    if let Some((name, given)) = matches.subcommand() {
        options::check_exclusive(name, given)?;
    }
    let parsed = SvnCli::from_arg_matches(matches).map_err(args::definition_error)?;
    parsed.command.run(out)
}

fn conflicts(given: IsGiven<'_>) -> Result<()> {
    if given("non_interactive") && given("force_interactive") {
        let message = "--non-interactive and --force-interactive are mutually exclusive";
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    Ok(())
}

fn repository(subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    if working_copy::SUBCOMMANDS.contains(&subcommand) {
        return Err(working_copy::not_supported(subcommand).into());
    }
    Ok(())
}

/// Adds the hint `Try 'svn help X' for more information` to an error about wrong use of a subcommand.
fn misuse(out: &Out, subcommand: &str, error: Error) -> Error {
    let message = format!("Try '{} help {subcommand}' for more information", out.program());
    error.context(message)
}
