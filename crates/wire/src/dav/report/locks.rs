//! The locks report.

use base::{Depth, Lock};

use super::refusal::Refusal;
use super::xml_writer::XmlWriter;
use crate::dav::xml::Element;

/// The depth of a `get-locks-report`.
///
/// # Errors
/// If the depth is not valid for locks.
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
    let mut out = XmlWriter(out);
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
fn write_quoted(out: &mut XmlWriter<'_>, element: &str, text: &str) {
    out.raw("<").raw(element);
    if crate::dav::xml::safe(text.as_bytes()).is_some() {
        out.raw(" ");
    }
    out.value(element, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;
    use base::{Date, FsPath};

    #[test]
    fn locks_are_written_as_the_incumbent_writes_them() {
        let lock = Lock {
            path: FsPath::parse("/trunk/iota").expect("a path"),
            token: "opaquelocktoken:x".to_owned(),
            owner: "alice".to_owned(),
            comment: Some("a\u{1}".to_owned()),
            is_dav_comment: false,
            created: Date(1),
            expires: Some(Date(2)),
        };
        let mut out = Vec::new();
        write_lock(&mut out, &lock);
        let expected = "<S:lock>\n<S:path>/trunk/iota</S:path>\n<S:token>opaquelocktoken:x</S:token>\n\
             <S:creationdate>1970-01-01T00:00:00.000001Z</S:creationdate>\n\
             <S:expirationdate>1970-01-01T00:00:00.000002Z</S:expirationdate>\n<S:owner >alice</S:owner>\n\
             <S:comment encoding=\"base64\">YQE=\n</S:comment>\n</S:lock>\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn only_depths_below_which_locks_can_be_are_taken() {
        let depth = |attribute: &str| {
            let text = format!("<S:get-locks-report xmlns:S='svn:'{attribute}/>");
            locks_depth(&Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed")).ok()
        };
        assert_eq!(depth(""), Some(Depth::Infinity));
        assert_eq!(depth(" depth='files'"), Some(Depth::Files));
        for bad in [" depth='exclude'", " depth='unknown'", " depth='x'"] {
            assert_eq!(depth(bad), None, "{bad}");
        }
    }
}
