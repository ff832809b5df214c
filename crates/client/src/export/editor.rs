//! The editor of an export: receives a tree that is only added to, and writes it to disk.
//!
//! Directories are made at once. Complete files are gathered for a short while ([`ReadyNodes`]).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use base::checksum::Md5;
use base::keywords::KEYWORDS;
use base::{Code, Error, RelPath, Result, Revnum, Url, disk_path, props};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::Codec;
use ra::{FileRequest, Session};

use super::node::{IN_MEMORY, found_at, make_directory};
use super::ready::{FileContent, OpenFile, ReadyNodes};
use super::{ExportEvent, ExportOptions, Notify};
use crate::externals::EXTERNALS;
use crate::translate::{EOL_STYLE, EXECUTABLE, SPECIAL};

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
    /// Directories were made, and files are complete: [`ReadyNodes::write`] writes them.
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()>;
}

impl<S: EditSink> EditSink for &mut S {
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()> {
        (**self).nodes(nodes)
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
    next: u32,
    codec: Codec,
    text: Vec<u8>,
    /// The directories with the property `svn:externals`.
    pub externals: BTreeMap<RelPath, Vec<u8>>,
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
const MOST_OPEN_BYTES: usize = 16 << 20;

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

    /// Hands the nodes to the sink, if they are many.
    fn write_if_enough(&mut self) -> Result<()> {
        match self.ready.len() >= MOST_READY || self.ready.bytes() >= MOST_READY_BYTES {
            true => self.write_ready(),
            false => Ok(()),
        }
    }

    /// Hands the directories and the complete files to the sink.
    pub(super) fn write_ready(&mut self) -> Result<()> {
        match std::mem::take(&mut self.ready) {
            ready if ready.len() == 0 => Ok(()),
            ready => self.sink.nodes(ready),
        }
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
        self.ready.push_directory(path.clone(), target.clone());
        self.write_if_enough()?;
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

    fn text_chunk(&mut self, token: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.at.options.cancel.check()?;
        let received = match chunk {
            TextChunk::Decoded(window) => window.target_len as usize,
            TextChunk::Encoded(window) => window.target_len as usize,
        };
        let in_memory = match self.open_bytes + received <= MOST_OPEN_BYTES {
            true => IN_MEMORY,
            false => 0,
        };
        let mut text = std::mem::take(&mut self.text);
        let mut codec = std::mem::take(&mut self.codec);
        let file = self.file(token)?;
        let before = file.content.text.held();
        let is_held = match chunk {
            TextChunk::Encoded(window) => file.content.text.push_window(window, in_memory),
            TextChunk::Decoded(_) => false,
        };
        if !is_held {
            text.clear();
            match chunk {
                TextChunk::Decoded(window) => window.apply(&[], &mut text)?,
                TextChunk::Encoded(window) => window.apply(&[], &mut text, &mut codec)?,
            }
            file.content.text.expand(&mut codec)?;
            file.content.push(&file.target, &text, in_memory)?;
        }
        let after = file.content.text.held();
        self.open_bytes = self.open_bytes + after - before;
        (self.text, self.codec) = (text, codec);
        let received = u64::try_from(received).unwrap_or(u64::MAX);
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
        let file = self.files.remove(&file.0).ok_or_else(misuse)?;
        self.open_bytes -= file.content.text.held();
        self.ready.push_file(file, text_md5.copied());
        self.write_if_enough()
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

/// Exports the file at the session's URL. `name` is its name in a target that is a directory.
pub(super) fn export_file(
    mut session: Box<dyn Session>,
    rev: Revnum,
    (target, name): (&Path, &str),
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
) -> Result<()> {
    let url = session.url().clone();
    let target = match target.is_dir() || target.as_os_str().is_empty() {
        true => target.join((options.file_name)(name, target)?),
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
            disk_path::shown(target)
        ),
        Some(_) if !force => format!(
            "Destination file '{}' exists, and will not be overwritten unless forced",
            disk_path::shown(target)
        ),
        _ => return Ok(()),
    };
    Err(Error::new(Code::ILLEGAL_TARGET, message))
}
