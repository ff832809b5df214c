//! `MKCOL`, `DELETE`, `COPY` and `MOVE`: the shape of a tree.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkcol(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}

pub(super) fn delete(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}

pub(super) fn copy(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}

pub(super) fn move_(_visit: &mut Visit<'_>, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED))
}
