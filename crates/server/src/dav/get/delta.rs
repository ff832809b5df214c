//! Sends a delta from a text that the client has to the requested one.

use std::cell::RefCell;

use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec};
use http::StatusCode;
use repos::tree::TreeNode;
use wire::dav::accept;
use wire::dav::uri::Resource;

use crate::dav::Outcome;
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

/// The content type of a delta.
const SVNDIFF: &str = "application/vnd.svn-svndiff";

/// The text that the client has.
pub(super) struct DeltaBase {
    node: TreeNode,
    /// The client's URL of it.
    url: String,
}

/// Returns the text that the request names as the client's, if its URL names a fixed revision and the user may read it.
///
/// # Errors
/// 404 for a missing revision, 400 for a node that is not a file.
pub(super) fn base(context: &RequestContext<'_>) -> Result<Option<DeltaBase>, Fault> {
    let Some(url) = context.request.header_utf8("x-svn-vr-base") else {
        return Ok(None);
    };
    let (rev, path) = match context.mount.resource_of_url(url) {
        Some(Resource::Version(rev, path) | Resource::RevisionRoot(rev, path)) => (rev, path),
        _ => return Ok(None),
    };
    // A delta reveals the text that it is against.
    if !context.readable().read(&path) {
        return Ok(None);
    }
    match context.repository().tree(rev)?.find(&path)? {
        Some(node) if !node.is_dir() => Ok(Some(DeltaBase {
            node,
            url: url.to_owned(),
        })),
        _ => Err(Fault::html(StatusCode::BAD_REQUEST)),
    }
}

/// Sends the delta from `base` to `node`.
pub(super) fn send(
    context: &RequestContext<'_>,
    node: &TreeNode,
    base: &DeltaBase,
    reply: &mut ResponseWriter,
) -> Outcome {
    reply
        .head
        .content_type(SVNDIFF)
        .header("vary", "X-SVN-VR-Base")
        .header("x-svn-vr-base", &base.url);
    if reply.bodiless() {
        return Ok(());
    }
    let level = context.options.compression;
    let version = accept::svndiff_version(&context.request.header_list("accept-encoding"), level);
    svndiff::write_header(version, reply.buffer());
    let accepts = EncodedVersions(1 << version);
    let mut client_error = None;
    let sent = node.delta_from(&base.node, accepts, &mut |chunk| {
        let out = reply.buffer();
        match chunk {
            TextChunk::Encoded(window) => out.extend_from_slice(window.raw),
            TextChunk::Decoded(window) => {
                with_codec(|codec| svndiff::write_window(window, version, level, codec, out));
            }
        }
        reply.spill().map_err(|error| {
            let gone = base::Error::new(base::Code::RA_DAV_REQUEST_FAILED, "The client has gone");
            client_error = Some(error);
            gone
        })
    });
    match client_error {
        Some(error) => Err(error.into()),
        None => Ok(sent?),
    }
}

/// Calls `f` with this thread's codec.
fn with_codec(f: impl FnOnce(&mut Codec)) {
    thread_local! {
        static CODEC: RefCell<Codec> = RefCell::new(Codec::new());
    }
    CODEC.with(|codec| f(&mut codec.borrow_mut()));
}
