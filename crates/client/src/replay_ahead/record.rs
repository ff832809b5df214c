//! Records the calls of an edit as bytes.
//!
//! A call is one byte that names it, then its parameters: numbers in base 128, texts with their lengths, optional values with a
//! byte before them. Tokens are the slots of [`Recorder`], which are used again after a node is closed. Windows keep their form.

use base::checksum::Md5;
use base::{RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::{Codec, varint, write_window};

use super::queue::{Sender, Step};

/// The calls.
pub mod call {
    pub const TARGET_REVISION: u8 = 0;
    pub const OPEN_ROOT: u8 = 1;
    pub const DELETE_ENTRY: u8 = 2;
    pub const ADD_DIRECTORY: u8 = 3;
    pub const OPEN_DIRECTORY: u8 = 4;
    pub const DIR_PROP: u8 = 5;
    pub const CLOSE_DIRECTORY: u8 = 6;
    pub const ABSENT_DIRECTORY: u8 = 7;
    pub const ADD_FILE: u8 = 8;
    pub const OPEN_FILE: u8 = 9;
    pub const APPLY_TEXTDELTA: u8 = 10;
    pub const TEXT_CHUNK: u8 = 11;
    pub const TEXT_END: u8 = 12;
    pub const FILE_PROP: u8 = 13;
    pub const CLOSE_FILE: u8 = 14;
    pub const ABSENT_FILE: u8 = 15;
}

/// Records calls and sends them in segments.
pub struct Recorder<'a> {
    sender: &'a Sender,
    calls: Vec<u8>,
    dirs: Slots,
    files: Slots,
    codec: Codec,
}

impl<'a> Recorder<'a> {
    /// Starts an edit.
    pub fn new(sender: &'a Sender) -> Recorder<'a> {
        Recorder {
            sender,
            calls: Vec::new(),
            dirs: Slots::default(),
            files: Slots::default(),
            codec: Codec::new(),
        }
    }

    /// Sends what is left.
    ///
    /// # Errors
    /// `CANCELLED` if the receiver is gone.
    pub fn finish(mut self) -> Result<()> {
        match self.calls.is_empty() {
            true => Ok(()),
            false => self.send(),
        }
    }

    fn send(&mut self) -> Result<()> {
        self.sender.send(Step::Calls(std::mem::take(&mut self.calls)))
    }

    /// Ends a call.
    fn end(&mut self) -> Result<()> {
        match self.calls.len() >= SEGMENT {
            true => self.send(),
            false => Ok(()),
        }
    }

    fn number(&mut self, number: impl Into<u64>) {
        varint::write(number.into(), &mut self.calls);
    }

    fn rev(&mut self, rev: Option<Revnum>) {
        self.number(rev.map_or(0, |rev| rev.0.saturating_add(1)));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.calls.extend_from_slice(bytes);
    }

    fn optional(&mut self, bytes: Option<&[u8]>) {
        self.calls.push(u8::from(bytes.is_some()));
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }

    fn entry(&mut self, call: u8, path: &RelPath, parent: DirToken) {
        self.calls.push(call);
        self.bytes(path.as_str().as_bytes());
        self.number(parent.0);
    }

    fn source(&mut self, copyfrom: Option<CopyFrom<'_>>) {
        self.calls.push(u8::from(copyfrom.is_some()));
        if let Some(from) = copyfrom {
            self.bytes(from.path.as_bytes());
            self.number(from.rev.0);
        }
    }

    fn prop(&mut self, call: u8, token: u32, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.calls.push(call);
        self.number(token);
        self.bytes(name.as_bytes());
        self.optional(value);
        self.end()
    }

    fn new_dir(&mut self) -> Result<DirToken> {
        let slot = self.dirs.take();
        self.number(slot);
        self.end()?;
        Ok(DirToken(slot))
    }

    fn new_file(&mut self) -> Result<FileToken> {
        let slot = self.files.take();
        self.number(slot);
        self.end()?;
        Ok(FileToken(slot))
    }
}

impl Editor for Recorder<'_> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.calls.push(call::TARGET_REVISION);
        self.number(rev.0);
        self.end()
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.calls.push(call::OPEN_ROOT);
        self.rev(base);
        self.new_dir()
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.entry(call::DELETE_ENTRY, path, parent);
        self.rev(rev);
        self.end()
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.entry(call::ADD_DIRECTORY, path, parent);
        self.source(copyfrom);
        self.new_dir()
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.entry(call::OPEN_DIRECTORY, path, parent);
        self.rev(base);
        self.new_dir()
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.prop(call::DIR_PROP, dir.0, name, value)
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.calls.push(call::CLOSE_DIRECTORY);
        self.number(dir.0);
        self.dirs.free(dir.0);
        self.end()
    }

    fn absent_directory(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.entry(call::ABSENT_DIRECTORY, path, parent);
        self.end()
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.entry(call::ADD_FILE, path, parent);
        self.source(copyfrom);
        self.new_file()
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.entry(call::OPEN_FILE, path, parent);
        self.rev(base);
        self.new_file()
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        self.calls.push(call::APPLY_TEXTDELTA);
        self.number(file.0);
        self.optional(base_md5.map(|md5| &md5.0[..]));
        self.end()
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.calls.push(call::TEXT_CHUNK);
        self.number(file.0);
        match chunk {
            TextChunk::Encoded(window) => {
                self.calls.push(window.version);
                self.bytes(window.raw);
            }
            TextChunk::Decoded(window) => {
                let mut raw = Vec::new();
                write_window(window, 0, 0, &mut self.codec, &mut raw);
                self.calls.push(0);
                self.bytes(&raw);
            }
        }
        self.end()
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        self.calls.push(call::TEXT_END);
        self.number(file.0);
        self.end()
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.prop(call::FILE_PROP, file.0, name, value)
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        self.calls.push(call::CLOSE_FILE);
        self.number(file.0);
        self.optional(text_md5.map(|md5| &md5.0[..]));
        self.files.free(file.0);
        self.end()
    }

    fn absent_file(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.entry(call::ABSENT_FILE, path, parent);
        self.end()
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Numbers for open nodes, the smallest that are free.
#[derive(Default)]
struct Slots {
    free: Vec<u32>,
    next: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

/// Bytes of calls that are sent together.
const SEGMENT: usize = 64 << 10;
