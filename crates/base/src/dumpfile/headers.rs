//! The headers of records, as values.

use std::borrow::Cow;

use crate::checksum::{Md5, Sha1};
use crate::dumpfile::parse;
use crate::{NodeKind, Result, Revnum};

/// The headers of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpRecord {
    /// The UUID of the repository.
    Uuid(String),
    /// A revision: the node records up to the next one belong to it.
    Revision(RevisionHeaders),
    /// A change of one node.
    Node(Box<NodeHeaders<'static>>),
}

/// What a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The repository's UUID.
    Uuid,
    /// A revision.
    Revision,
    /// The change of one node.
    Node,
}

/// The headers of a revision record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionHeaders {
    /// The number of the revision where it was dumped, as written.
    pub(super) number: Vec<u8>,
    /// Bytes of the property section; `None` if there is none.
    pub prop_length: Option<u64>,
    /// Bytes of all content.
    pub content_length: Option<u64>,
}

impl RevisionHeaders {
    /// Returns the number of the revision where it was dumped.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` if the header does not begin with a number. The records before this one are complete.
    pub fn rev(&self) -> Result<Revnum> {
        parse::revision(&self.number)
    }
}

/// The change of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAction {
    /// It was modified.
    Change,
    /// It was added, empty or as a copy.
    Add,
    /// It was deleted.
    Delete,
    /// It was deleted, and another node was added in its place.
    Replace,
}

impl NodeAction {
    /// Returns the word in the stream.
    pub fn word(self) -> &'static str {
        match self {
            NodeAction::Change => "change",
            NodeAction::Add => "add",
            NodeAction::Delete => "delete",
            NodeAction::Replace => "replace",
        }
    }

    /// Parses a word; `None` if it is not an action.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"change" => NodeAction::Change,
            b"add" => NodeAction::Add,
            b"delete" => NodeAction::Delete,
            b"replace" => NodeAction::Replace,
            _ => return None,
        })
    }
}

/// The headers of a node record. Unknown ones are dropped; lengths count bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeHeaders<'a> {
    /// The path as it is written: `svnadmin` writes no leading slash, and nothing for the root.
    pub path: Cow<'a, str>,
    /// True if the path is not UTF-8; `path` holds it in readable form.
    pub is_path_bad: bool,
    /// The kind of the node after the change; `None` if it is missing or not a kind that a repository holds.
    pub kind: Option<NodeKind>,
    /// The change; `None` if it is missing or unknown.
    pub action: Option<NodeAction>,
    /// The source of a copy: a revision, negative if the stream has no number for it, and a path.
    pub copyfrom: Option<(i64, Cow<'a, str>)>,
    /// True if the path of the source is not UTF-8; `copyfrom` holds it in readable form.
    pub is_source_bad: bool,
    /// Digest of the text of the copy's source.
    pub copy_source_md5: Option<Md5>,
    /// Digest of the text of the copy's source.
    pub copy_source_sha1: Option<Sha1>,
    /// True if the property section holds differences.
    pub prop_delta: bool,
    /// True if the text section is svndiff.
    pub text_delta: bool,
    /// Digest of the text that the svndiff is based on.
    pub delta_base_md5: Option<Md5>,
    /// Digest of the text that the svndiff is based on.
    pub delta_base_sha1: Option<Sha1>,
    /// Digest of the resulting text.
    pub content_md5: Option<Md5>,
    /// Digest of the resulting text.
    pub content_sha1: Option<Sha1>,
    /// True if one of the MD5 digests is malformed. (The incumbent does not check SHA-1 digests.)
    pub has_bad_md5: bool,
    /// Bytes of the property section; `None` if there is none.
    pub prop_length: Option<u64>,
    /// Bytes of the text section; `None` if there is none.
    pub text_length: Option<u64>,
    /// Bytes of all content.
    pub content_length: Option<u64>,
}

/// Names of headers.
pub mod name {
    /// Version of the format; begins a stream.
    pub const VERSION: &str = "SVN-fs-dump-format-version";
    /// UUID of the repository.
    pub const UUID: &str = "UUID";
    /// Number of a revision.
    pub const REVISION: &str = "Revision-number";
    /// Path of a node.
    pub const PATH: &str = "Node-path";
    /// Kind of a node.
    pub const KIND: &str = "Node-kind";
    /// Change of a node.
    pub const ACTION: &str = "Node-action";
    /// Revision of a copy's source.
    pub const COPYFROM_REV: &str = "Node-copyfrom-rev";
    /// Path of a copy's source.
    pub const COPYFROM_PATH: &str = "Node-copyfrom-path";
    /// Digest of the text of a copy's source.
    pub const COPY_SOURCE_MD5: &str = "Text-copy-source-md5";
    /// Digest of the text of a copy's source.
    pub const COPY_SOURCE_SHA1: &str = "Text-copy-source-sha1";
    /// `true` if the property section holds differences.
    pub const PROP_DELTA: &str = "Prop-delta";
    /// `true` if the text section is svndiff.
    pub const TEXT_DELTA: &str = "Text-delta";
    /// Digest of the text that the svndiff is based on.
    pub const DELTA_BASE_MD5: &str = "Text-delta-base-md5";
    /// Digest of the text that the svndiff is based on.
    pub const DELTA_BASE_SHA1: &str = "Text-delta-base-sha1";
    /// Digest of the resulting text.
    pub const CONTENT_MD5: &str = "Text-content-md5";
    /// Digest of the resulting text.
    pub const CONTENT_SHA1: &str = "Text-content-sha1";
    /// Bytes of the property section.
    pub const PROP_LENGTH: &str = "Prop-content-length";
    /// Bytes of the text section.
    pub const TEXT_LENGTH: &str = "Text-content-length";
    /// Bytes of all content.
    pub const CONTENT_LENGTH: &str = "Content-length";

    /// All of them.
    pub const ALL: &[&str] = &[
        VERSION,
        UUID,
        REVISION,
        PATH,
        KIND,
        ACTION,
        COPYFROM_REV,
        COPYFROM_PATH,
        COPY_SOURCE_MD5,
        COPY_SOURCE_SHA1,
        PROP_DELTA,
        TEXT_DELTA,
        DELTA_BASE_MD5,
        DELTA_BASE_SHA1,
        CONTENT_MD5,
        CONTENT_SHA1,
        PROP_LENGTH,
        TEXT_LENGTH,
        CONTENT_LENGTH,
    ];
}
