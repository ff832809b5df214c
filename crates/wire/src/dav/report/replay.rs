//! The replay report: one revision as a flat sequence of an Editor's calls.

use base::checksum::Md5;
use base::{Code, Error, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use delta::svndiff::Codec;

use super::refusal::{Refusal, parts, path, revision};
use super::update_edit::write_copyfrom;
use super::xml_writer::{DECLARATION, XmlWriter};
use super::{Base64Text, ResponseSink};
use crate::dav::xml::Element;

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// The revision.
    pub rev: Revnum,
    /// Only what concerns this path, from the root of the repository.
    pub include: Option<RelPath>,
    /// Copies from older revisions are sent as additions.
    pub low_water_mark: Revnum,
    /// Contents are wanted, not only the fact that they changed.
    pub send_deltas: bool,
}

impl ReplayReport {
    /// Reads a request; `of` is the revision that the URL names, if it names one.
    ///
    /// # Errors
    /// If a part is missing, or the revision is named twice.
    pub fn parse(root: &Element, of: Option<Revnum>) -> std::result::Result<Self, Refusal> {
        let bad = |message: String| Refusal::BadRequest(Error::new(Code::RA_DAV_REQUEST_FAILED, message));
        let missing = |what: &str| bad(format!("Request was missing the {what} argument"));
        let malformed = |what: &str| {
            bad(format!(
                "The request's '{what}' element is malformed; there is a problem with the client."
            ))
        };
        let (mut rev, mut include, mut mark, mut send_deltas) = (of, None, None, true);
        for (name, part) in parts(root) {
            match name {
                "revision" if of.is_some() => {
                    return Err(malformed("revision"));
                }
                "revision" => rev = revision(&part.text),
                "include-path" => include = Some(path(part)?),
                "low-water-mark" => mark = revision(&part.text),
                "send-deltas" => {
                    send_deltas = match part.text.as_str() {
                        "0" => false,
                        "1" => true,
                        _ => return Err(malformed("send-deltas")),
                    }
                }
                _ => {}
            }
        }
        Ok(ReplayReport {
            rev: rev.ok_or_else(|| missing("revision"))?,
            include,
            low_water_mark: mark.ok_or_else(|| missing("low-water-mark"))?,
            send_deltas,
        })
    }
}

/// An editor that writes the response.
pub struct ReplayEditor<'a, O> {
    outlet: &'a mut O,
    text: Base64Text,
    codec: &'a mut Codec,
    tokens: u32,
}

impl<'a, O: ResponseSink> ReplayEditor<'a, O> {
    /// Writes to `outlet`; texts in svndiff `version`, compressed at `level`.
    pub fn new(outlet: &'a mut O, version: u8, level: u8, codec: &'a mut Codec) -> Self {
        ReplayEditor {
            outlet,
            text: Base64Text::new(version, level),
            codec,
            tokens: 0,
        }
    }

    fn out(&mut self) -> XmlWriter<'_> {
        XmlWriter(self.outlet.buffer())
    }

    fn token(&mut self) -> u32 {
        self.tokens = self.tokens.wrapping_add(1);
        self.tokens
    }

    fn opened(&mut self, element: &str, path: &RelPath, base: Option<Revnum>) -> Result<u32> {
        self.out()
            .raw(element)
            .attribute("name", path.as_str())
            .rev_attribute("rev", base)
            .raw("/>\n");
        self.outlet.checkpoint()?;
        Ok(self.token())
    }

    fn added(&mut self, element: &str, path: &RelPath, copyfrom: Option<CopyFrom<'_>>) -> Result<u32> {
        let mut out = self.out();
        out.raw(element).attribute("name", path.as_str());
        write_copyfrom(&mut out, copyfrom);
        out.raw("/>\n");
        self.outlet.checkpoint()?;
        Ok(self.token())
    }

    fn prop(&mut self, element: &str, name: &str, value: Option<&[u8]>) -> Result<()> {
        let mut out = self.out();
        out.raw("<").raw(element).attribute("name", name);
        match value {
            Some(value) => out.raw(">").base64_lines(value).raw("</").raw(element).raw(">\n"),
            None => out.raw(" del=\"true\"/>\n"),
        };
        self.outlet.checkpoint()
    }
}

fn unsupported<T>() -> Result<T> {
    // A replay has nothing that may not be seen: it leaves it out.
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}

impl<O: ResponseSink> Editor for ReplayEditor<'_, O> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.out()
            .raw(DECLARATION)
            .raw("<S:editor-report xmlns:S=\"svn:\">\n<S:target-revision")
            .rev_attribute("rev", Some(rev))
            .raw("/>\n");
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.out()
            .raw("<S:open-root")
            .rev_attribute("rev", base)
            .raw("/>\n");
        Ok(DirToken(self.token()))
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, _parent: DirToken) -> Result<()> {
        self.opened("<S:delete-entry", path, rev).map(drop)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.added("<S:add-directory", path, copyfrom).map(DirToken)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        base: Option<Revnum>,
    ) -> Result<DirToken> {
        self.opened("<S:open-directory", path, base).map(DirToken)
    }

    fn change_dir_prop(&mut self, _dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.prop("S:change-dir-prop", name, value)
    }

    fn close_directory(&mut self, _dir: DirToken) -> Result<()> {
        self.out().raw("<S:close-directory/>\n");
        self.outlet.checkpoint()
    }

    fn absent_directory(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        unsupported()
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.added("<S:add-file", path, copyfrom).map(FileToken)
    }

    fn open_file(&mut self, path: &RelPath, _parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.opened("<S:open-file", path, base).map(FileToken)
    }

    fn apply_textdelta(&mut self, _file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        let mut out = self.out();
        out.raw("<S:apply-textdelta");
        if let Some(md5) = base_md5 {
            out.raw(" checksum=\"").hex(&md5.0).raw("\"");
        }
        out.raw(">");
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.text.version())
    }

    fn window_form(&self) -> Option<WindowForm> {
        Some(WindowForm::new(self.text.version(), self.text.level()))
    }

    fn text_chunk(&mut self, _file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.text.chunk(chunk, self.codec, self.outlet.buffer())?;
        self.outlet.checkpoint()
    }

    fn text_end(&mut self, _file: FileToken) -> Result<()> {
        self.text.end(self.outlet.buffer());
        self.out().raw("</S:apply-textdelta>\n");
        self.outlet.checkpoint()
    }

    fn change_file_prop(&mut self, _file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.prop("S:change-file-prop", name, value)
    }

    fn close_file(&mut self, _file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let mut out = self.out();
        out.raw("<S:close-file");
        if let Some(md5) = text_md5 {
            out.raw(" checksum=\"").hex(&md5.0).raw("\"");
        }
        out.raw("/>\n");
        self.outlet.checkpoint()
    }

    fn absent_file(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        unsupported()
    }

    fn close_edit(&mut self) -> Result<()> {
        self.out().raw("</S:editor-report>\n");
        Ok(())
    }

    fn abort_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(inner: &str, of: Option<Revnum>) -> std::result::Result<ReplayReport, Refusal> {
        let text = format!("<S:replay-report xmlns:S=\"svn:\">{inner}</S:replay-report>");
        ReplayReport::parse(
            &Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed"),
            of,
        )
    }

    #[test]
    fn the_revision_is_said_once() {
        let mark = "<S:low-water-mark>0</S:low-water-mark>";
        let four = format!("<S:revision>4</S:revision>{mark}");
        assert_eq!(parse(mark, Some(Revnum(3))).expect("complete").rev, Revnum(3));
        assert_eq!(parse(&four, None).expect("complete").rev, Revnum(4));
        assert!(parse(&four, Some(Revnum(4))).is_err());
        assert!(parse(mark, None).is_err());
        assert!(parse("", Some(Revnum(4))).is_err());
        let deltas = |word| format!("{mark}<S:send-deltas>{word}</S:send-deltas>");
        assert!(
            !parse(&deltas("0"), Some(Revnum(4)))
                .expect("complete")
                .send_deltas
        );
        assert!(parse(&deltas("x"), Some(Revnum(4))).is_err());
    }

    #[test]
    fn a_revision_is_told_as_the_incumbent_tells_it() -> Result<()> {
        let path = |text| RelPath::parse(text).expect("a path");
        let (mut out, mut codec) = (Vec::new(), Codec::default());
        let mut editor = ReplayEditor::new(&mut out, 0, 0, &mut codec);
        editor.set_target_revision(Revnum(4))?;
        let root = editor.open_root(None)?;
        let trunk = editor.open_directory(&path("trunk"), root, None)?;
        let from = CopyFrom {
            path: "/trunk/A/B",
            rev: Revnum(3),
        };
        let copy = editor.add_directory(&path("trunk/B2"), trunk, Some(from))?;
        editor.change_dir_prop(copy, "x", Some(b"y"))?;
        editor.close_directory(copy)?;
        editor.delete_entry(&path("trunk/gamma"), None, trunk)?;
        let file = editor.open_file(&path("trunk/mu"), trunk, None)?;
        editor.change_file_prop(file, "color", None)?;
        editor.apply_textdelta(file, Some(&Md5([0x11; 16])))?;
        editor.text_end(file)?;
        editor.close_file(file, Some(&Md5([0x22; 16])))?;
        editor.close_directory(trunk)?;
        editor.close_directory(root)?;
        editor.close_edit()?;
        let (ones, twos) = ("11".repeat(16), "22".repeat(16));
        let expected = format!(
            r#"<?xml version="1.0" encoding="utf-8"?>
<S:editor-report xmlns:S="svn:">
<S:target-revision rev="4"/>
<S:open-root rev="-1"/>
<S:open-directory name="trunk" rev="-1"/>
<S:add-directory name="trunk/B2" copyfrom-path="/trunk/A/B" copyfrom-rev="3"/>
<S:change-dir-prop name="x">eQ==
</S:change-dir-prop>
<S:close-directory/>
<S:delete-entry name="trunk/gamma" rev="-1"/>
<S:open-file name="trunk/mu" rev="-1"/>
<S:change-file-prop name="color" del="true"/>
<S:apply-textdelta checksum="{ones}">U1ZOAA==</S:apply-textdelta>
<S:close-file checksum="{twos}"/>
<S:close-directory/>
<S:close-directory/>
</S:editor-report>
"#
        );
        assert_eq!(String::from_utf8_lossy(&out), expected);
        Ok(())
    }
}
