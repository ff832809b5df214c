//! The targets of `svn log` and `svnbench null-log`: a URL and paths below it.

use base::{Code, Error, RelPath, Result, Url};

use crate::client_context::target::{Target, TypedTarget};

/// Returns the first target, without any the current directory, and the paths below it. Errors have the name of the `command`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a malformed peg revision and for a URL or an absolute path behind a URL; `UNSUPPORTED_FEATURE` for several
/// local paths; `FS_NOT_FOUND` for a path that is not canonical.
pub fn parse(targets: &[TypedTarget], command: &str) -> Result<(Target, Vec<RelPath>)> {
    let here = TypedTarget::current_directory();
    let target = targets.first().unwrap_or(&here).parse()?;
    let rest = targets.get(1..).unwrap_or_default();
    let Ok(url) = target.url() else {
        if rest.is_empty() {
            return Ok((target, Vec::new()));
        }
        let message = "When specifying working copy paths, only one target may be given";
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    };
    let paths: Result<Vec<RelPath>> = rest
        .iter()
        .map(|typed| relative_path(url, typed.as_str(), command))
        .collect();
    let paths = paths?;
    Ok((target, paths))
}

/// Returns the path of an operand below the URL.
fn relative_path(url: &Url, typed: &str, command: &str) -> Result<RelPath> {
    if Url::is_url(typed) || typed.starts_with('/') {
        let message = format!(
            "Only relative paths can be specified after a URL for '{command}', but '{typed}' is not a relative path"
        );
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    RelPath::parse(typed).map_err(|_| {
        let message = format!("Path '{typed}' of URL '{url}' not found");
        Error::new(Code::FS_NOT_FOUND, message)
    })
}
