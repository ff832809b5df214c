//! `PUT`: a file's new text, as it is or as svndiff, taken in as it comes.

use base::checksum::Md5;
use base::{Code, Error, NodeKind};
use http::StatusCode;
use repos::transaction::Put;

use super::Outcome;
use super::created::created;
use super::fault::Fault;
use super::steps::refused;
use super::visit::Visit;
use crate::http::Reply;

/// Content type of a delta; every other means the text itself.
const SVNDIFF_TYPE: &str = "application/vnd.svn-svndiff";

pub(super) fn put(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let Some(path) = visit.working_path() else {
        return Err(visit.not_writable());
    };
    if visit.request.headers.contains_key("content-range") {
        return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
    }
    let (mut putting, pinned) = visit.step(|visit, in_use| {
        let transaction = &mut *in_use.transaction;
        if transaction.kind(&path)? == NodeKind::Dir {
            // Where the client has a file, its directory is newer.
            let based_on = visit.version_name();
            transaction.check_base(&path, based_on).map_err(refused)?;
            return Err(Fault::html(StatusCode::CONFLICT));
        }
        visit.check_conditions(&path)?;
        visit.check_locked(&path, &transaction.ended_lock_tokens())?;
        let put = Put {
            path: &path,
            based_on: visit.version_name(),
            base_md5: digest(visit, "x-svn-base-fulltext-md5")?,
            result_md5: digest(visit, "x-svn-result-fulltext-md5")?,
            is_delta: visit.request.header("content-type") == Some(SVNDIFF_TYPE),
        };
        let putting = transaction.put(&put).map_err(refused)?;
        Ok((putting, in_use.pin()))
    })?;
    // The client may take its time, or never come to the end: meanwhile the transaction is free for other requests.
    while let Some(piece) = visit.request.body.next_piece()? {
        pinned.check_exists()?;
        putting.write(&piece)?;
    }
    let (md5, is_new) = visit.step(|_, in_use| Ok(putting.finish(in_use.transaction)?))?;
    reply.header("x-svn-result-fulltext-md5", &md5.to_string());
    match is_new {
        true => created(visit, reply),
        false => _ = reply.status(StatusCode::NO_CONTENT),
    }
    Ok(())
}

/// A digest in a header line.
fn digest(visit: &Visit<'_>, name: &str) -> Result<Option<Md5>, Error> {
    let Some(text) = visit.request.header(name) else {
        return Ok(None);
    };
    let parsed = Md5::parse_hex(text.as_bytes());
    parsed
        .map(Some)
        .ok_or_else(|| Error::new(Code::BAD_CHECKSUM_PARSE, "Invalid character in hex checksum"))
}
