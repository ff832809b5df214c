//! Consuming an edit from the wire: messages become the calls of an Editor.
//!
//! Files are looser than directories: one may stay open after its parent and the root were closed, and the texts of
//! several may be interleaved. Texts arrive as svndiff bytes cut anywhere; the Editor gets them by window.

use std::collections::HashMap;

use base::checksum::Md5;
use base::{Code, Error, FsPath, RelPath, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, Decoder};

use super::edit::{CopySource, EditCommand};
use super::item::Malformed;
use crate::text::fuzzy;

/// The effect of a message on the edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumed {
    /// The edit continues.
    More,
    /// It was closed.
    Closed,
    /// It was given up.
    Aborted,
    /// A replayed revision has ended.
    ReplayFinished,
}

/// Why a message could not be consumed.
#[derive(Clone, Debug)]
pub enum EditFault {
    /// It breaks the protocol: the connection is lost.
    Protocol(Malformed),
    /// The editor refuses it: the driver gets the error, and its messages are discarded until it aborts.
    Refused(Error),
}

impl From<Malformed> for EditFault {
    fn from(what: Malformed) -> Self {
        EditFault::Protocol(what)
    }
}

impl From<Error> for EditFault {
    fn from(error: Error) -> Self {
        EditFault::Refused(error)
    }
}

/// Turns messages into calls.
#[derive(Default)]
pub struct EditDecoder {
    /// The prefix of messages about paths: the edit's root, without a trailing slash.
    base: String,
    dirs: HashMap<Vec<u8>, DirToken>,
    files: HashMap<Vec<u8>, OpenFile>,
    codec: Codec,
}

struct OpenFile {
    token: FileToken,
    text: Option<Decoder>,
}

impl OpenFile {
    fn new(token: FileToken) -> OpenFile {
        OpenFile { token, text: None }
    }
}

impl EditDecoder {
    /// Starts with nothing open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Messages about paths name them below `base`.
    pub fn below(base: &FsPath) -> Self {
        EditDecoder {
            base: base.as_str().trim_end_matches('/').to_owned(),
            ..Self::default()
        }
    }

    /// Makes the editor call of `command`.
    ///
    /// # Errors
    /// [`EditFault::Protocol`] for unknown tokens and texts out of order, [`EditFault::Refused`] for what the Editor says,
    /// for broken svndiff, and for paths and names that are not UTF-8.
    pub fn apply(
        &mut self,
        command: EditCommand<'_>,
        editor: &mut dyn Editor,
    ) -> Result<Consumed, EditFault> {
        use EditCommand as E;
        match command {
            E::TargetRev { rev } => editor.set_target_revision(rev)?,
            E::OpenRoot { rev, token } => self.open_root(rev, token, editor)?,
            E::DeleteEntry { path, rev, dir } => self.delete_entry(path, rev, dir, editor)?,
            E::AddDir {
                path,
                parent,
                token,
                copyfrom,
            } => self.add_dir(path, parent, token, copyfrom, editor)?,
            E::OpenDir {
                path,
                parent,
                token,
                rev,
            } => self.open_dir(path, parent, token, rev, editor)?,
            E::ChangeDirProp { token, name, value } => {
                let dir = self.dir(token)?;
                editor.change_dir_prop(dir, prop_name(name)?, value)?;
            }
            E::CloseDir { token } => self.close_dir(token, editor)?,
            E::AbsentDir { path, parent } => {
                let parent = self.dir(parent)?;
                editor.absent_directory(&self.new_path(path)?, parent)?;
            }
            E::AddFile {
                path,
                parent,
                token,
                copyfrom,
            } => self.add_file(path, parent, token, copyfrom, editor)?,
            E::OpenFile {
                path,
                parent,
                token,
                rev,
            } => self.open_file(path, parent, token, rev, editor)?,
            E::ApplyTextdelta { token, base_md5 } => self.apply_textdelta(token, base_md5, editor)?,
            E::TextdeltaChunk { token, chunk } => self.chunk(token, chunk, editor)?,
            E::TextdeltaEnd { token } => self.textdelta_end(token, editor)?,
            E::ChangeFileProp { token, name, value } => {
                let file = self.files.get(token).ok_or(Malformed::Token)?;
                editor.change_file_prop(file.token, prop_name(name)?, value)?;
            }
            E::CloseFile { token, text_md5 } => {
                let file = self.files.remove(token).ok_or(Malformed::Token)?;
                editor.close_file(file.token, text_md5.as_ref())?;
            }
            E::AbsentFile { path, parent } => {
                let parent = self.dir(parent)?;
                editor.absent_file(&self.new_path(path)?, parent)?;
            }
            E::CloseEdit => return Ok(editor.close_edit().map(|()| Consumed::Closed)?),
            E::AbortEdit => return Ok(editor.abort_edit().map(|()| Consumed::Aborted)?),
            E::FinishReplay => return Ok(Consumed::ReplayFinished),
        }
        Ok(Consumed::More)
    }

    fn dir(&self, token: &[u8]) -> Result<DirToken, Malformed> {
        self.dirs.get(token).copied().ok_or(Malformed::Token)
    }

    /// The path of an entry that is about to be made.
    fn new_path(&self, path: &[u8]) -> Result<RelPath, Error> {
        rel_path(path, |path| {
            let message = format!("Path '{}/{path}' is not in UTF-8", self.base);
            Error::new(Code::FS_PATH_SYNTAX, message)
        })
    }

    fn open_root(
        &mut self,
        rev: Option<Revnum>,
        token: &[u8],
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let dir = editor.open_root(rev)?;
        self.dirs.insert(token.to_vec(), dir);
        Ok(())
    }

    fn delete_entry(
        &mut self,
        path: &[u8],
        rev: Option<Revnum>,
        dir: &[u8],
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let dir = self.dir(dir)?;
        let path = rel_path(path, |path| {
            let message = format!("'{}/{path}' is out of date", self.base);
            Error::new(Code::FS_TXN_OUT_OF_DATE, message)
        })?;
        Ok(editor.delete_entry(&path, rev, dir)?)
    }

    fn add_dir(
        &mut self,
        path: &[u8],
        parent: &[u8],
        token: &[u8],
        copyfrom: Option<CopySource<'_>>,
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let parent = self.dir(parent)?;
        let path = self.new_path(path)?;
        let from = copyfrom.map(copy_source).transpose()?;
        let dir = editor.add_directory(&path, parent, from)?;
        self.dirs.insert(token.to_vec(), dir);
        Ok(())
    }

    fn open_dir(
        &mut self,
        path: &[u8],
        parent: &[u8],
        token: &[u8],
        rev: Option<Revnum>,
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let parent = self.dir(parent)?;
        let path = rel_path(path, |path| {
            Error::new(Code::FS_NOT_DIRECTORY, format!("Path '{path}' not present"))
        })?;
        let dir = editor.open_directory(&path, parent, rev)?;
        self.dirs.insert(token.to_vec(), dir);
        Ok(())
    }

    fn close_dir(&mut self, token: &[u8], editor: &mut dyn Editor) -> Result<(), EditFault> {
        let dir = self.dirs.remove(token).ok_or(Malformed::Token)?;
        Ok(editor.close_directory(dir)?)
    }

    fn add_file(
        &mut self,
        path: &[u8],
        parent: &[u8],
        token: &[u8],
        copyfrom: Option<CopySource<'_>>,
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let parent = self.dir(parent)?;
        let path = self.new_path(path)?;
        let from = copyfrom.map(copy_source).transpose()?;
        let file = editor.add_file(&path, parent, from)?;
        self.files.insert(token.to_vec(), OpenFile::new(file));
        Ok(())
    }

    fn open_file(
        &mut self,
        path: &[u8],
        parent: &[u8],
        token: &[u8],
        rev: Option<Revnum>,
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let parent = self.dir(parent)?;
        let path = rel_path(path, |path| {
            let message = format!("File not found: path '{}/{path}'", self.base);
            Error::new(Code::FS_NOT_FOUND, message)
        })?;
        let file = editor.open_file(&path, parent, rev)?;
        self.files.insert(token.to_vec(), OpenFile::new(file));
        Ok(())
    }

    fn apply_textdelta(
        &mut self,
        token: &[u8],
        base_md5: Option<Md5>,
        editor: &mut dyn Editor,
    ) -> Result<(), EditFault> {
        let file = self.files.get_mut(token).ok_or(Malformed::Token)?;
        if file.text.is_some() {
            return Err(Malformed::Order.into());
        }
        editor.apply_textdelta(file.token, base_md5.as_ref())?;
        file.text = Some(Decoder::new());
        Ok(())
    }

    fn chunk(&mut self, token: &[u8], chunk: &[u8], editor: &mut dyn Editor) -> Result<(), EditFault> {
        let file = self.files.get_mut(token).ok_or(Malformed::Token)?;
        let text = file.text.as_mut().ok_or(Malformed::Order)?;
        let accepts = editor.accepts_encoded();
        let (token, codec) = (file.token, &mut self.codec);
        text.push(chunk, |window| {
            if accepts.contains(window.version) {
                editor.text_chunk(token, TextChunk::Encoded(window))
            } else {
                editor.text_chunk(token, TextChunk::Decoded(&window.decode(codec)?))
            }
        })?;
        Ok(())
    }

    fn textdelta_end(&mut self, token: &[u8], editor: &mut dyn Editor) -> Result<(), EditFault> {
        let file = self.files.get_mut(token).ok_or(Malformed::Token)?;
        let text = file.text.take().ok_or(Malformed::Order)?;
        text.finish()?;
        Ok(editor.text_end(file.token)?)
    }
}

/// A path of the edit; `refusal` makes the error for one that is not UTF-8, of its printable form.
fn rel_path(path: &[u8], refusal: impl FnOnce(&str) -> Error) -> Result<RelPath, Error> {
    match std::str::from_utf8(path) {
        Ok(path) => RelPath::canonicalize(path),
        Err(_) => Err(refusal(&fuzzy(path))),
    }
}

fn copy_source((path, rev): (&[u8], Revnum)) -> Result<CopyFrom<'_>, Error> {
    match std::str::from_utf8(path) {
        Ok(path) => Ok(CopyFrom { path, rev }),
        Err(_) => {
            let message = format!("File not found: revision {rev}, path '{}'", fuzzy(path));
            Err(Error::new(Code::FS_NOT_FOUND, message))
        }
    }
}

/// Returns the name of a property.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME` for a name that is not UTF-8 or has a NUL: no client could read it.
fn prop_name(name: &[u8]) -> Result<&str, Error> {
    match std::str::from_utf8(name) {
        Ok(name) if !name.contains('\0') => Ok(name),
        _ => {
            let message = format!("Bad property name: '{}'", fuzzy(name));
            Err(Error::new(Code::CLIENT_PROPERTY_NAME, message))
        }
    }
}
