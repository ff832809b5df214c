//! What sessions return, and the traits through which they pass long answers.

use base::checksum::Md5;
use base::props::PropChange;
use base::{Date, FsPath, NodeKind, Props, Result, Revnum};
use delta::editor::{Editor, EncodedVersions, TextChunk};

/// The description of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirent {
    /// The kind.
    pub kind: NodeKind,
    /// Bytes of a file's text; `None` for a directory.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: Revnum,
    /// The date of the last change; `None` if it is not set (or 1970-01-01: svn:// sends that for a date that is not set).
    pub date: Option<Date>,
    /// The author of the last change.
    pub author: Option<String>,
}

/// What is known of a file besides its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The revision that was read.
    pub rev: Revnum,
    /// The MD5 of the text, if the server sends it.
    pub md5: Option<Md5>,
    /// The properties, if they were requested.
    pub props: Props,
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The revision that was read.
    pub rev: Revnum,
    /// The properties, if they were requested.
    pub props: Props,
    /// The entries, sorted by name, if they were requested. Each name is one component of a path.
    pub entries: Vec<(String, Dirent)>,
}

/// An entry of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEntry {
    /// The revision; `None` ends the entries that were merged in the last entry with `has_children`.
    pub rev: Option<Revnum>,
    /// The revision properties that were requested and that the user may see.
    pub revprops: Props,
    /// The changed paths that the user may see, sorted, if they were requested.
    pub changes: Vec<LogChange>,
    /// The entries of the revisions that it merged follow, up to one without a revision.
    pub has_children: bool,
    /// The entry is here because a merge of the revision was undone.
    pub subtractive_merge: bool,
}

/// A changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChange {
    /// The path.
    pub path: FsPath,
    /// What happened to it.
    pub action: ChangeAction,
    /// Where it was copied from.
    pub copyfrom: Option<(FsPath, Revnum)>,
    /// The kind of the node.
    pub kind: NodeKind,
    /// Its text changed; false also if the server does not know.
    pub text_mods: bool,
    /// Its properties changed; false also if the server does not know.
    pub prop_mods: bool,
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAction {
    /// It was added.
    Add,
    /// It was deleted.
    Delete,
    /// It was replaced by another node.
    Replace,
    /// Its text or its properties changed.
    Modify,
}

impl ChangeAction {
    /// The letter that `svn log` prints.
    pub fn letter(self) -> char {
        match self {
            ChangeAction::Add => 'A',
            ChangeAction::Delete => 'D',
            ChangeAction::Replace => 'R',
            ChangeAction::Modify => 'M',
        }
    }
}

/// A range of revisions in which a node stayed at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationSegment {
    /// Oldest revision.
    pub start: Revnum,
    /// Youngest revision.
    pub end: Revnum,
    /// The path; `None` in the gap between a copy's source and the copy.
    pub path: Option<FsPath>,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The new revision.
    pub rev: Revnum,
    /// Its date.
    pub date: Option<Date>,
    /// Its author.
    pub author: Option<String>,
    /// The error of what followed the commit, as of the post-commit hook.
    pub post_commit_error: Option<String>,
}

/// A revision of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRev {
    /// The path in that revision.
    pub path: FsPath,
    /// The revision.
    pub rev: Revnum,
    /// All its revision properties.
    pub revprops: Props,
    /// Differences of the file's properties from the revision passed before.
    pub prop_changes: Vec<PropChange>,
    /// It was merged into the file.
    pub merged: bool,
}

/// Receives the revisions of a file.
pub trait FileRevSink {
    /// Receives the next revision. If its text differs from that of the revision before, its windows and
    /// [`FileRevSink::text_end`] follow.
    ///
    /// # Errors
    /// Any error ends the request, as for the other methods.
    fn revision(&mut self, rev: &FileRev) -> Result<()>;

    /// Receives the next window of the text.
    ///
    /// # Errors
    /// As above.
    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()>;

    /// Ends the text. Without windows before, it is empty.
    ///
    /// # Errors
    /// As above.
    fn text_end(&mut self) -> Result<()>;

    /// The versions of svndiff that [`FileRevSink::text_chunk`] takes undecoded.
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }
}

/// Receives revisions as edits.
pub trait ReplaySink {
    /// Receives a revision with its properties. `drive` drives an editor with its changes, once, without an end of the
    /// edit; the sink closes it. A sink that does not call `drive` skips the changes. The editor may be that of a commit to
    /// another repository: call [`crate::Session::commit`] here, and `drive` within.
    ///
    /// # Errors
    /// Any error ends the request.
    fn revision(
        &mut self,
        rev: Revnum,
        revprops: &Props,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<()>;
}
