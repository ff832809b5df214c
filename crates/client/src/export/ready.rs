//! The files of an edit while they arrive, and the groups of complete ones that are expanded, checked and written together, maybe by another
//! thread than the one that receives.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use base::checksum::{Md5, Md5Stream, md5_many};
use base::keywords::{FileFacts, KEYWORDS};
use base::{Code, Date, Error, Props, RelPath, Result, Revnum, disk_path, props};
use delta::svndiff::Codec;

use super::editor::TreeAt;
use super::node::{FileForm, TextBuffer};
use crate::translate::{EXECUTABLE, SPECIAL, Translation};

/// A file that is not complete.
pub(super) struct OpenFile {
    /// Its path below the edit's root.
    pub path: RelPath,
    /// Its path on disk.
    pub target: PathBuf,
    pub content: FileContent,
}

/// What is known of a file before it is written.
#[derive(Default)]
pub(super) struct FileContent {
    pub props: Props,
    pub text: TextBuffer,
    /// The digest, once a part of the text is not in memory any more.
    pub digest: Option<Md5Stream>,
}

impl FileContent {
    /// Appends to the text of the file that will be at `target`. At most `in_memory` bytes are held.
    pub(super) fn push(&mut self, target: &Path, bytes: &[u8], in_memory: usize) -> Result<()> {
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
    pub(super) fn finish(self, at: &TreeAt<'_>, path: &RelPath, target: &Path) -> Result<()> {
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

/// Nodes of an edit, in its order.
#[derive(Default)]
pub(super) struct ReadyNodes {
    nodes: Vec<ReadyNode>,
    /// The bytes of their texts that are in memory.
    bytes: usize,
}

/// A directory that was made, or a complete file that is not on disk yet.
enum ReadyNode {
    Directory(RelPath, PathBuf),
    File(Box<ReadyFile>),
}

/// A complete file.
struct ReadyFile {
    file: OpenFile,
    /// The digest that it should have.
    expected: Option<Md5>,
    digest: Option<Md5>,
}

/// What [`ReadyNodes::write`] has done.
pub(super) struct WrittenNodes {
    /// The nodes that are on disk, in the edit's order.
    pub nodes: Vec<WrittenNode>,
    /// As of [`ReadyNodes::bytes`].
    pub bytes: usize,
    /// Why the next one is not.
    pub failed: Option<Error>,
}

/// A node on disk.
pub(super) enum WrittenNode {
    /// A directory, with its path below the edit's root.
    Directory(RelPath, PathBuf),
    File(PathBuf),
}

impl ReadyNodes {
    /// Returns the bytes of texts that are in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Appends a directory that was made, with its path below the edit's root.
    pub(super) fn push_directory(&mut self, path: RelPath, target: PathBuf) {
        self.nodes.push(ReadyNode::Directory(path, target));
    }

    /// Appends a complete file. `expected` is the digest that it should have.
    pub(super) fn push_file(&mut self, mut file: OpenFile, expected: Option<Md5>) {
        self.bytes += file.content.text.held();
        let digest = file.content.digest.take().map(Md5Stream::finish);
        self.nodes.push(ReadyNode::File(Box::new(ReadyFile {
            file,
            expected,
            digest,
        })));
    }

    /// Expands the texts and writes the files, up to the first that fails.
    pub(super) fn write(mut self, at: &TreeAt<'_>) -> WrittenNodes {
        let mut failed = self.expand().err();
        self.digest();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let bytes = self.bytes;
        for node in self.nodes {
            let written = match node {
                ReadyNode::Directory(path, target) => Ok(WrittenNode::Directory(path, target)),
                ReadyNode::File(file) => file.write(at).map(WrittenNode::File),
            };
            match written {
                Ok(node) => nodes.push(node),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        WrittenNodes { nodes, bytes, failed }
    }

    /// Expands the texts. Drops the nodes from the first that fails on.
    fn expand(&mut self) -> Result<()> {
        let mut codec = Codec::new();
        let expanded = self.nodes.iter_mut().map(|node| match node {
            ReadyNode::Directory(..) => Ok(()),
            ReadyNode::File(file) => file.file.content.text.expand(&mut codec),
        });
        let failed = expanded
            .enumerate()
            .find_map(|(at, outcome)| Some((at, outcome.err()?)));
        match failed {
            Some((at, error)) => {
                self.nodes.truncate(at);
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Computes the digests of texts in memory side by side.
    fn digest(&mut self) {
        let mut digests = {
            let texts: Vec<&[u8]> = self.nodes.iter().filter_map(ReadyNode::undigested).collect();
            md5_many(&texts).into_iter()
        };
        for node in &mut self.nodes {
            if node.undigested().is_some()
                && let ReadyNode::File(file) = node
            {
                file.digest = digests.next();
            }
        }
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
    fn write(self, at: &TreeAt<'_>) -> Result<PathBuf> {
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

/// # Errors
/// `CHECKSUM_MISMATCH`.
fn check_digest(target: &Path, expected: &Md5, actual: Option<Md5>) -> Result<()> {
    match actual {
        Some(actual) if !expected.matches(&actual) => {
            let message = format!(
                "Checksum mismatch for '{}':\n   expected:  {expected}\n     actual:  {actual}\n",
                disk_path::shown(target)
            );
            Err(Error::new(Code::CHECKSUM_MISMATCH, message))
        }
        _ => Ok(()),
    }
}
