//! `svn`: the client's commands, for repositories without a working copy.
//!
//! One file for each subcommand. Options and targets are parsed here; the work is in the crate `client`.

mod blame;
mod cat;
mod log;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::out::Out;
use crate::tool_runner;

/// Subversion's client.
#[derive(Parser)]
#[command(name = "svn")]
pub struct SvnCli {
    #[command(subcommand)]
    command: SvnCommand,
}

#[derive(Subcommand)]
enum SvnCommand {
    #[command(visible_aliases = ["praise", "annotate", "ann"])]
    Blame(blame::BlameArgs),
    Cat(cat::CatArgs),
    Help(HelpArgs),
    Log(log::LogArgs),
}

impl SvnCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            // `tool_runner` has answered it.
            SvnCommand::Help(_) => Ok(()),
            SvnCommand::Blame(this) => this.run(out),
            SvnCommand::Cat(this) => this.run(out),
            SvnCommand::Log(this) => this.run(out),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svn",
    command: SvnCli::command,
    once: &[],
    no_subcommand: "Type 'svn help' for usage.",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        SvnCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
            .run(out)
    })
}

fn conflicts(_given: IsGiven<'_>) -> Result<()> {
    Ok(())
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    Ok(())
}

/// Adds the hint `Try 'svn help X' for more information` to an error about wrong use of a subcommand.
fn misuse(out: &Out, subcommand: &str, error: Error) -> Error {
    let message = format!("Try '{} help {subcommand}' for more information", out.program());
    error.context(message)
}
