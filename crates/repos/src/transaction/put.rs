//! Receives a file's new text, as full text or as svndiff against what the file holds.
//!
//! Memory does not grow with the text. A text that is given up leaves the file as it was.

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, Result};
use delta::editor::TextChunk;
use delta::svndiff::Decoder;
use fsfs::TextWriter;

use super::Transaction;
use crate::commit::rules::check_name;

/// A text to be put into a file.
#[derive(Clone, Debug)]
pub struct PutText<'a> {
    /// The path of the file, which is created if it does not exist.
    pub path: &'a FsPath,
    /// The digest of the text that the file must hold before.
    pub base_md5: Option<Md5>,
    /// The digest of the text that the file must hold after.
    pub result_md5: Option<Md5>,
    /// The bytes are svndiff.
    pub is_delta: bool,
}

/// A text that is being received.
pub struct TextUpload {
    writer: TextWriter,
    /// Decodes svndiff; `None` for a full text.
    decoder: Option<Decoder>,
    path: FsPath,
    expected: Option<Md5>,
    is_new: bool,
}

impl Transaction {
    /// Begins a text. Until the result is finished or dropped, another text and the commit are refused. Every other
    /// step is allowed, so that a client that stops in the middle of a text blocks nothing else.
    /// [`check_base`](Self::check_base) tells whether the client has the newest file.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_NOT_FILE`, `CHECKSUM_MISMATCH`;
    /// `FS_REP_BEING_WRITTEN` while another text is being put; those of locks.
    pub fn put(&mut self, put: &PutText<'_>) -> Result<TextUpload> {
        let path = put.path;
        let is_new = self.kind(path)? == NodeKind::None;
        if is_new {
            check_name(path.as_str())?;
            self.touch()?;
            self.txn.make_file(path)?;
        } else {
            self.touch()?;
        }
        let (writer, decoder) = match put.is_delta {
            true => {
                let base = put.base_md5.as_ref();
                (self.txn.apply_textdelta(path, base, None)?, Some(Decoder::new()))
            }
            false => {
                self.check_text(path, put.base_md5.as_ref())?;
                (self.txn.apply_text(path, None)?, None)
            }
        };
        Ok(TextUpload {
            writer,
            decoder,
            path: path.clone(),
            expected: put.result_md5,
            is_new,
        })
    }
}

impl Transaction {
    /// Checks the digest that the client expects. A file that never got a text matches any.
    fn check_text(&self, path: &FsPath, expected: Option<&Md5>) -> Result<()> {
        let (Some(expected), Some(node)) = (expected, self.node(path)?) else {
            return Ok(());
        };
        let actual = node.md5()?;
        if !node.has_text() || expected.matches(&actual) {
            return Ok(());
        }
        Err(Error::new(
            Code::CHECKSUM_MISMATCH,
            format!(
                "Base checksum mismatch on '{path}':\n   expected:  {expected}\n     actual:  {actual}\n"
            ),
        ))
    }
}

impl TextUpload {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// `SVNDIFF_…`; the system's.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = &mut self.writer;
        match &mut self.decoder {
            Some(decoder) => decoder.push(bytes, |window| writer.chunk(TextChunk::Encoded(window))),
            None => writer.write(bytes),
        }
    }

    /// Ends the text; returns its MD5, and whether the file is new.
    ///
    /// # Errors
    /// `SVNDIFF_UNEXPECTED_END`, `CHECKSUM_MISMATCH`; `FS_TRANSACTION_DEAD` if the transaction was opened again since the text was
    /// begun, `FS_ID_NOT_FOUND` if the file was deleted since then; the system's.
    pub fn finish(self, transaction: &mut Transaction) -> Result<(Md5, bool)> {
        if let Some(decoder) = self.decoder {
            decoder.finish()?;
        }
        transaction.touch()?;
        let md5 = self.writer.finish(&mut transaction.txn)?;
        match self.expected {
            Some(expected) if !expected.matches(&md5) => Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!(
                    "Checksum mismatch for '{}':\n   expected:  {expected}\n     actual:  {md5}\n",
                    self.path
                ),
            )),
            _ => Ok((md5, self.is_new)),
        }
    }
}
