//! The editor of a commit: each call is checked and applied to the transaction.

use std::collections::HashMap;

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use fsfs::Txn;

use super::phase::Phase;
use super::rules::{
    check_name, check_out_of_date, check_read, check_write, copy_source, no_such_source, out_of_date,
};
use super::texts::{TextState, Texts};
use super::{Clock, CommitInfo, CommitOptions};
use crate::props_rules::{validate, validate_mergeinfo};
use crate::repo::Repository;

/// The editor that makes a revision. Dropped before [`Editor::close_edit`], it removes the transaction.
pub struct CommitEditor {
    pub(super) repo: Repository,
    pub(super) options: CommitOptions,
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    pub(super) texts: Texts,
    dirs: HashMap<u32, OpenDir>,
    files: HashMap<u32, OpenFile>,
    next_token: u32,
    /// The edit has changed something: the root belongs to the transaction from then on.
    is_touched: bool,
}

/// An open directory.
struct OpenDir {
    path: FsPath,
    /// The revision that the client has; unchecked until a property changes.
    based_on: Option<Revnum>,
    /// It was added in this edit, by a copy of itself or of a parent.
    was_copied: bool,
    /// Writing it is allowed and it is up to date.
    is_checked: bool,
}

/// An open file.
struct OpenFile {
    path: FsPath,
    /// Writing it is allowed.
    is_checked: bool,
}

/// Prepares a commit; its transaction begins with [`Editor::open_root`].
///
/// # Errors
/// None at present.
pub fn start(repo: &Repository, options: CommitOptions, clock: Clock) -> Result<CommitEditor> {
    Ok(CommitEditor {
        repo: repo.clone(),
        options,
        clock,
        phase: Phase::New,
        texts: Texts::default(),
        dirs: HashMap::new(),
        files: HashMap::new(),
        next_token: 0,
        is_touched: false,
    })
}

impl CommitEditor {
    /// True once [`Editor::close_edit`] has succeeded.
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    /// Returns the new revision, after [`Editor::close_edit`] has succeeded.
    ///
    /// # Errors
    /// `FS_INCORRECT_EDITOR_COMPLETION` otherwise.
    pub fn outcome(mut self) -> Result<CommitInfo> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Done(info) => Ok(info),
            other => {
                self.phase = other;
                Err(Error::new(
                    Code::FS_INCORRECT_EDITOR_COMPLETION,
                    "The commit has not been completed",
                ))
            }
        }
    }

    /// Runs one call of the edit. A call that fails ends the commit.
    fn step<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        step(self).inspect_err(|_| self.give_up())
    }

    fn txn(&mut self) -> Result<&mut Txn> {
        match &mut self.phase {
            Phase::Open(txn) => Ok(txn),
            Phase::New | Phase::Over | Phase::Done(_) => Err(Error::new(
                Code::FS_INCORRECT_EDITOR_COMPLETION,
                "There is no open transaction to edit",
            )),
        }
    }

    /// Returns the transaction, which is about to be changed.
    fn changing(&mut self) -> Result<&mut Txn> {
        self.is_touched = true;
        self.txn()
    }

    /// Returns the revision in which a directory was last changed; `None` if it belongs to the transaction. The root
    /// belongs to it from the beginning here, from its first change in the incumbent.
    fn created(&mut self, path: &FsPath) -> Result<Option<Revnum>> {
        let is_untouched_root = path.is_root() && !self.is_touched;
        let txn = self.txn()?;
        match is_untouched_root {
            true => Ok(Some(txn.base_revision())),
            false => Ok(txn.root()?.node(path)?.created_rev()),
        }
    }

    fn path(&self, path: &RelPath) -> FsPath {
        self.options.base_path.join(path)
    }

    fn dir(&self, token: DirToken) -> Result<&OpenDir> {
        self.dirs.get(&token.0).ok_or_else(not_open)
    }

    fn file(&self, token: FileToken) -> Result<&OpenFile> {
        self.files.get(&token.0).ok_or_else(not_open)
    }

    fn token(&mut self) -> u32 {
        self.next_token = self.next_token.wrapping_add(1);
        self.next_token
    }

    fn new_dir(&mut self, dir: OpenDir) -> DirToken {
        let token = self.token();
        self.dirs.insert(token, dir);
        DirToken(token)
    }

    fn new_file(&mut self, path: FsPath, is_checked: bool) -> FileToken {
        let token = self.token();
        self.files.insert(token, OpenFile { path, is_checked });
        FileToken(token)
    }

    /// Adds a node, empty or as a copy.
    fn add(
        &mut self,
        path: &RelPath,
        kind: NodeKind,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FsPath> {
        check_name(path.as_str())?;
        let at = self.path(path);
        let is_dir = kind == NodeKind::Dir;
        let authz = self.options.authz.clone();
        check_write(&*authz, &at, is_dir && copyfrom.is_some())?;
        let parent = self.dir(parent)?;
        check_write(&*authz, &parent.path, false)?;
        let was_copied = parent.was_copied;
        let Some(copyfrom) = copyfrom else {
            let txn = self.changing()?;
            match is_dir {
                true => txn.make_dir(&at)?,
                false => txn.make_file(&at)?,
            }
            return Ok(at);
        };
        // Below a copied directory, a copy replaces what was copied with it.
        if !was_copied {
            let existing = self.txn()?.root()?.kind(&at)?;
            if existing != NodeKind::None {
                return Err(out_of_date(&at, existing));
            }
        }
        let source = copy_source(copyfrom.path, &self.options.base_url)?;
        let from = self.repo.fs().root(copyfrom.rev)?;
        let source = FsPath::parse(&source).map_err(|_| no_such_source(&source, copyfrom.rev))?;
        check_read(&*authz, &source, is_dir)?;
        self.changing()?.copy(&from, &source, &at)?;
        Ok(at)
    }

    /// Checks, once for each file, that it may be written.
    fn check_file(&mut self, token: FileToken) -> Result<FsPath> {
        let file = self.files.get_mut(&token.0).ok_or_else(not_open)?;
        if !file.is_checked {
            check_write(&*self.options.authz, &file.path, false)?;
            file.is_checked = true;
        }
        Ok(file.path.clone())
    }

    fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        if let Some(value) = value {
            validate_mergeinfo(path, name, value)?;
        }
        validate(name, value)?;
        self.changing()?.change_prop(path, name, value)
    }
}

impl Editor for CommitEditor {
    /// Does nothing.
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Ok(())
    }

    /// Begins the transaction, on the youngest revision.
    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.step(|this| {
            this.begin(base)?;
            Ok(this.new_dir(OpenDir {
                path: this.options.base_path.clone(),
                based_on: base,
                was_copied: false,
                is_checked: false,
            }))
        })
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.step(|this| {
            let at = this.path(path);
            let root = this.txn()?.root()?;
            let kind = root.kind(&at)?;
            let authz = &*this.options.authz;
            check_write(authz, &at, kind == NodeKind::Dir)?;
            check_write(authz, &this.dir(parent)?.path, false)?;
            if kind == NodeKind::None {
                return Err(out_of_date(&at, kind));
            }
            let txn = this.txn()?;
            if rev.is_some() {
                let created = root.node(&at)?.created_rev();
                check_out_of_date(&at, kind, rev, created, txn.base_revision())?;
            }
            this.changing()?.delete(&at)
        })
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.step(|this| {
            let path = this.add(path, NodeKind::Dir, parent, copyfrom)?;
            Ok(this.new_dir(OpenDir {
                path,
                based_on: None,
                was_copied: copyfrom.is_some(),
                is_checked: true,
            }))
        })
    }

    /// Checks only that the directory exists: only what is changed in it must be up to date.
    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.step(|this| {
            let at = this.path(path);
            let was_copied = this.dir(parent)?.was_copied;
            if this.txn()?.root()?.kind(&at)? == NodeKind::None {
                return Err(Error::new(
                    Code::FS_NOT_DIRECTORY,
                    format!("Path '{}' not present", path.as_str()),
                ));
            }
            Ok(this.new_dir(OpenDir {
                path: at,
                based_on: base,
                was_copied,
                is_checked: false,
            }))
        })
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.step(|this| {
            let OpenDir {
                ref path,
                based_on,
                is_checked,
                ..
            } = *this.dir(dir)?;
            let path = path.clone();
            if !is_checked {
                check_write(&*this.options.authz, &path, false)?;
                if based_on.is_some() {
                    let created = this.created(&path)?;
                    let newest = this.txn()?.base_revision();
                    check_out_of_date(&path, NodeKind::Dir, based_on, created, newest)?;
                }
                if let Some(dir) = this.dirs.get_mut(&dir.0) {
                    dir.is_checked = true;
                }
            }
            this.change_prop(&path, name, value)
        })
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.dirs.remove(&dir.0);
        Ok(())
    }

    /// Does nothing.
    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.step(|this| {
            let path = this.add(path, NodeKind::File, parent, copyfrom)?;
            Ok(this.new_file(path, true))
        })
    }

    fn open_file(&mut self, path: &RelPath, _parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.step(|this| {
            let at = this.path(path);
            check_read(&*this.options.authz, &at, false)?;
            let txn = this.txn()?;
            let created = txn.root()?.node(&at)?.created_rev();
            check_out_of_date(&at, NodeKind::File, base, created, txn.base_revision())?;
            Ok(this.new_file(at, false))
        })
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        self.step(|this| {
            let path = this.check_file(file)?;
            this.is_touched = true;
            let Phase::Open(txn) = &mut this.phase else {
                return this.txn().map(drop);
            };
            this.texts.begin(txn, file, &path, base_md5)
        })
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.step(|this| this.texts.chunk(file, chunk))
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        self.step(|this| {
            let Phase::Open(txn) = &mut this.phase else {
                return this.txn().map(drop);
            };
            this.texts.end(txn, file)
        })
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.step(|this| {
            let path = this.check_file(file)?;
            this.change_prop(&path, name, value)
        })
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        self.step(|this| {
            let path = this.file(file)?.path.clone();
            let closing = this.texts.expect(file, text_md5)?;
            this.files.remove(&file.0);
            let (TextState::Written, Some(expected)) = (closing, text_md5) else {
                return Ok(());
            };
            let actual = this.txn()?.root()?.node(&path)?.md5()?;
            if expected.matches(&actual) {
                return Ok(());
            }
            Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!(
                    "Checksum mismatch for resulting fulltext\n({path}):\n   expected:  {expected}\n     actual:  {actual}\n"
                ),
            ))
        })
    }

    /// Makes the revision.
    fn close_edit(&mut self) -> Result<()> {
        self.step(Self::finish)
    }

    fn abort_edit(&mut self) -> Result<()> {
        self.abort()
    }
}

impl Drop for CommitEditor {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn not_open() -> Error {
    Error::new(
        Code::INCORRECT_PARAMS,
        "A directory or file of the edit that is not open",
    )
}
