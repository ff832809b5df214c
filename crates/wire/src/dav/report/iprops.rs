//! The inherited properties report.

use base::{Props, RelPath, Revnum};

use super::out::Out;
use super::refusal::{Refusal, parts, path, revision};
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
    let mut out = Out(out);
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
