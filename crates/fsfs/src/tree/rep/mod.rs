//! Representations: reading stored contents.
//!
//! A content is read in *chunks*. A chunk is what one window of a delta makes, at most 102,400 bytes; no buffer here
//! grows with a content.
//!
//! | module | subject |
//! |---|---|
//! | [`open_rep`] | one representation of a delta chain, read window by window |
//! | [`chain`] | chunks out of a delta chain |
//! | [`text`] | [`TextReader`], a content as a stream of bytes, checked against its MD5 |
//! | [`raw`] | chunks without a check, for callers that check many contents at once |
//! | [`delta`] | [`DeltaStream`], the delta between two contents |
//! | [`encoded`] | [`EncodedText`], a content as encoded windows for a client |

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
use crate::tree::fsx::wrong_type;
use crate::tree::node::Node;

/// Runs `f` with the codec of this thread (decompressor state and scratch buffers).
pub(crate) fn with_codec<T>(f: impl FnOnce(&mut Codec) -> T) -> T {
    thread_local! {
        static CODEC: RefCell<Codec> = RefCell::new(Codec::new());
    }
    CODEC.with(|codec| f(&mut codec.borrow_mut()))
}

impl Fs {
    /// The delta from the text of `source` (empty if `None`) to that of `target`, as a stream of windows. Stored
    /// windows are passed on without decoding if their base is exactly `source` and `accepts` has their version.
    ///
    /// # Errors
    /// `FS_NOT_FILE`, `FS_CORRUPT`; the system's.
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

    /// Checks that an item is a representation.
    ///
    /// # Errors
    /// `FS_CORRUPT` if it is not; `FS_NO_SUCH_REVISION` and others of a missing item.
    pub(crate) fn check_rep(&self, rev: Revnum, item: u64) -> Result<()> {
        self.with_rev_file(rev, |file| {
            if self.format().is_fsx() {
                let is_rep = file.fsx(self.cache())?.item(rev, item)?.item_type.holds_reps();
                return is_rep.then_some(()).ok_or_else(|| wrong_type(rev, item));
            }
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

    /// The text of `target` as windows against the empty text, encoded for a client. The windows are cached for the
    /// next request of the same form.
    ///
    /// # Errors
    /// `FS_NOT_FILE`, `FS_CORRUPT`.
    pub fn encoded_text(&self, target: &Node, form: WindowForm) -> Result<EncodedText> {
        target.check_file("textual contents")?;
        EncodedText::new(self, target.noderev().text.as_ref(), target.id().txn(), form)
    }

    /// The header of a representation.
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
