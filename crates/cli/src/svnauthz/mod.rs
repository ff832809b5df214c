//! `svnauthz`: checks authz files and answers what they grant. As `svnauthz-validate` it checks alone.
//!
//! Its exit codes are its own: 1 for a file that is wrong, 2 for everything else that fails (the argument list, a file
//! that is not there), 3 for an answer other than the one that `--is` expects.

mod accessof;
mod target;
mod validate;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::{self, Refusal, Tool};
use crate::front;
use crate::out::Out;
pub use target::fetch;

/// Checks the files in which path-based authorization is written down, and
/// tells what they grant.
/// Under the name 'svnauthz-validate' it takes nothing but TARGET and checks it.
#[derive(Parser)]
#[command(name = "svnauthz", subcommand_value_name = "TARGET")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Help(Help),
    Validate(validate::Validate),
    Accessof(accessof::Accessof),
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
struct Help {
    topics: Vec<String>,
}

const NO_SUBCOMMAND: &str = "subcommand argument required";

const TOOL: Tool = Tool {
    name: "svnauthz",
    command: Cli::command,
    once: &[],
    no_subcommand: NO_SUBCOMMAND,
    conflicts: |_| Ok(()),
    repository: |_: &str, _: args::Given<'_>, _: Option<&OsStr>| -> Result<(), Refusal> { Ok(()) },
};

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    if argv.is_empty() {
        let program = out.program().to_owned();
        out.complain(&format!("{NO_SUBCOMMAND}\nType '{program} help' for usage.\n"));
        return ExitCode::from(OPERATIONAL);
    }
    front::run_coded(&TOOL, out, argv, OPERATIONAL, |matches, out| {
        let cli = Cli::from_arg_matches(&matches).map_err(args::unreadable)?;
        let outcome = match cli.command {
            Command::Help(_) => Ok(ExitCode::SUCCESS),
            Command::Validate(this) => this.run(out),
            Command::Accessof(this) => this.run(out),
        };
        Ok(outcome.unwrap_or_else(|error| failed(out, &error)))
    })
}

/// Runs as `svnauthz-validate` of versions before 1.8: every word is a target.
pub fn run_validate(out: Out, argv: Vec<OsString>) -> ExitCode {
    // It speaks under its short name.
    let program = out.program().trim_end_matches("-validate").to_owned();
    let mut out = Out::new(program);
    if argv.is_empty() {
        return run(out, vec!["help".into()]);
    }
    let this = validate::Validate::of(argv);
    let outcome = this.run(&mut out);
    let code = outcome.unwrap_or_else(|error| failed(&mut out, &error));
    out.finish(Ok(code))
}

/// Prints an error and tells the exit code that its kind has.
fn failed(out: &mut Out, error: &Error) -> ExitCode {
    out.error(error);
    match error.code() {
        Code::AUTHZ_INVALID_CONFIG | Code::MALFORMED_FILE => ExitCode::from(INVALID),
        _ => ExitCode::from(OPERATIONAL),
    }
}

/// The file is wrong.
const INVALID: u8 = 1;
/// Something else failed.
const OPERATIONAL: u8 = 2;
