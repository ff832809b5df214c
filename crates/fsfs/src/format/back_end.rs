//! The stored forms that both back ends have, each in its own way.
//!
//! The values are the same, so that readers of trees need not know how they are stored.

use std::sync::Arc;

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use base::{Code, Error, Props, Result, Revnum};

use super::changes::{self, RawChange};
use super::dir::{self, DirEntries, EntryChange};
use super::footer::Footer;
use super::fs_format::{BackEnd, FsFormat};
use super::fsx;
use super::fsx::cursor::DecodeError;
use super::fsx::dir::FsxDirEntries;
use super::fsx::id::{ChangeSet, FsxId};
use super::fsx::noderev::FsxNodeRev;
use super::fsx::rep_line::FsxRep;
use super::id::{NodeRevId, TxnId};
use super::noderev::NodeRev;
use super::p2l::{ItemKind, P2lEntry};
use super::rep_line::{Rep, RepLineError};
use super::{l2p, p2l, proto_index};

impl BackEnd {
    /// Parses the directory of a committed node-revision. `like` is another version of it, or none.
    ///
    /// # Errors
    /// `FS_CORRUPT`.
    pub(crate) fn parse_dir(
        self,
        text: Arc<Vec<u8>>,
        id: &NodeRevId,
        like: Option<&DirEntries>,
    ) -> Result<DirEntries> {
        Ok(match self {
            BackEnd::Fsfs => DirEntries::parse(text, like)?,
            BackEnd::Fsx => in_node(FsxDirEntries::decode(&text), id)?.entries()?,
        })
    }

    /// Parses the file of a directory that a transaction has changed.
    ///
    /// # Errors
    /// `FS_CORRUPT`.
    pub(crate) fn parse_children(self, text: &[u8]) -> Result<DirEntries> {
        Ok(match self {
            BackEnd::Fsfs => dir::parse_children(text)?,
            BackEnd::Fsx => FsxDirEntries::decode_children(text)?.entries()?,
        })
    }

    /// Returns the stored form of a directory.
    ///
    /// # Errors
    /// `FS_CORRUPT` for malformed entries, which parsers exclude.
    pub(crate) fn encode_dir(self, entries: &DirEntries) -> Result<Arc<Vec<u8>>> {
        match self {
            BackEnd::Fsfs => Ok(entries.text().clone()),
            BackEnd::Fsx => {
                let mut out = Vec::new();
                fsx::dir::encode_entries(entries, &mut out)?;
                Ok(Arc::new(out))
            }
        }
    }

    /// Appends an entry, set or (`None`) deleted, to the file of a directory that a transaction has changed.
    pub(crate) fn encode_child(self, name: &str, entry: EntryChange, out: &mut Vec<u8>) {
        match (self, entry) {
            (BackEnd::Fsfs, Some((kind, id))) => {
                dir::encode_entry(out, name.as_bytes(), kind, id.to_string().as_bytes());
            }
            (BackEnd::Fsfs, None) => hashdump::write_delete(out, name.as_bytes()),
            (BackEnd::Fsx, entry) => {
                fsx::dir::encode_change(name, entry.map(|(kind, id)| (kind, FsxId::of(&id))), out);
            }
        }
    }

    /// Parses the property list of a node.
    ///
    /// # Errors
    /// `FS_CORRUPT`, `FS_CORRUPT_PROPLIST`.
    pub(crate) fn parse_node_props(self, text: &[u8], id: &NodeRevId) -> Result<Props> {
        match self {
            BackEnd::Fsfs => hashdump::read_props(text).map_err(|e| {
                let message = format!("malformed property list for node-revision '{id}'");
                e.wrap(Code::FS_CORRUPT, message)
            }),
            BackEnd::Fsx => in_node(fsx::prop_list::decode(text), id),
        }
    }

    /// Parses the property list of a transaction.
    ///
    /// # Errors
    /// `MALFORMED_FILE`, `FS_CORRUPT_PROPLIST`.
    pub(crate) fn parse_txn_props(self, text: &[u8]) -> Result<Props> {
        match self {
            BackEnd::Fsfs => hashdump::read_props(text),
            BackEnd::Fsx => Ok(fsx::prop_list::decode(text)?),
        }
    }

    /// Appends a property list, of a node, a transaction, or (without checksum) a revision.
    pub(crate) fn encode_props(self, list: &Props, out: &mut Vec<u8>) {
        match self {
            BackEnd::Fsfs => hashdump::write_props(out, list, Terminator::End),
            BackEnd::Fsx => fsx::prop_list::encode(list, out),
        }
    }

    /// Appends the file with the property list of a new revision.
    pub(crate) fn encode_revprops(self, list: &Props, out: &mut Vec<u8>) {
        self.encode_props(list, out);
        match self {
            BackEnd::Fsfs => {}
            BackEnd::Fsx => fsx::prop_list::push_checksum(out),
        }
    }

    /// Appends a node-revision with all that it may record.
    pub(crate) fn encode_noderev(self, noderev: &NodeRev, out: &mut Vec<u8>) {
        match self {
            // The lines of every format are a subset of these.
            BackEnd::Fsfs => noderev.encode(out, true, true),
            BackEnd::Fsx => FsxNodeRev::of(noderev).encode(out),
        }
    }

    /// Parses a node-revision of a transaction; `None` if the text ends early.
    ///
    /// # Errors
    /// `FS_CORRUPT` and others of node-revisions.
    pub(crate) fn parse_txn_noderev(self, text: &[u8]) -> Result<Option<NodeRev>> {
        match self {
            BackEnd::Fsfs => Ok(NodeRev::parse(text)?.map(|(noderev, _)| noderev)),
            BackEnd::Fsx => Ok(Some(FsxNodeRev::parse(text)?.into_noderev()?)),
        }
    }

    /// Parses the log of the changes of a transaction.
    ///
    /// # Errors
    /// `FS_CORRUPT` and others of changed-path lists.
    pub(crate) fn parse_change_log(self, text: &[u8]) -> Result<Vec<RawChange>> {
        Ok(match self {
            BackEnd::Fsfs => changes::parse(text, true)?,
            BackEnd::Fsx => {
                let log = fsx::changes::parse_log(text)?;
                log.into_iter().map(RawChange::without_id).collect()
            }
        })
    }

    /// Appends an entry of a changed-path list or of the log of a transaction.
    pub(crate) fn encode_change(self, change: &RawChange, out: &mut Vec<u8>) {
        match self {
            BackEnd::Fsfs => changes::encode_entry(out, change),
            BackEnd::Fsx => fsx::changes::encode_entry(&change.info, out),
        }
    }

    /// Parses the index of the items in a proto-revision file.
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION`.
    pub(crate) fn parse_proto_items(self, text: &[u8]) -> Result<Vec<P2lEntry>> {
        Ok(match self {
            BackEnd::Fsfs => proto_index::parse_p2l(text)?,
            BackEnd::Fsx => fsx::proto_index::parse_items(text)?,
        })
    }

    /// Appends an item to the indexes of a proto-revision file: by number, and by offset.
    pub(crate) fn push_proto_item(self, entry: &P2lEntry, by_number: &mut Vec<u8>, by_offset: &mut Vec<u8>) {
        match self {
            BackEnd::Fsfs => {
                proto_index::push_l2p(by_number, entry);
                proto_index::push_p2l(by_offset, entry);
            }
            BackEnd::Fsx => fsx::proto_index::push_item(entry, by_number, by_offset),
        }
    }

    /// Parses the file of a transaction that names the place of a text. The text must be of that transaction or a revision.
    ///
    /// # Errors
    /// `FS_CORRUPT` and others of rep lines.
    pub(crate) fn parse_text_rep(self, line: &[u8], txn: TxnId) -> Result<Rep> {
        match self {
            BackEnd::Fsfs => Ok(Rep::parse(line)?),
            BackEnd::Fsx => {
                let rep = FsxRep::parse(line).and_then(|rep| rep.location(ChangeSet::Txn(txn.number), true));
                Ok(rep.ok_or(RepLineError::Malformed)?)
            }
        }
    }

    /// The most bytes of an empty property list as it is stored: `END` and a newline, or one byte.
    pub(crate) fn empty_props_len(self) -> u64 {
        match self {
            BackEnd::Fsfs => 4,
            BackEnd::Fsx => 1,
        }
    }
}

impl FsFormat {
    /// Appends a node-revision as this format stores it.
    pub(crate) fn encode_noderev(&self, noderev: &NodeRev, out: &mut Vec<u8>) {
        match self.back_end {
            BackEnd::Fsfs => noderev.encode(out, self.has_mergeinfo(), self.has_placeholders()),
            BackEnd::Fsx => self.back_end.encode_noderev(noderev, out),
        }
    }

    /// Returns the line for the place of a text of a transaction.
    pub(crate) fn text_rep_line(&self, rep: &Rep, txn: TxnId) -> String {
        match self.back_end {
            BackEnd::Fsfs => {
                let mut line = String::new();
                rep.encode(&mut line, self.has_placeholders());
                line
            }
            BackEnd::Fsx => FsxRep::of(rep, ChangeSet::Txn(txn.number)).line(),
        }
    }

    /// Appends the indexes and the footer of the file of one revision to `out`, which begins at byte `items_len` of the file. The
    /// items come in order of their offsets, without gaps.
    pub(crate) fn encode_indexes(
        &self,
        out: &mut Vec<u8>,
        rev: Revnum,
        items_len: u64,
        pages: PageSizes,
        items: &[P2lEntry],
    ) {
        let numbers = items.iter().filter(|entry| entry.kind != ItemKind::Unused);
        let count = numbers
            .clone()
            .map(|entry| entry.item as usize + 1)
            .max()
            .unwrap_or(1);
        let mut offsets = vec![None; count];
        numbers.for_each(|entry| offsets[entry.item as usize] = Some(entry.offset));
        let start = out.len();
        match self.back_end {
            BackEnd::Fsfs => l2p::encode(out, rev, pages.l2p as usize, &[offsets]),
            BackEnd::Fsx => fsx::l2p::encode_plain(out, rev, pages.l2p as usize, &offsets),
        }
        let middle = out.len();
        match self.back_end {
            BackEnd::Fsfs => p2l::encode(out, rev, items_len, pages.p2l, items),
            BackEnd::Fsx => fsx::p2l::encode_plain(out, rev, items_len, pages.p2l, items),
        }
        let footer = Footer {
            l2p_offset: items_len,
            l2p_md5: Md5::of(&out[start..middle]),
            p2l_offset: items_len + (middle - start) as u64,
            p2l_md5: Md5::of(&out[middle..]),
            footer_offset: items_len + (out.len() - start) as u64,
        };
        footer.encode(out);
    }
}

/// The page sizes of new indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSizes {
    /// Entries in a page of the L2P index.
    pub(crate) l2p: u64,
    /// Bytes of items that a page of the P2L index covers.
    pub(crate) p2l: u64,
}

/// Adds the ID of the node-revision to the error of a decoder.
fn in_node<T>(result: std::result::Result<T, DecodeError>, id: &NodeRevId) -> Result<T> {
    result.map_err(|e| {
        let e: Error = e.into();
        let message = format!("{} of node-revision '{id}'", e.message());
        Error::new(e.code(), message)
    })
}
