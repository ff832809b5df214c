//! Revisions as edits: a flat sequence of elements, each with a whole path. Of a range, the next revisions are requested
//! while one is read.

use std::collections::VecDeque;

use base::{RelPath, Result, Revnum};
use delta::editor::{DirToken, Editor, FileToken};
use delta::svndiff::Codec;
use wire::dav::client::{ALLPROP, ReportBody, XmlEvent, XmlEvents, decode_base64};
use wire::dav::names::SVN;

use super::DavSession;
use super::fault::malformed;
use super::history::{attribute, leaf_text};
use super::http_client::Exchange;
use super::receive::{copyfrom, digest, pass_base64, rev};
use super::request::Request;
use super::resources::check_success;
use super::response::{Response, ResponseBody};
use crate::answers::ReplaySink;
use crate::requests::ReplayOptions;

/// The requests of one revision of a range.
struct Requested {
    rev: Revnum,
    props: Exchange,
    props_target: String,
    edit: Exchange,
    edit_target: String,
}

impl DavSession {
    fn replay_request(&self, rev: Revnum, options: &ReplayOptions) -> Request {
        let has_resource = self.features.names("replay-rev-resource") && self.features.stubs.is_some();
        let target = match has_resource {
            true => self.baseline(rev).0,
            false => self.public(&RelPath::empty()),
        };
        let mut body = ReportBody::new("replay-report", "");
        body = match has_resource {
            true => body.value("include-path", self.session_path()),
            false => body.value("revision", rev),
        };
        let body = body
            .value("low-water-mark", options.low_water_mark)
            .value("send-deltas", u8::from(options.send_deltas));
        self.accepting_svndiff(Request::new("REPORT", target).xml(body.finish()))
    }

    pub(super) fn replay_one(
        &mut self,
        rev: Revnum,
        options: &ReplayOptions,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        let request = self.replay_request(rev, options);
        let target = request.target.clone();
        let response = check_success(self.client.call(request)?, &target)?;
        self.receive_replay(response, editor)
    }

    pub(super) fn replay_many(
        &mut self,
        start: Revnum,
        end: Revnum,
        options: &ReplayOptions,
        sink: &mut dyn ReplaySink,
    ) -> Result<()> {
        let most = (self.options.http.connections / 2).max(1);
        let mut requested: VecDeque<Requested> = VecDeque::new();
        let mut next = start;
        loop {
            while next <= end && requested.len() < most {
                requested.push_back(self.request_revision(next, options)?);
                next = next.next();
            }
            let Some(current) = requested.pop_front() else {
                return Ok(());
            };
            let rev = current.rev;
            let props = self.client.finish(current.props)?;
            let mut revprops = base::Props::new();
            self.read_multistatus(props, &current.props_target, &mut |found| {
                revprops = super::revprops::props_of(&found)?;
                Ok(())
            })?;
            let response = check_success(self.client.finish(current.edit)?, &current.edit_target)?;
            let mut response = Some(response);
            sink.revision(rev, &revprops, &mut |editor| match response.take() {
                Some(response) => self.receive_replay(response, editor),
                None => Err(malformed("A revision is passed only once")),
            })?;
        }
    }

    fn request_revision(&self, rev: Revnum, options: &ReplayOptions) -> Result<Requested> {
        let (props_target, label) = self.baseline(rev);
        let mut props = Request::new("PROPFIND", &props_target)
            .header("depth", "0")
            .xml(ALLPROP);
        if let Some(label) = label {
            props = props.header("label", label.to_string());
        }
        let edit = self.replay_request(rev, options);
        Ok(Requested {
            rev,
            props: self.client.start(props)?,
            props_target,
            edit_target: edit.target.clone(),
            edit: self.client.start(edit)?,
        })
    }

    fn receive_replay(&self, response: Response, editor: &mut dyn Editor) -> Result<()> {
        let mut replay = Replay {
            editor,
            events: self.events(response),
            dirs: Vec::new(),
            file: None,
            codec: Codec::new(),
        };
        let received = replay.receive();
        if received.is_err() {
            // The first error counts.
            _ = replay.editor.abort_edit();
        }
        received
    }
}

/// The edit of one revision, while it is read.
struct Replay<'a> {
    editor: &'a mut dyn Editor,
    events: XmlEvents<ResponseBody>,
    dirs: Vec<(RelPath, DirToken)>,
    file: Option<FileToken>,
    codec: Codec,
}

impl Replay<'_> {
    fn receive(&mut self) -> Result<()> {
        let mut is_complete = false;
        loop {
            match self.events.next_event()? {
                XmlEvent::Start { name, attributes } if name.space == SVN => {
                    self.call(&name.local, &attributes)?;
                }
                XmlEvent::Start { .. } => self.events.skip()?,
                XmlEvent::End { name, .. } => is_complete |= name.is(SVN, "editor-report"),
                XmlEvent::Eof if is_complete => return Ok(()),
                XmlEvent::Eof => return Err(malformed("Missing editor-report close tag")),
            }
        }
    }

    /// Makes the call of an element that has just begun.
    fn call(&mut self, element: &str, attributes: &[(String, String)]) -> Result<()> {
        match element {
            "target-revision" => {
                let rev =
                    rev(attributes, "rev").ok_or_else(|| malformed("The edit has no target revision"))?;
                self.editor.set_target_revision(rev)
            }
            "open-root" if self.dirs.is_empty() => {
                let token = self.editor.open_root(rev(attributes, "rev"))?;
                self.dirs.push((RelPath::empty(), token));
                Ok(())
            }
            "delete-entry" => {
                let (path, parent) = self.child(attributes)?;
                self.editor.delete_entry(&path, rev(attributes, "rev"), parent)
            }
            "open-directory" => {
                let (path, parent) = self.child(attributes)?;
                let token = self
                    .editor
                    .open_directory(&path, parent, rev(attributes, "rev"))?;
                self.dirs.push((path, token));
                Ok(())
            }
            "add-directory" => {
                let (path, parent) = self.child(attributes)?;
                let token = self.editor.add_directory(&path, parent, copyfrom(attributes))?;
                self.dirs.push((path, token));
                Ok(())
            }
            "close-directory" => match self.dirs.pop() {
                Some((_, token)) => self.editor.close_directory(token),
                None => Err(malformed("No directory is open")),
            },
            "open-file" => {
                let (path, parent) = self.child(attributes)?;
                self.file = Some(self.editor.open_file(&path, parent, rev(attributes, "rev"))?);
                Ok(())
            }
            "add-file" => {
                let (path, parent) = self.child(attributes)?;
                self.file = Some(self.editor.add_file(&path, parent, copyfrom(attributes))?);
                Ok(())
            }
            "apply-textdelta" => {
                let file = self.file.ok_or_else(|| malformed("No file is open"))?;
                self.editor
                    .apply_textdelta(file, digest(attributes, "checksum")?.as_ref())?;
                pass_base64(&mut self.events, file, self.editor, &mut self.codec)?;
                self.editor.text_end(file)
            }
            "close-file" => match self.file.take() {
                Some(file) => self
                    .editor
                    .close_file(file, digest(attributes, "checksum")?.as_ref()),
                None => Err(malformed("No file is open")),
            },
            "change-dir-prop" | "change-file-prop" => self.change_prop(element, attributes),
            _ => Ok(()),
        }
    }

    fn change_prop(&mut self, element: &str, attributes: &[(String, String)]) -> Result<()> {
        let name = attribute(attributes, "name").ok_or_else(|| malformed("A property without a name"))?;
        let text = leaf_text(&mut self.events)?;
        let value = match attribute(attributes, "del") {
            Some("true") => None,
            _ => Some(decode_base64(&text).ok_or_else(|| malformed("A value is not base64"))?),
        };
        match (element, self.file, self.dirs.last()) {
            ("change-file-prop", Some(file), _) => self.editor.change_file_prop(file, name, value.as_deref()),
            ("change-dir-prop", _, Some((_, dir))) => {
                self.editor.change_dir_prop(*dir, name, value.as_deref())
            }
            _ => Err(malformed("A property outside of a node")),
        }
    }

    /// Returns the path of an entry, and the open directory, which must be its parent.
    fn child(&self, attributes: &[(String, String)]) -> Result<(RelPath, DirToken)> {
        let name = attribute(attributes, "name").unwrap_or_default();
        let path = RelPath::parse(name.strip_prefix('/').unwrap_or(name));
        let path = path.map_err(|_| malformed(format!("'{name}' is not a valid path")))?;
        match self.dirs.last() {
            Some((dir, token)) if path.parent().as_ref() == Some(dir) => Ok((path, *token)),
            _ => Err(malformed(format!("'{name}' is not in the open directory"))),
        }
    }
}
