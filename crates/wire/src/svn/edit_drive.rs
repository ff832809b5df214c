//! Driving an edit over the wire: the calls of an Editor become messages.
//!
//! Nothing waits for an answer until the end, and the peer may say "stop" at any time. The driver therefore only
//! appends to the buffer of an [`MessageSink`] and tells it after each message, so that it can send and listen.
//!
//! Texts: a stored window that the peer can read goes out as it is, one string a window. The document's version is that
//! of the first window; a later window of another version is re-framed, a decoded one encoded.

use base::checksum::Md5;
use base::{Error, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use delta::svndiff::{self, Codec};

use super::edit::EditCommand;
use super::handshake::Capabilities;
use super::write::Writer;

/// Sends a driver's messages and receives the peer's response.
pub trait MessageSink {
    /// Returns the buffer of bytes to send.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Marks the end of a message: sends the buffer if it is large enough. Returns true if the peer has sent something, which
    /// during an edit can only be a failure.
    ///
    /// # Errors
    /// If the connection is closed.
    fn checkpoint(&mut self) -> Result<bool>;

    /// True if the peer receives bytes more slowly than they can be produced, so that compression saves time.
    fn is_slow(&self) -> bool {
        true
    }

    /// Sends everything and reads the peer's response: `Ok(Err(…))` is its failure.
    ///
    /// # Errors
    /// If the connection is closed or the response is malformed.
    fn answer(&mut self) -> Result<Result<()>>;
}

/// An Editor whose consumer is the peer.
pub struct EditDriver<'a, O> {
    outlet: &'a mut O,
    /// svndiff version and compression level of windows that are encoded here.
    version: u8,
    level: u8,
    absent_entries: bool,
    replay: bool,
    ended: bool,
    closed: bool,
    /// The error that ended the edit: every later call returns it.
    failed: Option<Error>,
    tokens: u32,
    /// Documents that were begun: the file and its version. Rarely more than one.
    texts: Vec<(FileToken, Option<u8>)>,
    codec: &'a mut Codec,
    window: Vec<u8>,
}

impl<'a, O: MessageSink> EditDriver<'a, O> {
    /// Drives an edit that the peer answers. `peer` is what the peer can read; `level` is our compression level, of
    /// which 0 means svndiff version 0.
    pub fn new(outlet: &'a mut O, peer: Capabilities, level: u8, codec: &'a mut Codec) -> Self {
        EditDriver {
            outlet,
            version: if level == 0 { 0 } else { peer.svndiff_version() },
            level,
            absent_entries: peer.has(Capabilities::ABSENT_ENTRIES),
            replay: false,
            ended: false,
            closed: false,
            failed: None,
            tokens: 0,
            texts: Vec::new(),
            codec,
            window: Vec::new(),
        }
    }

    /// Drives a replay: its end has another name and no response.
    pub fn replay(mut self) -> Self {
        self.replay = true;
        self
    }

    /// True once the edit was closed or given up, by either side.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// True once the peer has accepted the whole edit.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Gives the edit up unless it has ended already.
    ///
    /// # Errors
    /// If the connection is closed. The peer's response makes no difference.
    pub fn give_up(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        EditCommand::AbortEdit.write(self.outlet.buffer());
        self.outlet.answer().map(drop)
    }

    fn token(&mut self) -> u32 {
        let token = self.tokens;
        self.tokens = self.tokens.wrapping_add(1);
        token
    }

    /// # Errors
    /// The error that ended the edit.
    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn send(&mut self, command: EditCommand<'_>) -> Result<()> {
        self.check()?;
        command.write(self.outlet.buffer());
        self.sent()
    }

    fn sent(&mut self) -> Result<()> {
        if !self.outlet.checkpoint()? {
            return Ok(());
        }
        // The peer has failed and discards everything until the driver acknowledges that.
        self.ended = true;
        EditCommand::AbortEdit.write(self.outlet.buffer());
        let error = match self.outlet.answer()? {
            Err(error) => error,
            Ok(()) => Error::new(
                base::Code::RA_SVN_MALFORMED_DATA,
                "Successful edit status returned too soon",
            ),
        };
        self.failed = Some(error.clone());
        Err(error)
    }

    /// The compression level of windows that are encoded here.
    fn level(&self) -> u8 {
        if self.outlet.is_slow() { self.level } else { 0 }
    }

    fn text(&mut self, file: FileToken) -> &mut Option<u8> {
        let at = match self.texts.iter().position(|(token, _)| *token == file) {
            Some(at) => at,
            None => {
                self.texts.push((file, None));
                self.texts.len() - 1
            }
        };
        &mut self.texts[at].1
    }

    /// Writes the document's header unless it was written; returns the document's version.
    fn begin_text(&mut self, file: FileToken, version: u8) -> u8 {
        let begun = self.text(file);
        if let Some(version) = *begun {
            return version;
        }
        *begun = Some(version);
        let mut name = [0; TOKEN_LEN];
        let chunk = [b'S', b'V', b'N', version];
        let token = file_token(file, &mut name);
        EditCommand::TextdeltaChunk { token, chunk: &chunk }.write(self.outlet.buffer());
        version
    }

    fn encode(&mut self, file: FileToken, chunk: TextChunk<'_>, version: u8) -> Result<()> {
        // A string's length precedes its bytes but is known after them, hence the buffer between.
        let level = self.level();
        let window = &mut self.window;
        window.clear();
        match chunk {
            TextChunk::Decoded(decoded) => {
                svndiff::write_window(decoded, version, level, self.codec, window);
            }
            TextChunk::Encoded(encoded) => encoded.write_as(version, level, self.codec, window)?,
        }
        let mut name = [0; TOKEN_LEN];
        let token = file_token(file, &mut name);
        EditCommand::TextdeltaChunk { token, chunk: window }.write(self.outlet.buffer());
        Ok(())
    }
}

impl<O: MessageSink> Editor for EditDriver<'_, O> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.send(EditCommand::TargetRev { rev })
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        let dir = DirToken(self.token());
        self.send(EditCommand::OpenRoot {
            rev: base,
            token: dir_token(dir, &mut [0; TOKEN_LEN]),
        })?;
        Ok(dir)
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        let dir = &mut [0; TOKEN_LEN];
        self.send(EditCommand::DeleteEntry {
            path: path.as_bytes(),
            rev,
            dir: dir_token(parent, dir),
        })
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let dir = DirToken(self.token());
        self.send(EditCommand::AddDir {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
            token: dir_token(dir, &mut [0; TOKEN_LEN]),
            copyfrom: copyfrom.map(|from| (from.path.as_bytes(), from.rev)),
        })?;
        Ok(dir)
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        let dir = DirToken(self.token());
        self.send(EditCommand::OpenDir {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
            token: dir_token(dir, &mut [0; TOKEN_LEN]),
            rev: base,
        })?;
        Ok(dir)
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let token = &mut [0; TOKEN_LEN];
        self.send(EditCommand::ChangeDirProp {
            token: dir_token(dir, token),
            name: name.as_bytes(),
            value,
        })
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.send(EditCommand::CloseDir {
            token: dir_token(dir, &mut [0; TOKEN_LEN]),
        })
    }

    fn absent_directory(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        if !self.absent_entries {
            return Ok(());
        }
        self.send(EditCommand::AbsentDir {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
        })
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let file = FileToken(self.token());
        self.send(EditCommand::AddFile {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
            token: file_token(file, &mut [0; TOKEN_LEN]),
            copyfrom: copyfrom.map(|from| (from.path.as_bytes(), from.rev)),
        })?;
        Ok(file)
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        let file = FileToken(self.token());
        self.send(EditCommand::OpenFile {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
            token: file_token(file, &mut [0; TOKEN_LEN]),
            rev: base,
        })?;
        Ok(file)
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        let token = &mut [0; TOKEN_LEN];
        self.send(EditCommand::ApplyTextdelta {
            token: file_token(file, token),
            base_md5: base_md5.copied(),
        })
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.version)
    }

    fn window_form(&self) -> Option<WindowForm> {
        Some(WindowForm::new(self.version, self.level()))
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.check()?;
        match chunk {
            TextChunk::Encoded(window) if window.version <= self.version => {
                let version = self.begin_text(file, window.version);
                if version == window.version {
                    let mut name = [0; TOKEN_LEN];
                    let token = file_token(file, &mut name);
                    EditCommand::TextdeltaChunk {
                        token,
                        chunk: window.raw,
                    }
                    .write(self.outlet.buffer());
                } else {
                    self.encode(file, chunk, version)?;
                }
            }
            _ => {
                let version = self.begin_text(file, self.version);
                self.encode(file, chunk, version)?;
            }
        }
        self.sent()
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        self.check()?;
        self.begin_text(file, self.version);
        self.texts.retain(|(token, _)| *token != file);
        self.send(EditCommand::TextdeltaEnd {
            token: file_token(file, &mut [0; TOKEN_LEN]),
        })
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let token = &mut [0; TOKEN_LEN];
        self.send(EditCommand::ChangeFileProp {
            token: file_token(file, token),
            name: name.as_bytes(),
            value,
        })
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let token = &mut [0; TOKEN_LEN];
        self.send(EditCommand::CloseFile {
            token: file_token(file, token),
            text_md5: text_md5.copied(),
        })
    }

    fn absent_file(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        if !self.absent_entries {
            return Ok(());
        }
        self.send(EditCommand::AbsentFile {
            path: path.as_bytes(),
            parent: dir_token(parent, &mut [0; TOKEN_LEN]),
        })
    }

    fn close_edit(&mut self) -> Result<()> {
        self.check()?;
        if self.replay {
            self.send(EditCommand::FinishReplay)?;
            self.ended = true;
            return Ok(());
        }
        EditCommand::CloseEdit.write(self.outlet.buffer());
        let answer = self.outlet.answer()?;
        self.ended = true;
        self.closed = answer.is_ok();
        if let Err(error) = &answer {
            // The consumer is still discarding: it must get the acknowledgement.
            EditCommand::AbortEdit.write(self.outlet.buffer());
            self.failed = Some(error.clone());
        }
        answer
    }

    fn abort_edit(&mut self) -> Result<()> {
        self.give_up()
    }
}

/// Longest token: a letter and ten digits.
const TOKEN_LEN: usize = 11;

fn dir_token(dir: DirToken, name: &mut [u8; TOKEN_LEN]) -> &[u8] {
    print_token(b'd', dir.0, name)
}

fn file_token(file: FileToken, name: &mut [u8; TOKEN_LEN]) -> &[u8] {
    print_token(b'c', file.0, name)
}

fn print_token(letter: u8, mut number: u32, name: &mut [u8; TOKEN_LEN]) -> &[u8] {
    let mut at = TOKEN_LEN;
    loop {
        at -= 1;
        name[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    at -= 1;
    name[at] = letter;
    &name[at..]
}

/// Writes `( revprops proplist )`: what replay-range sends before each revision.
pub fn write_revprops(out: &mut Vec<u8>, props: &base::Props) {
    Writer(out).open().word("revprops").proplist(props).close();
}
