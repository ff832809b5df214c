//! Representations: stored contents, and how to get them back.
//!
//! `level` is one representation of a delta chain on disk, `chain` makes the content out of the chain one window's
//! worth (a *chunk*) at a time, `text` is the stream that callers read, `delta` the difference between two contents.
//! No buffer here grows with a content: a chunk has at most 102,400 bytes.

mod chain;
mod delta;
mod level;
mod raw;
mod text;
pub(crate) mod write;

pub(crate) use chain::RepAddress;
pub use delta::DeltaStream;
pub(crate) use raw::RawContent;
pub use text::TextReader;

use std::cell::RefCell;
use std::sync::Arc;

use ::delta::editor::EncodedVersions;
use ::delta::svndiff::Codec;
use base::{Code, Error, Result};

use crate::format::id::TxnId;
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::Rep;
use crate::fs::Fs;
use crate::node::Node;
use crate::open_file::OpenFile;

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

    /// The header of a stored content.
    pub(crate) fn rep_header(&self, rep: &Rep, txn: Option<TxnId>) -> Result<RepHeader> {
        Ok(level::Level::open(self, RepAddress::of(rep, txn)?, rep.length)?.header)
    }

    /// The proto-revision file of a transaction, and where in it an item starts.
    pub(crate) fn proto_rev_item(&self, txn: TxnId, item: u64) -> Result<(Arc<OpenFile>, u64)> {
        let file = Arc::new(OpenFile::open(self.disk(), self.layout().proto_rev(txn), 0)?);
        if !self.format().logical {
            return Ok((file, item));
        }
        let path = self.layout().txn(&txn.to_string()).join("index.l2p");
        let index = self
            .disk()
            .read_small(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))?;
        // Records of two 64-bit numbers, low byte first: offset + 1 and item; offset 0 separates revisions.
        let found = index.chunks_exact(16).find_map(|record| {
            let number = |at: usize| {
                record[at..at + 8]
                    .iter()
                    .rev()
                    .fold(0, |n, &byte| n << 8 | u64::from(byte))
            };
            number(0).checked_sub(1).filter(|_| number(8) == item)
        });
        match found {
            Some(offset) => Ok((file, offset)),
            None => Err(Error::new(
                Code::FS_CORRUPT,
                format!("Item {item} of transaction '{txn}' does not exist"),
            )),
        }
    }
}
