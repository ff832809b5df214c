//! The stored forms that both back ends have, each in its own way.
//!
//! The values are the same, so that readers of trees need not know how they are stored.

use std::sync::Arc;

use base::{Code, Error, Props, Result, hashdump};

use super::changes::{self, RawChange};
use super::dir::{self, DirEntries};
use super::fs_format::BackEnd;
use super::fsx;
use super::fsx::cursor::DecodeError;
use super::fsx::dir::FsxDirEntries;
use super::fsx::noderev::FsxNodeRev;
use super::id::NodeRevId;
use super::noderev::NodeRev;

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

    /// The most bytes of an empty property list as it is stored: `END` and a newline, or one byte.
    pub(crate) fn empty_props_len(self) -> u64 {
        match self {
            BackEnd::Fsfs => 4,
            BackEnd::Fsx => 1,
        }
    }
}

/// Adds the ID of the node-revision to the error of a decoder.
fn in_node<T>(result: std::result::Result<T, DecodeError>, id: &NodeRevId) -> Result<T> {
    result.map_err(|e| {
        let e: Error = e.into();
        let message = format!("{} of node-revision '{id}'", e.message());
        Error::new(e.code(), message)
    })
}
