//! The frame of commands that commit: the log message, the output of the commit, and the hints to errors.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Result, Url};
use client::url_commit::{CommitEvent, UrlCommit};
use ra::{CommitInfo, Session};

use super::misuse;
use super::options::InputFile;
use crate::client_context::ClientContext;
use crate::client_context::log_message::LogMessage;
use crate::out::Out;

/// Runs `work` with what commits to URLs need. Without `quiet`, the steps of the commit are printed.
pub fn commit_urls(
    context: &ClientContext,
    out: &mut Out,
    message: &mut LogMessage,
    quiet: bool,
    work: impl FnOnce(&mut UrlCommit<'_>) -> Result<()>,
) -> Result<()> {
    message.use_context(context)?;
    let open = |url: &Url| -> Result<Box<dyn Session>> { context.open_without_redirects(url) };
    let outcome = work(&mut UrlCommit {
        open: &open,
        describe: &mut |items| message.describe(items),
        notify: &mut |event| match event {
            _ if quiet => Ok(()),
            CommitEvent::Finalizing => {
                out.line("Committing transaction...")?;
                out.flush()
            }
            CommitEvent::Committed(info) => print_committed(out, info),
        },
    });
    message.finish(outcome)
}

/// Prints the new revision.
///
/// # Errors
/// Those of [`Out::print`].
pub fn print_committed(out: &mut Out, info: &CommitInfo) -> Result<()> {
    out.line(&format!("Committed revision {}.", info.rev))?;
    match &info.post_commit_error {
        Some(error) => out.line(&format!("\nWarning: {error}")),
        None => Ok(()),
    }
}

/// Adds the hint to the help of a subcommand to errors about its arguments.
pub fn with_help_hint(out: &Out, subcommand: &str, error: Error) -> Error {
    match error.code() {
        Code::CL_ARG_PARSING_ERROR | Code::CL_INSUFFICIENT_ARGS => misuse(out, subcommand, error),
        _ => error,
    }
}

/// Returns the operands and behind them the targets that a file has, one a line.
///
/// # Errors
/// `errno`.
pub fn with_targets_file(operands: &[OsString], file: Option<&InputFile>) -> Result<Vec<OsString>> {
    let mut all = operands.to_vec();
    if let Some(file) = file {
        let bytes = file.read()?;
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        let lines = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        all.extend(lines.map(|line| OsStr::from_bytes(line).to_owned()));
    }
    Ok(all)
}
