//! The log page: the history of a node, fifty revisions a page.

use std::time::Instant;

use askama::Template;
use base::{Cancel, FsPath, NodeKind, Revnum, props};
use repos::log;

use super::frame::{PageFrame, date, text};
use super::query::Query;
use super::{Outcome, ViewedNode, send, url};
use crate::http::ResponseWriter;
use crate::net::ConcurrencyPermit;
use crate::site::RequestContext;

/// The number of revisions on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "web/log.html")]
struct LogPage {
    frame: PageFrame,
    entries: Vec<Entry>,
    older: Option<String>,
}

struct Entry {
    rev: Revnum,
    href: String,
    author: String,
    date: String,
    message: String,
    changes: usize,
}

/// Writes the page.
pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
    query: &Query,
    permit: Option<ConcurrencyPermit<'_>>,
) -> Outcome {
    let from = query.from.unwrap_or(viewed.rev).min(viewed.rev);
    // The node's path in the first revision of this page.
    let readable = context.readable();
    let repository = context.repository();
    let there = repos::history::locations(repository, &viewed.path, viewed.rev, &[from], &*readable)?;
    // The page shows the revisions that are found by then.
    let end = Instant::now() + context.options.web.time_limit;
    let mut found: Vec<Entry> = Vec::new();
    let cancel = Cancel::new();
    if let Some((_, path)) = there.into_iter().next() {
        let options = log::LogOptions {
            paths: vec![path],
            start: Some(from),
            end: Some(Revnum::ZERO),
            // One more shows whether there is another page.
            limit: PAGE as u64 + 1,
            changed_paths: true,
            ..log::LogOptions::default()
        };
        let mut take = |entry: &log::LogEntry<'_>| {
            if let Some(rev) = entry.rev {
                let prop = |name| text(entry.prop(name).unwrap_or_default());
                found.push(Entry {
                    rev,
                    href: url(context, &FsPath::root(), NodeKind::Dir, "revision", Some(rev)),
                    author: prop(props::AUTHOR),
                    date: date(entry.prop(props::DATE)),
                    message: prop(props::LOG),
                    changes: entry.changes.iter().count(),
                });
            }
            if Instant::now() >= end || !reply.is_awaited() {
                cancel.cancel();
            }
            Ok(())
        };
        let searched = log::run(repository, &options, &*readable, &mut take, &cancel);
        if !cancel.is_cancelled() {
            searched?;
        }
    }
    let more = match found.get(PAGE) {
        Some(entry) => Some(entry.rev),
        None if cancel.is_cancelled() => found.last().and_then(|entry| entry.rev.prev()),
        None => None,
    };
    found.truncate(PAGE);
    let older = more.map(|rev| {
        let here = url(context, &viewed.path, viewed.kind, "log", Some(viewed.rev));
        format!("{here}&from={rev}")
    });
    let page = LogPage {
        frame: PageFrame::of(context, viewed, "log"),
        entries: found,
        older,
    };
    context.log_operation(|| {
        let mut path = String::new();
        wire::dav::uri::encode(viewed.path.as_str(), &mut path);
        format!("log ({path}) r{from}:0 limit={PAGE} discover-changed-paths")
    });
    drop(permit);
    send(reply, &page, viewed.pegged)
}
