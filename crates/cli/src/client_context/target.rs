//! The targets on a command line: URLs and paths, with peg revisions.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};

use crate::args::operand;
use crate::args::revision::{Revision, RevisionRangeArg};

/// A target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub path: TargetPath,
    /// The peg revision, if there is one.
    pub peg: Option<Revision>,
}

/// A URL or a path of the local file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPath {
    /// A URL.
    Url(Url),
    /// A path, canonical: without doubled slashes, `.` and a slash at the end. Empty is the current directory.
    Local(String),
}

/// Parses the operands as targets.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a malformed peg revision; `BAD_URL` and `errno` 22 for malformed URLs and text.
pub fn parse_targets(operands: &[OsString]) -> Result<Vec<Target>> {
    operands
        .iter()
        .map(|word| parse_target(operand::text(word)?))
        .collect()
}

fn parse_target(whole: &str) -> Result<Target> {
    let (text, peg) = split_peg(whole)?;
    let path = if Url::is_url(text) {
        let url = Url::canonicalize(text)?;
        if peg.is_none() && !whole.ends_with('@') {
            // An at sign whose escape the canonical form does not have counts as one.
            let (text, peg) = split_peg(url.as_str())?;
            let path = TargetPath::Url(Url::canonicalize(text)?);
            return Ok(Target { path, peg });
        }
        TargetPath::Url(url)
    } else {
        TargetPath::Local(operand::tidy(text))
    };
    Ok(Target { path, peg })
}

/// Splits a target into the path and the peg revision. An `@` at the end is a peg revision without a value.
fn split_peg(text: &str) -> Result<(&str, Option<Revision>)> {
    let after_slash = text.rfind('/').map_or(0, |at| at + 1);
    let Some(at) = text[after_slash..].rfind('@').map(|at| at + after_slash) else {
        return Ok((text, None));
    };
    let (path, peg) = (&text[..at], &text[at + 1..]);
    if peg.is_empty() {
        return Ok((path, None));
    }
    let wrong = || {
        let message = format!("Syntax error parsing peg revision '{peg}'");
        Error::new(Code::CL_ARG_PARSING_ERROR, message)
    };
    match RevisionRangeArg::parse(peg) {
        Ok(RevisionRangeArg { start, end: None }) => Ok((path, Some(start))),
        _ => Err(wrong()),
    }
}
