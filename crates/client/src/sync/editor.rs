//! Passes the edit of a revision of the source on to the commit to the mirror.
//!
//! Sources of copies become URLs of the mirror, values of `svn:` properties are normalised, merge info is repaired, and properties that
//! are no repository's are left out.

use base::checksum::Md5;
use base::{FsPath, RelPath, Result, Revnum, Url, props};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};

use super::mergeinfo;
use super::normalize::PropEncoding;

/// The editor that the source's revision drives.
pub struct MirrorEditor<'a> {
    commit: &'a mut dyn Editor,
    root: &'a Url,
    encoding: PropEncoding<'a>,
    /// Is called at the beginning of each text.
    text_begins: &'a mut dyn FnMut() -> Result<()>,
    has_root: bool,
    /// How many values got other line ends.
    pub normalized: u64,
    /// Merge info was repaired.
    pub has_other_mergeinfo: bool,
}

impl<'a> MirrorEditor<'a> {
    /// Passes calls on to `commit`, which is rooted at `root`.
    pub fn new(
        commit: &'a mut dyn Editor,
        root: &'a Url,
        encoding: PropEncoding<'a>,
        text_begins: &'a mut dyn FnMut() -> Result<()>,
    ) -> MirrorEditor<'a> {
        MirrorEditor {
            commit,
            root,
            encoding,
            text_begins,
            has_root: false,
            normalized: 0,
            has_other_mergeinfo: false,
        }
    }

    /// Completes the edit of `rev`: one without changes has a root too.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn finish(&mut self, rev: Revnum) -> Result<()> {
        if self.has_root {
            return Ok(());
        }
        let root = self.commit.open_root(rev.0.checked_sub(1).map(Revnum))?;
        self.commit.close_directory(root)
    }

    /// Returns the URL in the mirror of a path in the source.
    fn url(&self, path: &str) -> Result<String> {
        let path = FsPath::canonicalize(path)?;
        Ok(self.root.join(&path.to_rel()).as_str().to_owned())
    }

    /// Returns the value to set; `None` for a property that is left out.
    fn value<'v>(
        &mut self,
        name: &str,
        value: Option<&'v [u8]>,
    ) -> Result<Option<Option<std::borrow::Cow<'v, [u8]>>>> {
        if !props::is_regular(name) {
            return Ok(None);
        }
        let Some(value) = value else {
            return Ok(Some(None));
        };
        let (value, is_changed) = self.encoding.normalize(name, value)?;
        self.normalized += u64::from(is_changed);
        if name != props::MERGEINFO {
            return Ok(Some(Some(value)));
        }
        let repaired = mergeinfo::without_revision_zero(&value)?;
        self.has_other_mergeinfo |= *repaired != *value;
        Ok(Some(Some(repaired.into())))
    }
}

impl Editor for MirrorEditor<'_> {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.has_root = true;
        self.commit.open_root(base)
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.commit.delete_entry(path, rev, parent)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let Some(from) = copyfrom else {
            return self.commit.add_directory(path, parent, None);
        };
        let source = self.url(from.path)?;
        let from = CopyFrom {
            path: &source,
            rev: from.rev,
        };
        self.commit.add_directory(path, parent, Some(from))
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.commit.open_directory(path, parent, base)
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        match self.value(name, value)? {
            Some(value) => self.commit.change_dir_prop(dir, name, value.as_deref()),
            None => Ok(()),
        }
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.commit.close_directory(dir)
    }

    fn absent_directory(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.commit.absent_directory(path, parent)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let Some(from) = copyfrom else {
            return self.commit.add_file(path, parent, None);
        };
        let source = self.url(from.path)?;
        let from = CopyFrom {
            path: &source,
            rev: from.rev,
        };
        self.commit.add_file(path, parent, Some(from))
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.commit.open_file(path, parent, base)
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        (self.text_begins)()?;
        self.commit.apply_textdelta(file, base_md5)
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        self.commit.accepts_encoded()
    }

    fn window_form(&self) -> Option<WindowForm> {
        self.commit.window_form()
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.commit.text_chunk(file, chunk)
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        self.commit.text_end(file)
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        match self.value(name, value)? {
            Some(value) => self.commit.change_file_prop(file, name, value.as_deref()),
            None => Ok(()),
        }
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        self.commit.close_file(file, text_md5)
    }

    fn absent_file(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.commit.absent_file(path, parent)
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}
