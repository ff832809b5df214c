//! The frame of the commands that only `sven` has and that have no subcommands: arguments, errors, exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{self, ArgumentError};
use crate::out::Out;

/// Runs a command with the words after its name. `A` defines its options, among them `--help`, which `work` answers. An
/// argument list that is refused makes the exit code 1.
pub fn run<A: CommandFactory + FromArgMatches>(
    mut out: Out,
    argv: Vec<OsString>,
    work: impl FnOnce(A, &mut Out) -> Result<ExitCode, ArgumentError>,
) -> ExitCode {
    let command = A::command();
    let name = command.get_name().to_owned();
    let given = args::parse_flat(command, argv)
        .and_then(|matches| Ok(A::from_arg_matches(&matches).map_err(args::definition_error)?));
    match given.and_then(|given| work(given, &mut out)) {
        Ok(code) => out.finish(Ok(code)),
        Err(ArgumentError::Failed(error)) => out.finish(Err(error)),
        Err(error) => {
            let program = out.program().to_owned();
            out.print_stderr(&format!(
                "{program}: {error}\nType 'sven {name} --help' for usage.\n"
            ));
            ExitCode::FAILURE
        }
    }
}
