//! Representations: stored contents, and how to get them back.
//!
//! `open_rep` is one representation of a delta chain on disk, `chain` makes the content out of the chain one window's
//! worth (a *chunk*) at a time, `text` is the stream that callers read, `delta` the difference between two contents,
//! `encoded` a content as windows that are ready to be sent.
//! No buffer here grows with a content: a chunk has at most 102,400 bytes.

mod chain;
mod delta;
mod encoded;
mod open_rep;
mod raw;
mod text;

pub(crate) use chain::RepAddress;
pub use delta::DeltaStream;
pub use encoded::EncodedText;
pub(crate) use raw::RawContent;
pub use text::{TextPiece, TextReader};

use std::cell::RefCell;
use std::sync::Arc;

use ::delta::editor::{EncodedVersions, WindowForm};
use ::delta::svndiff::Codec;
use base::{Code, Error, Result, Revnum};

use crate::format::id::TxnId;
use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::format::rep_line::Rep;
use crate::store::open_file::OpenFile;
use crate::tree::Fs;
use crate::tree::node::Node;

/// Lends this thread's codec (decompressor state and scratch buffers).
pub(crate) fn with_codec<T>(f: impl FnOnce(&mut Codec) -> T) -> T {
    thread_local! {
        static CODEC: RefCell<Codec> = RefCell::new(Codec::new());
    }
    CODEC.with(|codec| f(&mut codec.borrow_mut()))
}

impl Fs {
    /// Delta that turns `source`'s text (empty if None) into `target`'s, as a pull stream of windows. Stored windows pass
    /// undecoded if their base is exactly `source` and `accepts` has their version.
    ///
    /// # Errors
    /// `FS_NOT_FILE`, `FS_CORRUPT`, and what reading a file may say.
    pub fn text_delta(
        &self,
        source: Option<&Node>,
        target: &Node,
        accepts: EncodedVersions,
    ) -> Result<DeltaStream> {
        target.check_file("textual contents")?;
        let side = |node: &Node| (node.noderev().text, node.id().txn());
        let source = match source {
            None => None,
            Some(node) => {
                node.check_file("textual contents")?;
                Some(side(node))
            }
        };
        let target = side(target);
        DeltaStream::new(
            self,
            source.as_ref().map(|(rep, txn)| (rep.as_ref(), *txn)),
            (target.0.as_ref(), target.1),
            accepts,
        )
    }

    /// Checks that there is a stored content at this place.
    ///
    /// # Errors
    /// `FS_CORRUPT` if there is none; `FS_NO_SUCH_REVISION` and its kin.
    pub(crate) fn check_rep(&self, rev: Revnum, item: u64) -> Result<()> {
        self.with_rev_file(rev, |file| {
            let offset = file.item_offset(self.cache(), rev, item)?;
            if file.footer().is_some() {
                let entry = file.p2l_at(self.cache(), offset)?;
                return match entry.filter(|entry| entry.offset == offset && entry.kind.is_rep()) {
                    Some(_) => Ok(()),
                    None => Err(Error::new(
                        Code::FS_CORRUPT,
                        format!(
                            "No representation found at offset {offset} for item {item} in revision {rev}"
                        ),
                    )),
                };
            }
            let end = file.items_end(rev)?;
            let parse = |bytes: &[u8]| Ok(RepHeader::parse(bytes)?);
            file.bytes()
                .parse_at(offset, end, MAX_HEADER, MAX_HEADER, parse)
                .map(drop)
        })
    }

    /// The text of `target` as windows against the empty text, in a form that is ready to be sent. They are kept for the
    /// next who asks for the same form.
    ///
    /// # Errors
    /// `FS_NOT_FILE`, `FS_CORRUPT`.
    pub fn encoded_text(&self, target: &Node, form: WindowForm) -> Result<EncodedText> {
        target.check_file("textual contents")?;
        EncodedText::new(self, target.noderev().text.as_ref(), target.id().txn(), form)
    }

    /// The header of a stored content.
    pub(crate) fn rep_header(&self, rep: &Rep, txn: Option<TxnId>) -> Result<RepHeader> {
        Ok(open_rep::OpenRep::open(self, RepAddress::of(rep, txn)?, rep.length)?.header)
    }

    /// The proto-revision file of a transaction.
    pub(crate) fn proto_rev_file(&self, txn: TxnId) -> Result<Arc<OpenFile>> {
        Ok(Arc::new(OpenFile::open(
            self.disk(),
            self.layout().proto_rev(txn),
            0,
        )?))
    }
}
