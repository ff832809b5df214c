//! The page of a directory.

use askama::Template;
use base::{FsPath, NodeKind};
use repos::DirentFields;

use super::frame::{PageFrame, date, properties, size, text};
use super::{Outcome, ViewedNode, send, url};
use crate::http::ResponseWriter;
use crate::site::RequestContext;

/// The highest number of entries on the page.
const MAX_ENTRIES: usize = 10_000;

#[derive(Template)]
#[template(path = "web/directory.html")]
struct Directory {
    frame: PageFrame,
    up: Option<String>,
    rows: Vec<Row>,
    left_out: usize,
    props: Vec<(String, String)>,
}

struct Row {
    name: String,
    href: String,
    size: String,
    rev: String,
    rev_href: String,
    author: String,
    date: String,
}

/// Writes the page.
pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
) -> Outcome {
    let repository = context.repository();
    let readable = context.readable();
    let first = repository.first_of_directory(
        viewed.rev,
        &viewed.path,
        DirentFields::ALL,
        &*readable,
        MAX_ENTRIES,
    )?;
    let rev = viewed.pegged.then_some(viewed.rev);
    let rows = first.entries.iter().map(|(name, dirent)| {
        let path = viewed.path.join_str(name);
        let is_dir = dirent.kind == NodeKind::Dir;
        let view = if is_dir { "" } else { "file" };
        Row {
            href: url(context, &path, dirent.kind, view, rev),
            name: if is_dir {
                format!("{name}/")
            } else {
                name.to_string()
            },
            size: dirent.size.map(size).unwrap_or_default(),
            rev: dirent.created_rev.to_string(),
            rev_href: url(
                context,
                &FsPath::root(),
                NodeKind::Dir,
                "revision",
                Some(dirent.created_rev),
            ),
            author: text(dirent.author().unwrap_or_default()),
            date: date(dirent.date()),
        }
    });
    let page = Directory {
        frame: PageFrame::of(context, viewed, ""),
        up: viewed
            .path
            .parent()
            .map(|up| url(context, &up, NodeKind::Dir, "", rev)),
        rows: rows.collect(),
        left_out: first.left_out,
        props: properties(&repository.node_props(viewed.rev, &viewed.path)?),
    };
    context.log_operation(|| crate::web::operation("get-dir", viewed));
    send(reply, &page, viewed.pegged)
}
