//! Writing the new text of a file.
//!
//! The bytes go to the proto-revision file as they arrive. The tree gets the text when it is complete and has the announced
//! digest. A writer that is dropped before that leaves nothing behind.

use base::checksum::Md5;
use base::{Code, Error, FsPath, Result};
use delta::editor::TextChunk;
use delta::text_delta::SourceView;

use super::edit::Txn;
use super::proto_rev::ProtoRev;
use super::state::NodeKey;
use crate::format::rep_line::Uniquifier;
use crate::tree::rep::{TextReader, with_codec};
use crate::txn::rep_write::RepWriter;

/// Writes one text. It has its file for itself until it is finished or dropped, and is independent of the [`Txn`] value, so that
/// an editor can hold both.
pub struct TextWriter {
    pub(super) rep: RepWriter,
    /// The proto-revision file that the text is written to.
    pub(super) proto: ProtoRev,
    pub(super) key: NodeKey,
    pub(super) path: FsPath,
    pub(super) expected: Option<Md5>,
    /// The delta base; `None` if the text arrives as plain bytes.
    pub(super) source: Option<Source>,
    /// The result of the last window.
    pub(super) produced: Vec<u8>,
    /// The first error: every later call returns it.
    pub(super) failed: Option<Error>,
}

/// The delta base, read through the source views of the windows.
pub(super) type Source = SourceView<Box<dyn FnMut(&mut [u8]) -> Result<usize> + Send>>;

/// Reads a text from front to back.
pub(super) fn source_of(mut reader: TextReader) -> Source {
    SourceView::new(Box::new(move |buffer: &mut [u8]| reader.read_some(buffer)))
}

impl TextWriter {
    /// Applies the next window of the delta ([`Txn::apply_textdelta`] only).
    ///
    /// # Errors
    /// `SVNDIFF_…`, `FS_CORRUPT`; the system's.
    pub fn chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        self.unless_failed(|this| {
            let source = this.source.as_mut().ok_or_else(wrong_form)?;
            this.produced.clear();
            match chunk {
                TextChunk::Decoded(window) => {
                    let view = source.view(window.source_offset, window.source_len)?;
                    window.apply(view, &mut this.produced)?;
                }
                TextChunk::Encoded(window) => {
                    let view = source.view(window.source_offset, window.source_len)?;
                    with_codec(|codec| window.apply(view, &mut this.produced, codec))?;
                    return this.rep.write_encoded(window, &this.produced);
                }
            }
            this.rep.write(&this.produced)
        })
    }

    /// Appends bytes of the text ([`Txn::apply_text`] only).
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.unless_failed(|this| match this.source {
            None => this.rep.write(bytes),
            Some(_) => Err(wrong_form()),
        })
    }

    /// Ends the text and sets it in the transaction; returns its MD5.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`; `FS_TRANSACTION_DEAD` if `txn` is not the value that has begun the text, because the transaction was
    /// opened again in between; `FS_ID_NOT_FOUND` if the node was deleted in between; the system's. The node then keeps its old
    /// text.
    pub fn finish(mut self, txn: &mut Txn) -> Result<Md5> {
        if let Some(e) = self.failed {
            return Err(e);
        }
        txn.check_open()?;
        // The index of the proto-revision file belongs to the value that has begun the text: the item would be missing in another
        // one's.
        if !self.proto.is(&txn.proto) {
            return Err(txn.dead());
        }
        let md5 = self.rep.end()?;
        if let Some(expected) = self.expected
            && !expected.matches(&md5)
        {
            let path = &self.path;
            return Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!(
                    "Checksum mismatch for resulting fulltext\n({path}):\n   expected:  {expected}\n     actual:  {md5}\n"
                ),
            ));
        }
        let uniquifier = txn.fs.format().has_uniquifiers().then(|| {
            let mut state = txn.state.write();
            state.next_node += 1;
            Uniquifier {
                txn: txn.id,
                number: state.next_node - 1,
            }
        });
        let rep = self.rep.store(uniquifier, &mut txn.sharing)?;
        let mut state = txn.state.write();
        state.set_text(&txn.fs, self.key, &self.path, rep)?;
        Ok(md5)
    }

    /// Does a step unless an earlier one failed.
    fn unless_failed(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if let Some(e) = &self.failed {
            return Err(e.clone());
        }
        step(self).inspect_err(|e| self.failed = Some(e.clone()))
    }
}

fn wrong_form() -> Error {
    Error::new(
        Code::INCORRECT_PARAMS,
        "The text was announced in the other form: windows or bytes",
    )
}
