//! A text, or a part of it, straight from the engine to the client.
//!
//! Pieces pass without being copied. The last one is held back until the engine has seen the text's end: there it compares
//! the digest, and a text that is damaged must not look whole. Clients that were told the digest compare it themselves
//! ([`crate::dav::Told`]).

use std::ops::Range;

use base::{Date, Error, props};
use bytes::Bytes;
use http::StatusCode;
use repos::TextReader;
use repos::keywords::{FileFacts, KEYWORDS, Keywords};
use repos::read_mode::{check_may_wait, may_wait};
use wire::dav::conditions;
use wire::dav::range::{self, Part};
use wire::dav::report::Hrefs;
use wire::dav::uri::Resource;

use super::media;
use super::target::Target;
use crate::dav::Outcome;
use crate::dav::fault::Fault;
use crate::dav::visit::Visit;
use crate::http::{AT_ONCE, Reply};

/// Sends the text; returns false if its digest was left to the client.
pub(super) fn send(
    visit: &Visit<'_>,
    target: &Target,
    tag: &str,
    modified: Option<Date>,
    reply: &mut Reply,
) -> Result<bool, Fault> {
    let node = &target.node;
    let svn_client = visit.request.is_svn_client();
    // In a transaction nobody but browsers is told a type: they would guess one.
    if !target.working || !svn_client {
        let properties = node.props()?;
        let mime = properties.get(props::MIME_TYPE).map(Vec::as_slice);
        let media = media::of_file(mime, node.path().basename(), svn_client);
        reply.content_type(&media);
        if !svn_client {
            media::keep_harmless(&media, reply);
        }
    }
    if target.keywords
        && let Some(names) = node.props()?.get(KEYWORDS)
    {
        send_expanded(visit, target, names, reply)?;
        return Ok(true);
    }
    let size = node.size()?;
    let part = match visit.request.header("range") {
        Some(range) if still_the_same(visit, tag, modified) => range::parse(range, size),
        _ => Part::Whole,
    };
    let wanted = match part {
        Part::Whole => 0..size,
        Part::Bytes(part) => {
            let (first, last) = (part.start, part.end - 1);
            reply
                .status(StatusCode::PARTIAL_CONTENT)
                .header("content-range", &format!("bytes {first}-{last}/{size}"));
            part
        }
        Part::Nothing => {
            let fault = Fault::html(StatusCode::RANGE_NOT_SATISFIABLE);
            return Err(fault.with("content-range", format!("bytes */{size}")));
        }
    };
    reply.content_length(wanted.end - wanted.start);
    if reply.bodiless() {
        return Ok(true);
    }
    if size > AT_ONCE {
        check_may_wait()?;
    }
    let mut reader = node.reader()?;
    if wanted == (0..size) && svn_client && was_told(visit) {
        reader = reader.left_to_receiver();
        // Whether it was read before shows with its first bytes. What is not checked is for this client, and no cache on the way.
        reader.fill()?;
        if !reader.is_checked() {
            reply.only_header("cache-control", super::NOT_KEPT);
        }
    }
    pour(&mut reader, wanted, size, reply)?;
    Ok(reader.is_checked())
}

/// True if the client has the digest and will compare it.
fn was_told(visit: &Visit<'_>) -> bool {
    let (Resource::RevisionRoot(rev, path) | Resource::Version(rev, path)) = &visit.resource else {
        return false;
    };
    let location = Hrefs::location(*rev, path);
    let client = visit.request.peer.address.ip();
    let (told, root) = (&visit.service.told, visit.base().root());
    // In a hurry it comes out of memory, or this is asked again.
    may_wait() && visit.request.query.is_none() && told.take(client, root, &location)
}

/// Sends a text with its keywords expanded.
fn send_expanded(visit: &Visit<'_>, target: &Target, names: &[u8], reply: &mut Reply) -> Outcome {
    if reply.bodiless() {
        return Ok(());
    }
    let node = &target.node;
    let rev = node.created_rev().unwrap_or_default();
    let origin = visit.request.origin();
    let facts = FileFacts {
        rev,
        revprops: &*visit.repository().all_revprops(rev)?,
        url: &format!("{origin}{}", visit.base().public(node.path())),
        root_url: &format!("{origin}{}", visit.base().root()),
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

/// True if what the client has a part of is still what we would send.
fn still_the_same(visit: &Visit<'_>, tag: &str, modified: Option<Date>) -> bool {
    match visit.request.header_utf8("if-range") {
        None => true,
        Some(list) if list.contains('"') => conditions::matches(list, tag, true),
        Some(date) => {
            let modified = modified.map(wire::dav::http_date::whole_seconds);
            modified.is_some() && wire::dav::http_date::parse(date) == modified
        }
    }
}

fn pour(reader: &mut TextReader, wanted: Range<u64>, size: u64, reply: &mut Reply) -> Outcome {
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
            // Behind what is wanted nothing is read: its digest would be of no use to anyone.
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
        // The only one goes out together with the head.
        Some(last) if !reply.begun() => {
            reply.whole([last]);
            Ok(())
        }
        Some(last) => Ok(reply.pass(last)?),
        None => Ok(()),
    }
}
