//! `svnadmin freeze`: runs a program while the repositories cannot be changed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use base::{Code, Error, Result, disk_path};
use ra::user_program;
use repos::{Cache, Repository};

use super::repository;
use super::revprop::read;
use crate::args::operand::misuse;
use crate::args::option;
use crate::local_path;
use crate::out::Out;

/// Runs PROGRAM while the repository cannot be changed, and ends as PROGRAM ends.
///
/// With '-F', freezes all repositories that the file names, one a line, in that
/// order. Programs that freeze several repositories at once must name them in
/// the same order, or they may wait for each other for ever.
#[derive(clap::Args)]
#[command(override_usage = "1. freeze REPOS_PATH -- PROGRAM [ARG...]\n2. freeze -F FILE -- PROGRAM [ARG...]")]
pub struct FreezeArgs {
    /// read the names of the repositories from the file ARG
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    operands: Vec<OsString>,
}

impl FreezeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<ExitCode> {
        let (repositories, program) = match &self.file {
            Some(file) => (names(&read(&local_path::canonical(file))?), &self.operands[..]),
            None => (
                vec![repository::path(&self.operands)],
                self.operands.get(1..).unwrap_or_default(),
            ),
        };
        let Some((name, arguments)) = program.split_first() else {
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, "No program provided");
            return Err(misuse(out.program(), error));
        };
        out.flush()?;
        freeze(&repositories, &mut || execute(out, name, arguments))
    }
}

/// Freezes the repositories one after the other, then calls `work`.
fn freeze(paths: &[PathBuf], work: &mut dyn FnMut() -> Result<ExitCode>) -> Result<ExitCode> {
    match paths.split_first() {
        None => work(),
        Some((first, others)) => {
            let repository = Repository::open(first, &Cache::new(option::default_budget()))?;
            repository.fs().freeze(|| freeze(others, work))
        }
    }
}

/// Runs a program with this process's streams and returns its exit code.
fn execute(out: &mut Out, name: &OsStr, arguments: &[OsString]) -> Result<ExitCode> {
    let prepare = |command: &mut Command| _ = command.args(arguments);
    let status = match user_program::spawn(name, prepare).and_then(|mut child| child.wait()) {
        Ok(status) => status,
        Err(error) => {
            // The incumbent's child process prints this message.
            out.print_stderr(
                &Error::os(&error, &format!("exec of '{}' failed", disk_path::shown(name))).message(),
            );
            return Ok(ExitCode::from(255));
        }
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        (None, signal) => Err(Error::new(
            Code::EXTERNAL_PROGRAM,
            format!(
                "Process '{}' failed (signal {})",
                disk_path::shown(name),
                signal.unwrap_or_default()
            ),
        )),
    }
}

/// Returns the lines of a file as paths.
fn names(bytes: &[u8]) -> Vec<PathBuf> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| local_path::canonical(OsStr::from_bytes(line)))
        .collect()
}
