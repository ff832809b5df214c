//! Requests about history: the log, locations, revisions of a file.

use base::{Code, Date, Error, FsPath, NodeKind, Props, RelPath, Result, Revnum, props};
use delta::editor::TextChunk;
use delta::svndiff::{Codec, Decoder};
use wire::dav::client::{ReportBody, XmlEvent, XmlEvents, decode_base64};
use wire::dav::names::{DAV, SVN};
use wire::dav::xml::Element;

use super::DavSession;
use super::fault::malformed;
use super::nodes::prop_value;
use super::resources::rev_attribute;
use super::response::ResponseBody;
use crate::answers::{ChangeAction, FileRev, FileRevSink, LocationSegment, LogChange, LogEntry};
use crate::log_limit::LogLimit;
use crate::requests::{FileRevsRequest, LogRequest, LogRevprops};

impl DavSession {
    pub(super) fn read_dated(&mut self, date: Date) -> Result<Revnum> {
        let target = self.report_target();
        let body = ReportBody::new("dated-rev-report", "").dav_value("creationdate", date);
        self.read_rev(&target, body)?
            .ok_or_else(|| malformed("The server did not send a revision"))
    }

    pub(super) fn read_deleted(
        &mut self,
        path: &RelPath,
        peg: Revnum,
        end: Revnum,
    ) -> Result<Option<Revnum>> {
        let target = self.node_at(&self.session_path(), peg)?;
        let body = ReportBody::new("get-deleted-rev-report", "")
            .value("path", path)
            .value("peg-revision", peg)
            .value("end-revision", end);
        self.read_rev(&target, body)
    }

    /// Reads a report whose response is one revision.
    fn read_rev(&self, target: &str, body: ReportBody) -> Result<Option<Revnum>> {
        let mut rev = None;
        self.report_each(target, body, &mut |child| {
            if child.name.is(DAV, "version-name") {
                rev = Revnum::parse(child.text.trim().as_bytes());
            }
            Ok(())
        })?;
        Ok(rev)
    }

    pub(super) fn read_log(
        &mut self,
        request: &LogRequest,
        sink: &mut dyn FnMut(&LogEntry) -> Result<()>,
    ) -> Result<()> {
        let (start, end) = self.range(request.start, request.end)?;
        let target = self.node_at(&self.session_path(), start.max(end))?;
        let mut body = ReportBody::new("log-report", "")
            .value("start-revision", start)
            .value("end-revision", end)
            .maybe("limit", Some(request.limit).filter(|limit| *limit > 0))
            .flag("discover-changed-paths", request.changed_paths)
            .flag("strict-node-history", request.strict)
            .flag("include-merged-revisions", request.include_merged);
        body = self.log_revprops(&request.revprops, body)?;
        for path in &request.paths {
            body = body.value("path", path);
        }
        if request.paths.is_empty() {
            body = body.value("path", "");
        }
        let body = body.flag("encode-binary-props", true);
        let mut limit = LogLimit::new(request.limit);
        self.report_each(&target, body, &mut |child| {
            if !child.name.is(SVN, "log-item") {
                return Ok(());
            }
            let entry = log_entry(&child, &request.revprops)?;
            match limit.admits(&entry) {
                true => sink(&entry),
                false => Ok(()),
            }
        })
    }

    /// Returns both ends of a range; one that is not given is the youngest revision.
    fn range(&mut self, start: Option<Revnum>, end: Option<Revnum>) -> Result<(Revnum, Revnum)> {
        match (start, end) {
            (Some(start), Some(end)) => Ok((start, end)),
            _ => {
                let latest = self.read_latest()?;
                Ok((start.unwrap_or(latest), end.unwrap_or(latest)))
            }
        }
    }

    fn log_revprops(&self, wanted: &LogRevprops, mut body: ReportBody) -> Result<ReportBody> {
        let standard = [props::AUTHOR, props::DATE, props::LOG];
        let has_all = self.features.names("log-revprops");
        match wanted {
            LogRevprops::All if has_all => Ok(body.flag("all-revprops", true)),
            LogRevprops::All => Ok(body),
            LogRevprops::Names(names) => {
                if !has_all && names.iter().any(|name| !standard.contains(&name.as_str())) {
                    let message = "Server does not support custom revprops via log";
                    return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
                }
                body = body.flag("no-revprops", names.is_empty());
                for name in names {
                    body = body.value("revprop", name);
                }
                Ok(body)
            }
        }
    }

    pub(super) fn read_locations(
        &mut self,
        path: &RelPath,
        peg: Revnum,
        revs: &[Revnum],
    ) -> Result<Vec<(Revnum, FsPath)>> {
        let target = self.node_at(&self.session_path(), peg)?;
        let mut body = ReportBody::new("get-locations", "")
            .value("path", path)
            .value("peg-revision", peg);
        for rev in revs {
            body = body.value("location-revision", rev);
        }
        let mut found = Vec::new();
        self.report_each(&target, body, &mut |child| {
            if !child.name.is(SVN, "location") {
                return Ok(());
            }
            // A server sends one location for each revision: more would only fill the memory.
            if found.len() == revs.len() {
                return Err(malformed("The server sent too many locations"));
            }
            let lacking = || malformed("Expected valid revision and path of a location");
            let path = child.attribute("path").ok_or_else(lacking)?;
            found.push((
                rev_attribute(&child, "rev").ok_or_else(lacking)?,
                FsPath::canonicalize(path)?,
            ));
            Ok(())
        })?;
        found.sort_unstable_by_key(|(rev, _)| std::cmp::Reverse(*rev));
        Ok(found)
    }

    pub(super) fn read_segments(
        &mut self,
        path: &RelPath,
        (peg, start, end): (Option<Revnum>, Option<Revnum>, Option<Revnum>),
        sink: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()> {
        let peg = self.given_or_latest(peg)?;
        let target = self.node_at(&self.session_path(), peg)?;
        let body = ReportBody::new("get-location-segments", "")
            .value("path", path)
            .value("peg-revision", peg)
            .value("start-revision", start.unwrap_or(peg))
            .value("end-revision", end.unwrap_or(Revnum(0)));
        self.report_each(&target, body, &mut |child| {
            if !child.name.is(SVN, "location-segment") {
                return Ok(());
            }
            let lacking = || malformed("Expected a valid range of a location");
            sink(&LocationSegment {
                start: rev_attribute(&child, "range-start").ok_or_else(lacking)?,
                end: rev_attribute(&child, "range-end").ok_or_else(lacking)?,
                path: child.attribute("path").map(FsPath::canonicalize).transpose()?,
            })
        })
    }

    pub(super) fn read_file_revs(
        &mut self,
        request: &FileRevsRequest<'_>,
        sink: &mut dyn FileRevSink,
    ) -> Result<()> {
        let (start, end) = self.range(request.start, request.end)?;
        if start > end && !self.features.names("reverse-file-revs") {
            let message = "Getting file revisions in reverse order is not supported by the server";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        let target = self.node_at(&self.session_path(), start.max(end))?;
        let body = ReportBody::new("file-revs-report", "")
            .value("start-revision", start)
            .value("end-revision", end)
            .flag("include-merged-revisions", request.include_merged)
            .value("path", request.path);
        let mut events = self.svndiff_report(&target, body)?;
        let mut stream = FileRevStream {
            sink,
            codec: Codec::new(),
            current: None,
            count: 0,
        };
        loop {
            match events.next_event()? {
                XmlEvent::Start { name, attributes } => {
                    stream.begin(&name.local, &attributes, &mut events)?
                }
                XmlEvent::End { name, .. } => match name.local.as_str() {
                    "file-rev" => stream.end_rev()?,
                    "file-revs-report" => break,
                    _ => {}
                },
                XmlEvent::Eof => break,
            }
        }
        events.drain()?;
        match stream.count {
            0 => Err(Error::new(
                Code::RA_DAV_REQUEST_FAILED,
                "The file-revs report didn't contain any revisions",
            )),
            _ => Ok(()),
        }
    }
}

/// The revisions of a file, as they arrive.
struct FileRevStream<'a> {
    sink: &'a mut dyn FileRevSink,
    codec: Codec,
    /// The revision whose element is open, until it was passed on.
    current: Option<FileRev>,
    count: u64,
}

impl FileRevStream<'_> {
    fn begin(
        &mut self,
        element: &str,
        attributes: &[(String, String)],
        events: &mut XmlEvents<ResponseBody>,
    ) -> Result<()> {
        match element {
            "file-rev" => {
                let lacking = || malformed("Expected path and revision of a file's revision");
                self.current = Some(FileRev {
                    path: FsPath::canonicalize(attribute(attributes, "path").ok_or_else(lacking)?)?,
                    rev: attribute(attributes, "rev")
                        .and_then(|rev| Revnum::parse(rev.as_bytes()))
                        .ok_or_else(lacking)?,
                    revprops: Props::new(),
                    prop_changes: Vec::new(),
                    merged: false,
                });
            }
            "rev-prop" | "set-prop" | "remove-prop" | "merged-revision" => {
                let name = attribute(attributes, "name").unwrap_or_default().to_owned();
                let value = leaf_value(attributes, events)?;
                let current = self.current()?;
                match element {
                    "rev-prop" => _ = current.revprops.insert(name, value),
                    "set-prop" => current.prop_changes.push((name, Some(value))),
                    "remove-prop" => current.prop_changes.push((name, None)),
                    _ => current.merged = true,
                }
            }
            "txdelta" => self.text(events)?,
            _ => {}
        }
        Ok(())
    }

    fn current(&mut self) -> Result<&mut FileRev> {
        self.current
            .as_mut()
            .ok_or_else(|| malformed("A part of no revision"))
    }

    fn text(&mut self, events: &mut XmlEvents<ResponseBody>) -> Result<()> {
        self.current()?;
        self.end_rev()?;
        let accepts = self.sink.accepts_encoded();
        let (sink, codec) = (&mut *self.sink, &mut self.codec);
        let mut decoder = Decoder::new();
        events.read_base64(&mut |bytes| {
            decoder.push(bytes, |window| match accepts.contains(window.version) {
                true => sink.text_chunk(TextChunk::Encoded(window)),
                false => sink.text_chunk(TextChunk::Decoded(&window.decode(codec)?)),
            })
        })?;
        decoder.finish()?;
        sink.text_end()
    }

    /// Passes the revision on, unless it was.
    fn end_rev(&mut self) -> Result<()> {
        match self.current.take() {
            Some(rev) => {
                self.count += 1;
                self.sink.revision(&rev)
            }
            None => Ok(()),
        }
    }
}

/// Returns an attribute.
pub(super) fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// Returns the text of the element that has just begun, and decodes it if its attributes say so.
pub(super) fn leaf_value(
    attributes: &[(String, String)],
    events: &mut XmlEvents<ResponseBody>,
) -> Result<Vec<u8>> {
    let text = leaf_text(events)?;
    match attribute(attributes, "encoding") {
        None => Ok(text.into_bytes()),
        Some("base64") => decode_base64(&text).ok_or_else(|| malformed("A value is not base64")),
        Some(_) => Err(Error::bare(Code::XML_UNKNOWN_ENCODING)),
    }
}

/// Returns the text of the element that has just begun; elements in it are skipped.
pub(super) fn leaf_text(events: &mut XmlEvents<ResponseBody>) -> Result<String> {
    loop {
        match events.next_event()? {
            XmlEvent::Start { .. } => events.skip()?,
            XmlEvent::End { text, .. } => return Ok(text),
            XmlEvent::Eof => return Err(malformed("The response is not complete")),
        }
    }
}

/// Reads an entry of a log.
fn log_entry(item: &Element, wanted: &LogRevprops) -> Result<LogEntry> {
    let mut entry = LogEntry::default();
    for part in &item.children {
        let name = match part.name.local.as_str() {
            "version-name" => {
                entry.rev = Revnum::parse(part.text.trim().as_bytes());
                continue;
            }
            "has-children" => {
                entry.has_children = true;
                continue;
            }
            "subtractive-merge" => {
                entry.subtractive_merge = true;
                continue;
            }
            "creator-displayname" => props::AUTHOR,
            "date" => props::DATE,
            "comment" => props::LOG,
            "revprop" => part.attribute("name").unwrap_or_default(),
            action => {
                entry.changes.extend(log_change(action, part)?);
                continue;
            }
        };
        if wanted.includes(name) {
            entry.revprops.insert(name.to_owned(), prop_value(part)?);
        }
    }
    entry.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entry)
}

/// Reads a changed path; `None` for another element.
fn log_change(action: &str, element: &Element) -> Result<Option<LogChange>> {
    let action = match action {
        "added-path" => ChangeAction::Add,
        "deleted-path" => ChangeAction::Delete,
        "replaced-path" => ChangeAction::Replace,
        "modified-path" => ChangeAction::Modify,
        _ => return Ok(None),
    };
    let kind = element.attribute("node-kind").unwrap_or_default();
    let copyfrom = match (
        element.attribute("copyfrom-path"),
        rev_attribute(element, "copyfrom-rev"),
    ) {
        (Some(path), Some(rev)) => Some((FsPath::canonicalize(path)?, rev)),
        _ => None,
    };
    let is_true = |name| element.attribute(name) == Some("true");
    Ok(Some(LogChange {
        path: FsPath::canonicalize(&element.text)?,
        action,
        copyfrom,
        kind: match NodeKind::from_word(kind.as_bytes()) {
            Some(kind @ (NodeKind::File | NodeKind::Dir)) => kind,
            _ => NodeKind::Unknown,
        },
        text_mods: is_true("text-mods"),
        prop_mods: is_true("prop-mods"),
    }))
}
