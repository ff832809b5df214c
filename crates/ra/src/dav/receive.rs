//! The edit in the response to a report: elements become calls of the editor.
//!
//! In the bulk form texts are within the edit. Otherwise each changed file is fetched by a request of its own ([`super::fetch`]), while the
//! edit is read on: a file stays open until its text has arrived, its directory may be closed before.

use base::checksum::Md5;
use base::{Error, RelPath, Result, Revnum, is_component};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, Decoder};
use wire::dav::client::{XmlEvent, XmlEvents};
use wire::dav::names::{DAV, SVN, SVN_DAV};
use wire::dav::uri;
use wire::dav::xml::XmlName;

use super::DavSession;
use super::fault::malformed;
use super::fetch::{TextFetches, TextRequest};
use super::history::{attribute, leaf_text, leaf_value};
use super::nodes::node_props;
use super::request::Request;
use super::response::ResponseBody;

/// Reads the edit of one report.
pub(super) struct Receiver<'a> {
    session: &'a mut DavSession,
    editor: &'a mut dyn Editor,
    wants_text: bool,
    version_urls: bool,
    /// Paths of the edit need not be those that the caller has: then whole texts are fetched, not differences.
    whole_texts: bool,
    send_all: bool,
    inline_props: bool,
    open: Vec<OpenNode>,
    fetches: TextFetches,
    codec: Codec,
}

enum OpenNode {
    Dir(OpenDir),
    File(Box<OpenFile>),
}

struct OpenDir {
    path: RelPath,
    token: DirToken,
    href: Option<String>,
    /// Its properties are not in the edit.
    fetch_props: bool,
}

struct OpenFile {
    path: RelPath,
    token: FileToken,
    is_added: bool,
    base: Option<Revnum>,
    base_md5: Option<Md5>,
    href: Option<String>,
    fetch_props: bool,
    fetch_text: bool,
    md5: Option<Md5>,
}

type Events = XmlEvents<ResponseBody>;

impl<'a> Receiver<'a> {
    pub(super) fn new(
        session: &'a mut DavSession,
        editor: &'a mut dyn Editor,
        wants_text: bool,
        whole_texts: bool,
    ) -> Receiver<'a> {
        Receiver {
            version_urls: session.options.version_urls,
            fetches: TextFetches::new(session.text_pipeline.take()),
            session,
            editor,
            wants_text,
            whole_texts,
            send_all: false,
            inline_props: false,
            open: Vec::new(),
            codec: Codec::new(),
        }
    }

    /// Reads the whole edit, and closes it.
    ///
    /// # Errors
    /// Those of the connection and of the editor; `RA_DAV_MALFORMED_DATA` for calls out of order.
    pub(super) fn receive(&mut self, mut events: Events) -> Result<()> {
        let mut is_complete = false;
        loop {
            match events.next_event()? {
                XmlEvent::Start { name, attributes } => self.begin(&name, &attributes, &mut events)?,
                XmlEvent::End { name, .. } if name.is(SVN, "update-report") => is_complete = true,
                XmlEvent::End { name, .. } => self.end(&name)?,
                XmlEvent::Eof => break,
            }
        }
        if !is_complete {
            return Err(malformed("Missing update-report close tag"));
        }
        self.fetches.finish(self.session, self.editor)?;
        self.editor.close_edit()
    }

    fn begin(&mut self, name: &XmlName, attributes: &[(String, String)], events: &mut Events) -> Result<()> {
        if name.space != SVN {
            return self.begin_of_other_space(name, events);
        }
        match name.local.as_str() {
            "update-report" => {
                let is_true = |name| attribute(attributes, name) == Some("true");
                self.send_all = is_true("send-all");
                self.inline_props = self.send_all || is_true("inline-props");
                Ok(())
            }
            "target-revision" => {
                let rev =
                    rev(attributes, "rev").ok_or_else(|| malformed("The edit has no target revision"))?;
                self.editor.set_target_revision(rev)
            }
            "open-directory" | "add-directory" => self.begin_dir(name.local == "add-directory", attributes),
            "open-file" | "add-file" => self.begin_file(name.local == "add-file", attributes),
            "delete-entry" | "absent-directory" | "absent-file" => self.entry(&name.local, attributes),
            "set-prop" | "remove-prop" => {
                let value = leaf_value(attributes, events)?;
                let value = (name.local == "set-prop").then_some(&value[..]);
                let prop =
                    attribute(attributes, "name").ok_or_else(|| malformed("A property without a name"))?;
                self.change_prop(prop, value)
            }
            "txdelta" => self.text(attributes, events),
            "fetch-file" => {
                let file = self.file()?;
                file.fetch_text = true;
                file.base_md5 = digest(attributes, "base-checksum")?;
                Ok(())
            }
            "fetch-props" => {
                match self.open.last_mut() {
                    Some(OpenNode::File(file)) => file.fetch_props = true,
                    Some(OpenNode::Dir(dir)) => dir.fetch_props = true,
                    None => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes the call of an entry without content.
    fn entry(&mut self, element: &str, attributes: &[(String, String)]) -> Result<()> {
        let (parent, path) = self.child(attributes)?;
        match element {
            "delete-entry" => self.editor.delete_entry(&path, rev(attributes, "rev"), parent),
            "absent-directory" => self.editor.absent_directory(&path, parent),
            _ => self.editor.absent_file(&path, parent),
        }
    }

    /// Reads the digest and the URL of a node.
    fn begin_of_other_space(&mut self, name: &XmlName, events: &mut Events) -> Result<()> {
        if name.is(SVN_DAV, "md5-checksum") {
            let text = leaf_text(events)?;
            let md5 = Md5::parse_hex(text.trim().as_bytes()).ok_or_else(|| malformed("Invalid checksum"))?;
            if let Some(OpenNode::File(file)) = self.open.last_mut() {
                file.md5 = Some(md5);
            }
            return Ok(());
        }
        if name.is(DAV, "href") {
            let href = uri::path_of(leaf_text(events)?.trim()).map(str::to_owned);
            match self.open.last_mut() {
                Some(OpenNode::File(file)) => file.href = href,
                Some(OpenNode::Dir(dir)) => dir.href = href,
                None => {}
            }
            return Ok(());
        }
        Ok(())
    }

    /// Returns the open directory, and the path of an entry of it.
    fn child(&self, attributes: &[(String, String)]) -> Result<(DirToken, RelPath)> {
        let Some(OpenNode::Dir(dir)) = self.open.last() else {
            return Err(malformed("An entry outside of a directory"));
        };
        match attribute(attributes, "name").filter(|name| is_component(name)) {
            Some(name) => Ok((dir.token, dir.path.join_str(name))),
            None => Err(malformed("An entry without a valid name")),
        }
    }

    fn begin_dir(&mut self, is_added: bool, attributes: &[(String, String)]) -> Result<()> {
        let base = rev(attributes, "rev");
        let (token, path) = if self.open.is_empty() && !is_added {
            (self.editor.open_root(base)?, RelPath::empty())
        } else {
            let (parent, path) = self.child(attributes)?;
            let token = match is_added {
                true => self.editor.add_directory(&path, parent, copyfrom(attributes))?,
                false => self.editor.open_directory(&path, parent, base)?,
            };
            (token, path)
        };
        self.open.push(OpenNode::Dir(OpenDir {
            path,
            token,
            href: None,
            fetch_props: is_added && !self.inline_props,
        }));
        Ok(())
    }

    fn begin_file(&mut self, is_added: bool, attributes: &[(String, String)]) -> Result<()> {
        let base = rev(attributes, "rev");
        let (parent, path) = self.child(attributes)?;
        let token = match is_added {
            true => self.editor.add_file(&path, parent, copyfrom(attributes))?,
            false => self.editor.open_file(&path, parent, base)?,
        };
        self.open.push(OpenNode::File(Box::new(OpenFile {
            path,
            token,
            is_added,
            base,
            base_md5: None,
            href: None,
            fetch_props: is_added && !self.inline_props,
            fetch_text: is_added && !self.send_all,
            md5: None,
        })));
        Ok(())
    }

    fn file(&mut self) -> Result<&mut OpenFile> {
        match self.open.last_mut() {
            Some(OpenNode::File(file)) => Ok(file),
            _ => Err(malformed("A text outside of a file")),
        }
    }

    fn change_prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        match self.open.last() {
            Some(OpenNode::Dir(dir)) => self.editor.change_dir_prop(dir.token, name, value),
            Some(OpenNode::File(file)) => self.editor.change_file_prop(file.token, name, value),
            None => Err(malformed("A property outside of a node")),
        }
    }

    /// Reads a text within the edit.
    fn text(&mut self, attributes: &[(String, String)], events: &mut Events) -> Result<()> {
        let base_md5 = digest(attributes, "base-checksum")?;
        let token = self.file()?.token;
        self.editor.apply_textdelta(token, base_md5.as_ref())?;
        pass_base64(events, token, self.editor, &mut self.codec)?;
        self.editor.text_end(token)
    }

    fn end(&mut self, name: &XmlName) -> Result<()> {
        if name.space != SVN {
            return Ok(());
        }
        match name.local.as_str() {
            "open-directory" | "add-directory" | "open-file" | "add-file" => {}
            _ => return Ok(()),
        }
        match self.open.pop() {
            Some(OpenNode::Dir(dir)) => {
                if dir.fetch_props {
                    let token = dir.token;
                    let props = self.fetched_props(dir.href.as_deref())?;
                    for (name, value) in props {
                        self.editor.change_dir_prop(token, &name, Some(&value))?;
                    }
                }
                self.editor.close_directory(dir.token)
            }
            Some(OpenNode::File(file)) => self.end_file(*file),
            None => Err(malformed("An end without a beginning")),
        }
    }

    fn fetched_props(&self, href: Option<&str>) -> Result<base::Props> {
        let href = href.ok_or_else(|| malformed("The server did not name a node"))?;
        node_props(&self.session.propfind(href, None, &[])?)
    }

    fn end_file(&mut self, file: OpenFile) -> Result<()> {
        if let Some(href) = file.href.as_deref().filter(|_| self.version_urls) {
            let name = "svn:wc:ra_dav:version-url";
            self.editor
                .change_file_prop(file.token, name, Some(href.as_bytes()))?;
        }
        if file.fetch_props {
            for (name, value) in self.fetched_props(file.href.as_deref())? {
                self.editor.change_file_prop(file.token, &name, Some(&value))?;
            }
        }
        if !file.fetch_text {
            return self.editor.close_file(file.token, file.md5.as_ref());
        }
        if !self.wants_text {
            // Only the fact of the change.
            self.editor.apply_textdelta(file.token, file.base_md5.as_ref())?;
            self.editor.text_end(file.token)?;
            return self.editor.close_file(file.token, file.md5.as_ref());
        }
        let target = file
            .href
            .clone()
            .ok_or_else(|| malformed("The server did not name a file"))?;
        let mut request = Request::new("GET", &target);
        if let Some(base) = file.base.filter(|_| !file.is_added && !self.whole_texts) {
            let base = self.session.node(&file.path, base)?;
            request = self
                .session
                .accepting_svndiff(request.header("x-svn-vr-base", base));
        }
        let request = TextRequest {
            request,
            token: file.token,
            base_md5: file.base_md5,
            md5: file.md5,
        };
        self.fetches.add(self.session, self.editor, request)
    }
}

/// Passes the base64 svndiff of the element that has just begun to the editor. Without any bytes there are no windows.
pub(super) fn pass_base64(
    events: &mut Events,
    token: FileToken,
    editor: &mut dyn Editor,
    codec: &mut Codec,
) -> Result<()> {
    let mut decoder = Decoder::new();
    let mut is_empty = true;
    events.read_base64(&mut |bytes| {
        is_empty = false;
        push_windows(&mut decoder, bytes, token, editor, codec)
    })?;
    match is_empty {
        true => Ok(()),
        false => decoder.finish(),
    }
}

pub(super) fn push_windows(
    decoder: &mut Decoder,
    bytes: &[u8],
    token: FileToken,
    editor: &mut dyn Editor,
    codec: &mut Codec,
) -> Result<()> {
    let accepts = editor.accepts_encoded();
    decoder.push(bytes, |window| match accepts.contains(window.version) {
        true => editor.text_chunk(token, TextChunk::Encoded(window)),
        false => editor.text_chunk(token, TextChunk::Decoded(&window.decode(codec)?)),
    })
}

/// Reads a revision; `None` for -1 and if it is missing.
pub(super) fn rev(attributes: &[(String, String)], name: &str) -> Option<Revnum> {
    attribute(attributes, name).and_then(|rev| Revnum::parse(rev.as_bytes()))
}

pub(super) fn copyfrom(attributes: &[(String, String)]) -> Option<CopyFrom<'_>> {
    Some(CopyFrom {
        path: attribute(attributes, "copyfrom-path")?,
        rev: rev(attributes, "copyfrom-rev")?,
    })
}

pub(super) fn digest(attributes: &[(String, String)], name: &str) -> Result<Option<Md5>> {
    let parse = |hex: &str| -> Result<Md5, Error> {
        Md5::parse_hex(hex.as_bytes()).ok_or_else(|| malformed("Invalid checksum"))
    };
    attribute(attributes, name).map(parse).transpose()
}
