//! The target and the revision of `--revprop`.

use base::{Code, Error, Result, Revnum, Url};
use client::locate;
use ra::Session;

use super::options::RevisionOption;
use crate::args::revision::Revision;
use crate::client_context::ClientContext;
use crate::client_context::target::{TypedTarget, not_a_working_copy};

/// Opens a session for a revision property, and resolves the revision. A peg revision is a part of the URL.
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
    let [target] = targets else {
        return refuse("Wrong number of targets specified");
    };
    if !target.is_url() {
        return Err(not_a_working_copy(target.as_str()));
    }
    let mut session = context.open_without_redirects(&Url::canonicalize(target.as_str())?)?;
    let rev = rev.number(&mut *session)?;
    Ok((session, rev))
}
