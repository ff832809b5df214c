//! What every tool with subcommands does around its own work: help, version, complaints, the end.

use std::ffi::OsString;
use std::process::ExitCode;

use base::Error;
use clap::ArgMatches;

use crate::args::{self, Refusal, Request, Tool, help};
use crate::out::Out;
use crate::version;

/// Runs a tool: reads the words after its name, answers help and version itself and gives the rest to `work`.
pub fn run(
    tool: &Tool,
    out: Out,
    argv: Vec<OsString>,
    work: impl FnOnce(ArgMatches, &mut Out) -> Result<(), Error>,
) -> ExitCode {
    run_coded(tool, out, argv, 1, |matches, out| {
        work(matches, out).map(|()| ExitCode::SUCCESS)
    })
}

/// [`run`] for a tool with exit codes of its own: `refused` is that of a bad argument list, `work` says the others.
pub fn run_coded(
    tool: &Tool,
    mut out: Out,
    argv: Vec<OsString>,
    refused: u8,
    work: impl FnOnce(ArgMatches, &mut Out) -> Result<ExitCode, Error>,
) -> ExitCode {
    let request = match args::parse(tool, argv) {
        Ok(request) => request,
        Err(refusal) => {
            refuse(tool, out, refusal);
            return ExitCode::from(refused);
        }
    };
    let outcome = match request {
        Request::Help(topics) => explain(tool, &mut out, &topics).map(|()| ExitCode::SUCCESS),
        Request::Version { quiet } => out
            .print(&version::text(tool.name, quiet))
            .map(|()| ExitCode::SUCCESS),
        Request::Run(matches) => work(matches, &mut out),
    };
    out.finish(outcome)
}

/// Prints what is wrong with the argument list.
fn refuse(tool: &Tool, mut out: Out, refusal: Refusal) {
    match refusal.lines(out.program(), tool.no_subcommand) {
        Some(lines) => out.complain(&lines),
        None => {
            if let Some(error) = refusal.error() {
                out.error(&error);
            }
        }
    }
}

fn explain(tool: &Tool, out: &mut Out, topics: &[String]) -> Result<(), Error> {
    let command = (tool.command)();
    let program = out.program().to_owned();
    if topics.is_empty() {
        return out.print(&help::general(&program, &command));
    }
    for topic in topics {
        match help::find(&command, topic) {
            Some(sub) => out.print(&help::subcommand(&program, sub))?,
            None => out.complain(&format!("\"{topic}\": unknown command.\n\n")),
        }
    }
    Ok(())
}
