//! A file: its text in colours, an image, or a word about what it is; and the file itself to keep.

use askama::Template;
use base::props;
use repos::File;

use super::frame::{PageFrame, date, properties, size};
use super::{Outcome, ViewedNode, guard, highlight, send, url};
use crate::http::{Fault, ResponseWriter};
use crate::net::ConcurrencyPermit;
use crate::site::RequestContext;

/// Longest text that is shown at all.
const MOST: u64 = 8 << 20;
/// Types of pictures that browsers show and that cannot hold scripts.
const IMAGES: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
];

#[derive(Template)]
#[template(path = "web/file.html")]
struct FilePage {
    frame: PageFrame,
    about: String,
    image: Option<String>,
    note: Option<String>,
    lines: usize,
    code: String,
    props: Vec<(String, String)>,
}

pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    place: &ViewedNode,
    turn: Option<ConcurrencyPermit<'_>>,
) -> Outcome {
    let file = context.repository().file(place.rev, &place.path)?;
    let all = file.props()?;
    let entry = |name: &str| all.get(name).map(Vec::as_slice);
    let shown = |name: &str| super::frame::text(entry(name).unwrap_or_default());
    let about = format!(
        "{}, last changed in r{} by {}, {}",
        size(file.size()?),
        shown(props::ENTRY_COMMITTED_REV),
        match entry(props::ENTRY_LAST_AUTHOR) {
            Some(_) => shown(props::ENTRY_LAST_AUTHOR),
            None => "nobody".to_owned(),
        },
        date(entry(props::ENTRY_COMMITTED_DATE)),
    );
    let mut page = FilePage {
        frame: PageFrame::of(context, place, "file"),
        about,
        image: None,
        note: None,
        lines: 0,
        code: String::new(),
        props: properties(&all),
    };
    match show(&file, &all)? {
        FileView::Text(text) => {
            page.lines = text.lines().count();
            page.code = highlight::html(place.path.basename(), &text, context.options.web.highlight);
        }
        FileView::Binary if picture(place.path.basename()).is_some() => {
            page.image = Some(url(context, &place.path, place.kind, "", Some(place.rev)));
        }
        FileView::Binary => page.note = Some("A binary file.".to_owned()),
        FileView::TooLong => page.note = Some("This file is too long to be shown here.".to_owned()),
    }
    context.log_operation(|| super::operation("get-file", place));
    drop(turn);
    send(reply, &page, place.pegged)
}

/// What of a file can be shown.
pub(super) enum FileView {
    Text(String),
    Binary,
    TooLong,
}

/// Reads a file if it is a text of bearable length.
pub(super) fn show(file: &File, all: &base::Props) -> Result<FileView, Fault> {
    let says_binary = all
        .get(props::MIME_TYPE)
        .is_some_and(|kind| props::mime_type_is_binary(kind));
    if says_binary {
        return Ok(FileView::Binary);
    }
    if file.size()? > MOST {
        return Ok(FileView::TooLong);
    }
    let bytes = file.reader()?.read_all()?;
    Ok(match bytes.contains(&0) {
        true => FileView::Binary,
        false => FileView::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

/// The type of a picture, by its name.
fn picture(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let found = IMAGES
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known));
    found.map(|(_, kind)| *kind)
}

/// Sends the file to be kept, never to be shown.
pub(super) fn download(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    place: &ViewedNode,
) -> Outcome {
    let file = context.repository().file(place.rev, &place.path)?;
    let mut name = String::new();
    wire::dav::uri::encode(place.path.basename(), &mut name);
    guard(reply);
    reply
        .content_type("application/octet-stream")
        .content_length(file.size()?)
        .header(
            "content-disposition",
            &format!("attachment; filename*=UTF-8''{}", name.replace('\'', "%27")),
        );
    context.log_operation(|| super::operation("get-file", place));
    if reply.bodiless() {
        return Ok(());
    }
    let mut reader = file.reader()?;
    let mut piece = vec![0; 64 << 10];
    loop {
        match reader.read_some(&mut piece)? {
            0 => return Ok(()),
            len => std::io::Write::write_all(reply, &piece[..len])?,
        }
    }
}
