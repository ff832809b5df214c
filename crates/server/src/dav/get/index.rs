//! The plain listing of a directory, as Apache has it.

use base::NodeKind;
use wire::dav::index::{DirectoryIndex, IndexEntry};

use super::media;
use super::target::GetTarget;
use crate::config::Source;
use crate::dav::Outcome;
use crate::http::ResponseWriter;
use crate::site::RequestContext;

/// Writes the listing of a directory.
pub(super) fn index(context: &RequestContext<'_>, target: &GetTarget, reply: &mut ResponseWriter) -> Outcome {
    let location = &context.mount.location;
    let node = &target.node;
    reply.head.content_type(media::of_index(location));
    if reply.bodiless() {
        return Ok(());
    }
    let basename = context.mount.basename();
    let listed_above = location.list && matches!(location.source, Source::Parent(_));
    let page = DirectoryIndex {
        name: location.name.as_deref(),
        base: &basename,
        at: Some((node.tree().revision(), node.path().as_str())),
        peg: super::pegged(target),
        up: !node.path().is_root() || listed_above,
    };
    let children = node.children(&*context.readable())?;
    let lines = children.names().map(|(name, kind)| IndexEntry {
        name,
        is_dir: kind == NodeKind::Dir,
    });
    send(&page, location.index_xslt.as_deref(), lines, reply)
}

/// Writes a listing, as XML if there is a stylesheet for it.
pub(in crate::dav) fn send<'a>(
    page: &DirectoryIndex<'_>,
    xslt: Option<&str>,
    lines: impl Iterator<Item = IndexEntry<'a>>,
    reply: &mut ResponseWriter,
) -> Outcome {
    let mut text = String::new();
    match xslt {
        Some(xslt) => page.open_xml(xslt, &mut text),
        None => page.open_html(&mut text),
    }
    for line in lines {
        match xslt {
            Some(_) => page.line_xml(line, &mut text),
            None => page.line_html(line, &mut text),
        }
        reply.buffer().extend_from_slice(text.as_bytes());
        reply.spill()?;
        text.clear();
    }
    match xslt {
        Some(_) => page.close_xml(&mut text),
        None => page.close_html(&mut text),
    }
    reply.buffer().extend_from_slice(text.as_bytes());
    Ok(())
}
