//! The frame of every tool with subcommands: arguments, help, version, errors, exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use base::Error;
use clap::ArgMatches;

use crate::args::{self, ArgumentError, ToolDefinition, ToolRequest, help};
use crate::out::Out;
use crate::version;

/// Runs a tool: parses the words after its name, answers `help` and `--version`, and calls `work` for everything
/// else.
pub fn run(
    tool: &ToolDefinition,
    out: Out,
    argv: Vec<OsString>,
    work: impl FnOnce(ArgMatches, &mut Out) -> Result<(), Error>,
) -> ExitCode {
    run_with_codes(tool, out, argv, 1, |matches, out| {
        work(matches, out).map(|()| ExitCode::SUCCESS)
    })
}

/// As [`run`], for a tool with its own exit codes: `usage_code` is the code for a bad argument list, `work` returns the
/// others.
pub fn run_with_codes(
    tool: &ToolDefinition,
    mut out: Out,
    argv: Vec<OsString>,
    usage_code: u8,
    work: impl FnOnce(ArgMatches, &mut Out) -> Result<ExitCode, Error>,
) -> ExitCode {
    let request = match args::parse(tool, argv) {
        Ok(request) => request,
        Err(error) => {
            print_argument_error(tool, out, error);
            return ExitCode::from(usage_code);
        }
    };
    let outcome = match request {
        ToolRequest::Help { topics, .. } => print_help(tool, &mut out, &topics).map(|()| ExitCode::SUCCESS),
        ToolRequest::Version { quiet, .. } => out
            .print(&version::text(tool.name, quiet))
            .map(|()| ExitCode::SUCCESS),
        ToolRequest::Run(matches) => work(matches, &mut out),
    };
    out.finish(outcome)
}

/// Prints what is wrong with the argument list.
pub fn print_argument_error(tool: &ToolDefinition, mut out: Out, error: ArgumentError) {
    match error.lines(out.program(), tool.no_subcommand) {
        Some(lines) => out.raw_stderr(&lines),
        None => {
            if let Some(error) = error.numbered() {
                out.print_error(&error);
            }
        }
    }
}

fn print_help(tool: &ToolDefinition, out: &mut Out, topics: &[String]) -> Result<(), Error> {
    let command = (tool.command)();
    let program = out.program().to_owned();
    out.set_output_optional();
    if topics.is_empty() {
        return out.print(&help::general(&program, &command));
    }
    for topic in topics {
        match help::find(&command, topic) {
            Some(sub) => out.print(&help::subcommand(&program, sub))?,
            None => out.print_stderr(&format!("\"{topic}\": unknown command.\n\n")),
        }
    }
    Ok(())
}
