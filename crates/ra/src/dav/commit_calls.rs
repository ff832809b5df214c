//! The editor of a commit: each call is a step, and the first one that fails ends the edit.

use base::checksum::Md5;
use base::{Code, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use delta::svndiff::{DEFAULT_LEVEL, write_header};

use super::commit_edit::{CommitDir, CommitEditor, CommitFile, already_exists, unknown};
use super::request::{Request, Spool};
use super::revprops::check_name;

impl Editor for CommitEditor<'_> {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.step(|this| {
            Ok(this.push_dir(CommitDir {
                path: RelPath::empty(),
                base,
                is_added: false,
                is_copied: false,
                props: Vec::new(),
            }))
        })
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.step(|this| this.delete(path, rev, parent))
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.step(|this| {
            match copyfrom {
                Some(from) => this.copy(path, parent, from, true)?,
                None => {
                    this.settle()?;
                    let target = this.entry(path, parent)?;
                    let request = this.with_locks(Request::new("MKCOL", &target), path, true);
                    let made = this.session.call_plain(request, &[201]);
                    made.map_err(|error| match error.code() {
                        Code::RA_DAV_METHOD_NOT_ALLOWED => already_exists(path),
                        _ => error,
                    })?;
                }
            }
            Ok(this.push_dir(CommitDir {
                path: path.clone(),
                base: None,
                is_added: true,
                is_copied: copyfrom.is_some(),
                props: Vec::new(),
            }))
        })
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.step(|this| {
            let above = this.dir(parent)?;
            // In a copy, nodes are as new as the copy.
            let is_copied = above.is_copied;
            Ok(this.push_dir(CommitDir {
                path: path.clone(),
                base: base.filter(|_| !is_copied),
                is_added: is_copied,
                is_copied,
                props: Vec::new(),
            }))
        })
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.step(|this| {
            check_name(name)?;
            let dir = this.dirs.get_mut(&dir.0).ok_or_else(unknown)?;
            dir.props.push((name.to_owned(), value.map(<[u8]>::to_vec)));
            Ok(())
        })
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.step(|this| {
            let dir = this.dirs.remove(&dir.0).ok_or_else(unknown)?;
            if dir.props.is_empty() {
                if dir.path.is_empty() {
                    // The edit is about to end: its errors come before.
                    this.settle()?;
                }
                return Ok(());
            }
            let target = this.existing(&dir.path, dir.base, dir.is_added)?;
            this.change_props(&dir.path, &target, dir.base, &dir.props)
        })
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.step(|this| {
            match copyfrom {
                Some(from) => this.copy(path, parent, from, false)?,
                None => {
                    this.check_absent(path, parent)?;
                    this.entry(path, parent)?;
                }
            }
            Ok(this.push_file(CommitFile {
                path: path.clone(),
                base: None,
                is_added: true,
                is_copied: copyfrom.is_some(),
                props: Vec::new(),
                text: None,
                base_md5: None,
            }))
        })
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.step(|this| {
            let is_copied = this.dir(parent)?.is_copied;
            Ok(this.push_file(CommitFile {
                path: path.clone(),
                base: base.filter(|_| !is_copied),
                is_added: is_copied,
                is_copied,
                props: Vec::new(),
                text: None,
                base_md5: None,
            }))
        })
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        self.step(|this| {
            let version = this.session.svndiff_version();
            let mut text = Spool::default();
            let mut header = Vec::new();
            write_header(version, &mut header);
            text.write(&header)?;
            let file = this.file(file)?;
            file.text = Some(text);
            file.base_md5 = base_md5.copied();
            Ok(())
        })
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.session.svndiff_version())
    }

    fn window_form(&self) -> Option<WindowForm> {
        Some(WindowForm::new(self.session.svndiff_version(), DEFAULT_LEVEL))
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.step(|this| this.write(file, chunk))
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.step(|this| {
            check_name(name)?;
            let file = this.file(file)?;
            file.props.push((name.to_owned(), value.map(<[u8]>::to_vec)));
            Ok(())
        })
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        self.step(|this| this.finish_file(file, text_md5))
    }

    fn accepted_files(&self) -> usize {
        self.file_requests.accepted()
    }

    fn close_edit(&mut self) -> Result<()> {
        self.step(|this| {
            this.settle()?;
            let tokens: Vec<_> = this
                .tokens
                .iter()
                .map(|(path, token)| (path.to_string(), token.clone()))
                .collect();
            let info = this.session.merge_txn(&this.txn, &tokens, this.keep_locks)?;
            this.info = Some(info);
            this.has_ended = true;
            Ok(())
        })
    }

    fn abort_edit(&mut self) -> Result<()> {
        if !self.has_ended {
            self.abort();
        }
        Ok(())
    }
}
