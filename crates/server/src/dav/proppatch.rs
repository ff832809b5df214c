//! `PROPPATCH`: properties of nodes, transactions and revisions.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn proppatch(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}
