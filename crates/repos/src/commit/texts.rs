//! Texts that arrive for several files at once.
//!
//! A transaction takes one text at a time, an edit may interleave them. The first that begins goes straight to the
//! transaction. The windows of a text that begins before it has ended wait in a temporary file, and are written when
//! its turn comes. Known clients send one text after the other, so their texts never wait.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, Write};

use base::checksum::Md5;
use base::{Code, Error, FsPath, Result};
use delta::editor::{FileToken, TextChunk};
use delta::svndiff::{Codec, Decoder, write_header, write_window};
use fsfs::{TextWriter, Txn};

/// Maximum number of texts that wait: each has a file.
const MOST_WAITING: usize = 64;

/// The texts of one edit that are not in its transaction yet.
#[derive(Default)]
pub(super) struct Texts {
    writing: Option<(FileToken, TextWriter)>,
    waiting: VecDeque<WaitingText>,
}

/// A text that waits until the texts before it are written.
struct WaitingText {
    file: FileToken,
    path: FsPath,
    base: Option<Md5>,
    /// The digest of the result, if the driver has sent it already.
    result: Option<Md5>,
    windows: WindowSpool,
    has_ended: bool,
}

/// Where a file's text is when its digest arrives.
pub(super) enum TextState {
    /// In the transaction.
    Written,
    /// Waiting: the digest is compared when the text is written.
    Later,
}

impl Texts {
    /// Begins a text.
    pub(super) fn begin(
        &mut self,
        txn: &mut Txn,
        file: FileToken,
        path: &FsPath,
        base: Option<&Md5>,
    ) -> Result<()> {
        if self.waiting.len() >= MOST_WAITING {
            // The transaction refuses it, as the incumbent refuses the second.
            return txn.apply_textdelta(path, base, None).map(drop);
        }
        if self.writing.is_none() {
            self.writing = Some((file, txn.apply_textdelta(path, base, None)?));
        } else {
            self.waiting.push_back(WaitingText {
                file,
                path: path.clone(),
                base: base.copied(),
                result: None,
                windows: WindowSpool::new()?,
                has_ended: false,
            });
        }
        Ok(())
    }

    /// Adds a window.
    pub(super) fn chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        match &mut self.writing {
            Some((writing, writer)) if *writing == file => writer.chunk(chunk),
            _ => self.find(file)?.windows.push(chunk),
        }
    }

    /// Ends a text, and writes those that waited for it.
    pub(super) fn end(&mut self, txn: &mut Txn, file: FileToken) -> Result<()> {
        match self.writing.take() {
            Some((writing, writer)) if writing == file => {
                writer.finish(txn)?;
                self.let_in(txn)
            }
            other => {
                self.writing = other;
                self.find(file)?.has_ended = true;
                Ok(())
            }
        }
    }

    /// Sets the digest of a closed file's text.
    pub(super) fn expect(&mut self, file: FileToken, result: Option<&Md5>) -> Result<TextState> {
        if self.writing.as_ref().is_some_and(|(writing, _)| *writing == file) {
            return Err(unfinished());
        }
        match self.waiting.iter_mut().rfind(|text| text.file == file) {
            None => Ok(TextState::Written),
            Some(text) if text.has_ended => {
                text.result = result.copied();
                Ok(TextState::Later)
            }
            Some(_) => Err(unfinished()),
        }
    }

    /// Fails if any text has not ended.
    pub(super) fn check_none(&self) -> Result<()> {
        match self.writing.is_none() && self.waiting.is_empty() {
            true => Ok(()),
            false => Err(unfinished()),
        }
    }

    /// Drops all texts.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes the waiting texts, up to the first that has not ended; that one continues without waiting.
    fn let_in(&mut self, txn: &mut Txn) -> Result<()> {
        while let Some(mut text) = self.waiting.pop_front() {
            let mut writer = txn.apply_textdelta(&text.path, text.base.as_ref(), text.result.as_ref())?;
            text.windows
                .each(&mut |window| writer.chunk(TextChunk::Encoded(window)))?;
            if !text.has_ended {
                self.writing = Some((text.file, writer));
                return Ok(());
            }
            writer.finish(txn)?;
        }
        Ok(())
    }

    /// Returns the text that was begun last for a file and waits.
    fn find(&mut self, file: FileToken) -> Result<&mut WaitingText> {
        let found = self.waiting.iter_mut().rfind(|text| text.file == file);
        found.filter(|text| !text.has_ended).ok_or_else(|| {
            Error::new(
                Code::INCORRECT_PARAMS,
                "Text of a file for which none was announced",
            )
        })
    }
}

/// Windows in a temporary file, as one svndiff document.
struct WindowSpool {
    file: File,
    codec: Codec,
    buffer: Vec<u8>,
}

impl WindowSpool {
    fn new() -> Result<Self> {
        let mut buffer = Vec::new();
        write_header(VERSION, &mut buffer);
        Ok(WindowSpool {
            file: tempfile::tempfile().map_err(|e| Error::os(&e, "Can't create temporary file"))?,
            codec: Codec::new(),
            buffer,
        })
    }

    fn push(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        match chunk {
            TextChunk::Decoded(window) => {
                write_window(window, VERSION, 0, &mut self.codec, &mut self.buffer);
            }
            TextChunk::Encoded(window) => {
                let window = window.decode(&mut self.codec)?;
                write_window(&window, VERSION, 0, &mut self.codec, &mut self.buffer);
            }
        }
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|e| Error::os(&e, "Can't write temporary file"))
    }

    /// Calls `sink` for each window.
    fn each(&mut self, sink: &mut dyn FnMut(&delta::svndiff::EncodedWindow<'_>) -> Result<()>) -> Result<()> {
        let failed = |e: std::io::Error| Error::os(&e, "Can't read temporary file");
        self.file.rewind().map_err(failed)?;
        let mut decoder = Decoder::new();
        let mut piece = vec![0; PIECE];
        loop {
            match self.file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(n) => decoder.push(&piece[..n], &mut *sink)?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

fn unfinished() -> Error {
    Error::new(
        Code::FS_INCORRECT_EDITOR_COMPLETION,
        "A file's text was begun and not ended",
    )
}

/// The svndiff version without compression: the file is read again soon.
const VERSION: u8 = 0;

/// Bytes read at a time.
const PIECE: usize = 64 << 10;
