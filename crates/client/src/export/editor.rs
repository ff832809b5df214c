//! The editor of an export: receives a tree that is only added to, and writes it to disk.
//!
//! Directories are made at once. Complete files are gathered for a short while: their digests are computed side by side, and their events are
//! sent together.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use base::checksum::{Md5, Md5Stream, md5_many};
use base::keywords::{FileFacts, KEYWORDS};
use base::{Code, Date, Error, Props, RelPath, Result, Revnum, Url, props};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::Codec;
use ra::{FileRequest, Session};

use super::node::{FileForm, IN_MEMORY, TextBuffer, found_at, make_directory};
use super::{ExportEvent, ExportOptions, Notify};
use crate::externals::EXTERNALS;
use crate::translate::{EOL_STYLE, EXECUTABLE, SPECIAL, Translation};

/// Where the nodes of an edit are: in the repository and on disk.
pub(super) struct TreeAt<'a> {
    /// The repository's root.
    pub root_url: &'a Url,
    /// The URL of the edit's root.
    pub url: Url,
    /// The directory of the edit's root, which exists.
    pub target: &'a Path,
    pub options: &'a ExportOptions<'a>,
}

/// Receives what an edit does.
pub(super) trait EditSink {
    /// Directories were made, and files are complete: [`ReadyFile::write`] writes them, in this order.
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()>;
}

impl<S: EditSink> EditSink for &mut S {
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()> {
        (**self).nodes(nodes)
    }
}

/// Nodes of an edit, in its order.
#[derive(Default)]
pub(super) struct ReadyNodes(Vec<ReadyNode>);

/// A directory that was made, or a complete file that is not on disk yet.
pub(super) enum ReadyNode {
    Directory(RelPath, PathBuf),
    File(Box<ReadyFile>),
}

/// A complete file.
pub(super) struct ReadyFile {
    file: OpenFile,
    /// The digest that it should have.
    expected: Option<Md5>,
    digest: Option<Md5>,
}

impl ReadyNodes {
    /// Returns the nodes. The digests of texts in memory are computed side by side.
    pub(super) fn digested(mut self) -> impl Iterator<Item = ReadyNode> {
        let mut digests = {
            let texts: Vec<&[u8]> = self.0.iter().filter_map(ReadyNode::undigested).collect();
            md5_many(&texts).into_iter()
        };
        for node in &mut self.0 {
            if node.undigested().is_some()
                && let ReadyNode::File(file) = node
            {
                file.digest = digests.next();
            }
        }
        self.0.into_iter()
    }
}

impl ReadyNode {
    /// Returns the text of a file whose digest is needed and not known.
    fn undigested(&self) -> Option<&[u8]> {
        match self {
            ReadyNode::File(ready) if ready.expected.is_some() && ready.digest.is_none() => {
                Some(ready.file.content.text.in_memory())
            }
            _ => None,
        }
    }
}

impl ReadyFile {
    /// Writes the file, and returns its path.
    pub(super) fn write(self, at: &TreeAt<'_>) -> Result<PathBuf> {
        let OpenFile {
            path,
            target,
            content,
        } = self.file;
        if let Some(expected) = self.expected {
            check_digest(&target, &expected, self.digest)?;
        }
        content.finish(at, &path, &target)?;
        Ok(target)
    }
}

/// Receives a tree: makes its directories, and hands its files to the sink.
pub(super) struct ExportEditor<'a, S> {
    pub at: &'a TreeAt<'a>,
    sink: S,
    directories: HashMap<u32, (RelPath, PathBuf)>,
    files: HashMap<u32, OpenFile>,
    /// The bytes of the texts of open files that are in memory.
    open_bytes: usize,
    ready: ReadyNodes,
    /// The bytes of their texts that are in memory.
    ready_bytes: usize,
    next: u32,
    codec: Codec,
    text: Vec<u8>,
    /// The directories with the property `svn:externals`.
    pub externals: BTreeMap<RelPath, Vec<u8>>,
}

struct OpenFile {
    path: RelPath,
    target: PathBuf,
    content: FileContent,
}

/// What is known of a file before it is written.
#[derive(Default)]
struct FileContent {
    props: Props,
    text: TextBuffer,
    /// The digest, once a part of the text is not in memory any more.
    digest: Option<Md5Stream>,
}

impl FileContent {
    /// Appends to the text of the file that will be at `target`. At most `in_memory` bytes are held.
    fn push(&mut self, target: &Path, bytes: &[u8], in_memory: usize) -> Result<()> {
        let held = self.text.in_memory();
        if self.digest.is_none() && held.len() + bytes.len() > in_memory {
            self.digest.insert(Md5Stream::new()).update(held);
        }
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.text.push(target, bytes, in_memory)
    }

    /// Writes the file, which is at `path` below the edit's root.
    fn finish(self, at: &TreeAt<'_>, path: &RelPath, target: &Path) -> Result<()> {
        let date = self.text_of(props::ENTRY_COMMITTED_DATE);
        let date = date.and_then(|date| Date::parse(date.as_bytes()).ok());
        let special = self.props.contains_key(SPECIAL);
        let form = FileForm {
            special,
            executable: self.props.contains_key(EXECUTABLE),
            translation: match special {
                true => None,
                false => self.translation(at, path, date),
            },
            date: date.filter(|_| !special),
        };
        self.text.finish(target, form)
    }

    fn text_of(&self, name: &str) -> Option<Cow<'_, str>> {
        self.props.get(name).map(|value| String::from_utf8_lossy(value))
    }

    /// Returns the conversion of the text. The values of keywords are only made for files that have any.
    fn translation(&self, at: &TreeAt<'_>, path: &RelPath, date: Option<Date>) -> Option<Translation> {
        let options = at.options;
        if options.ignore_keywords || !self.props.contains_key(KEYWORDS) {
            return Translation::new(&self.props, options.native_line_end, None);
        }
        let url = at.url.join(path);
        let repos_path = url.relative_to(at.root_url).unwrap_or_else(RelPath::empty);
        let rev = self.text_of(props::ENTRY_COMMITTED_REV);
        let facts = FileFacts {
            rev: rev.and_then(|rev| rev.parse().ok()).map_or(Revnum(0), Revnum),
            author: &self.text_of(props::ENTRY_LAST_AUTHOR).unwrap_or_default(),
            date,
            long_date: &date.map_or(String::new(), options.long_date),
            url: url.as_str(),
            root_url: at.root_url.as_str(),
            path: repos_path.as_str(),
        };
        Translation::new(&self.props, options.native_line_end, Some(&facts))
    }
}

/// The properties of files that an export reads. Others are not held.
const READ_PROPS: [&str; 7] = [
    EOL_STYLE,
    EXECUTABLE,
    KEYWORDS,
    SPECIAL,
    props::ENTRY_COMMITTED_DATE,
    props::ENTRY_COMMITTED_REV,
    props::ENTRY_LAST_AUTHOR,
];

/// Open files: more than any server needs.
const MOST_OPEN_FILES: usize = 4096;

/// Bytes of the texts of open files that are in memory. A server may open many files before it sends any text.
const MOST_OPEN_BYTES: usize = 16 * IN_MEMORY;

/// Nodes that are gathered before they are written.
const MOST_READY: usize = 64;

/// Bytes of complete texts that are held.
const MOST_READY_BYTES: usize = 2 << 20;

impl<'a, S: EditSink> ExportEditor<'a, S> {
    pub(super) fn new(at: &'a TreeAt<'a>, sink: S) -> Self {
        ExportEditor {
            at,
            sink,
            directories: HashMap::new(),
            files: HashMap::new(),
            open_bytes: 0,
            ready: ReadyNodes::default(),
            ready_bytes: 0,
            next: 0,
            codec: Codec::new(),
            text: Vec::new(),
            externals: BTreeMap::new(),
        }
    }

    fn token(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Returns the path on disk of a new node.
    fn target(&self, path: &RelPath, parent: DirToken) -> Result<PathBuf> {
        self.at.options.cancel.check()?;
        let (directory, target) = self.directories.get(&parent.0).ok_or_else(misuse)?;
        if path.parent().as_ref() != Some(directory) {
            return Err(misuse());
        }
        let name = (self.at.options.file_name)(path.basename(), target)?;
        Ok(target.join(name))
    }

    fn file(&mut self, token: FileToken) -> Result<&mut OpenFile> {
        self.files.get_mut(&token.0).ok_or_else(misuse)
    }

    fn add_ready(&mut self, node: ReadyNode) -> Result<()> {
        self.ready.0.push(node);
        match self.ready.0.len() >= MOST_READY || self.ready_bytes >= MOST_READY_BYTES {
            true => self.write_ready(),
            false => Ok(()),
        }
    }

    /// Hands the directories and the complete files to the sink.
    pub(super) fn write_ready(&mut self) -> Result<()> {
        self.ready_bytes = 0;
        match std::mem::take(&mut self.ready) {
            ready if ready.0.is_empty() => Ok(()),
            ready => self.sink.nodes(ready),
        }
    }
}

/// # Errors
/// `CHECKSUM_MISMATCH`.
fn check_digest(target: &Path, expected: &Md5, actual: Option<Md5>) -> Result<()> {
    match actual {
        Some(actual) if !expected.matches(&actual) => {
            let message = format!(
                "Checksum mismatch for '{}':\n   expected:  {expected}\n     actual:  {actual}\n",
                target.display()
            );
            Err(Error::new(Code::CHECKSUM_MISMATCH, message))
        }
        _ => Ok(()),
    }
}

impl<S: EditSink> Editor for ExportEditor<'_, S> {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        let token = self.token();
        let root = (RelPath::empty(), self.at.target.to_owned());
        self.directories.insert(token, root);
        Ok(DirToken(token))
    }

    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: DirToken) -> Result<()> {
        Err(misuse())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        _: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let target = self.target(path, parent)?;
        if let Err(error) = make_directory(&target, self.at.options.force) {
            // The first error counts.
            self.write_ready()?;
            return Err(error);
        }
        self.add_ready(ReadyNode::Directory(path.clone(), target.clone()))?;
        let token = self.token();
        self.directories.insert(token, (path.clone(), target));
        Ok(DirToken(token))
    }

    fn open_directory(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        Err(misuse())
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let (path, _) = self.directories.get(&dir.0).ok_or_else(misuse)?;
        if name == EXTERNALS
            && let Some(value) = value
        {
            self.externals.insert(path.clone(), value.to_vec());
        }
        Ok(())
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.directories.remove(&dir.0).map(drop).ok_or_else(misuse)
    }

    fn add_file(&mut self, path: &RelPath, parent: DirToken, _: Option<CopyFrom<'_>>) -> Result<FileToken> {
        if self.files.len() >= MOST_OPEN_FILES {
            return Err(misuse());
        }
        let file = OpenFile {
            path: path.clone(),
            target: self.target(path, parent)?,
            content: FileContent::default(),
        };
        let token = self.token();
        self.files.insert(token, file);
        Ok(FileToken(token))
    }

    fn open_file(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        Err(misuse())
    }

    fn takes_late_texts(&self) -> bool {
        true
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        match chunk {
            TextChunk::Decoded(window) => window.apply(&[], &mut text)?,
            TextChunk::Encoded(window) => window.apply(&[], &mut text, &mut self.codec)?,
        }
        self.at.options.cancel.check()?;
        let in_memory = match self.open_bytes + text.len() <= MOST_OPEN_BYTES {
            true => IN_MEMORY,
            false => 0,
        };
        let file = self.file(file)?;
        let received = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let before = file.content.text.in_memory().len();
        file.content.push(&file.target, &text, in_memory)?;
        let after = file.content.text.in_memory().len();
        self.open_bytes = self.open_bytes + after - before;
        self.text = text;
        self.at.options.received.fetch_add(received, Ordering::Relaxed);
        Ok(())
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        if let Some(value) = value.filter(|_| READ_PROPS.contains(&name)) {
            let props = &mut self.file(file)?.content.props;
            props.insert(name.to_owned(), value.to_vec());
        }
        Ok(())
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let mut file = self.files.remove(&file.0).ok_or_else(misuse)?;
        let held = file.content.text.in_memory().len();
        self.open_bytes -= held;
        self.ready_bytes += held;
        let digest = file.content.digest.take().map(Md5Stream::finish);
        self.add_ready(ReadyNode::File(Box::new(ReadyFile {
            file,
            expected: text_md5.copied(),
            digest,
        })))
    }

    fn close_edit(&mut self) -> Result<()> {
        self.write_ready()
    }
}

/// The error for a server that sends anything but additions, or calls in an impossible order.
fn misuse() -> Error {
    let message = "The server sent an edit that is not an addition of a tree";
    Error::new(Code::RA_SVN_MALFORMED_DATA, message)
}

/// Exports the file at the session's URL.
pub(super) fn export_file(
    mut session: Box<dyn Session>,
    rev: Revnum,
    target: &Path,
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
) -> Result<()> {
    let url = session.url().clone();
    let target = match target.is_dir() || target.as_os_str().is_empty() {
        true => target.join((options.file_name)(&url.basename(), target)?),
        false => target.to_owned(),
    };
    check_file_target(&target, options.force)?;
    let mut content = FileContent::default();
    let (path, request_path) = (target.clone(), RelPath::empty());
    let request = FileRequest {
        path: &request_path,
        rev: Some(rev),
        props: true,
        text: true,
    };
    let info = session.file(&request, &mut |_, piece| {
        options.cancel.check()?;
        let received = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        options.received.fetch_add(received, Ordering::Relaxed);
        content.text.push(&path, piece, IN_MEMORY)
    })?;
    content.props = info.props;
    let root_url = session.root_url().clone();
    let at = TreeAt {
        root_url: &root_url,
        url,
        target: &target,
        options,
    };
    content.finish(&at, &request_path, &target)?;
    notify(ExportEvent::Added(&target))
}

fn check_file_target(target: &Path, force: bool) -> Result<()> {
    let message = match found_at(target)? {
        Some(found) if found.is_dir() => format!(
            "Destination '{}' exists. Cannot overwrite directory with non-directory",
            target.display()
        ),
        Some(_) if !force => format!(
            "Destination file '{}' exists, and will not be overwritten unless forced",
            target.display()
        ),
        _ => return Ok(()),
    };
    Err(Error::new(Code::ILLEGAL_TARGET, message))
}
