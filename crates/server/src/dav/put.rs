//! `PUT`: writes a file's text, plain or as svndiff, while it arrives.

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, props};
use http::StatusCode;
use repos::transaction::{PutText, Transaction};

use super::Outcome;
use super::created::created;
use super::get::media::by_name;
use super::txn_step::{check_utf8, refused};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

/// The content type of a delta. With any other type the body is the text.
const SVNDIFF_TYPE: &str = "application/vnd.svn-svndiff";

pub(super) fn put(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let Some(path) = context.working_path() else {
        return Err(context.not_writable());
    };
    if context.request.headers.contains_key("content-range") {
        return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
    }
    let (mut putting, pinned) = context.step(|context, in_use| {
        let transaction = &mut *in_use.transaction;
        let kind = transaction.kind(&path)?;
        // As with the incumbent, "out of date" comes before all other refusals.
        transaction
            .check_base(&path, context.version_name())
            .map_err(refused)?;
        if kind == NodeKind::Dir {
            return Err(Fault::html(StatusCode::CONFLICT));
        }
        check_utf8(&path)?;
        context.check_step_conditions(&path, kind != NodeKind::None)?;
        context.check_locked(&path, &transaction.ended_lock_tokens())?;
        let put = PutText {
            path: &path,
            base_md5: digest(context, "x-svn-base-fulltext-md5")?,
            result_md5: digest(context, "x-svn-result-fulltext-md5")?,
            is_delta: context.request.header("content-type") == Some(SVNDIFF_TYPE),
        };
        let putting = transaction.put(&put).map_err(refused)?;
        Ok((putting, in_use.pin()))
    })?;
    // The client may be slow, or never finish. Meanwhile other requests can use the transaction.
    while let Some(piece) = context.request.body.next_piece()? {
        pinned.check_exists()?;
        putting.write(&piece)?;
    }
    let (md5, is_new) = context.step(|context, in_use| {
        let put = putting.finish(in_use.transaction)?;
        if context.autoversion.is_some() {
            set_type_by_name(in_use.transaction, &path)?;
        }
        Ok(put)
    })?;
    reply.head.header("x-svn-result-fulltext-md5", &md5.to_string());
    match is_new {
        true => created(context, reply),
        false => _ = reply.head.status(StatusCode::NO_CONTENT),
    }
    Ok(())
}

/// Sets `svn:mime-type` of a file without it to the type that its name suggests: plain WebDAV programs set no properties.
fn set_type_by_name(transaction: &mut Transaction, path: &FsPath) -> Outcome {
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

/// Parses a digest in a header.
fn digest(context: &RequestContext<'_>, name: &str) -> Result<Option<Md5>, Error> {
    let Some(text) = context.request.header(name) else {
        return Ok(None);
    };
    let parsed = Md5::parse_hex(text.as_bytes());
    parsed
        .map(Some)
        .ok_or_else(|| Error::new(Code::BAD_CHECKSUM_PARSE, "Invalid character in hex checksum"))
}
