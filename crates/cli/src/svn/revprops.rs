//! The target and the revision of `--revprop`.

use base::{Code, Error, Result, Revnum};
use client::locate;
use ra::Session;

use super::options::RevisionOption;
use crate::args::revision::Revision;
use crate::client_context::ClientContext;
use crate::client_context::target::TypedTarget;

/// Opens a session for a revision property, and resolves the revision. An `@` is a part of the URL. Without targets, the target is the
/// current directory.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a revision of a working copy or none, and for several targets; those of the session.
pub fn open(
    context: &ClientContext,
    targets: &[TypedTarget],
    revision: &RevisionOption,
) -> Result<(Box<dyn Session>, Revnum)> {
    let refuse = |message: &str| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    let rev = match revision.start() {
        Some(Revision::Number(rev)) => locate::Revision::Number(rev),
        Some(Revision::Date(date)) => locate::Revision::Date(date),
        Some(Revision::Head) => locate::Revision::Head,
        _ => {
            return refuse(
                "Must specify the revision as a number, a date or 'HEAD' when operating on a revision property",
            );
        }
    };
    let url = match targets {
        [] => TypedTarget::current_directory().url()?,
        [target] => target.url()?,
        _ => return refuse("Wrong number of targets specified"),
    };
    let mut session = context.open_without_redirects(&url)?;
    let rev = rev.number(&mut *session)?;
    Ok((session, rev))
}
