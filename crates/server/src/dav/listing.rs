//! The page that lists the repositories of a location.

use http::StatusCode;

use super::Outcome;
use super::fault::Fault;
use crate::http::{Location, Reply};

pub(super) fn listing(_location: &Location, _reply: &mut Reply) -> Outcome {
    Err(Fault::html(StatusCode::FORBIDDEN))
}
