//! `/-/block`: parts of shared storage for the other machines that share it.
//!
//! Any client can send such a request, but only one that a machine has sealed gets an answer; to all others the page is not there. How
//! requests and answers are sealed is the storage's affair ([`SharedStorage::block`](crate::SharedStorage::block)).

use http::{Method, StatusCode};

use super::fault::Fault;
use super::request::Request;
use super::response_writer::ResponseWriter;
use crate::context::ServerContext;

pub(super) const BLOCK_PATH: &str = "/-/block";

/// The header line with the seal, of the request and of the response.
const SEAL: &str = "x-sven-seal";

/// Sends a part of the storage.
///
/// # Errors
/// 404 without a valid seal; those of the storage.
pub(super) fn block(
    context: &ServerContext,
    request: &Request,
    reply: &mut ResponseWriter,
) -> Result<(), Fault> {
    let absent = || Fault::html(StatusCode::NOT_FOUND);
    if request.method != Method::GET {
        return Err(absent());
    }
    // The storage may be asked over the network.
    request.check_may_wait()?;
    let storage = context.storage().ok_or_else(absent)?;
    let seal = request.header(SEAL).unwrap_or_default();
    let query = request.query.as_deref().unwrap_or_default();
    let found = storage.block(query, seal)?.ok_or_else(absent)?;
    reply
        .head
        .content_type("application/octet-stream")
        .header("cache-control", "no-store")
        .header(SEAL, &found.seal);
    *reply.buffer() = found.bytes;
    Ok(())
}
