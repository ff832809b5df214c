//! `PUT`: a file's new text, as it is or as svndiff, taken in as it comes.

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, props};
use http::StatusCode;
use repos::transaction::{PutText, Transaction};

use super::Outcome;
use super::created::created;
use super::fault::Fault;
use super::get::media::by_name;
use super::steps::{check_utf8, refused};
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
        let kind = transaction.kind(&path)?;
        // What is out of date is so before it is locked, a directory, or no name: as with the incumbent.
        transaction
            .check_base(&path, visit.version_name())
            .map_err(refused)?;
        if kind == NodeKind::Dir {
            return Err(Fault::html(StatusCode::CONFLICT));
        }
        check_utf8(&path)?;
        visit.check_conditions(&path)?;
        visit.check_locked(&path, &transaction.ended_lock_tokens())?;
        let put = PutText {
            path: &path,
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
    let (md5, is_new) = visit.step(|visit, in_use| {
        let put = putting.finish(in_use.transaction)?;
        if visit.autoversion.is_some() {
            name_type(in_use.transaction, &path)?;
        }
        Ok(put)
    })?;
    reply.header("x-svn-result-fulltext-md5", &md5.to_string());
    match is_new {
        true => created(visit, reply),
        false => _ = reply.status(StatusCode::NO_CONTENT),
    }
    Ok(())
}

/// Gives a file without `svn:mime-type` the type that its name suggests: plain WebDAV programs set no properties.
fn name_type(transaction: &mut Transaction, path: &FsPath) -> Outcome {
    let Some(media) = by_name(path.basename()) else {
        return Ok(());
    };
    let list = match transaction.look_up(path)? {
        Some(node) => node.props()?,
        None => return Ok(()),
    };
    if !list.contains_key(props::MIME_TYPE) {
        transaction.change_prop(path, props::MIME_TYPE, Some(media.as_bytes()))?;
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
