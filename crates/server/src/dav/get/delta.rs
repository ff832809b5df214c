//! What turns a text that the client has into the one that it asks for.

use std::cell::RefCell;

use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec};
use http::StatusCode;
use repos::tree::Node;
use wire::dav::accept;
use wire::dav::uri::Resource;

use crate::dav::Outcome;
use crate::dav::fault::Fault;
use crate::dav::visit::Visit;
use crate::http::Reply;

/// Type of a delta.
const SVNDIFF: &str = "application/vnd.svn-svndiff";

/// A text that the client says it has.
pub(super) struct Base {
    node: Node,
    /// How the client named it.
    url: String,
}

/// The text that the request names as the client's, if it is one that we would know again.
///
/// # Errors
/// 404 for a revision that is not there, 400 for what is no file.
pub(super) fn base(visit: &Visit<'_>) -> Result<Option<Base>, Fault> {
    let Some(url) = visit.request.header_utf8("x-svn-vr-base") else {
        return Ok(None);
    };
    let (rev, path) = match visit.place.resource_of_url(url) {
        Some(Resource::Version(rev, path) | Resource::RevisionRoot(rev, path)) => (rev, path),
        _ => return Ok(None),
    };
    // A delta shows what it is against.
    if !visit.readable().read(&path) {
        return Ok(None);
    }
    match visit.repository().tree(rev)?.find(&path)? {
        Some(node) if !node.is_dir() => Ok(Some(Base {
            node,
            url: url.to_owned(),
        })),
        _ => Err(Fault::html(StatusCode::BAD_REQUEST)),
    }
}

pub(super) fn send(visit: &Visit<'_>, node: &Node, base: &Base, reply: &mut Reply) -> Outcome {
    reply
        .content_type(SVNDIFF)
        .header("vary", "X-SVN-VR-Base")
        .header("x-svn-vr-base", &base.url);
    if reply.bodiless() {
        return Ok(());
    }
    let level = visit.http.compression;
    let version = accept::svndiff_version(&visit.request.header_list("accept-encoding"), level);
    svndiff::write_header(version, reply.buffer());
    let accepts = EncodedVersions(1 << version);
    let mut lost = None;
    let sent = node.delta_from(&base.node, accepts, &mut |chunk| {
        let out = reply.buffer();
        match chunk {
            TextChunk::Encoded(window) => out.extend_from_slice(window.raw),
            TextChunk::Decoded(window) => {
                with_codec(|codec| svndiff::write_window(window, version, level, codec, out));
            }
        }
        reply.spill().map_err(|error| {
            let known = base::Error::new(base::Code::RA_DAV_REQUEST_FAILED, "The client has gone");
            lost = Some(error);
            known
        })
    });
    match lost {
        Some(error) => Err(error.into()),
        None => Ok(sent?),
    }
}

/// Lends this thread's codec.
fn with_codec(f: impl FnOnce(&mut Codec)) {
    thread_local! {
        static CODEC: RefCell<Codec> = RefCell::new(Codec::new());
    }
    CODEC.with(|codec| f(&mut codec.borrow_mut()));
}
