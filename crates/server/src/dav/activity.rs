//! `MKACTIVITY` and `CHECKOUT`: how old clients begin a commit.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkactivity(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}

pub(super) fn checkout(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}
