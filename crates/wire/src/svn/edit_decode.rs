//! Consuming an edit from the wire: messages become the calls of an Editor.
//!
//! Files are looser than directories: one may stay open after its parent and the root were closed, and the texts of
//! several may be interleaved. Texts arrive as svndiff bytes cut anywhere; the Editor gets them by window.

use std::collections::HashMap;

use base::{Error, RelPath};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, Decoder};

use super::edit::EditCommand;
use super::item::Malformed;

/// What a message did to the edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumed {
    /// It goes on.
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
    /// The Editor refuses it: the driver is told, and discarded until it aborts.
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
    dirs: HashMap<Vec<u8>, DirToken>,
    files: HashMap<Vec<u8>, OpenFile>,
    codec: Codec,
}

struct OpenFile {
    token: FileToken,
    text: Option<Decoder>,
}

impl EditDecoder {
    /// Starts with nothing open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the call that `command` asks for.
    ///
    /// # Errors
    /// [`EditFault::Protocol`] for unknown tokens and texts out of order, [`EditFault::Refused`] for what the Editor says
    /// and for broken svndiff.
    pub fn apply(
        &mut self,
        command: EditCommand<'_>,
        editor: &mut dyn Editor,
    ) -> Result<Consumed, EditFault> {
        use EditCommand as E;
        match command {
            E::TargetRev { rev } => editor.set_target_revision(rev)?,
            E::OpenRoot { rev, token } => {
                let dir = editor.open_root(rev)?;
                self.dirs.insert(token.to_vec(), dir);
            }
            E::DeleteEntry { path, rev, dir } => {
                let dir = self.dir(dir)?;
                editor.delete_entry(&RelPath::canonicalize(path)?, rev, dir)?;
            }
            E::AddDir {
                path,
                parent,
                token,
                copyfrom,
            } => {
                let parent = self.dir(parent)?;
                let from = copyfrom.map(|(path, rev)| CopyFrom { path, rev });
                let dir = editor.add_directory(&RelPath::canonicalize(path)?, parent, from)?;
                self.dirs.insert(token.to_vec(), dir);
            }
            E::OpenDir {
                path,
                parent,
                token,
                rev,
            } => {
                let parent = self.dir(parent)?;
                let dir = editor.open_directory(&RelPath::canonicalize(path)?, parent, rev)?;
                self.dirs.insert(token.to_vec(), dir);
            }
            E::ChangeDirProp { token, name, value } => {
                let dir = self.dir(token)?;
                editor.change_dir_prop(dir, name, value)?;
            }
            E::CloseDir { token } => {
                let dir = self.dirs.remove(token).ok_or(Malformed::Token)?;
                editor.close_directory(dir)?;
            }
            E::AbsentDir { path, parent } => {
                let parent = self.dir(parent)?;
                editor.absent_directory(&RelPath::canonicalize(path)?, parent)?;
            }
            E::AddFile {
                path,
                parent,
                token,
                copyfrom,
            } => {
                let parent = self.dir(parent)?;
                let from = copyfrom.map(|(path, rev)| CopyFrom { path, rev });
                let file = editor.add_file(&RelPath::canonicalize(path)?, parent, from)?;
                self.open_file(token, file);
            }
            E::OpenFile {
                path,
                parent,
                token,
                rev,
            } => {
                let parent = self.dir(parent)?;
                let file = editor.open_file(&RelPath::canonicalize(path)?, parent, rev)?;
                self.open_file(token, file);
            }
            E::ApplyTextdelta { token, base_md5 } => {
                let file = self.files.get_mut(token).ok_or(Malformed::Token)?;
                if file.text.is_some() {
                    return Err(Malformed::Order.into());
                }
                editor.apply_textdelta(file.token, base_md5.as_ref())?;
                file.text = Some(Decoder::new());
            }
            E::TextdeltaChunk { token, chunk } => self.chunk(token, chunk, editor)?,
            E::TextdeltaEnd { token } => {
                let file = self.files.get_mut(token).ok_or(Malformed::Token)?;
                let text = file.text.take().ok_or(Malformed::Order)?;
                text.finish()?;
                editor.text_end(file.token)?;
            }
            E::ChangeFileProp { token, name, value } => {
                let file = self.files.get(token).ok_or(Malformed::Token)?;
                editor.change_file_prop(file.token, name, value)?;
            }
            E::CloseFile { token, text_md5 } => {
                let file = self.files.remove(token).ok_or(Malformed::Token)?;
                editor.close_file(file.token, text_md5.as_ref())?;
            }
            E::AbsentFile { path, parent } => {
                let parent = self.dir(parent)?;
                editor.absent_file(&RelPath::canonicalize(path)?, parent)?;
            }
            E::CloseEdit => {
                editor.close_edit()?;
                return Ok(Consumed::Closed);
            }
            E::AbortEdit => {
                editor.abort_edit()?;
                return Ok(Consumed::Aborted);
            }
            E::FinishReplay => return Ok(Consumed::ReplayFinished),
        }
        Ok(Consumed::More)
    }

    fn dir(&self, token: &[u8]) -> Result<DirToken, Malformed> {
        self.dirs.get(token).copied().ok_or(Malformed::Token)
    }

    fn open_file(&mut self, token: &[u8], file: FileToken) {
        self.files.insert(
            token.to_vec(),
            OpenFile {
                token: file,
                text: None,
            },
        );
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
}
