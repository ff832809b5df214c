//! `LOCK` and `UNLOCK`: locks of users.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn lock(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}

pub(super) fn unlock(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}
