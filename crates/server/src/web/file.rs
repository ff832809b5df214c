//! The page of a file: its highlighted text, an image, or a note; and the download of the file.

use askama::Template;
use base::props;
use repos::FileContent;

use super::frame::{PageFrame, date, properties, size};
use super::{Outcome, ViewedNode, highlight, send, url, write_policy};
use crate::http::{Fault, ResponseWriter};
use crate::net::ConcurrencyPermit;
use crate::site::RequestContext;

/// The longest text that is shown, bytes.
const MAX_TEXT: u64 = 8 << 20;
/// The types of images that browsers show and that cannot contain scripts.
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

/// Writes the page.
pub(super) fn page(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
    permit: Option<ConcurrencyPermit<'_>>,
) -> Outcome {
    let file = context.repository().file(viewed.rev, &viewed.path)?;
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
        frame: PageFrame::of(context, viewed, "file"),
        about,
        image: None,
        note: None,
        lines: 0,
        code: String::new(),
        props: properties(&all),
    };
    match read_view(&file, &all)? {
        FileView::Text(text) => {
            page.lines = text.lines().count();
            page.code = highlight::html(viewed.path.basename(), &text, context.options.web.highlight);
        }
        FileView::Binary if image_type(viewed.path.basename()).is_some() => {
            page.image = Some(url(context, &viewed.path, viewed.kind, "", Some(viewed.rev)));
        }
        FileView::Binary => page.note = Some("A binary file.".to_owned()),
        FileView::TooLong => page.note = Some("This file is too long to be shown here.".to_owned()),
    }
    context.log_operation(|| super::operation("get-file", viewed));
    drop(permit);
    send(reply, &page, viewed.pegged)
}

/// How a file is shown.
pub(super) enum FileView {
    Text(String),
    Binary,
    TooLong,
}

/// Reads a file, if it is a text that is short enough.
pub(super) fn read_view(file: &FileContent, all: &base::Props) -> Result<FileView, Fault> {
    let says_binary = all
        .get(props::MIME_TYPE)
        .is_some_and(|kind| props::mime_type_is_binary(kind));
    if says_binary {
        return Ok(FileView::Binary);
    }
    if file.size()? > MAX_TEXT {
        return Ok(FileView::TooLong);
    }
    let bytes = file.reader()?.read_all()?;
    Ok(match bytes.contains(&0) {
        true => FileView::Binary,
        false => FileView::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

/// Returns the type of an image, by its name.
fn image_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let found = IMAGES
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known));
    found.map(|(_, kind)| *kind)
}

/// Sends the file as a download: browsers do not show it.
pub(super) fn download(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    viewed: &ViewedNode,
) -> Outcome {
    let file = context.repository().file(viewed.rev, &viewed.path)?;
    let mut name = String::new();
    wire::dav::uri::encode(viewed.path.basename(), &mut name);
    write_policy(reply);
    reply
        .head
        .content_type("application/octet-stream")
        .content_length(file.size()?)
        .header(
            "content-disposition",
            &format!("attachment; filename*=UTF-8''{}", name.replace('\'', "%27")),
        );
    context.log_operation(|| super::operation("get-file", viewed));
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
