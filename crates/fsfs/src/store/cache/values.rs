//! The types that the cache holds, with their weights in bytes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use base::{PropList, Props, Result, Revnum};
use delta::svndiff::OwnedWindow;
use parking_lot::Mutex;

use super::{Chunk, Instance, Key};
use crate::format::change_list::ChangeList;
use crate::format::dir::DirEntries;
use crate::format::fsx;
use crate::format::history_index::block::IndexBlock;
use crate::format::noderev::NodeRev;
use crate::format::p2l::P2lEntry;
use crate::format::revprops_pack::{RevpropsManifest, RevpropsPack};
use crate::store::disk::FileMeta;
use crate::store::fsx::container::Container;
use crate::store::path_chain::PathChain;

/// A type that the cache holds. Cheap to clone: a reference count.
pub(crate) trait Cached: Clone {
    /// The kind of the type: a part of the key.
    const KIND: ValueKind;
    /// Wraps a value.
    fn into_value(self) -> Value;
    /// Unwraps a value; `None` if it has another type.
    fn from_value(value: Value) -> Option<Self>;
    /// The memory of the value in bytes.
    fn weight(&self) -> u64;
}

macro_rules! cached {
    ($($(#[$doc:meta])* $kind:ident($type:ty) = $bytes:expr;)*) => {
        /// The kind of a cached value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum ValueKind {
            $($(#[$doc])* $kind,)*
        }

        /// A cached value of any kind.
        #[derive(Clone)]
        pub(crate) enum Value {
            $($(#[$doc])* $kind($type),)*
        }

        impl Value {
            pub(super) fn weight(&self) -> u64 {
                match self {
                    $(Value::$kind(value) => Cached::weight(value),)*
                }
            }
        }

        $(impl Cached for $type {
            const KIND: ValueKind = ValueKind::$kind;
            fn into_value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some(value),
                    _ => None,
                }
            }
            fn weight(&self) -> u64 {
                let bytes: fn(&$type) -> usize = $bytes;
                bytes(self) as u64
            }
        })*
    };
}

cached! {
    /// Node-revision by (revision, item).
    NodeRev(Arc<NodeRev>) = |value| size_of::<NodeRev>() + 64 + value.created_path.len();
    /// Parsed directory by (revision, item) of its rep.
    Dir(DirEntries) = DirEntries::bytes;
    /// Directories on the way of the last look-up of a deep path, by revision. The list grows while it is cached, so
    /// it weighs as much as a long one.
    PathChain(Arc<Mutex<PathChain>>) = |_| 8 << 20;
    /// Property list by (revision, item) of its rep.
    Props(Arc<Props>) = |value| value.iter().map(|(name, value)| 96 + name.len() + value.len()).sum();
    /// A chunk of a content by (revision, item) of its rep and number of the chunk.
    Chunk(Chunk) = |value| 64 + value.bytes().capacity();
    /// Length of a delta chain by (revision, item) of its rep.
    DeltaChainLength(DeltaChainLength) = |_| size_of::<DeltaChainLength>();
    /// A window of a content against the empty text, encoded for a client, by (revision, item) of its rep, number and
    /// form.
    Window(Arc<OwnedWindow>) = |value| 64 + value.len();
    /// Page of an L2P index by first revision, page number.
    L2pPage(Arc<[Option<u64>]>) = |value| 16 * value.len();
    /// Stored bytes of a revision file by first revision, number of the block.
    FileBlock(FileBlock) = |value| value.0.capacity();
    /// Stored bytes of an L2P index by first revision, number of the block.
    L2pBlock(L2pBlock) = |value| value.0.len();
    /// Description of a P2L index by first revision, page number.
    P2lPage(Arc<[P2lEntry]>) = |value| size_of::<P2lEntry>() * value.len();
    /// Unpacked revision properties by revision, with the state of their file.
    Revprops(CachedRevprops) = |value| size_of_val(&**value) + 32 + value.value.bytes();
    /// Manifest of packed revision properties by shard, with the state of its file.
    RevpropsManifest(CachedManifest) = |value| value.bytes;
    /// Pack of revision properties by the two parts of its name and its shard, with the state of its file.
    RevpropsPack(CachedRevpropsPack) = |value| value.bytes + value.value.bytes();
    /// Entries of a directory that a transaction has changed, with the state of their file.
    Children(CachedChildren) = |value| value.bytes + value.value.entries.bytes();
    /// Node-revision at a path by revision and a hash of the path.
    NodeRevAtPath(NodeRevAtPath) = |value| size_of::<NodeRev>() + 64 + value.0.len();
    /// The changed paths and properties of a revision for a log, by revision.
    Log(LogRecord) = |value| value.bytes();
    /// Changed-path list by revision.
    Changes(ChangeList) = |value| value.bytes();
    /// Page of an L2P index of FSX by first revision, page number.
    FsxL2pPage(Arc<[Option<fsx::l2p::L2pEntry>]>) = |value| size_of_val(&**value);
    /// Page of a P2L index of FSX by first revision, page number.
    FsxP2lPage(Arc<[fsx::p2l::P2lEntry]>) = |value| value.iter().map(|entry| size_of_val(entry) + size_of_val(&*entry.items)).sum();
    /// Manifest of packed revision properties of FSX by shard, with the state of its file.
    FsxRevpropsManifest(CachedFsxManifest) = |value| value.bytes;
    /// Pack of revision properties of FSX by first revision, with the state of its file. The bytes are compressed in the file.
    FsxRevpropsPack(CachedFsxPack) = |value| value.value.bytes();
    /// Container of a pack file of FSX by first revision, offset.
    Container(Container) = Container::bytes;
    /// Block of the history index by a hash of its file's identity, offset.
    HistoryIndexBlock(Arc<IndexBlock>) = |value| value.bytes();
}

/// A block of the stored bytes of a revision file.
#[derive(Clone)]
pub(crate) struct FileBlock(pub(crate) Arc<Vec<u8>>);

/// A block of the stored bytes of an L2P index.
#[derive(Clone)]
pub(crate) struct L2pBlock(pub(crate) Arc<[u8]>);

/// A path and the node-revision that it names.
#[derive(Clone)]
pub(crate) struct NodeRevAtPath(Arc<str>, Arc<NodeRev>);

impl NodeRevAtPath {
    pub(crate) fn new(path: &str, noderev: Arc<NodeRev>) -> Self {
        NodeRevAtPath(path.into(), noderev)
    }

    /// The node-revision, if the value is the one for `path`: two paths may have one hash.
    pub(crate) fn at(self, path: &str) -> Option<Arc<NodeRev>> {
        (*self.0 == *path).then_some(self.1)
    }

    /// The key of a path in a revision.
    pub(crate) fn key(instance: Instance, rev: u64, path: &str) -> Key {
        let mut hash = DefaultHasher::new();
        path.hash(&mut hash);
        Key::new::<NodeRevAtPath>(instance, rev, hash.finish())
    }
}

/// The parsed content of a file that can change, with the metadata of the file from before it was read.
#[derive(Debug)]
pub(crate) struct CachedFile<T> {
    pub(crate) meta: FileMeta,
    /// Bytes of memory.
    pub(crate) bytes: usize,
    pub(crate) value: T,
}

/// The properties of an unpacked revision.
pub(crate) type CachedRevprops = Arc<CachedFile<PropList>>;
/// The manifest of a shard's packed revision properties.
pub(crate) type CachedManifest = Arc<CachedFile<RevpropsManifest>>;
/// A pack file of revision properties.
pub(crate) type CachedRevpropsPack = Arc<CachedFile<ReadRevpropsPack>>;
/// The manifest of a shard's packed revision properties, FSX.
pub(crate) type CachedFsxManifest = Arc<CachedFile<fsx::revprops_pack::RevpropsManifest>>;
/// A pack file of revision properties, FSX.
pub(crate) type CachedFsxPack = Arc<CachedFile<fsx::revprops_pack::PackedLists>>;
/// The entries of a directory that a transaction has changed.
pub(crate) type CachedChildren = Arc<CachedFile<ChildrenFile>>;

/// A pack file of revision properties, and those of its lists that were read.
#[derive(Debug)]
pub(crate) struct ReadRevpropsPack {
    pack: RevpropsPack,
    lists: Box<[OnceLock<PropList>]>,
}

impl ReadRevpropsPack {
    pub(crate) fn new(pack: RevpropsPack) -> Self {
        let lists = pack.revisions().map(|_| OnceLock::new()).collect();
        ReadRevpropsPack { pack, lists }
    }

    /// The revisions in the pack file.
    pub(crate) fn revisions(&self) -> Range<u64> {
        self.pack.revisions()
    }

    /// The list of a revision. `None` if it is not in this pack file.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if it is no property list.
    pub(crate) fn list(&self, rev: Revnum) -> Option<Result<PropList>> {
        let at = usize::try_from(rev.0.checked_sub(self.revisions().start)?).ok()?;
        let slot = self.lists.get(at)?;
        if let Some(list) = slot.get() {
            return Some(Ok(list.clone()));
        }
        let list = PropList::read(self.pack.list(rev)?);
        Some(list.map(|list| slot.get_or_init(|| list).clone()))
    }

    /// Memory that the pack takes when all lists were read, bytes.
    fn bytes(&self) -> usize {
        2 * self.pack.content_bytes() + self.lists.len() * BYTES_OF_LIST
    }
}

/// Memory that a list takes beside its content, bytes: its place in the pack file, and the list that was read.
const BYTES_OF_LIST: usize = 64;

/// The entries of a directory that a transaction has changed, and the path of their file.
#[derive(Debug)]
pub(crate) struct ChildrenFile {
    pub(crate) path: PathBuf,
    pub(crate) entries: DirEntries,
}

/// The length of a delta chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeltaChainLength {
    /// The number of representations, the content's own included.
    pub(crate) reps: u32,
    /// The number of pairs of neighbours that are in different shards.
    pub(crate) switches: u32,
}

/// The changed paths and the properties of a revision, as a log shows them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LogRecord(Arc<LogRecordInner>);

#[derive(Debug)]
struct LogRecordInner {
    changes: ChangeList,
    revprops: PropList,
    /// The state of the properties' file.
    meta: FileMeta,
}

impl LogRecord {
    /// A record whose properties were read from a file with the state `meta`.
    pub(crate) fn new(changes: ChangeList, revprops: PropList, meta: FileMeta) -> Self {
        LogRecord(Arc::new(LogRecordInner {
            changes,
            revprops,
            meta,
        }))
    }

    /// The changed paths.
    pub fn changes(&self) -> &ChangeList {
        &self.0.changes
    }

    /// The revision properties when the record was read.
    pub fn revprops(&self) -> &PropList {
        &self.0.revprops
    }

    /// The state of the properties' file at that time.
    pub(crate) fn meta(&self) -> FileMeta {
        self.0.meta
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<LogRecordInner>() + 48 + self.0.changes.bytes() + self.0.revprops.bytes()
    }
}
