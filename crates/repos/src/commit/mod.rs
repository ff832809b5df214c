//! Commits: a tree edit becomes a revision.

use std::sync::Arc;

use base::checksum::Md5;
use base::{Code, Date, Error, FsPath, Props, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};

use crate::hooks::Hooks;
use crate::repo::Repository;

/// What a commit is given besides its edit.
pub struct Options {
    /// The repository's URL, decoded: what the sources of copies must begin with.
    pub base_url: String,
    /// Where in the repository the root of the edit is.
    pub base_path: FsPath,
    /// Properties for the revision, as the client sent them.
    pub revprops: Props,
    /// Who commits; `None` is anonymous.
    pub author: Option<String>,
    /// The locks that the client holds: path in the repository and token.
    pub lock_tokens: Vec<(FsPath, String)>,
    /// Locks of `lock_tokens` outlive the commit.
    pub keep_locks: bool,
    /// What the client said it can do.
    pub capabilities: Vec<String>,
    /// Who may do what.
    pub authz: Arc<dyn Authority>,
    /// The repository's hooks.
    pub hooks: Hooks,
}

/// What tells the time.
pub type Clock = Arc<dyn Fn() -> Date + Send + Sync>;

/// Decides what a user may read and write while committing. `recursive` asks for everything at and below the path.
pub trait Authority: Send + Sync {
    /// True if it may be read.
    ///
    /// # Errors
    /// Those of reading the rules.
    fn may_read(&self, path: &FsPath, recursive: bool) -> Result<bool>;

    /// True if it may be written.
    ///
    /// # Errors
    /// Those of reading the rules.
    fn may_write(&self, path: &FsPath, recursive: bool) -> Result<bool>;
}

/// Everything may be read and written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anything;

impl Authority for Anything {
    fn may_read(&self, _path: &FsPath, _recursive: bool) -> Result<bool> {
        Ok(true)
    }

    fn may_write(&self, _path: &FsPath, _recursive: bool) -> Result<bool> {
        Ok(true)
    }
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The new revision.
    pub rev: Revnum,
    /// Its date.
    pub date: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// What went wrong after the revision existed.
    pub post_commit_error: Option<String>,
}

/// The editor that makes a revision. Dropped before [`Editor::close_edit`], it leaves nothing behind.
pub struct CommitEditor {
    _repo: Repository,
}

/// Prepares a commit; its transaction begins with [`Editor::open_root`].
///
/// # Errors
/// The system's.
pub fn start(repo: &Repository, options: Options, clock: Clock) -> Result<CommitEditor> {
    let _ = (repo, options, clock);
    Err(unfinished())
}

impl CommitEditor {
    /// The new revision, after [`Editor::close_edit`] has succeeded.
    ///
    /// # Errors
    /// `FS_INCORRECT_EDITOR_COMPLETION` before that.
    pub fn outcome(self) -> Result<CommitInfo> {
        Err(unfinished())
    }
}

impl Editor for CommitEditor {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Err(unfinished())
    }

    fn open_root(&mut self, _base: Option<Revnum>) -> Result<DirToken> {
        Err(unfinished())
    }

    fn delete_entry(&mut self, _path: &RelPath, _rev: Option<Revnum>, _parent: DirToken) -> Result<()> {
        Err(unfinished())
    }

    fn add_directory(
        &mut self,
        _path: &RelPath,
        _parent: DirToken,
        _copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        Err(unfinished())
    }

    fn open_directory(
        &mut self,
        _path: &RelPath,
        _parent: DirToken,
        _base: Option<Revnum>,
    ) -> Result<DirToken> {
        Err(unfinished())
    }

    fn change_dir_prop(&mut self, _dir: DirToken, _name: &str, _value: Option<&[u8]>) -> Result<()> {
        Err(unfinished())
    }

    fn close_directory(&mut self, _dir: DirToken) -> Result<()> {
        Err(unfinished())
    }

    fn absent_directory(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        Err(unfinished())
    }

    fn add_file(
        &mut self,
        _path: &RelPath,
        _parent: DirToken,
        _copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        Err(unfinished())
    }

    fn open_file(&mut self, _path: &RelPath, _parent: DirToken, _base: Option<Revnum>) -> Result<FileToken> {
        Err(unfinished())
    }

    fn apply_textdelta(&mut self, _file: FileToken, _base_md5: Option<&Md5>) -> Result<()> {
        Err(unfinished())
    }

    fn text_chunk(&mut self, _file: FileToken, _chunk: TextChunk<'_>) -> Result<()> {
        Err(unfinished())
    }

    fn text_end(&mut self, _file: FileToken) -> Result<()> {
        Err(unfinished())
    }

    fn change_file_prop(&mut self, _file: FileToken, _name: &str, _value: Option<&[u8]>) -> Result<()> {
        Err(unfinished())
    }

    fn close_file(&mut self, _file: FileToken, _text_md5: Option<&Md5>) -> Result<()> {
        Err(unfinished())
    }

    fn absent_file(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        Err(unfinished())
    }

    fn close_edit(&mut self) -> Result<()> {
        Err(unfinished())
    }

    fn abort_edit(&mut self) -> Result<()> {
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Code::UNSUPPORTED_FEATURE, "being written")
}
