//! Where a node was: locations, segments, deletions, and the revisions of a file.

use base::{RelPath, Revnum};

use super::refusal::{Refusal, missing_parameters, parts, path, revision};
use super::revs::FileRevHead;
use super::xml_writer::XmlWriter;
use crate::dav::xml::Element;

/// `get-locations`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the parts of the request")]
pub struct GetLocations {
    pub path: RelPath,
    pub peg: Revnum,
    pub revs: Vec<Revnum>,
}

/// `get-location-segments`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the parts of the request")]
pub struct LocationSegments {
    pub path: RelPath,
    pub peg: Option<Revnum>,
    pub start: Option<Revnum>,
    pub end: Option<Revnum>,
}

/// `get-deleted-rev-report`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the parts of the request")]
pub struct GetDeletedRev {
    pub path: RelPath,
    pub peg: Revnum,
    pub end: Revnum,
}

/// `file-revs-report`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the parts of the request")]
pub struct FileRevs {
    pub path: RelPath,
    pub start: Option<Revnum>,
    pub end: Option<Revnum>,
    pub include_merged: bool,
}

/// The maximum number of revisions in one request for locations: no client sends more.
const MOST_LOCATIONS: usize = 1 << 20;

impl GetLocations {
    /// Reads a request.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let (mut path_, mut peg, mut revs) = (None, None, Vec::new());
        for (name, part) in parts(root) {
            match name {
                "path" => path_ = Some(path(part)?),
                "peg-revision" => peg = revision(&part.text),
                "location-revision" if revs.len() >= MOST_LOCATIONS => return Err(Refusal::Bad),
                "location-revision" => revs.extend(revision(&part.text)),
                _ => {}
            }
        }
        match (path_, peg) {
            (Some(path), Some(peg)) => Ok(GetLocations { path, peg, revs }),
            _ => Err(missing_parameters()),
        }
    }
}

impl LocationSegments {
    /// Reads a request.
    ///
    /// # Errors
    /// If the path is missing.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let (mut path_, mut peg, mut start, mut end) = (None, None, None, None);
        for (name, part) in parts(root) {
            match name {
                "path" => path_ = Some(path(part)?),
                "peg-revision" => peg = revision(&part.text),
                "start-revision" => start = revision(&part.text),
                "end-revision" => end = revision(&part.text),
                _ => {}
            }
        }
        let path = path_.ok_or_else(missing_parameters)?;
        Ok(LocationSegments {
            path,
            peg,
            start,
            end,
        })
    }
}

impl GetDeletedRev {
    /// Reads a request.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let (mut path_, mut peg, mut end) = (None, None, None);
        for (name, part) in parts(root) {
            match name {
                "path" => path_ = Some(path(part)?),
                "peg-revision" => peg = revision(&part.text),
                "end-revision" => end = revision(&part.text),
                _ => {}
            }
        }
        match (path_, peg, end) {
            (Some(path), Some(peg), Some(end)) => Ok(GetDeletedRev { path, peg, end }),
            _ => Err(missing_parameters()),
        }
    }
}

impl FileRevs {
    /// Reads a request.
    ///
    /// # Errors
    /// If the path is missing.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let (mut path_, mut start, mut end, mut include_merged) = (None, None, None, false);
        for (name, part) in parts(root) {
            match name {
                "path" => path_ = Some(path(part)?),
                "start-revision" => start = revision(&part.text),
                "end-revision" => end = revision(&part.text),
                "include-merged-revisions" => include_merged = true,
                _ => {}
            }
        }
        let path = path_.ok_or_else(missing_parameters)?;
        Ok(FileRevs {
            path,
            start,
            end,
            include_merged,
        })
    }
}

/// Writes one location.
pub fn write_location(out: &mut Vec<u8>, rev: Revnum, path: &str) {
    XmlWriter(out)
        .raw("<S:location")
        .rev_attribute("rev", Some(rev))
        .attribute("path", path)
        .raw("/>\n");
}

/// Writes one segment; without a path it is a gap.
pub fn write_segment(out: &mut Vec<u8>, path: Option<&str>, start: Revnum, end: Revnum) {
    let mut out = XmlWriter(out);
    out.raw("<S:location-segment");
    if let Some(path) = path {
        out.attribute("path", path);
    }
    out.rev_attribute("range-start", Some(start))
        .rev_attribute("range-end", Some(end))
        .raw("/>\n");
}

/// Begins one revision of a file: everything before its text.
pub fn write_file_rev(out: &mut Vec<u8>, head: &FileRevHead<'_>) {
    let mut out = XmlWriter(out);
    out.raw("<S:file-rev")
        .attribute("path", head.path)
        .rev_attribute("rev", Some(head.rev))
        .raw(">\n");
    for (name, value) in head.revprops {
        out.raw("<S:rev-prop")
            .attribute("name", name)
            .value("S:rev-prop", value);
    }
    for (name, value) in head.prop_changes {
        match value {
            Some(value) => out
                .raw("<S:set-prop")
                .attribute("name", name)
                .value("S:set-prop", value),
            None => out.raw("<S:remove-prop").attribute("name", name).raw("/>\n"),
        };
    }
    if head.merged {
        out.raw("<S:merged-revision/>");
    }
    out.raw(if head.has_text {
        "<S:txdelta>"
    } else {
        "</S:file-rev>\n"
    });
}

/// The end of a text in a file's revision, and of the revision.
pub const FILE_REV_END: &str = "</S:txdelta></S:file-rev>\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;
    use base::Props;

    fn root(inner: &str) -> Element {
        let text = format!("<S:r xmlns:S=\"svn:\">{inner}</S:r>");
        Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed")
    }

    #[test]
    fn questions_need_their_parts() {
        let peg = "<S:peg-revision>4</S:peg-revision>";
        let all = root(&format!(
            "<S:path>a</S:path>{peg}<S:location-revision>2</S:location-revision>\
             <S:end-revision>3</S:end-revision><S:include-merged-revisions/>"
        ));
        let asked = GetLocations::parse(&all).expect("complete");
        assert_eq!((asked.peg, asked.revs), (Revnum(4), vec![Revnum(2)]));
        assert_eq!(GetDeletedRev::parse(&all).expect("complete").end, Revnum(3));
        assert_eq!(LocationSegments::parse(&all).expect("complete").start, None);
        assert!(FileRevs::parse(&all).expect("complete").include_merged);
        let pathless = root(peg);
        assert!(GetLocations::parse(&pathless).is_err());
        assert!(LocationSegments::parse(&pathless).is_err());
        assert!(GetDeletedRev::parse(&pathless).is_err());
        assert!(FileRevs::parse(&pathless).is_err());
        assert!(GetLocations::parse(&root("<S:path>a</S:path>")).is_err());
    }

    #[test]
    fn answers_are_the_incumbents() {
        let mut out = Vec::new();
        write_location(&mut out, Revnum(18), "/trunk/a.txt");
        write_segment(&mut out, Some("branches/b1"), Revnum(4), Revnum(9));
        write_segment(&mut out, None, Revnum(2), Revnum(3));
        let head = FileRevHead {
            path: "/trunk/a.txt",
            rev: Revnum(3),
            revprops: &Props::from([("svn:log".to_owned(), b"m".to_vec())]),
            prop_changes: &[("bp".to_owned(), Some(vec![1])), ("c".to_owned(), None)],
            merged: true,
            has_text: true,
        };
        write_file_rev(&mut out, &head);
        let expected = "<S:location rev=\"18\" path=\"/trunk/a.txt\"/>\n\
             <S:location-segment path=\"branches/b1\" range-start=\"4\" range-end=\"9\"/>\n\
             <S:location-segment range-start=\"2\" range-end=\"3\"/>\n\
             <S:file-rev path=\"/trunk/a.txt\" rev=\"3\">\n<S:rev-prop name=\"svn:log\">m</S:rev-prop>\n\
             <S:set-prop name=\"bp\" encoding=\"base64\">AQ==\n</S:set-prop>\n<S:remove-prop name=\"c\"/>\n\
             <S:merged-revision/><S:txdelta>";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
