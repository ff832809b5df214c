//! `svnsync`: mirrors repositories. One file for each subcommand; the work is in [`client::sync`].

mod context;
mod copy_revprops;
mod info;
mod initialize;
mod options;
mod synchronize;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition, operand};
use crate::client_context::options as access;
use crate::out::Out;
use crate::tool_runner;

/// Makes a mirror of a repository, and keeps it up to date.
#[derive(Parser)]
#[command(name = "svnsync", subcommand_value_name = "DEST_URL")]
pub struct SvnsyncCli {
    #[command(subcommand)]
    command: SvnsyncCommand,
}

#[derive(Subcommand)]
enum SvnsyncCommand {
    Initialize(initialize::InitializeArgs),
    Synchronize(synchronize::SynchronizeArgs),
    CopyRevprops(copy_revprops::CopyRevpropsArgs),
    Info(info::InfoArgs),
    Help(HelpArgs),
}

impl SvnsyncCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            SvnsyncCommand::Initialize(this) => this.run(out),
            SvnsyncCommand::Synchronize(this) => this.run(out),
            SvnsyncCommand::CopyRevprops(this) => this.run(out),
            SvnsyncCommand::Info(this) => this.run(out),
            // `tool_runner` has answered it.
            SvnsyncCommand::Help(_) => Ok(()),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnsync",
    command: SvnsyncCli::command,
    may_follow: args::any_order,
    no_subcommand: "",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    match args::parse(&TOOL, argv.iter().cloned()) {
        Err(ArgumentError::UnknownSubcommand(_) | ArgumentError::NoSubcommand) => {
            out.print_stderr(&format!("Type '{} help' for usage.\n", out.program().to_owned()));
            return ExitCode::FAILURE;
        }
        Err(error @ ArgumentError::NotAccepted { .. }) => {
            let lines = error.lines(out.program(), "").unwrap_or_default();
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, String::from_utf8_lossy(&lines));
            return out.finish(Err(error));
        }
        _ => {}
    }
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        SvnsyncCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
            .run(out)
    })
}

fn conflicts(given: IsGiven<'_>) -> Result<()> {
    access::conflicts(given)?;
    let refuse = |message: &str| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    let is_given = |names: &[&str]| names.iter().any(|name| given(name));
    let sides = [
        "source_username",
        "source_password",
        "sync_username",
        "sync_password",
    ];
    if is_given(&["username", "password"]) && is_given(&sides) {
        return refuse(
            "Cannot use --username or --password with any of --source-username, --source-password, --sync-username, or \
             --sync-password.\n",
        );
    }
    let trusting = [
        "trust_server_cert",
        "source_trust_server_cert_failures",
        "sync_trust_server_cert_failures",
    ];
    if is_given(&trusting) && access::is_interactive(given("non_interactive"), given("force_interactive")) {
        return refuse(
            "--source-trust-server-cert-failures and --sync-trust-server-cert-failures require --non-interactive",
        );
    }
    if given("disable_locking") && given("steal_lock") {
        return refuse("--disable-locking and --steal-lock are mutually exclusive");
    }
    Ok(())
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    Ok(())
}

/// Adds the hint to an error about wrong use.
fn misuse(out: &Out, error: Error) -> Error {
    match error.code() {
        Code::CL_ARG_PARSING_ERROR | Code::CL_INSUFFICIENT_ARGS => operand::misuse(out.program(), error),
        _ => error,
    }
}
