//! SKELETON of the crate's front door: the signatures that `repos` is written against. The fsfs helper replaces this file by
//! the real modules (`fs.rs`, `root.rs`, `node.rs`, `history.rs`, `rep/`, …) and keeps these names and shapes.
#![allow(
    dead_code,
    unused_variables,
    missing_docs,
    clippy::all,
    clippy::allow_attributes,
    clippy::unimplemented
)]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{Depth, FsPath, Lock, NodeKind, Props, Result, Revnum};
use delta::editor::{EncodedVersions, TextChunk};

/// The process's one cache: byte budget, shared by all repositories.
pub struct Cache(());
impl Cache {
    /// `budget` in bytes; 0 caches next to nothing.
    pub fn new(budget: u64) -> Arc<Cache> {
        unimplemented!()
    }
}

/// An open filesystem. Cheap to clone; Send + Sync; every method may be called from many threads.
#[derive(Clone)]
pub struct Fs(Arc<()>);

/// What `svnadmin info` prints about the storage.
#[derive(Clone, Debug)]
pub struct FsInfo {
    pub format: u32,
    /// 0 for the linear layout.
    pub shard_size: u64,
    pub logical_addressing: bool,
    pub min_unpacked_rev: Revnum,
}

impl Fs {
    /// Opens REPOS/db.
    pub fn open(db: &Path, cache: &Arc<Cache>) -> Result<Fs> {
        unimplemented!()
    }
    pub fn path(&self) -> &Path {
        unimplemented!()
    }
    pub fn uuid(&self) -> String {
        unimplemented!()
    }
    pub fn info(&self) -> Result<FsInfo> {
        unimplemented!()
    }
    /// Reads `current`.
    pub fn youngest(&self) -> Result<Revnum> {
        unimplemented!()
    }
    /// # Errors: FS_NO_SUCH_REVISION `No such revision N`.
    pub fn root(&self, rev: Revnum) -> Result<Root> {
        unimplemented!()
    }
    /// # Errors: FS_NO_SUCH_TRANSACTION.
    pub fn txn_root(&self, txn: &str) -> Result<Root> {
        unimplemented!()
    }
    pub fn txn_props(&self, txn: &str) -> Result<Props> {
        unimplemented!()
    }
    pub fn list_txns(&self) -> Result<Vec<String>> {
        unimplemented!()
    }
    pub fn revprops(&self, rev: Revnum) -> Result<Arc<Props>> {
        unimplemented!()
    }
    /// The lock on exactly this path, None if there is none or it has expired.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        unimplemented!()
    }
    /// All locks at or below `path` within `depth`.
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        unimplemented!()
    }
    /// Bytes that the revision takes on disk (`svnadmin rev-size`).
    pub fn rev_size(&self, rev: Revnum) -> Result<u64> {
        unimplemented!()
    }
    /// Delta that turns `source`'s text (empty if None) into `target`'s, as a pull stream of windows. Stored windows pass undecoded if
    /// their base is exactly `source` and `accepts` has their version.
    pub fn text_delta(
        &self,
        source: Option<&Node>,
        target: &Node,
        accepts: EncodedVersions,
    ) -> Result<DeltaStream> {
        unimplemented!()
    }
}

pub struct DeltaStream(());
impl DeltaStream {
    /// Calls `sink` for each window in order. Checks the MD5 of the target where the full text is rebuilt.
    pub fn drive(self, sink: &mut dyn FnMut(TextChunk<'_>) -> Result<()>) -> Result<()> {
        unimplemented!()
    }
}

/// The tree of one revision or of one transaction.
#[derive(Clone)]
pub struct Root(Arc<()>);

impl Root {
    pub fn fs(&self) -> &Fs {
        unimplemented!()
    }
    /// The revision; None for a transaction.
    pub fn revision(&self) -> Option<Revnum> {
        unimplemented!()
    }
    pub fn txn_name(&self) -> Option<&str> {
        unimplemented!()
    }
    /// The revision itself, or the transaction's base.
    pub fn base_revision(&self) -> Revnum {
        unimplemented!()
    }
    pub fn root_node(&self) -> Result<Node> {
        unimplemented!()
    }
    /// # Errors: FS_NOT_FOUND `File not found: revision N, path '/P'` (or `transaction 'T'`), FS_NOT_DIRECTORY (two links) below a file.
    pub fn node(&self, path: &FsPath) -> Result<Node> {
        unimplemented!()
    }
    /// None where `node` says FS_NOT_FOUND or FS_NOT_DIRECTORY.
    pub fn try_node(&self, path: &FsPath) -> Result<Option<Node>> {
        unimplemented!()
    }
    /// NodeKind::None if it does not exist.
    pub fn kind(&self, path: &FsPath) -> Result<NodeKind> {
        unimplemented!()
    }
    /// The changed-paths list, folded to one entry a path, sorted by path bytes.
    pub fn changed_paths(&self) -> Result<Arc<[ChangedPath]>> {
        unimplemented!()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Modify,
    Add,
    Delete,
    Replace,
}

#[derive(Clone, Debug)]
pub struct ChangedPath {
    pub path: FsPath,
    pub change: ChangeKind,
    /// Unknown in revisions written by formats < 4.
    pub node_kind: NodeKind,
    pub text_mod: bool,
    pub prop_mod: bool,
    /// None = not recorded (formats < 7).
    pub mergeinfo_mod: Option<bool>,
    pub copyfrom: Option<(Revnum, FsPath)>,
}

/// How two node-revisions relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Related,
    Unrelated,
}

/// A node-revision, seen at a path of a root.
#[derive(Clone)]
pub struct Node(Arc<()>);

/// One entry of a directory. `id` prints as `svnlook tree --show-ids` does.
#[derive(Clone, Debug)]
pub struct DirEntry {
    pub name: Box<str>,
    pub kind: NodeKind,
    pub id: NodeRevId,
}
/// Node-revision ID; Display prints `0-1.0.r3/6`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeRevId(());

/// Names one stored content: equal keys = the content was set by the same operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepKey(());

impl Node {
    pub fn fs(&self) -> &Fs {
        unimplemented!()
    }
    pub fn root(&self) -> &Root {
        unimplemented!()
    }
    /// The path by which the node was reached.
    pub fn path(&self) -> &FsPath {
        unimplemented!()
    }
    pub fn id(&self) -> &NodeRevId {
        unimplemented!()
    }
    pub fn kind(&self) -> NodeKind {
        unimplemented!()
    }
    /// Revision in which this node-revision was made; None inside a transaction that made it.
    pub fn created_rev(&self) -> Option<Revnum> {
        unimplemented!()
    }
    /// Path at which it was made (differs from `path` below a lazily copied directory).
    pub fn created_path(&self) -> &FsPath {
        unimplemented!()
    }
    pub fn predecessor_id(&self) -> Option<&NodeRevId> {
        unimplemented!()
    }
    pub fn predecessor_count(&self) -> u64 {
        unimplemented!()
    }
    pub fn relation(&self, other: &Node) -> Relation {
        unimplemented!()
    }

    pub fn has_props(&self) -> bool {
        unimplemented!()
    }
    pub fn props(&self) -> Result<Arc<Props>> {
        unimplemented!()
    }
    pub fn prop(&self, name: &str) -> Result<Option<Vec<u8>>> {
        unimplemented!()
    }
    pub fn props_key(&self) -> Option<RepKey> {
        unimplemented!()
    }
    /// True if the property lists differ. Quick (by key) unless `strict`, which compares contents where keys differ.
    pub fn props_differ(&self, other: &Node, strict: bool) -> Result<bool> {
        unimplemented!()
    }

    /// Sorted by name bytes. # Errors: FS_NOT_DIRECTORY.
    pub fn entries(&self) -> Result<Arc<[DirEntry]>> {
        unimplemented!()
    }
    pub fn child(&self, name: &str) -> Result<Option<Node>> {
        unimplemented!()
    }
    /// The child that `entry` of `entries()` names, without looking the name up again.
    pub fn child_of(&self, entry: &DirEntry) -> Result<Node> {
        unimplemented!()
    }

    /// Bytes of the text. # Errors: FS_NOT_FILE.
    pub fn size(&self) -> Result<u64> {
        unimplemented!()
    }
    /// MD5 of the text as recorded (digest of nothing if the file never got a text: then has_text is false).
    pub fn md5(&self) -> Result<Md5> {
        unimplemented!()
    }
    /// SHA-1 if recorded.
    pub fn sha1(&self) -> Option<Sha1> {
        unimplemented!()
    }
    /// False for a file that never got a text (no `text:` line).
    pub fn has_text(&self) -> bool {
        unimplemented!()
    }
    pub fn text_key(&self) -> Option<RepKey> {
        unimplemented!()
    }
    /// See `props_differ`; compares MD5/size, then contents.
    pub fn text_differs(&self, other: &Node, strict: bool) -> Result<bool> {
        unimplemented!()
    }
    /// The text as a stream, checked against the MD5 at its end. # Errors: FS_NOT_FILE.
    pub fn reader(&self) -> Result<TextReader> {
        unimplemented!()
    }

    /// Set only on the node-revision that the copy itself made.
    pub fn copyfrom(&self) -> Option<(Revnum, FsPath)> {
        unimplemented!()
    }
    /// The nearest copy at or above this path that made it: (revision, destination path) of the copy.
    pub fn closest_copy(&self) -> Result<Option<(Revnum, FsPath)>> {
        unimplemented!()
    }
    /// Revision in which this line of history began (the node's first node-revision).
    pub fn origin_rev(&self) -> Result<Revnum> {
        unimplemented!()
    }
    pub fn history(&self) -> Result<History> {
        unimplemented!()
    }
    /// Number of nodes at or below with svn:mergeinfo.
    pub fn mergeinfo_count(&self) -> u64 {
        unimplemented!()
    }
    pub fn has_mergeinfo(&self) -> bool {
        unimplemented!()
    }
}

pub struct TextReader(());
impl Read for TextReader {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        unimplemented!()
    }
}
impl TextReader {
    /// Like Read, with the house's errors. 0 = end.
    pub fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        unimplemented!()
    }
    /// The whole rest.
    pub fn read_all(self) -> Result<Vec<u8>> {
        unimplemented!()
    }
}

/// Walks back through the revisions in which a node changed, as `svnlook history` prints them: the copy of an ancestor counts as a
/// change of everything inside.
pub struct History(());
impl History {
    /// The next older location (the first call gives the youngest change at or before the starting point). Does not
    /// cross copies unless `cross_copies`.
    pub fn prev(&mut self, cross_copies: bool) -> Result<Option<(Revnum, FsPath)>> {
        unimplemented!()
    }
}
