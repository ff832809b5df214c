//! Targets of commands that take either URLs or paths of working copies, never both.

use base::{Code, Error, Result, Url};

use super::target::TypedTarget;

/// Returns whether the targets are URLs. They must be alike.
///
/// # Errors
/// `ILLEGAL_TARGET` for a mixture.
pub fn are_urls(targets: &[TypedTarget]) -> Result<bool> {
    let count = targets.iter().filter(|target| target.is_url()).count();
    if count != 0 && count != targets.len() {
        let message = "Cannot mix repository and working copy targets";
        return Err(Error::new(Code::ILLEGAL_TARGET, message));
    }
    Ok(count != 0)
}

/// Returns the URLs of a command that takes no peg revisions. `has_message` says that options for a commit were given.
///
/// # Errors
/// `CL_INSUFFICIENT_ARGS` without targets; `CL_ARG_PARSING_ERROR` for URLs and paths together; `CL_UNNECESSARY_LOG_MESSAGE` for paths
/// with a message; `ILLEGAL_TARGET` for a peg revision; `WC_NOT_WORKING_COPY` for paths.
pub fn urls(targets: &[TypedTarget], has_message: bool) -> Result<Vec<Url>> {
    if targets.is_empty() {
        return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
    }
    let are_urls = are_urls(targets).map_err(|error| error.wrap_bare(Code::CL_ARG_PARSING_ERROR))?;
    if has_message && !are_urls {
        return Err(unnecessary_message());
    }
    without_pegs(targets)?.iter().map(TypedTarget::url).collect()
}

/// Returns the targets of a command that takes no peg revisions.
///
/// # Errors
/// `ILLEGAL_TARGET` for a peg revision.
pub fn without_pegs(targets: &[TypedTarget]) -> Result<Vec<TypedTarget>> {
    targets.iter().map(TypedTarget::without_peg).collect()
}

/// The error for a log message or a revision property where nothing is committed.
pub fn unnecessary_message() -> Error {
    let message = "Local, non-commit operations do not take a log message or revision properties";
    Error::new(Code::CL_UNNECESSARY_LOG_MESSAGE, message)
}
