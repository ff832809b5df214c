//! The mergeinfo report.

use base::{RelPath, Revnum};

use super::out::Out;
use super::refusal::{Refusal, parts, path, revision};
use crate::dav::xml::Element;

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeinfoReport {
    /// The revision; `None` is the youngest.
    pub rev: Option<Revnum>,
    /// Whose mergeinfo counts: a word.
    pub inherit: &'static str,
    /// What is below the paths is asked for, too.
    pub descendants: bool,
    /// The paths.
    pub paths: Vec<RelPath>,
}

impl MergeinfoReport {
    /// Reads a request.
    ///
    /// # Errors
    /// For paths that are none.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let mut report = MergeinfoReport {
            rev: None,
            inherit: "explicit",
            descendants: false,
            paths: Vec::new(),
        };
        for (name, part) in parts(root) {
            match name {
                "revision" => report.rev = revision(&part.text),
                "inherit" => {
                    report.inherit = match part.text.as_str() {
                        "inherited" => "inherited",
                        "nearest-ancestor" => "nearest-ancestor",
                        _ => "explicit",
                    }
                }
                "include-descendants" => report.descendants = part.text == "yes",
                "path" => report.paths.push(path(part)?),
                _ => {}
            }
        }
        Ok(report)
    }
}

/// Writes the mergeinfo of one path, relative to that of the request.
pub fn write_mergeinfo(out: &mut Vec<u8>, path: &str, mergeinfo: &str) {
    Out(out)
        .raw("<S:mergeinfo-item>\n<S:mergeinfo-path>")
        .text(path)
        .raw("</S:mergeinfo-path>\n<S:mergeinfo-info>")
        .text(mergeinfo)
        .raw("</S:mergeinfo-info>\n</S:mergeinfo-item>");
}
