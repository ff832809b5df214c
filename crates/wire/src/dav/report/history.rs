//! Where a node was: locations, segments, deletions, and the revisions of a file.

use base::{RelPath, Revnum};

use super::out::Out;
use super::refusal::{Refusal, missing_parameters, parts, path, revision};
use super::revs::FileRevHead;
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

/// Most revisions in one question about locations: what is beyond is no client's.
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
    Out(out)
        .raw("<S:location")
        .rev_attribute("rev", Some(rev))
        .attribute("path", path)
        .raw("/>\n");
}

/// Writes one segment; without a path it is a gap.
pub fn write_segment(out: &mut Vec<u8>, path: Option<&str>, start: Revnum, end: Revnum) {
    let mut out = Out(out);
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
    let mut out = Out(out);
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

/// What ends a text in a file's revision, and the revision with it.
pub const FILE_REV_END: &str = "</S:txdelta></S:file-rev>\n";
