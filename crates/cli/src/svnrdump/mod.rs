//! `svnrdump`: dumps and loads repositories over the network. One file for each subcommand; the work is in [`client::rdump`].

mod dump;
mod load;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Cancel, Code, Error, Result, Url};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use client::rdump::Connect;
use ra::Session;

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::client_context::{ClientContext, options, target};
use crate::out::Out;
use crate::tool_runner;
use base::charset::Charset;

/// Dumps and loads repositories over the network.
#[derive(Parser)]
#[command(name = "svnrdump", subcommand_value_name = "URL")]
pub struct SvnrdumpCli {
    #[command(subcommand)]
    command: SvnrdumpCommand,
}

#[derive(Subcommand)]
enum SvnrdumpCommand {
    Dump(dump::DumpArgs),
    Load(load::LoadArgs),
    Help(HelpArgs),
}

impl SvnrdumpCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            SvnrdumpCommand::Dump(this) => this.run(out),
            SvnrdumpCommand::Load(this) => this.run(out),
            // `tool_runner` has answered it.
            SvnrdumpCommand::Help(_) => Ok(()),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnrdump",
    command: SvnrdumpCli::command,
    may_follow: args::one_revision,
    no_subcommand: "",
    conflicts: options::conflicts_of_options_that_ask,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    let parsed = args::parse(&TOOL, argv.iter().cloned());
    let is_incomplete = match &parsed {
        Err(ArgumentError::NoSubcommand) => true,
        Ok(args::ToolRequest::Run(matches)) => !has_one_operand(matches),
        _ => false,
    };
    if is_incomplete {
        let mut out = out;
        out.print_stderr(&format!("Type '{} help' for usage.\n", out.program().to_owned()));
        return ExitCode::FAILURE;
    }
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        SvnrdumpCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
            .run(out)
    })
}

/// Returns whether the subcommand has exactly one operand.
fn has_one_operand(matches: &clap::ArgMatches) -> bool {
    let Some((_, matches)) = matches.subcommand() else {
        return true;
    };
    match matches.try_get_many::<OsString>("operands") {
        Ok(operands) => operands.is_some_and(|operands| operands.len() == 1),
        // The subcommand has no operands.
        Err(_) => true,
    }
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    Ok(())
}

/// Parses the operand.
fn url(operands: &[OsString]) -> Result<Url> {
    let word = operands
        .first()
        .ok_or_else(|| Error::bare(Code::CL_INSUFFICIENT_ARGS))?;
    let text = Charset::of_process().read_word(word)?;
    match target::is_url(&text) {
        true => target::canonical_whole(&text)?.url(),
        false => Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            format!("Target '{text}' is not a URL"),
        )),
    }
}

impl Connect for ClientContext {
    fn open(&self, url: &Url) -> Result<Box<dyn Session>> {
        self.open_without_redirects(url)
    }

    fn open_uninterrupted(&self, url: &Url) -> Result<Box<dyn Session>> {
        ClientContext::open_uninterrupted(self, url)
    }

    fn cancel(&self) -> &Cancel {
        ClientContext::cancel(self)
    }
}
