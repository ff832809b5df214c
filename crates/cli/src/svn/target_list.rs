//! The targets of a subcommand that reads: those of the command line, else the current directory.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::locate;

use super::options::TargetsOption;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::ClientContext;
use crate::client_context::target::{self, Target, TargetPath, TypedTarget};
use crate::out::Out;

/// Reads the targets. Without any, the target is the current directory.
///
/// # Errors
/// Those of [`target::read_targets`].
pub fn read(
    context: &ClientContext,
    out: &mut Out,
    operands: &[OsString],
    file: &TargetsOption,
) -> Result<Vec<TypedTarget>> {
    let mut targets = target::read_targets(context, out, operands, file)?;
    if targets.is_empty() {
        targets.push(TypedTarget::current_directory());
    }
    Ok(targets)
}

/// Returns a target as messages show it.
pub fn shown(target: &Target) -> String {
    match &target.path {
        TargetPath::Url(url) => url.as_str().to_owned(),
        TargetPath::Local(path) if path.is_empty() => ".".to_owned(),
        TargetPath::Local(path) => path.clone(),
    }
}

/// As [`revisions`], for properties.
///
/// # Errors
/// `CLIENT_VERSIONED_PATH_REQUIRED` for revisions of a working copy.
pub fn revisions_of_props(
    target: &Target,
    range: Option<RevisionRangeArg>,
) -> Result<(locate::Revision, locate::Revision)> {
    revisions(target, range).map_err(|_| needs_versioned_path())
}

/// The error for a revision of a working copy.
pub fn needs_versioned_path() -> Error {
    let message = "A path under version control is needed for this operation";
    Error::new(Code::CLIENT_VERSIONED_PATH_REQUIRED, message)
}

/// Returns the peg revision and the operative revision of a target that is a URL: both are the youngest one by default, and the
/// operative one is the peg revision.
///
/// # Errors
/// `CLIENT_BAD_REVISION` for revisions of a working copy.
pub fn revisions(
    target: &Target,
    range: Option<RevisionRangeArg>,
) -> Result<(locate::Revision, locate::Revision)> {
    let peg = target.peg.unwrap_or(Revision::Head).of_url()?;
    let operative = match range {
        Some(range) => range.start.of_url()?,
        None => peg,
    };
    Ok((peg, operative))
}
