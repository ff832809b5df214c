//! The inherited properties report.

use base::{Props, RelPath, Revnum};

use super::refusal::{Refusal, parts, path, revision};
use super::xml_writer::XmlWriter;
use crate::dav::xml::Element;

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedProps {
    /// The revision, if one was given.
    pub rev: Option<Revnum>,
    /// The path; without one the root of the repository is meant.
    pub path: Option<RelPath>,
}

impl InheritedProps {
    /// Reads a request.
    ///
    /// # Errors
    /// For a path that is none.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let mut report = InheritedProps {
            rev: None,
            path: None,
        };
        for (name, part) in parts(root) {
            match name {
                "revision" => report.rev = revision(&part.text),
                "path" => report.path = Some(path(part)?),
                _ => {}
            }
        }
        Ok(report)
    }
}

/// Writes what one ancestor passes on.
pub fn write_inherited(out: &mut Vec<u8>, path: &str, props: &Props) {
    let mut out = XmlWriter(out);
    out.raw("<S:iprop-item>\n<S:iprop-path>")
        .text(path)
        .raw("</S:iprop-path>\n");
    for (name, value) in props {
        out.raw("<S:iprop-propname>")
            .text(name)
            .raw("</S:iprop-propname>\n<S:iprop-propval")
            .value("S:iprop-propval", value);
    }
    out.raw("</S:iprop-item>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ancestor_is_written_as_the_incumbent_writes_it() {
        let mut out = Vec::new();
        let props = Props::from([
            ("bp".to_owned(), b"a\x01b\nccc".to_vec()),
            ("svn:ignore".to_owned(), b"*.o\n".to_vec()),
        ]);
        write_inherited(&mut out, "trunk/A", &props);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "<S:iprop-item>\n<S:iprop-path>trunk/A</S:iprop-path>\n<S:iprop-propname>bp</S:iprop-propname>\n\
             <S:iprop-propval encoding=\"base64\">YQFiCmNjYw==\n</S:iprop-propval>\n\
             <S:iprop-propname>svn:ignore</S:iprop-propname>\n<S:iprop-propval>*.o\n</S:iprop-propval>\n\
             </S:iprop-item>\n"
        );
    }
}
