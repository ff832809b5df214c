//! The mergeinfo report.

use base::{RelPath, Revnum};

use super::refusal::{Refusal, parts, path, revision};
use super::xml_writer::XmlWriter;
use crate::dav::xml::Element;

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeinfoReport {
    /// The revision; `None` is the youngest.
    pub rev: Option<Revnum>,
    /// Whose mergeinfo counts: a word.
    pub inherit: &'static str,
    /// The mergeinfo below the paths is requested, too.
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
    XmlWriter(out)
        .raw("<S:mergeinfo-item>\n<S:mergeinfo-path>")
        .text(path)
        .raw("</S:mergeinfo-path>\n<S:mergeinfo-info>")
        .text(mergeinfo)
        .raw("</S:mergeinfo-info>\n</S:mergeinfo-item>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn what_is_not_known_means_explicit() {
        let parse = |inner: &str| {
            let text = format!("<S:r xmlns:S='svn:'>{inner}</S:r>");
            let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed");
            MergeinfoReport::parse(&root).expect("nothing is wrong")
        };
        assert_eq!(parse("<S:inherit>bogus</S:inherit>").inherit, "explicit");
        let asked = parse(
            "<S:inherit>inherited</S:inherit><S:path/><S:include-descendants>yes</S:include-descendants>",
        );
        assert_eq!(
            (asked.inherit, asked.descendants, asked.paths.len()),
            ("inherited", true, 1)
        );
        let mut out = Vec::new();
        write_mergeinfo(&mut out, "a&b", "/x:1-2");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "<S:mergeinfo-item>\n<S:mergeinfo-path>a&amp;b</S:mergeinfo-path>\n\
             <S:mergeinfo-info>/x:1-2</S:mergeinfo-info>\n</S:mergeinfo-item>"
        );
    }
}
