//! `svnauthz`: checks authz files and prints the rights that they grant. As `svnauthz-validate` it only checks.
//!
//! Exit codes: 1 for an invalid file, 2 for all other failures (the argument list, a missing file), 3 if the rights
//! are not those that `--is` expects.

mod accessof;
mod target;
mod validate;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, ToolDefinition};
use crate::out::Out;
use crate::tool_runner;
pub use target::fetch;

/// Checks the files in which path-based authorization is written down, and
/// tells what they grant.
/// Under the name 'svnauthz-validate' it takes nothing but TARGET and checks it.
#[derive(Parser)]
#[command(name = "svnauthz", subcommand_value_name = "TARGET")]
pub struct SvnAuthzCli {
    #[command(subcommand)]
    command: AuthzCommand,
}

#[derive(Subcommand)]
enum AuthzCommand {
    Help(HelpArgs),
    Validate(validate::ValidateArgs),
    Accessof(accessof::AccessofArgs),
}

const NO_SUBCOMMAND: &str = "subcommand argument required";

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnauthz",
    command: SvnAuthzCli::command,
    may_follow: args::any_order,
    no_subcommand: NO_SUBCOMMAND,
    conflicts: |_| Ok(()),
    repository: |_: &str, _: args::IsGiven<'_>, _: Option<&OsStr>| -> Result<(), ArgumentError> { Ok(()) },
};

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    if argv.is_empty() {
        let program = out.program().to_owned();
        out.print_stderr(&format!("{NO_SUBCOMMAND}\nType '{program} help' for usage.\n"));
        return ExitCode::from(OPERATIONAL);
    }
    tool_runner::run_with_codes(&TOOL, out, argv, OPERATIONAL, |matches, out| {
        let cli = SvnAuthzCli::from_arg_matches(&matches).map_err(args::definition_error)?;
        let outcome = match cli.command {
            AuthzCommand::Help(_) => Ok(ExitCode::SUCCESS),
            AuthzCommand::Validate(this) => this.run(out),
            AuthzCommand::Accessof(this) => this.run(out),
        };
        Ok(outcome.unwrap_or_else(|error| failed(out, &error)))
    })
}

/// Runs as `svnauthz-validate` of versions before 1.8: every word is a target.
pub fn run_validate(out: Out, argv: Vec<OsString>) -> ExitCode {
    // Its messages begin with the short name.
    let program = out.program().trim_end_matches("-validate").to_owned();
    let mut out = Out::new(program);
    if argv.is_empty() {
        return run(out, vec!["help".into()]);
    }
    let this = validate::ValidateArgs::of(argv);
    let outcome = this.run(&mut out);
    let code = outcome.unwrap_or_else(|error| failed(&mut out, &error));
    out.finish(Ok(code))
}

/// Returns the definition of `svnauthz-validate`, for its man page.
pub fn validate_command() -> Command {
    Command::new("svnauthz-validate")
        .about("Checks an authz file, as 'svnauthz validate' does")
        .override_usage("svnauthz-validate TARGET")
        .arg(Arg::new("TARGET"))
}

/// Prints an error and returns its exit code.
fn failed(out: &mut Out, error: &Error) -> ExitCode {
    out.print_error(error);
    match error.code() {
        Code::AUTHZ_INVALID_CONFIG | Code::MALFORMED_FILE => ExitCode::from(INVALID),
        _ => ExitCode::from(OPERATIONAL),
    }
}

/// The exit code for an invalid file.
const INVALID: u8 = 1;
/// The exit code for all other failures.
const OPERATIONAL: u8 = 2;
