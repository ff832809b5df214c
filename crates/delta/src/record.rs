//! An editor for tests and trials that records every call.
//!
//! It is also a strict consumer: it applies the windows and checks their digests, and it refuses calls out of order,
//! so a driver that passes is correct.

use std::collections::BTreeMap;

use base::checksum::Md5;
use base::{Code, Error, RelPath, Result, Revnum};

use crate::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use crate::svndiff::{Codec, DEFAULT_LEVEL};

/// Records every call as a line: the call's name with dashes, the path (`.` for the root), the rest.
///
/// ```text
/// open-root 3
/// add-file trunk/a from /branches/b@2
/// text trunk/a base 0 -> 14 bytes in 1 window, 746308829575e17c3331bbcb00c0898b
/// file-prop trunk/a svn:eol-style = "native"
/// close-file trunk/a 746308829575e17c3331bbcb00c0898b
/// ```
#[derive(Default)]
pub struct RecordingEditor {
    lines: Vec<String>,
    texts: BTreeMap<String, Vec<u8>>,
    bases: BTreeMap<String, Vec<u8>>,
    accepted: EncodedVersions,
    dirs: Vec<Node>,
    files: Vec<Node>,
    encoded_windows: usize,
    codec: Codec,
    ended: bool,
}

struct Node {
    path: String,
    open: bool,
    parent: Option<usize>,
    /// The number of its open directories, which must be closed first.
    open_dirs: usize,
    text: Option<Text>,
}

struct Text {
    base: Vec<u8>,
    target: Vec<u8>,
    windows: usize,
    ended: bool,
}

impl RecordingEditor {
    /// Starts with no calls; takes decoded windows only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes stored windows of these versions too.
    pub fn accepting(mut self, versions: EncodedVersions) -> Self {
        self.accepted = versions;
        self
    }

    /// Sets the text that the receiver has at `path`, for deltas against it. Otherwise it is empty.
    pub fn with_base(mut self, path: &str, text: &[u8]) -> Self {
        self.bases.insert(path.to_owned(), text.to_vec());
        self
    }

    /// The calls so far.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns the calls so far, one per line.
    pub fn transcript(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// The texts made so far, by path.
    pub fn texts(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.texts
    }

    /// Returns the number of windows that came as they are stored.
    pub fn encoded_windows(&self) -> usize {
        self.encoded_windows
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn open_dir(&mut self, path: &str, parent: Option<DirToken>) -> Result<DirToken> {
        if self.ended {
            return Err(misuse("call after the end of the edit"));
        }
        let parent = match parent {
            Some(parent) => {
                self.dir(parent)?.open_dirs += 1;
                Some(parent.0 as usize)
            }
            None => None,
        };
        self.dirs.push(Node::new(path, parent));
        Ok(DirToken(self.dirs.len() as u32 - 1))
    }

    fn open_file_at(&mut self, path: &str, parent: DirToken) -> Result<FileToken> {
        self.child(path, parent)?;
        self.files.push(Node::new(path, Some(parent.0 as usize)));
        Ok(FileToken(self.files.len() as u32 - 1))
    }

    /// Checks that `path` is directly below the open directory `parent`.
    fn child(&mut self, path: &str, parent: DirToken) -> Result<()> {
        let dir = self.dir(parent)?;
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        if path.is_empty() || above != dir.path {
            return Err(misuse(&format!("'{path}' is not in '{}'", dir.path)));
        }
        Ok(())
    }

    fn dir(&mut self, token: DirToken) -> Result<&mut Node> {
        let dir = self.dirs.get_mut(token.0 as usize).filter(|dir| dir.open);
        dir.ok_or_else(|| misuse("directory that is not open"))
    }

    fn file(&mut self, token: FileToken) -> Result<&mut Node> {
        let file = self.files.get_mut(token.0 as usize).filter(|file| file.open);
        file.ok_or_else(|| misuse("file that is not open"))
    }

    fn text(&mut self, token: FileToken) -> Result<&mut Text> {
        let text = self.file(token)?.text.as_mut().filter(|text| !text.ended);
        text.ok_or_else(|| misuse("window of no text"))
    }
}

impl Node {
    fn new(path: &str, parent: Option<usize>) -> Self {
        Node {
            path: path.to_owned(),
            open: true,
            parent,
            open_dirs: 0,
            text: None,
        }
    }
}

impl Editor for RecordingEditor {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.line(format!("set-target-revision {rev}"));
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        if !self.dirs.is_empty() {
            return Err(misuse("root opened twice"));
        }
        self.line(format!("open-root {}", shown_rev(base)));
        self.open_dir("", None)
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.child(path.as_str(), parent)?;
        self.line(format!(
            "delete-entry {} {}",
            shown(path.as_str()),
            shown_rev(rev)
        ));
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.child(path.as_str(), parent)?;
        self.line(format!(
            "add-directory {}{}",
            shown(path.as_str()),
            shown_copy(copyfrom)
        ));
        self.open_dir(path.as_str(), Some(parent))
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.child(path.as_str(), parent)?;
        self.line(format!(
            "open-directory {} {}",
            shown(path.as_str()),
            shown_rev(base)
        ));
        self.open_dir(path.as_str(), Some(parent))
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let path = self.dir(dir)?.path.clone();
        self.line(format!("dir-prop {} {name}{}", shown(&path), shown_value(value)));
        Ok(())
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        let node = self.dir(dir)?;
        if node.open_dirs > 0 {
            return Err(misuse("directory closed before those in it"));
        }
        node.open = false;
        let (path, parent) = (node.path.clone(), node.parent);
        if let Some(parent) = parent {
            self.dirs[parent].open_dirs -= 1;
        }
        self.line(format!("close-directory {}", shown(&path)));
        Ok(())
    }

    fn absent_directory(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.child(path.as_str(), parent)?;
        self.line(format!("absent-directory {}", shown(path.as_str())));
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let file = self.open_file_at(path.as_str(), parent)?;
        self.line(format!(
            "add-file {}{}",
            shown(path.as_str()),
            shown_copy(copyfrom)
        ));
        Ok(file)
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        let file = self.open_file_at(path.as_str(), parent)?;
        self.line(format!("open-file {} {}", shown(path.as_str()), shown_rev(base)));
        Ok(file)
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        let path = self.file(file)?.path.clone();
        let base = self.bases.get(&path).cloned().unwrap_or_default();
        let found = Md5::of(&base);
        if base_md5.is_some_and(|expected| !expected.matches(&found)) {
            return Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!("the base of '{path}' is {found}"),
            ));
        }
        let node = self.file(file)?;
        if node.text.is_some() {
            return Err(misuse("second text of a file"));
        }
        node.text = Some(Text {
            base,
            target: Vec::new(),
            windows: 0,
            ended: false,
        });
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        self.accepted
    }

    /// Writes in the newest version that it takes.
    fn window_form(&self) -> Option<WindowForm> {
        let version = (0..=2).rev().find(|version| self.accepted.contains(*version))?;
        Some(WindowForm::new(version, DEFAULT_LEVEL))
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let mut codec = std::mem::take(&mut self.codec);
        let accepted = self.accepted;
        let text = self.text(file)?;
        text.windows += 1;
        let (offset, len) = match chunk {
            TextChunk::Decoded(window) => (window.source_offset, window.source_len),
            TextChunk::Encoded(window) => (window.source_offset, window.source_len),
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.base.len());
        let end = start.saturating_add(len as usize).min(text.base.len());
        let view = &text.base[start..end];
        match chunk {
            TextChunk::Decoded(window) => window.apply(view, &mut text.target)?,
            TextChunk::Encoded(window) if accepted.contains(window.version) => {
                window.apply(view, &mut text.target, &mut codec)?;
                self.encoded_windows += 1;
            }
            TextChunk::Encoded(_) => return Err(misuse("stored window of a version not accepted")),
        }
        self.codec = codec;
        Ok(())
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        let text = self.text(file)?;
        text.ended = true;
        let (windows, base, target) = (text.windows, text.base.len(), text.target.clone());
        let path = self.file(file)?.path.clone();
        let plural = if windows == 1 { "window" } else { "windows" };
        self.line(format!(
            "text {} base {base} -> {} bytes in {windows} {plural}, {}",
            shown(&path),
            target.len(),
            Md5::of(&target)
        ));
        self.texts.insert(path, target);
        Ok(())
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let path = self.file(file)?.path.clone();
        self.line(format!("file-prop {} {name}{}", shown(&path), shown_value(value)));
        Ok(())
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let node = self.file(file)?;
        node.open = false;
        let path = node.path.clone();
        if let (Some(expected), Some(text)) = (text_md5, &node.text)
            && text.windows > 0
            && !expected.matches(&Md5::of(&text.target))
        {
            return Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!("the text of '{path}' is not {expected}"),
            ));
        }
        let digest = text_md5.map_or("-".to_owned(), Md5::to_string);
        self.line(format!("close-file {} {digest}", shown(&path)));
        Ok(())
    }

    fn absent_file(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.child(path.as_str(), parent)?;
        self.line(format!("absent-file {}", shown(path.as_str())));
        Ok(())
    }

    fn close_edit(&mut self) -> Result<()> {
        if self.dirs.iter().chain(&self.files).any(|node| node.open) {
            return Err(misuse("edit closed before all that is in it"));
        }
        self.ended = true;
        self.line("close-edit".to_owned());
        Ok(())
    }

    fn abort_edit(&mut self) -> Result<()> {
        self.ended = true;
        self.line("abort-edit".to_owned());
        Ok(())
    }
}

fn misuse(what: &str) -> Error {
    Error::new(Code::ASSERTION_FAIL, format!("editor misused: {what}"))
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn shown_rev(rev: Option<Revnum>) -> String {
    rev.map_or("-".to_owned(), |rev| rev.to_string())
}

fn shown_copy(copyfrom: Option<CopyFrom<'_>>) -> String {
    copyfrom.map_or(String::new(), |from| format!(" from {}@{}", from.path, from.rev))
}

fn shown_value(value: Option<&[u8]>) -> String {
    value.map_or(" deleted".to_owned(), |value| {
        format!(" = \"{}\"", value.escape_ascii())
    })
}
