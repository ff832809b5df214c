//! The page of a revision: its log message, changed paths, and differences.

use std::time::Instant;

use askama::Template;
use base::{Cancel, FsPath, NodeKind, Revnum, props};
use diff::{DiffOptions, Labels, unified_while};
use http::StatusCode;
use repos::access::Readable;
use repos::{ChangeKind, ChangedPath, log};

use super::file::{FileView, read_view};
use super::frame::{PageFrame, date, text};
use super::{Outcome, ViewedNode, send, url};
use crate::http::{Fault, ResponseWriter};
use crate::net::ConcurrencyPermit;
use crate::site::RequestContext;

/// The highest number of changed paths that are listed, and of those that are compared.
const MAX_PATHS: usize = 1000;
const MAX_PATCHES: usize = 200;
/// The longest text that is compared, bytes.
const MAX_TEXT: usize = 512 << 10;
/// The highest number of lines in all patches together.
const MAX_LINES: usize = 20_000;

#[derive(Template)]
#[template(path = "web/revision.html")]
struct RevisionPage {
    frame: PageFrame,
    previous: Option<String>,
    next: Option<String>,
    author: String,
    date: String,
    message: String,
    changes: Vec<Change>,
    left_out: usize,
    patches: Vec<Patch>,
}

struct Change {
    letter: &'static str,
    path: String,
    href: String,
    from: String,
    anchor: Option<usize>,
}

struct Patch {
    anchor: usize,
    path: String,
    note: Option<&'static str>,
    /// Class and text of each line.
    lines: Vec<(&'static str, String)>,
}

/// Writes the page.
pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
    permit: Option<ConcurrencyPermit<'_>>,
) -> Outcome {
    let readable = context.readable();
    let rev = viewed.rev;
    let link = |rev| url(context, &FsPath::root(), NodeKind::Dir, "revision", Some(rev));
    let mut page = RevisionPage {
        frame: PageFrame::of(context, viewed, "revision"),
        previous: rev.prev().map(link),
        next: (rev < context.youngest()?).then(|| link(rev.next())),
        author: String::new(),
        date: String::new(),
        message: String::new(),
        changes: Vec::new(),
        left_out: 0,
        patches: Vec::new(),
    };
    let all = read_log(context, &*readable, &mut page, rev)?;
    page.left_out = all.len().saturating_sub(MAX_PATHS);
    let mut patches = PatchMaker {
        context,
        rev,
        all: &all,
        readable: &*readable,
        end: Instant::now() + context.options.web.time_limit,
        reply,
        lines: 0,
    };
    for change in all.iter().take(MAX_PATHS) {
        let patch = match page.patches.len() < MAX_PATCHES {
            true => patches.patch(change, page.patches.len() + 1)?,
            false => None,
        };
        let anchor = patch.as_ref().map(|patch| patch.anchor);
        page.changes
            .push(listed_change(context, &*readable, rev, change, anchor));
        page.patches.extend(patch);
    }
    context.log_operation(|| format!("log (/) r{rev}:{rev} discover-changed-paths"));
    drop(permit);
    send(reply, &page, true)
}

/// Fills the page with the properties of revision `rev`. Returns the changed paths.
fn read_log(
    context: &RequestContext<'_>,
    readable: &dyn Readable,
    page: &mut RevisionPage,
    rev: Revnum,
) -> Result<Vec<ChangedPath>, Fault> {
    let options = log::LogOptions {
        start: Some(rev),
        end: Some(rev),
        changed_paths: true,
        ..log::LogOptions::default()
    };
    let mut all: Vec<ChangedPath> = Vec::new();
    let mut take = |entry: &log::LogEntry<'_>| {
        let prop = |name| text(entry.prop(name).unwrap_or_default());
        page.author = prop(props::AUTHOR);
        page.date = date(entry.prop(props::DATE));
        page.message = prop(props::LOG);
        all = entry.changes.to_vec();
        Ok(())
    };
    log::run(
        context.repository(),
        &options,
        readable,
        &mut take,
        &Cancel::new(),
    )
    .map_err(|error| Fault::hidden(StatusCode::FORBIDDEN, error))?;
    Ok(all)
}

/// Returns the line of a changed path; `anchor` is the number of its patch.
fn listed_change(
    context: &RequestContext<'_>,
    readable: &dyn Readable,
    rev: Revnum,
    change: &ChangedPath,
    anchor: Option<usize>,
) -> Change {
    let view = match change.node_kind {
        NodeKind::File => "file",
        _ => "dir",
    };
    Change {
        letter: letter(change.change),
        path: change.path.to_string(),
        href: match change.change {
            ChangeKind::Delete => String::new(),
            _ => url(context, &change.path, change.node_kind, view, Some(rev)),
        },
        from: match &change.copyfrom {
            Some((rev, from)) if readable.read(from) => format!("{from}@{rev}"),
            _ => String::new(),
        },
        anchor,
    }
}

/// Compares the changed files of a revision.
struct PatchMaker<'a, 'v> {
    context: &'a RequestContext<'v>,
    rev: Revnum,
    all: &'a [ChangedPath],
    readable: &'a dyn Readable,
    end: Instant,
    reply: &'a ResponseWriter,
    lines: usize,
}

impl PatchMaker<'_, '_> {
    /// Returns the difference of a changed file; `None` if its text is unchanged or not readable for the user.
    fn patch(&mut self, change: &ChangedPath, anchor: usize) -> Result<Option<Patch>, Fault> {
        let old = self.before(change);
        let new = match change.change {
            ChangeKind::Delete => None,
            _ => Some((self.rev, change.path.clone())),
        };
        let has_text = change.text_mod || !matches!(change.change, ChangeKind::Modify);
        if change.node_kind == NodeKind::Dir || !has_text {
            return Ok(None);
        }
        let mut patch = Patch {
            anchor,
            path: change.path.to_string(),
            note: None,
            lines: Vec::new(),
        };
        let (Some(old), Some(new)) = (self.text(old)?, self.text(new)?) else {
            return Ok(None);
        };
        let (old, new) = match (old, new) {
            (Side::Binary, _) | (_, Side::Binary) => {
                patch.note = Some("A binary file.");
                return Ok(Some(patch));
            }
            (Side::Text(old), Side::Text(new)) if old.len().max(new.len()) <= MAX_TEXT => (old, new),
            _ => {
                patch.note = Some("The texts are too long to be compared here.");
                return Ok(Some(patch));
            }
        };
        let left = MAX_LINES.saturating_sub(self.lines);
        let labels = Labels { old: b"", new: b"" };
        let go_on = || left > 0 && Instant::now() < self.end && self.reply.is_awaited();
        let options = DiffOptions::default();
        let difference = match go_on() {
            true => unified_while(old.as_bytes(), new.as_bytes(), labels, &options, &go_on),
            false => None,
        };
        let Some(difference) = difference else {
            patch.note = Some("The whole difference is too long to be shown here.");
            return Ok(Some(patch));
        };
        let difference = String::from_utf8_lossy(&difference);
        let mut lines = difference.split_inclusive('\n').skip(2);
        patch.lines = lines.by_ref().take(left).map(marked).collect();
        if lines.next().is_some() {
            patch.note = Some("Only the beginning of this difference is shown here.");
        }
        self.lines += patch.lines.len();
        if patch.lines.is_empty() {
            return Ok(None);
        }
        Ok(Some(patch))
    }

    /// Returns path and revision of the old text; `None` if the file is new.
    fn before(&self, change: &ChangedPath) -> Option<(Revnum, FsPath)> {
        if let Some((rev, from)) = &change.copyfrom {
            return Some((*rev, from.clone()));
        }
        if matches!(change.change, ChangeKind::Add | ChangeKind::Replace) {
            return None;
        }
        // The old text of a file below a copied directory is at the copy's source.
        let copied = self.all.iter().rev().find(|other| {
            other.copyfrom.is_some() && other.path.contains(&change.path) && other.path != change.path
        });
        let moved = copied.and_then(|other| {
            let (rev, from) = other.copyfrom.as_ref()?;
            Some((*rev, from.join(&change.path.relative_to(&other.path)?)))
        });
        moved.or_else(|| Some((self.rev.prev()?, change.path.clone())))
    }

    /// Reads one side of a comparison: an empty text if there is none; `None` if it is not a file, or not readable for the user.
    fn text(&self, at: Option<(Revnum, FsPath)>) -> Result<Option<Side>, Fault> {
        let Some((rev, path)) = at else {
            return Ok(Some(Side::Text(String::new())));
        };
        let repository = self.context.repository();
        if !self.readable.read(&path) || repository.check_path(rev, &path)? != NodeKind::File {
            return Ok(None);
        }
        let file = repository.file(rev, &path)?;
        let all = file.props()?;
        Ok(Some(match read_view(&file, &all)? {
            FileView::Text(text) => Side::Text(text),
            FileView::Binary => Side::Binary,
            FileView::TooLong => Side::TooLong,
        }))
    }
}

enum Side {
    Text(String),
    Binary,
    TooLong,
}

fn marked(line: &str) -> (&'static str, String) {
    let class = match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    };
    (class, line.trim_end_matches('\n').to_owned())
}

fn letter(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Add => "A",
        ChangeKind::Delete => "D",
        ChangeKind::Replace => "R",
        ChangeKind::Modify => "M",
    }
}
