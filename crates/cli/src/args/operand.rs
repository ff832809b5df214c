//! Checks of the number of operands, and their conversion to text and paths.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use base::charset::Charset;
use base::{Code, Error, FsPath, Result};

/// Adds the hint `Try '… help' for more info` to an error about wrong use of a subcommand.
pub fn misuse(program: &str, error: Error) -> Error {
    error.context(format!("Try '{program} help' for more info"))
}

/// Returns an error with the tool's `message` if there are more than `most` operands.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` with `message`.
pub fn at_most(operands: &[OsString], most: usize, program: &str, message: &str) -> Result<()> {
    if operands.len() <= most {
        return Ok(());
    }
    Err(misuse(program, Error::new(Code::CL_ARG_PARSING_ERROR, message)))
}

/// Returns an error with the tool's `message` if there are fewer than `least` operands.
///
/// # Errors
/// `CL_INSUFFICIENT_ARGS` with `message`.
pub fn at_least(operands: &[OsString], least: usize, program: &str, message: &str) -> Result<()> {
    if operands.len() >= least {
        return Ok(());
    }
    Err(misuse(program, Error::new(Code::CL_INSUFFICIENT_ARGS, message)))
}

/// Returns an operand as text.
///
/// # Errors
/// `errno` 22 if it is not in the character set of the locale; the message shows the bytes.
pub fn text(operand: &OsStr) -> Result<Cow<'_, str>> {
    Charset::of_process().read_word(operand)
}

/// Parses an operand as a path in the repository, with or without its leading slash.
///
/// # Errors
/// As [`text`]; `FS_PATH_SYNTAX` for `..`.
pub fn fs_path(operand: &OsStr) -> Result<FsPath> {
    FsPath::canonicalize(&text(operand)?)
}

/// Returns a path in the repository without doubled and trailing slashes and `.` components. `..` and a missing
/// leading slash stay, for the error message that shows the path.
pub fn tidy(typed: &str) -> String {
    let parts: Vec<&str> = typed
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let slash = if typed.starts_with('/') { "/" } else { "" };
    format!("{slash}{}", parts.join("/"))
}
