//! `PUT`: a new text.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn put(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}
