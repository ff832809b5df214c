//! The response to an update report: the calls of an editor become elements.
//!
//! Each open node is an open element, with the URL of exactly this node. The response contains the texts if the client asked
//! for that; else it only names the changed ones, and the client fetches them over other connections at the same time.

use base::checksum::{Md5, Sha1};
use base::{FsPath, RelPath, Result, Revnum};
use delta::editor::{
    CopyFrom, DirToken, Editor, EncodedVersions, FileToken, NodeFacts, TextChunk, WindowForm,
};
use delta::svndiff::Codec;

use super::xml_writer::{DECLARATION, XmlWriter};
use super::{Base64Text, ResponseSink};
use crate::dav::xml;

/// The form of the response that the client asks for.
#[derive(Clone, Copy, Debug)]
pub struct UpdateForm {
    /// The response contains texts.
    pub send_all: bool,
    /// The response contains the properties of added nodes.
    pub inline_props: bool,
    /// svndiff version that the client accepts.
    pub version: u8,
    /// zlib's level, 0 to send nothing compressed.
    pub level: u8,
}

/// Prefixes of the URLs in responses.
#[derive(Clone, Debug)]
pub struct Hrefs {
    /// `ROOT/SPECIAL/rvr/` or `…/ver/`, escaped for XML.
    node: String,
    /// `ROOT/SPECIAL/bc/`, escaped for XML.
    collection: String,
}

impl Hrefs {
    /// `special` is the encoded path of the special resources, `kind` that of nodes: `rvr` or `ver`.
    pub fn new(special: &str, kind: &str) -> Self {
        let begin = |kind: &str| {
            let mut out = String::new();
            xml::escape_text(special, &mut out);
            format!("{out}/{kind}/")
        };
        Hrefs {
            node: begin(kind),
            collection: begin("bc"),
        }
    }

    /// Returns the part of a node's URL after the kind: `REV/PATH`, escaped for XML.
    pub fn location(rev: Revnum, path: &FsPath) -> Vec<u8> {
        let mut location = Vec::with_capacity(path.as_str().len() + 12);
        XmlWriter(&mut location).number(rev.0).url_path(path.as_str());
        location
    }

    /// The element with the URL of a node.
    pub(super) fn write_checked_in(&self, location: &[u8], out: &mut Vec<u8>) {
        XmlWriter(out).raw("<D:checked-in><D:href>").raw(&self.node);
        out.extend_from_slice(location);
        XmlWriter(out).raw("</D:href></D:checked-in>\n");
    }
}

/// Receives `REV/PATH` of nodes, as [`Hrefs::location`] returns them.
type LocationObserver<'a> = dyn FnMut(&[u8]) + 'a;

/// An editor that writes the response.
pub struct UpdateEditor<'a, O> {
    outlet: &'a mut O,
    hrefs: Hrefs,
    form: UpdateForm,
    /// The node that is opened next: the part of its URL behind the kind, and its digest.
    facts: Option<NodeInfo>,
    /// `true` for directories that were added.
    open: Vec<bool>,
    file: OpenFile,
    text: Base64Text,
    codec: &'a mut Codec,
    files: u32,
    /// Receives the locations of the texts that the client will fetch and check.
    told: Option<&'a mut LocationObserver<'a>>,
}

/// The file that is open.
#[derive(Default)]
struct OpenFile {
    added: bool,
    copied: bool,
    /// `REV/PATH`, escaped for XML.
    location: Vec<u8>,
    sha1: Option<Sha1>,
    /// The text changed and must be fetched; from this one.
    changed: Option<Option<Md5>>,
    /// Properties of a copy that were removed, if the text is fetched.
    removed: Vec<String>,
}

struct NodeInfo {
    /// `REV/PATH`, escaped for XML.
    location: Vec<u8>,
    sha1: Option<Sha1>,
}

impl<'a, O: ResponseSink> UpdateEditor<'a, O> {
    /// Returns an editor that writes to `outlet`.
    pub fn new(outlet: &'a mut O, hrefs: Hrefs, form: UpdateForm, codec: &'a mut Codec) -> Self {
        let version = if form.level == 0 { 0 } else { form.version };
        UpdateEditor {
            outlet,
            hrefs,
            form,
            facts: None,
            open: Vec::new(),
            file: OpenFile::default(),
            text: Base64Text::new(version, form.level),
            codec,
            files: 0,
            told: None,
        }
    }

    /// Sets the observer that gets the location ([`Hrefs::location`]) of each text that the client has to fetch,
    /// before the client gets the text's digest.
    pub fn telling(mut self, told: &'a mut LocationObserver<'a>) -> Self {
        self.told = Some(told);
        self
    }

    fn out(&mut self) -> XmlWriter<'_> {
        XmlWriter(self.outlet.buffer())
    }

    fn checked_in(&mut self, facts: Option<&NodeInfo>) {
        if let Some(facts) = facts {
            self.hrefs.write_checked_in(&facts.location, self.outlet.buffer());
        }
    }

    fn prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        match value {
            Some(value) => self
                .out()
                .raw("<S:set-prop")
                .attribute("name", name)
                .value_apart("S:set-prop", value),
            None => self
                .out()
                .raw("<S:remove-prop")
                .attribute("name", name)
                .raw("/>\n"),
        };
        self.outlet.checkpoint()
    }

    fn named(&mut self, element: &str, path: &RelPath) {
        self.out().raw(element).attribute("name", path.basename());
    }

    fn enter(&mut self, added: bool) -> DirToken {
        self.open.push(added);
        DirToken(u32::try_from(self.open.len()).unwrap_or(u32::MAX))
    }

    fn begin_file(&mut self, added: bool, facts: Option<NodeInfo>) -> FileToken {
        let (location, sha1) = facts
            .map(|facts| (facts.location, facts.sha1))
            .unwrap_or_default();
        self.file = OpenFile {
            added,
            location,
            sha1,
            ..OpenFile::default()
        };
        self.files = self.files.wrapping_add(1);
        FileToken(self.files)
    }
}

impl<O: ResponseSink> Editor for UpdateEditor<'_, O> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        let UpdateForm {
            send_all,
            inline_props,
            ..
        } = self.form;
        self.out()
            .raw(DECLARATION)
            .raw("<S:update-report xmlns:S=\"svn:\" xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\" xmlns:D=\"DAV:\" ")
            .raw(if send_all { "send-all=\"true\" " } else { " " })
            .raw(if inline_props { "inline-props=\"true\">\n" } else { ">\n" })
            .raw("<S:target-revision")
            .rev_attribute("rev", Some(rev))
            .raw("/>\n");
        Ok(())
    }

    fn wants_facts(&self) -> bool {
        true
    }

    fn facts(&mut self, facts: &NodeFacts<'_>) {
        let location = Hrefs::location(facts.rev, facts.path);
        self.facts = Some(NodeInfo {
            location,
            sha1: facts.sha1,
        });
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        let facts = self.facts.take();
        self.out()
            .raw("<S:open-directory")
            .rev_attribute("rev", base)
            .raw(">\n");
        self.checked_in(facts.as_ref());
        Ok(self.enter(false))
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, _parent: DirToken) -> Result<()> {
        self.named("<S:delete-entry", path);
        self.out().rev_attribute("rev", rev).raw("/>\n");
        self.outlet.checkpoint()
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let facts = self.facts.take();
        self.named("<S:add-directory", path);
        let out = self.outlet.buffer();
        if let Some(facts) = &facts {
            XmlWriter(out).raw(" bc-url=\"").raw(&self.hrefs.collection);
            // The root's ends without a slash here.
            let location = &facts.location;
            out.extend_from_slice(location.strip_suffix(b"/").unwrap_or(location));
            XmlWriter(out).raw("\"");
        }
        write_copyfrom(&mut XmlWriter(out), copyfrom);
        XmlWriter(out).raw(">\n");
        self.checked_in(facts.as_ref());
        Ok(self.enter(true))
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        base: Option<Revnum>,
    ) -> Result<DirToken> {
        let facts = self.facts.take();
        self.named("<S:open-directory", path);
        self.out().rev_attribute("rev", base).raw(">\n");
        self.checked_in(facts.as_ref());
        Ok(self.enter(false))
    }

    fn change_dir_prop(&mut self, _dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        if !self.form.inline_props && self.open.last() == Some(&true) {
            return Ok(());
        }
        self.prop(name, value)
    }

    fn close_directory(&mut self, _dir: DirToken) -> Result<()> {
        let end = match self.open.pop() {
            Some(true) => "</S:add-directory>\n",
            Some(false) | None => "</S:open-directory>\n",
        };
        self.out().raw(end);
        self.outlet.checkpoint()
    }

    fn absent_directory(&mut self, path: &RelPath, _parent: DirToken) -> Result<()> {
        self.named("<S:absent-directory", path);
        self.out().raw("/>\n");
        self.outlet.checkpoint()
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let facts = self.facts.take();
        let sha1 = facts.as_ref().and_then(|facts| facts.sha1);
        self.named("<S:add-file", path);
        let mut out = self.out();
        write_sha1(&mut out, sha1.as_ref());
        write_copyfrom(&mut out, copyfrom);
        out.raw(">\n");
        self.checked_in(facts.as_ref());
        let token = self.begin_file(true, facts);
        self.file.copied = copyfrom.is_some();
        Ok(token)
    }

    fn open_file(&mut self, path: &RelPath, _parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        let facts = self.facts.take();
        self.named("<S:open-file", path);
        self.out().rev_attribute("rev", base).raw(">\n");
        self.checked_in(facts.as_ref());
        Ok(self.begin_file(false, facts))
    }

    fn apply_textdelta(&mut self, _file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        self.file.changed = Some(base_md5.copied());
        if self.form.send_all {
            let mut out = self.out();
            out.raw("<S:txdelta");
            write_md5(&mut out, "base-checksum", base_md5);
            out.raw(">");
        }
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.text.version())
    }

    fn window_form(&self) -> Option<WindowForm> {
        let form = WindowForm::new(self.text.version(), self.text.level());
        self.form.send_all.then_some(form)
    }

    fn text_chunk(&mut self, _file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        if !self.form.send_all {
            return Ok(());
        }
        self.text.chunk(chunk, self.codec, self.outlet.buffer())?;
        self.outlet.checkpoint()
    }

    fn text_end(&mut self, _file: FileToken) -> Result<()> {
        if self.form.send_all {
            self.text.end(self.outlet.buffer());
            self.out().raw("</S:txdelta>");
        }
        Ok(())
    }

    fn change_file_prop(&mut self, _file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        if self.file.added && !self.form.send_all {
            match value {
                // Removed properties matter where the client begins with a copy; they come last.
                None => {
                    if self.file.copied {
                        self.file.removed.push(name.to_owned());
                    }
                    return Ok(());
                }
                Some(_) if !self.form.inline_props => return Ok(()),
                Some(_) => {}
            }
        }
        self.prop(name, value)
    }

    fn close_file(&mut self, _file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let file = std::mem::take(&mut self.file);
        if let (Some(told), Some(_), false) = (&mut self.told, text_md5, self.form.send_all)
            && (file.added || file.changed.is_some())
        {
            told(&file.location);
        }
        let mut out = XmlWriter(self.outlet.buffer());
        if let (false, false, Some(base)) = (self.form.send_all, file.added, &file.changed) {
            out.raw("<S:fetch-file");
            write_md5(&mut out, "base-checksum", base.as_ref());
            write_sha1(&mut out, file.sha1.as_ref());
            out.raw("/>\n");
        }
        if let Some(md5) = text_md5 {
            out.raw("<S:prop><V:md5-checksum>").hex(&md5.0);
            out.raw("</V:md5-checksum></S:prop>");
        }
        for name in &file.removed {
            self.prop(name, None)?;
        }
        self.out().raw(if file.added {
            "</S:add-file>\n"
        } else {
            "</S:open-file>\n"
        });
        self.outlet.checkpoint()
    }

    fn absent_file(&mut self, path: &RelPath, _parent: DirToken) -> Result<()> {
        self.named("<S:absent-file", path);
        self.out().raw("/>\n");
        self.outlet.checkpoint()
    }

    /// The caller writes the end tag: other elements may precede it.
    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }

    fn abort_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

fn write_md5(out: &mut XmlWriter<'_>, name: &str, md5: Option<&Md5>) {
    if let Some(md5) = md5 {
        out.raw(" ").raw(name).raw("=\"").hex(&md5.0).raw("\"");
    }
}

fn write_sha1(out: &mut XmlWriter<'_>, sha1: Option<&Sha1>) {
    if let Some(sha1) = sha1 {
        out.raw(" sha1-checksum=\"").hex(&sha1.0).raw("\"");
    }
}

pub(super) fn write_copyfrom(out: &mut XmlWriter<'_>, copyfrom: Option<CopyFrom<'_>>) {
    if let Some(from) = copyfrom {
        out.attribute("copyfrom-path", from.path)
            .rev_attribute("copyfrom-rev", Some(from.rev));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delta::window::Window;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a path")
    }

    /// Makes the calls of a checkout and of an update of a few nodes.
    fn drive(form: UpdateForm) -> String {
        let mut out = Vec::new();
        let mut codec = Codec::default();
        let hrefs = Hrefs::new("/svn/a&b/!svn", "rvr");
        let mut editor = UpdateEditor::new(&mut out, hrefs, form, &mut codec);
        let result = told(&mut editor);
        result.expect("nothing fails in memory");
        String::from_utf8(out).expect("XML is UTF-8")
    }

    fn told(editor: &mut dyn Editor) -> Result<()> {
        let facts = |editor: &mut dyn Editor, at: &str, rev, sha1| {
            let path = FsPath::parse(at).expect("a path");
            let rev = Revnum(rev);
            editor.facts(&NodeFacts {
                path: &path,
                rev,
                sha1,
            });
        };
        editor.set_target_revision(Revnum(3))?;
        facts(editor, "/trunk", 3, None);
        let root = editor.open_root(Some(Revnum(2)))?;
        editor.change_dir_prop(root, "svn:ignore", Some(b"*.o\n"))?;
        editor.delete_entry(&path("bin.dat"), Some(Revnum(3)), root)?;
        facts(editor, "/trunk/a.txt", 3, Some(Sha1([1; 20])));
        let file = editor.open_file(&path("a.txt"), root, Some(Revnum(2)))?;
        editor.change_file_prop(file, "bp", Some(b"a\x01b"))?;
        editor.change_file_prop(file, "gone", None)?;
        editor.apply_textdelta(file, Some(&Md5([2; 16])))?;
        editor.text_end(file)?;
        editor.close_file(file, Some(&Md5([3; 16])))?;
        facts(editor, "/trunk/d & é", 3, None);
        let dir = editor.add_directory(&path("d & é"), root, None)?;
        editor.change_dir_prop(dir, "p", Some(b"<v>"))?;
        facts(editor, "/trunk/d & é/n", 3, None);
        let from = CopyFrom {
            path: "/x",
            rev: Revnum(1),
        };
        let file = editor.add_file(&path("d & é/n"), dir, Some(from))?;
        editor.change_file_prop(file, "old", None)?;
        editor.apply_textdelta(file, None)?;
        editor.text_chunk(file, TextChunk::Decoded(&Window::default()))?;
        editor.text_end(file)?;
        editor.close_file(file, Some(&Md5([4; 16])))?;
        editor.close_directory(dir)?;
        editor.absent_directory(&path("hidden"), root)?;
        editor.absent_file(&path("secret"), root)?;
        editor.close_directory(root)?;
        editor.close_edit()
    }

    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<S:update-report xmlns:S=\"svn:\" \
         xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\" xmlns:D=\"DAV:\" ";

    #[test]
    fn clients_that_fetch_texts_hear_which_ones_changed() {
        let form = UpdateForm {
            send_all: false,
            inline_props: true,
            version: 1,
            level: 5,
        };
        let (two, three, four) = ("02".repeat(16), "03".repeat(16), "04".repeat(16));
        let sha1 = "01".repeat(20);
        let expected = format!(
            r#"{HEAD} inline-props="true">
<S:target-revision rev="3"/>
<S:open-directory rev="2">
<D:checked-in><D:href>/svn/a&amp;b/!svn/rvr/3/trunk</D:href></D:checked-in>
<S:set-prop name="svn:ignore">*.o
</S:set-prop>
<S:delete-entry name="bin.dat" rev="3"/>
<S:open-file name="a.txt" rev="2">
<D:checked-in><D:href>/svn/a&amp;b/!svn/rvr/3/trunk/a.txt</D:href></D:checked-in>
<S:set-prop name="bp" encoding="base64">
YQFi
</S:set-prop>
<S:remove-prop name="gone"/>
<S:fetch-file base-checksum="{two}" sha1-checksum="{sha1}"/>
<S:prop><V:md5-checksum>{three}</V:md5-checksum></S:prop></S:open-file>
<S:add-directory name="d &amp; é" bc-url="/svn/a&amp;b/!svn/bc/3/trunk/d%20&amp;%20%C3%A9">
<D:checked-in><D:href>/svn/a&amp;b/!svn/rvr/3/trunk/d%20&amp;%20%C3%A9</D:href></D:checked-in>
<S:set-prop name="p">&lt;v&gt;</S:set-prop>
<S:add-file name="n" copyfrom-path="/x" copyfrom-rev="1">
<D:checked-in><D:href>/svn/a&amp;b/!svn/rvr/3/trunk/d%20&amp;%20%C3%A9/n</D:href></D:checked-in>
<S:prop><V:md5-checksum>{four}</V:md5-checksum></S:prop><S:remove-prop name="old"/>
</S:add-file>
</S:add-directory>
<S:absent-directory name="hidden"/>
<S:absent-file name="secret"/>
</S:open-directory>
"#
        );
        assert_eq!(drive(form), expected);
    }

    #[test]
    fn clients_that_want_all_get_texts() {
        let form = UpdateForm {
            send_all: true,
            inline_props: true,
            version: 1,
            level: 5,
        };
        let told = drive(form);
        assert!(told.starts_with(&format!("{HEAD}send-all=\"true\" inline-props=\"true\">\n")));
        let two = "02".repeat(16);
        // A text that is not sent is an empty document.
        let text = format!("<S:txdelta base-checksum=\"{two}\">U1ZOAQ==</S:txdelta><S:prop>");
        assert!(told.contains(&text), "{told}");
        assert!(
            told.contains("<S:txdelta>U1ZOAQ") && !told.contains("fetch-file"),
            "{told}"
        );
    }

    #[test]
    fn old_clients_ask_for_properties_of_what_is_new() {
        let form = UpdateForm {
            send_all: false,
            inline_props: false,
            version: 0,
            level: 0,
        };
        let told = drive(form);
        assert!(told.starts_with(&format!("{HEAD} >\n")), "{told}");
        assert!(
            told.contains("svn:ignore") && !told.contains("name=\"p\""),
            "{told}"
        );
        // Those of a copy that are gone come at its end.
        assert!(
            told.contains("</S:prop><S:remove-prop name=\"old\"/>\n</S:add-file>"),
            "{told}"
        );
    }
}
