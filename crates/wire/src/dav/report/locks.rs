//! The locks report.

use base::{Depth, Lock};

use super::out::Out;
use super::refusal::Refusal;
use crate::dav::xml::Element;

/// How deep a `get-locks-report` asks.
///
/// # Errors
/// If the depth is none that locks can be asked for.
pub fn locks_depth(root: &Element) -> Result<Depth, Refusal> {
    let Some(word) = root.attribute("depth") else {
        return Ok(Depth::Infinity);
    };
    let depth = Depth::from_word(word.as_bytes());
    match depth < Depth::Empty {
        true => Err(Refusal::Bad),
        false => Ok(depth),
    }
}

/// Writes one lock.
pub fn write_lock(out: &mut Vec<u8>, lock: &Lock) {
    let mut out = Out(out);
    out.raw("<S:lock>\n<S:path>")
        .text(lock.path.as_str())
        .raw("</S:path>\n<S:token>")
        .text(&lock.token)
        .raw("</S:token>\n<S:creationdate>")
        .text(&lock.created.to_string())
        .raw("</S:creationdate>\n");
    if let Some(expires) = lock.expires {
        out.raw("<S:expirationdate>")
            .text(&expires.to_string())
            .raw("</S:expirationdate>\n");
    }
    write_quoted(&mut out, "S:owner", &lock.owner);
    if let Some(comment) = &lock.comment {
        write_quoted(&mut out, "S:comment", comment);
    }
    out.raw("</S:lock>\n");
}

/// The space before `>` is the incumbent's.
fn write_quoted(out: &mut Out<'_>, element: &str, text: &str) {
    out.raw("<").raw(element);
    if crate::dav::xml::safe(text.as_bytes()).is_some() {
        out.raw(" ");
    }
    out.value(element, text.as_bytes());
}
