//! [`Root`]: the tree of one revision or of one transaction.
//!
//! Directories come out of the cache parsed and sorted, so a look-up is one binary search for each component of the
//! path. Callers mostly look up one path after the other below one directory, so a root keeps the directories of the
//! last look-up (see `path_chain`).
//!
//! The module also reads node-revisions, directories and changed-path lists, from the cache or from their files.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use base::{Code, Error, FsPath, NodeKind, Result, Revnum};
use parking_lot::Mutex;

use crate::format::change_list::ChangeList;
use crate::format::changes::{self, ChangedPath, ChangesError, RawChange};
use crate::format::dir::{DirEntries, EntryChange};
use crate::format::fold;
use crate::format::id::{IdPart, IdTail, NodeRevId, TxnId};
use crate::format::noderev::{MAX_NODEREV, NodeRev, NodeRevError};
use crate::format::rep_line::RepLocation;
use crate::store::cache::Key;
use crate::store::cache::values::{CachedChildren, ChildrenFile};
use crate::store::disk::is_missing;
use crate::store::path_chain::PathChain;
use crate::store::read_mode::ReadMode;
use crate::tree::Fs;
use crate::tree::node::Node;
use crate::tree::rep::TextReader;

mod look_up;

pub(crate) use look_up::{PathLookup, PathWalk};

/// The tree of one revision or of one transaction.
#[derive(Clone)]
pub struct Root(Arc<RootInner>);

struct RootInner {
    fs: Fs,
    kind: RootKind,
    read: Arc<ReadNodes>,
}

/// The nodes that a root has read. Roots that differ in their read mode alone share them.
#[derive(Default)]
struct ReadNodes {
    /// The node-revision of `/`, for a revision.
    root: OnceLock<Arc<NodeRev>>,
    /// The directories of the last look-up, for a revision.
    chain: Mutex<PathChain>,
    /// The same for deep paths, shared through the cache with other roots of the revision.
    deep_chain: OnceLock<Arc<Mutex<PathChain>>>,
}

#[derive(Clone)]
enum RootKind {
    Revision(Revnum),
    /// The transaction, its name and its base revision.
    Transaction(TxnId, String, Revnum),
}

impl Root {
    pub(crate) fn of_revision(fs: &Fs, rev: Revnum) -> Self {
        Self::new(fs, RootKind::Revision(rev))
    }

    pub(crate) fn of_transaction(fs: &Fs, txn: TxnId, name: &str, base: Revnum) -> Self {
        Self::new(fs, RootKind::Transaction(txn, name.to_owned(), base))
    }

    fn new(fs: &Fs, kind: RootKind) -> Self {
        Root(Arc::new(RootInner {
            fs: fs.clone(),
            kind,
            read: Arc::default(),
        }))
    }

    /// Returns the same tree with another read mode.
    pub fn with_read_mode(&self, read_mode: &ReadMode) -> Root {
        if self.fs().read_mode().may_wait() && read_mode.may_wait() {
            return self.clone();
        }
        Root(Arc::new(RootInner {
            fs: self.0.fs.with_read_mode(read_mode),
            kind: self.0.kind.clone(),
            read: self.0.read.clone(),
        }))
    }

    /// The filesystem.
    pub fn fs(&self) -> &Fs {
        &self.0.fs
    }

    /// The revision; `None` for a transaction.
    pub fn revision(&self) -> Option<Revnum> {
        match self.0.kind {
            RootKind::Revision(rev) => Some(rev),
            RootKind::Transaction(..) => None,
        }
    }

    /// The name of the transaction; `None` for a revision.
    pub fn txn_name(&self) -> Option<&str> {
        match &self.0.kind {
            RootKind::Revision(_) => None,
            RootKind::Transaction(_, name, _) => Some(name),
        }
    }

    /// The revision, or the base revision of the transaction.
    pub fn base_revision(&self) -> Revnum {
        match self.0.kind {
            RootKind::Revision(rev) => rev,
            RootKind::Transaction(_, _, base) => base,
        }
    }

    /// The node at `/`.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn root_node(&self) -> Result<Node> {
        Ok(Node::new(self.clone(), FsPath::root(), self.root_noderev()?))
    }

    /// The kind of the node at a path; `NodeKind::None` if there is none.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn kind(&self, path: &FsPath) -> Result<NodeKind> {
        let Some(parent) = path.parent() else {
            return Ok(NodeKind::Dir);
        };
        match self.look_up(&parent)? {
            PathLookup::Node(noderev) if noderev.kind == NodeKind::Dir => {
                let entry = self.fs().dir_entry(&noderev, path.basename())?;
                Ok(entry.map_or(NodeKind::None, |(kind, _)| kind))
            }
            _ => Ok(NodeKind::None),
        }
    }

    /// The changed paths, folded to one entry for each path, sorted by the bytes of the path.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn changed_paths(&self) -> Result<Arc<[ChangedPath]>> {
        match &self.0.kind {
            RootKind::Revision(rev) => Ok(self.fs().changes(*rev)?.to_vec().into()),
            RootKind::Transaction(txn, name, _) => {
                if let Some(tree) = self.fs().open_txns().tree(*txn) {
                    let folded = fold::fold(tree.changes()?)?;
                    return Ok(folded.into_iter().map(|change| change.info).collect());
                }
                let path = self.fs().layout().txn(name).join("changes");
                let text = match self.fs().disk().read_small(&path) {
                    Ok(text) => text,
                    Err(e) => return Err(Error::io("Can't open file", &path, &e)),
                };
                let log = self.fs().format().back_end.parse_change_log(&text);
                let folded = fold::fold(self.fs().in_txn_file(log, &path)?)?;
                Ok(folded.into_iter().map(|change| change.info).collect())
            }
        }
    }

    pub(crate) fn root_noderev(&self) -> Result<Arc<NodeRev>> {
        if let Some(noderev) = self.0.read.root.get() {
            return Ok(noderev.clone());
        }
        let noderev = match self.0.kind {
            RootKind::Revision(rev) => self.fs().root_noderev(rev)?,
            // Not kept: this process or another may be editing the transaction.
            RootKind::Transaction(txn, ..) => return self.fs().txn_root_noderev(txn),
        };
        Ok(self.0.read.root.get_or_init(|| noderev).clone())
    }

    /// The sorted entries of a directory of this tree.
    pub(crate) fn entries(&self, dir: &NodeRev) -> Result<DirEntries> {
        self.fs().dir_entries(dir)
    }

    pub(crate) fn not_found(&self, path: &FsPath) -> Error {
        Error::new(
            Code::FS_NOT_FOUND,
            format!("File not found: {}, path '{path}'", self.describe()),
        )
    }

    pub(crate) fn not_directory(&self, path: &FsPath) -> Error {
        if self.fs().format().is_fsx() {
            let text = "Can't get entries of non-directory";
            return Error::new(Code::FS_NOT_DIRECTORY, text);
        }
        let uuid = self.fs().uuid();
        let within = match &self.0.kind {
            RootKind::Revision(rev) => format!("revision {rev}"),
            RootKind::Transaction(_, name, _) => format!("transaction '{name}'"),
        };
        Error::new(
            Code::FS_NOT_DIRECTORY,
            format!("'{path}' is not a directory in filesystem '{uuid}'"),
        )
        .context(format!("Failure opening '{path}' in {within}"))
    }

    fn describe(&self) -> String {
        match &self.0.kind {
            RootKind::Revision(rev) => format!("revision {rev}"),
            RootKind::Transaction(_, name, _) => format!("transaction '{name}'"),
        }
    }
}

impl Fs {
    /// The tree of a transaction.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`.
    pub fn txn_root(&self, txn: &str) -> Result<Root> {
        let id = self.check_txn(txn)?;
        Ok(Root::of_transaction(self, id, txn, self.txn_base(id)?))
    }

    /// The node-revision that an ID names.
    pub(crate) fn noderev(&self, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        match id.tail {
            IdTail::Rev(rev, item) => {
                self.committed_noderev(rev, item, |e, block| e.of(&id.to_string(), block))
            }
            IdTail::Txn(txn) => self.txn_noderev(txn, id.node, id.copy),
        }
    }

    /// The root node-revision of a revision, which must exist.
    pub(crate) fn root_noderev(&self, rev: Revnum) -> Result<Arc<NodeRev>> {
        // With physical addressing only the trailer names the item, so the root has a key of its own.
        let key = Key::part::<Arc<NodeRev>>(self.instance(), rev.0, 0, 1);
        if let Some(noderev) = self.cache().get(&key) {
            return Ok(noderev);
        }
        let item = self.with_rev_file(rev, |file| file.root_item(rev))?;
        let id = || format!("0.0.r{rev}/{item}");
        let noderev = self.committed_noderev(rev, item, |e, block| {
            e.of_root(self.format().logical, &id(), block)
        })?;
        if noderev.kind != NodeKind::Dir {
            let message = format!("Root of revision {rev} is no directory");
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        self.cache().insert(key, noderev.clone());
        Ok(noderev)
    }

    /// The node-revision that is this item of a revision.
    pub(crate) fn noderev_of_item(&self, rev: Revnum, item: u64) -> Result<Arc<NodeRev>> {
        self.committed_noderev(rev, item, |e, block| e.of(&format!("r{rev}/{item}"), block))
    }

    /// Reads a node-revision; `failed` makes the error if its block cannot be parsed.
    fn committed_noderev<F>(&self, rev: Revnum, item: u64, failed: F) -> Result<Arc<NodeRev>>
    where
        F: Fn(NodeRevError, &[u8]) -> Error,
    {
        let key = Key::new::<Arc<NodeRev>>(self.instance(), rev.0, item);
        if let Some(noderev) = self.cache().get(&key) {
            return Ok(noderev);
        }
        self.check_rev(rev)?;
        if self.format().is_fsx() {
            let noderev = Arc::new(self.fsx_noderev(rev, item)?);
            self.cache().insert(key, noderev.clone());
            return Ok(noderev);
        }
        let noderev = self.with_rev_file(rev, |file| {
            let start = file.item_offset(self.cache(), rev, item)?;
            let parse = |bytes: &[u8]| {
                let parsed = NodeRev::parse(bytes).map_err(|e| failed(e, bytes))?;
                Ok(parsed.map(|(noderev, _)| noderev))
            };
            file.bytes()
                .parse_at(start, file.items_end(rev)?, NODEREV_READ, MAX_NODEREV, parse)
        })?;
        let noderev = Arc::new(noderev);
        self.cache().insert(key, noderev.clone());
        Ok(noderev)
    }

    /// The root node-revision of a transaction.
    pub(crate) fn txn_root_noderev(&self, txn: TxnId) -> Result<Arc<NodeRev>> {
        let (node, copy) = txn.root();
        self.txn_noderev(txn, node, copy)
    }

    /// The base revision of a transaction: of FSFS in its name, of FSX that of the root's predecessor.
    pub(crate) fn txn_base(&self, txn: TxnId) -> Result<Revnum> {
        if let Some(base) = txn.base() {
            return Ok(base);
        }
        let base = self.txn_root_noderev(txn)?.predecessor.and_then(|id| id.rev());
        base.ok_or_else(|| Error::new(Code::FS_CORRUPT, "Transaction has no base revision"))
    }

    /// An uncommitted node-revision.
    pub(crate) fn txn_noderev(&self, txn: TxnId, node: IdPart, copy: IdPart) -> Result<Arc<NodeRev>> {
        if let Some(tree) = self.open_txns().tree(txn) {
            return tree.noderev((node, copy));
        }
        let path = self.layout().txn_node(txn, node, copy);
        let text = self
            .disk()
            .read_small(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e));
        let text = text.map_err(|e| match is_missing(&e) {
            true => {
                let id = NodeRevId {
                    node,
                    copy,
                    tail: IdTail::Txn(txn),
                };
                let uuid = self.uuid();
                e.wrap(
                    Code::FS_ID_NOT_FOUND,
                    format!("Reference to non-existent node '{id}' in filesystem '{uuid}'"),
                )
            }
            false => e,
        })?;
        let parsed = self.format().back_end.parse_txn_noderev(&text);
        match self.in_txn_file(parsed, &path)? {
            Some(noderev) => Ok(Arc::new(noderev)),
            None => Err(Error::new(
                Code::FS_CORRUPT,
                format!("File '{}' ends early", path.display()),
            )),
        }
    }

    /// The entry of a name in a directory. For a directory that this process edits, it is found without making the
    /// list of all entries.
    pub(crate) fn dir_entry(&self, dir: &NodeRev, name: &str) -> Result<EntryChange> {
        if let (Some(RepLocation::Mutable), Some(txn)) = (dir.text.map(|rep| rep.location), dir.id.txn())
            && let Some(tree) = self.open_txns().tree(txn)
        {
            return tree.child((dir.id.node, dir.id.copy), name);
        }
        self.dir_entries(dir)?.find_owned(name)
    }

    /// The sorted entries of a directory.
    pub(crate) fn dir_entries(&self, dir: &NodeRev) -> Result<DirEntries> {
        let Some(rep) = &dir.text else {
            return Ok(DirEntries::default());
        };
        let load = || -> Result<DirEntries> {
            let text = TextReader::new(self, Some(rep), dir.id.txn())?.read_shared()?;
            let like = self.cached_predecessor(dir);
            self.format().back_end.parse_dir(text, &dir.id, like.as_ref())
        };
        match (rep.location, dir.id.txn()) {
            (RepLocation::Rev(rev, item), _) => {
                let key = Key::new::<DirEntries>(self.instance(), rev.0, item);
                // A separate look-up first: a hit is the common case and saves the closure.
                match self.cache().get(&key) {
                    Some(entries) => Ok(entries),
                    None => self.cache().get_or_load(self.read_mode(), key, load),
                }
            }
            (RepLocation::Mutable, Some(txn)) => {
                if let Some(tree) = self.open_txns().tree(txn) {
                    return tree.children((dir.id.node, dir.id.copy));
                }
                self.stored_children(self.layout().txn_children(txn, dir.id.node, dir.id.copy))
            }
            (RepLocation::Txn(_), _) | (RepLocation::Mutable, None) => load(),
        }
    }

    /// The entries of a directory's predecessor, if they are in the cache.
    pub(crate) fn cached_predecessor(&self, dir: &NodeRev) -> Option<DirEntries> {
        let IdTail::Rev(rev, item) = dir.predecessor?.tail else {
            return None;
        };
        let key = Key::new::<Arc<NodeRev>>(self.instance(), rev.0, item);
        let RepLocation::Rev(rev, item) = self.cache().get::<Arc<NodeRev>>(&key)?.text?.location else {
            return None;
        };
        self.cache()
            .get(&Key::new::<DirEntries>(self.instance(), rev.0, item))
    }

    /// The changed paths of a revision. As [`Root::changed_paths`], but without a root, and in a form that takes less
    /// memory.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`; the system's.
    pub fn changed_paths(&self, rev: Revnum) -> Result<ChangeList> {
        self.check_rev(rev)?;
        self.changes(rev)
    }

    /// The changed-path list of a revision, which must exist.
    pub(crate) fn changes(&self, rev: Revnum) -> Result<ChangeList> {
        let key = Key::new::<ChangeList>(self.instance(), rev.0, 0);
        if let Some(list) = self.cache().get(&key) {
            return Ok(list);
        }
        let list = match self.changes_in_tail(rev) {
            Some(list) => list,
            None => fold::normalize(self.stored_changes(rev)?).iter().collect(),
        };
        self.cache().insert(key, list.clone());
        Ok(list)
    }

    /// The entries of a directory that a transaction has changed. The file is parsed again only if it was replaced or
    /// has grown.
    fn stored_children(&self, path: PathBuf) -> Result<DirEntries> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let key = Key::new::<CachedChildren>(self.instance(), hasher.finish(), 0);
        let parse = |text: &[u8]| {
            let entries = self.format().back_end.parse_children(text);
            let entries = self.in_txn_file(entries, &path)?;
            let path = path.clone();
            Ok(ChildrenFile { path, entries })
        };
        let cached = self.current(key, &path, parse)?;
        if cached.value.path == path {
            return Ok(cached.value.entries.clone());
        }
        // Two paths have one hash: this one is not cached.
        let text = self.disk().read_small(&path);
        let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
        let entries = self.format().back_end.parse_children(&text);
        self.in_txn_file(entries, &path)
    }

    /// The changed-path list of a revision as it is stored.
    pub(crate) fn stored_changes(&self, rev: Revnum) -> Result<Vec<RawChange>> {
        if self.format().is_fsx() {
            return self.fsx_changes(rev);
        }
        let (list, is_complete) = self.with_rev_file(rev, |file| {
            let item = file.changes_item(rev)?;
            let start = file.item_offset(self.cache(), rev, item)?;
            let parse = |bytes: &[u8]| match changes::parse_first(bytes, false) {
                Ok(found) => Ok(Some(found)),
                Err(ChangesError::End) => Ok(None),
                Err(e) => Err(e.into()),
            };
            let (list, length) = file.bytes().parse_at(
                start,
                file.items_end(rev)?,
                CHANGES_READ,
                changes::MAX_LENGTH,
                parse,
            )?;
            Ok((list, file.is_end_of_changes(rev, start + length as u64)?))
        })?;
        if !is_complete {
            // Nothing but the trailer tells where the list is, so in a damaged file any empty line may be taken for an empty list. The
            // root is at the other place that the trailer tells: if it can be read, the file is an odd one of another program.
            self.root_noderev(rev)?;
        }
        Ok(list)
    }
}

/// The first read for a node-revision, bytes: almost all are shorter.
const NODEREV_READ: usize = 1 << 10;

/// The first read for a changed-path list, bytes.
const CHANGES_READ: usize = 4 << 10;
