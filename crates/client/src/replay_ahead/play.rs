//! Drives an editor with recorded calls.

use base::checksum::Md5;
use base::{Code, Error, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, EncodedWindow, Parsed, varint};
use delta::window::Window;

use super::record::call;

/// The state of an edit between segments of its calls.
#[derive(Default)]
pub struct Player {
    /// Tokens of the editor by those of the record.
    dirs: Vec<DirToken>,
    files: Vec<FileToken>,
    codec: Codec,
    window: Window,
}

impl Player {
    /// Makes the calls of a segment.
    ///
    /// # Errors
    /// Those of `editor`.
    pub fn play(&mut self, calls: &[u8], editor: &mut dyn Editor) -> Result<()> {
        let mut calls = Calls(calls);
        while !calls.0.is_empty() {
            let call = calls.byte()?;
            match call {
                call::ADD_FILE..=call::ABSENT_FILE => self.file_call(call, &mut calls, editor)?,
                _ => self.dir_call(call, &mut calls, editor)?,
            }
        }
        Ok(())
    }

    fn dir_call(&mut self, call: u8, calls: &mut Calls<'_>, editor: &mut dyn Editor) -> Result<()> {
        match call {
            call::TARGET_REVISION => editor.set_target_revision(Revnum(calls.number()?)),
            call::OPEN_ROOT => {
                let token = editor.open_root(calls.rev()?)?;
                set(&mut self.dirs, calls.slot()?, token)
            }
            call::DELETE_ENTRY => {
                let (path, parent) = self.entry(calls)?;
                editor.delete_entry(&path, calls.rev()?, parent)
            }
            call::ADD_DIRECTORY => {
                let (path, parent) = self.entry(calls)?;
                let token = editor.add_directory(&path, parent, calls.source()?)?;
                set(&mut self.dirs, calls.slot()?, token)
            }
            call::OPEN_DIRECTORY => {
                let (path, parent) = self.entry(calls)?;
                let token = editor.open_directory(&path, parent, calls.rev()?)?;
                set(&mut self.dirs, calls.slot()?, token)
            }
            call::DIR_PROP => {
                let dir = get(&self.dirs, calls.slot()?)?;
                editor.change_dir_prop(dir, calls.text()?, calls.optional()?)
            }
            call::CLOSE_DIRECTORY => editor.close_directory(get(&self.dirs, calls.slot()?)?),
            call::ABSENT_DIRECTORY => {
                let (path, parent) = self.entry(calls)?;
                editor.absent_directory(&path, parent)
            }
            _ => Err(damaged()),
        }
    }

    fn file_call(&mut self, call: u8, calls: &mut Calls<'_>, editor: &mut dyn Editor) -> Result<()> {
        match call {
            call::ADD_FILE => {
                let (path, parent) = self.entry(calls)?;
                let token = editor.add_file(&path, parent, calls.source()?)?;
                set(&mut self.files, calls.slot()?, token)
            }
            call::OPEN_FILE => {
                let (path, parent) = self.entry(calls)?;
                let token = editor.open_file(&path, parent, calls.rev()?)?;
                set(&mut self.files, calls.slot()?, token)
            }
            call::APPLY_TEXTDELTA => {
                let file = get(&self.files, calls.slot()?)?;
                editor.apply_textdelta(file, calls.md5()?.as_ref())
            }
            call::TEXT_CHUNK => {
                let file = get(&self.files, calls.slot()?)?;
                let version = calls.byte()?;
                self.chunk(file, version, calls.bytes()?, editor)
            }
            call::TEXT_END => editor.text_end(get(&self.files, calls.slot()?)?),
            call::FILE_PROP => {
                let file = get(&self.files, calls.slot()?)?;
                editor.change_file_prop(file, calls.text()?, calls.optional()?)
            }
            call::CLOSE_FILE => {
                let file = get(&self.files, calls.slot()?)?;
                editor.close_file(file, calls.md5()?.as_ref())
            }
            call::ABSENT_FILE => {
                let (path, parent) = self.entry(calls)?;
                editor.absent_file(&path, parent)
            }
            _ => Err(damaged()),
        }
    }

    /// Passes a window in the form in which it was recorded if the editor accepts that, else decoded.
    fn chunk(&mut self, file: FileToken, version: u8, raw: &[u8], editor: &mut dyn Editor) -> Result<()> {
        let Parsed::Complete(window) = EncodedWindow::parse(version, raw)? else {
            return Err(damaged());
        };
        if editor.accepts_encoded().contains(version) {
            return editor.text_chunk(file, TextChunk::Encoded(&window));
        }
        window.decode_into(&mut self.codec, &mut self.window)?;
        editor.text_chunk(file, TextChunk::Decoded(&self.window))
    }

    fn entry(&self, calls: &mut Calls<'_>) -> Result<(RelPath, DirToken)> {
        let path = RelPath::parse(calls.text()?)?;
        Ok((path, get(&self.dirs, calls.slot()?)?))
    }
}

fn set<T: Copy>(tokens: &mut Vec<T>, slot: usize, token: T) -> Result<()> {
    if slot > tokens.len() {
        return Err(damaged());
    }
    if slot == tokens.len() {
        tokens.push(token);
    }
    tokens[slot] = token;
    Ok(())
}

fn get<T: Copy>(tokens: &[T], slot: usize) -> Result<T> {
    tokens.get(slot).copied().ok_or_else(damaged)
}

/// Reads parameters.
struct Calls<'a>(&'a [u8]);

impl<'a> Calls<'a> {
    fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.0.split_first().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<u64> {
        varint::read(&mut self.0).map_err(|_| damaged())
    }

    fn slot(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| damaged())
    }

    fn rev(&mut self) -> Result<Option<Revnum>> {
        Ok(self.number()?.checked_sub(1).map(Revnum))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.slot()?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged())
    }

    fn optional(&mut self) -> Result<Option<&'a [u8]>> {
        match self.byte()? {
            0 => Ok(None),
            _ => self.bytes().map(Some),
        }
    }

    fn md5(&mut self) -> Result<Option<Md5>> {
        let bytes = self.optional()?;
        bytes
            .map(|bytes| bytes.try_into().map(Md5).map_err(|_| damaged()))
            .transpose()
    }

    fn source(&mut self) -> Result<Option<CopyFrom<'a>>> {
        Ok(match self.byte()? {
            0 => None,
            _ => Some(CopyFrom {
                path: self.text()?,
                rev: Revnum(self.number()?),
            }),
        })
    }
}

fn damaged() -> Error {
    Error::new(Code::ASSERTION_FAIL, "A recorded edit is damaged")
}
