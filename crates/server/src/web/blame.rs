//! The blame page: the revision and the author of each line.
//!
//! The texts of all revisions of a file are compared one after another; each line keeps the revision that has added it. Long files and
//! long histories would occupy the server, so both are limited.

use std::time::Instant;

use askama::Template;
use base::{Cancel, FsPath, NodeKind, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use diff::{DiffOptions, Lines, changes_while, split};
use repos::file_revs::{self, FileRev, FileRevSink};

use super::file::{FileView, read_view};
use super::frame::{PageFrame, date, text};
use super::{Outcome, ViewedNode, highlight, send, url};
use crate::http::{Fault, ResponseWriter};
use crate::net::ConcurrencyPermit;
use crate::site::RequestContext;

/// The longest file, bytes.
const MAX_TEXT: usize = 1 << 20;

#[derive(Template)]
#[template(path = "web/blame.html")]
struct BlamePage {
    frame: PageFrame,
    note: Option<String>,
    lines: Vec<Line>,
    code: String,
}

struct Line {
    label: String,
    title: String,
    href: String,
}

/// Writes the page.
pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
    permit: Option<ConcurrencyPermit<'_>>,
) -> Outcome {
    let mut page = BlamePage {
        frame: PageFrame::of(context, viewed, "blame"),
        note: None,
        lines: Vec::new(),
        code: String::new(),
    };
    let file = context.repository().file(viewed.rev, &viewed.path)?;
    match read_view(&file, &file.props()?)? {
        FileView::Text(whole) if whole.len() <= MAX_TEXT => match lines(context, viewed, reply)? {
            Some(lines) => {
                page.lines = lines;
                page.code = highlight::html(viewed.path.basename(), &whole, context.options.web.highlight);
            }
            None => page.note = Some("This file has too much history to be shown here.".to_owned()),
        },
        FileView::Text(_) | FileView::TooLong => {
            page.note = Some("This file is too long for this.".to_owned())
        }
        FileView::Binary => page.note = Some("A binary file has no lines.".to_owned()),
    }
    context.log_operation(|| super::operation("get-file-revs", viewed));
    drop(permit);
    send(reply, &page, viewed.pegged)
}

/// The revisions of a file, without its texts.
#[derive(Default)]
struct Revisions<'a> {
    all: Vec<(FsPath, Revnum, String, String)>,
    /// The condition to go on, and what stops the engine otherwise.
    go_on: Option<(&'a dyn Fn() -> bool, Cancel)>,
}

impl FileRevSink for Revisions<'_> {
    fn revision(&mut self, rev: &FileRev<'_>) -> Result<()> {
        if let Some((go_on, cancel)) = &self.go_on
            && !go_on()
        {
            cancel.cancel();
        }
        let prop = |name: &str| rev.revprops.get(name);
        let author = text(prop(props::AUTHOR).unwrap_or_default());
        self.all
            .push((rev.path.clone(), rev.rev, author, date(prop(props::DATE))));
        Ok(())
    }

    fn text_chunk(&mut self, _chunk: TextChunk<'_>) -> Result<()> {
        Ok(())
    }

    fn text_end(&mut self) -> Result<()> {
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }
}

/// Returns the label of each line; `None` if that takes too long.
fn lines(
    context: &RequestContext<'_>,
    viewed: &ViewedNode,
    reply: &ResponseWriter,
) -> std::result::Result<Option<Vec<Line>>, Fault> {
    let end = Instant::now() + 2 * context.options.web.time_limit;
    let repository = context.repository();
    let mut revisions = Revisions::default();
    let go_on = || Instant::now() < end && reply.is_awaited();
    let cancel = Cancel::new();
    revisions.go_on = Some((&go_on, cancel.clone()));
    let read = file_revs::run(
        repository,
        &viewed.path,
        Some(Revnum::ZERO),
        Some(viewed.rev),
        false,
        &*context.readable(),
        &mut revisions,
        &cancel,
    );
    if cancel.is_cancelled() {
        return Ok(None);
    }
    read?;
    let options = DiffOptions::default();
    let mut old: Vec<u8> = Vec::new();
    let mut owners: Vec<usize> = Vec::new();
    for (index, (path, rev, ..)) in revisions.all.iter().enumerate() {
        let file = repository.file(*rev, path)?;
        if !go_on() || file.size()? > 8 * MAX_TEXT as u64 {
            return Ok(None);
        }
        let new = file.reader()?.read_all()?;
        let mut next = Vec::with_capacity(owners.len());
        let mut at = 0;
        let Some(changes) = changes_while(&Lines::new(&old, &new, &options), &go_on) else {
            return Ok(None);
        };
        for change in changes {
            next.extend_from_slice(&owners[at..change.old.start]);
            next.extend(change.new.map(|_| index));
            at = change.old.end;
        }
        next.extend_from_slice(&owners[at..]);
        debug_assert_eq!(next.len(), split(&new).len(), "each line has an owner");
        (old, owners) = (new, next);
    }
    let widest = revisions
        .all
        .iter()
        .map(|(_, _, author, _)| author.chars().count().min(12))
        .max();
    let lines = owners.iter().map(|index| {
        let (_, rev, author, date) = &revisions.all[*index];
        let short: String = author.chars().take(12).collect();
        Line {
            label: format!("{rev} {short:>width$}", width = widest.unwrap_or(0)),
            title: format!("r{rev}, {author}, {date}"),
            href: url(context, &FsPath::root(), NodeKind::Dir, "revision", Some(*rev)),
        }
    });
    Ok(Some(lines.collect()))
}
