//! `svnbench`: measures the answers of a server. What it sends is counted and not used.
//!
//! One file for each subcommand. [`report`] prints counts, the time and the traffic.
//!
//! As little as possible is done with an answer: windows of texts are parsed for their lengths, not decoded, and no digest is
//! computed.

mod null_blame;
mod null_export;
mod null_info;
mod null_list;
mod null_log;
mod report;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::Result;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::report::{StatisticsOption, Stopwatch};
use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::client_context::{AccessOptions, ClientContext, options as access_options};
use crate::out::Out;
use crate::svn::{options, with_hint};
use crate::tool_runner;

/// Measures the answers of a server.
#[derive(Parser)]
#[command(name = "svnbench", subcommand_value_name = "URL")]
pub struct SvnbenchCli {
    #[command(subcommand)]
    command: SvnbenchCommand,
}

#[derive(Subcommand)]
enum SvnbenchCommand {
    Help(HelpArgs),
    NullBlame(null_blame::NullBlameArgs),
    NullExport(null_export::NullExportArgs),
    #[command(visible_alias = "ls")]
    NullList(null_list::NullListArgs),
    NullLog(null_log::NullLogArgs),
    NullInfo(null_info::NullInfoArgs),
}

impl SvnbenchCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            // `tool_runner` has answered it.
            SvnbenchCommand::Help(_) => Ok(()),
            SvnbenchCommand::NullBlame(this) => this.run(out),
            SvnbenchCommand::NullExport(this) => this.run(out),
            SvnbenchCommand::NullList(this) => this.run(out),
            SvnbenchCommand::NullLog(this) => this.run(out),
            SvnbenchCommand::NullInfo(this) => this.run(out),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnbench",
    command: SvnbenchCli::command,
    may_follow: args::any_order,
    no_subcommand: "Subcommand argument required",
    conflicts: access_options::conflicts_of_options_that_ask,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        if let Some((name, given)) = matches.subcommand() {
            // The rules are those of the client's commands.
            let name = name.trim_start_matches("null-");
            options::check_exclusive(name, given)?;
        }
        let parsed = SvnbenchCli::from_arg_matches(&matches).map_err(args::definition_error)?;
        let outcome = parsed.command.run(out);
        outcome.map_err(|error| with_hint(out, matches.subcommand_name().unwrap_or_default(), error))
    })
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    Ok(())
}

/// Runs the work of a subcommand, and prints its time and traffic if it succeeds. Without them if it is `quiet`.
fn measure(
    access: &AccessOptions,
    quiet: bool,
    statistics: StatisticsOption,
    out: &mut Out,
    work: impl FnOnce(&ClientContext, &mut Out) -> Result<()>,
) -> Result<()> {
    let watch = Stopwatch::start();
    let mut access = access.clone();
    // As in the incumbent, whatever standard input is.
    access.force_interactive |= !access.non_interactive;
    ClientContext::run(access, out, |context, out| {
        work(context, out)?;
        match quiet {
            true => Ok(()),
            false => watch.print(context, statistics, out),
        }
    })
}
