//! Sends a text, or a range of it, from the engine to the client.
//!
//! Pieces pass without being copied. The last one is held until the engine has read the text's end: there it compares the digest,
//! and a damaged text must not look complete. Clients that have got the digest compare it themselves
//! (`site::announced_digests`).

use std::ops::Range;

use base::keywords::{self, FileFacts, KEYWORDS, Keywords};
use base::{Date, Error, props};
use bytes::Bytes;
use http::StatusCode;
use repos::TextReader;
use wire::dav::conditions;
use wire::dav::range::{self, RequestedRange};
use wire::dav::report::Hrefs;
use wire::dav::uri::Resource;

use super::media;
use super::target::GetTarget;
use crate::dav::Outcome;
use crate::http::{Fault, MAX_INLINE_BODY, ResponseWriter};
use crate::site::RequestContext;

/// Sends the text; returns false if the client checks the digest.
pub(super) fn send(
    context: &RequestContext<'_>,
    target: &GetTarget,
    tag: &str,
    modified: Option<Date>,
    reply: &mut ResponseWriter,
) -> Result<bool, Fault> {
    let node = &target.node;
    let svn_client = context.request.is_svn_client();
    // In a transaction only browsers get a type: they would guess one.
    if !target.working || !svn_client {
        let properties = node.props()?;
        let mime = properties.get(props::MIME_TYPE).map(Vec::as_slice);
        let media = media::of_file(mime, node.path().basename(), svn_client);
        reply.head.content_type(&media);
        // For all clients: a proxy may store the response for one, and a browser gets it.
        media::keep_harmless(&media, reply);
    }
    if target.keywords
        && let Some(names) = node.props()?.get(KEYWORDS)
    {
        send_expanded(context, target, names, reply)?;
        return Ok(true);
    }
    let size = node.size()?;
    let part = match context.request.header("range") {
        Some(range) if is_unchanged(context, tag, modified) => range::parse(range, size),
        _ => RequestedRange::Whole,
    };
    let wanted = match part {
        RequestedRange::Whole => 0..size,
        RequestedRange::Bytes(part) => {
            let (first, last) = (part.start, part.end - 1);
            reply
                .head
                .status(StatusCode::PARTIAL_CONTENT)
                .header("content-range", &format!("bytes {first}-{last}/{size}"));
            part
        }
        RequestedRange::Nothing => {
            let fault = Fault::html(StatusCode::RANGE_NOT_SATISFIABLE);
            return Err(fault.with("content-range", format!("bytes */{size}")));
        }
    };
    reply.head.content_length(wanted.end - wanted.start);
    if reply.bodiless() {
        return Ok(true);
    }
    if size > MAX_INLINE_BODY {
        context.request.check_may_wait()?;
    }
    let mut reader = node.reader()?;
    if wanted == (0..size) && svn_client && has_digest(context) {
        reader = reader.left_to_receiver();
        // Whether the text is cached, and so checked, is known after the first read. An unchecked text must not stay in a proxy's cache.
        reader.fill()?;
        if !reader.is_checked() {
            reply.head.only_header("cache-control", super::REVALIDATE);
        }
    }
    send_range(&mut reader, wanted, size, reply)?;
    Ok(reader.is_checked())
}

/// Returns whether the client has got the digest and compares it.
fn has_digest(context: &RequestContext<'_>) -> bool {
    let (Resource::RevisionRoot(rev, path) | Resource::Version(rev, path)) = &context.resource else {
        return false;
    };
    let location = Hrefs::location(*rev, path);
    let client = context.request.peer.address.ip();
    let (digests, root) = (&context.site.announced_digests, context.base().root());
    if !context.connection().may_be_of_update() {
        return false;
    }
    // An inline attempt must not take the note: either the text is in memory and so checked, or the request runs again.
    context.request.read_mode.may_wait()
        && context.request.query.is_none()
        && digests.take(client, root, &location)
}

/// Sends a text with its keywords expanded.
fn send_expanded(
    context: &RequestContext<'_>,
    target: &GetTarget,
    names: &[u8],
    reply: &mut ResponseWriter,
) -> Outcome {
    if reply.bodiless() {
        return Ok(());
    }
    let node = &target.node;
    let rev = node.created_rev().unwrap_or_default();
    let origin = context.request.origin();
    let revprops = context.repository().all_revprops(rev)?;
    let author = revprops
        .get(props::AUTHOR)
        .map(|value| String::from_utf8_lossy(value));
    let date = revprops.get(props::DATE).and_then(|date| Date::parse(date).ok());
    let facts = FileFacts {
        rev,
        author: author.as_deref().unwrap_or_default(),
        date,
        long_date: &date.map_or(String::new(), keywords::long_date),
        url: &format!("{origin}{}", context.base().public(node.path())),
        root_url: &format!("{origin}{}", context.base().root()),
        path: node.path().rel_str(),
    };
    let mut keywords = Keywords::new(names, &facts);
    let mut reader = node.reader()?;
    loop {
        let piece = reader.next_piece()?;
        if piece.bytes().is_empty() {
            keywords.finish(reply.buffer());
            return Ok(());
        }
        keywords.expand(piece.bytes(), reply.buffer());
        reply.spill()?;
    }
}

/// Returns whether `If-Range` holds: the part that the client has is of the same text.
fn is_unchanged(context: &RequestContext<'_>, tag: &str, modified: Option<Date>) -> bool {
    match context.request.header_utf8("if-range") {
        None => true,
        Some(list) if list.contains('"') => conditions::matches(list, tag, true),
        Some(date) => {
            let modified = modified.map(wire::dav::http_date::whole_seconds);
            modified.is_some() && wire::dav::http_date::parse(date) == modified
        }
    }
}

fn send_range(reader: &mut TextReader, wanted: Range<u64>, size: u64, reply: &mut ResponseWriter) -> Outcome {
    let mut at = 0;
    let mut held: Option<Bytes> = None;
    loop {
        let piece = reader.next_piece()?;
        let length = piece.bytes().len() as u64;
        if length == 0 {
            break;
        }
        let begin = wanted.start.saturating_sub(at).min(length);
        let end = wanted.end.saturating_sub(at).min(length);
        at += length;
        if begin >= end {
            // Nothing is read behind the range: the digest of a part cannot be compared.
            if at > wanted.end {
                break;
            }
            continue;
        }
        if let Some(before) = held.take() {
            reply.pass(before)?;
        }
        let cut = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        held = Some(Bytes::from_owner(piece).slice(cut(begin)..cut(end)));
    }
    if wanted.end == size && at != size {
        let code = base::Code::FS_CORRUPT;
        return Err(Error::new(code, "Text is not as long as recorded").into());
    }
    match held {
        // A single piece is sent together with the head.
        Some(last) if !reply.begun() => {
            reply.whole([last]);
            Ok(())
        }
        Some(last) => Ok(reply.pass(last)?),
        None => Ok(()),
    }
}
