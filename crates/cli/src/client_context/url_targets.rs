//! Targets of commands that take either URLs or paths of working copies, never both.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};

use super::target::{Target, TargetPath};

/// All targets of a command.
#[derive(Debug)]
pub enum UniformTargets {
    /// URLs.
    Urls(Vec<Url>),
    /// Paths.
    Paths(Vec<String>),
}

/// Returns the targets, which must be alike.
///
/// # Errors
/// `ILLEGAL_TARGET` for a mixture.
pub fn uniform(targets: &[Target]) -> Result<UniformTargets> {
    let (mut urls, mut paths) = (Vec::new(), Vec::new());
    for target in targets {
        match &target.path {
            TargetPath::Url(url) => urls.push(url.clone()),
            TargetPath::Local(path) => paths.push(path.clone()),
        }
    }
    if !urls.is_empty() && !paths.is_empty() {
        let message = "Cannot mix repository and working copy targets";
        return Err(Error::new(Code::ILLEGAL_TARGET, message));
    }
    Ok(match paths.is_empty() {
        true => UniformTargets::Urls(urls),
        false => UniformTargets::Paths(paths),
    })
}

/// # Errors
/// `ILLEGAL_TARGET` for a target with a peg revision.
pub fn refuse_pegs(targets: &[Target], typed: &[OsString]) -> Result<()> {
    for (target, typed) in targets.iter().zip(typed) {
        if target.peg.is_some() {
            let shown = typed.to_string_lossy();
            let message = format!("'{shown}': a peg revision is not allowed here");
            return Err(Error::new(Code::ILLEGAL_TARGET, message));
        }
    }
    Ok(())
}

/// The error for a path, because there are no working copies.
pub fn not_a_working_copy(path: &str) -> Error {
    let absolute = match std::env::current_dir() {
        Ok(dir) if path.is_empty() => dir,
        Ok(dir) => dir.join(path),
        Err(_) => path.into(),
    };
    let message = format!("'{}' is not a working copy", absolute.display());
    Error::new(Code::WC_NOT_WORKING_COPY, message)
}

/// The error for a log message or a revision property where nothing is committed.
pub fn unnecessary_message() -> Error {
    let message = "Local, non-commit operations do not take a log message or revision properties";
    Error::new(Code::CL_UNNECESSARY_LOG_MESSAGE, message)
}
