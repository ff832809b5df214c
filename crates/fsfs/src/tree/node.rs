//! [`Node`]: a node-revision at a path of a tree. Callers walk, read and compare nodes.

use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum};

use crate::format::dir::{DirEntries, DirEntry};
use crate::format::id::{NodeRevId, TxnId};
use crate::format::noderev::NodeRev;
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::{Rep, RepLocation, RepSize, Uniquifier};
use crate::store::cache::Key;
use crate::store::cache::values::NodeRevAtPath;
use crate::tree::Fs;
use crate::tree::rep::TextReader;
use crate::tree::root::Root;

/// A node-revision at a path of a tree. Cheap to clone.
#[derive(Clone)]
pub struct Node(Arc<NodeInner>);

struct NodeInner {
    root: Root,
    path: FsPath,
    noderev: Arc<NodeRev>,
}

/// The relation of two node-revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same node-revision.
    Same,
    /// Different node-revisions of one node.
    Related,
    /// Different nodes.
    Unrelated,
}

/// The identity of a stored content: equal keys mean that one operation set the content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepKey {
    location: RepLocation,
    txn: Option<TxnId>,
    uniquifier: Option<Uniquifier>,
    /// For a content in a file of its own in a transaction: the node-revision that it belongs to.
    owner: Option<NodeRevId>,
}

/// The directories above a path, the nearest first; see [`Root::ancestors`].
pub struct Ancestors {
    root: Root,
    path: FsPath,
    /// The IDs from the root to the next directory. IDs and not node-revisions, because those of N nested directories
    /// contain N paths.
    ids: Vec<NodeRevId>,
}

impl Iterator for Ancestors {
    type Item = Result<Node>;

    fn next(&mut self) -> Option<Result<Node>> {
        let id = self.ids.pop()?;
        self.path = self.path.parent()?;
        let noderev = self.root.fs().noderev(&id);
        Some(noderev.map(|noderev| Node::new(self.root.clone(), self.path.clone(), noderev)))
    }
}

impl Root {
    /// The node of an entry, at `path`. For walks that hold the entries of directories but not their nodes.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn entry_node(&self, entry: DirEntry<'_>, path: FsPath) -> Result<Node> {
        self.node_of(entry.kind, &entry.id()?, path)
    }

    /// The node that is this node-revision, at `path`. `kind` is what its directory says.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn node_of(&self, kind: NodeKind, id: &NodeRevId, path: FsPath) -> Result<Node> {
        let noderev = self.fs().noderev(id)?;
        if noderev.kind != kind {
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Directory entry's kind is not that of node '{id}'"),
            ));
        }
        Ok(Node::new(self.clone(), path, noderev))
    }

    /// The directories above `path`, from its parent up to the root. The tree is walked once, whatever the depth.
    ///
    /// # Errors
    /// As [`Root::node`] for the parent.
    pub fn ancestors(&self, path: &FsPath) -> Result<Ancestors> {
        let mut ids = Vec::new();
        if let Some(parent) = path.parent() {
            self.each_along(&parent, &mut |noderev| ids.push(noderev.id))?;
        }
        Ok(Ancestors {
            root: self.clone(),
            path: path.clone(),
            ids,
        })
    }

    /// As [`Root::try_node`], but first looks for an entry of [`Node::cache_at`] in the cache.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn try_node_cached(&self, path: &FsPath) -> Result<Option<Node>> {
        let cached = self.revision().and_then(|rev| {
            let key = NodeRevAtPath::key(self.fs().instance(), rev.0, path.as_str());
            self.fs().cache().get::<NodeRevAtPath>(&key)?.at(path.as_str())
        });
        match cached {
            Some(noderev) => Ok(Some(Node::new(self.clone(), path.clone(), noderev))),
            None => self.try_node(path),
        }
    }
}

impl Node {
    pub(crate) fn new(root: Root, path: FsPath, noderev: Arc<NodeRev>) -> Self {
        Node(Arc::new(NodeInner { root, path, noderev }))
    }

    pub(crate) fn noderev(&self) -> &NodeRev {
        &self.0.noderev
    }

    pub(crate) fn shared_noderev(&self) -> Arc<NodeRev> {
        self.0.noderev.clone()
    }

    /// The filesystem.
    pub fn fs(&self) -> &Fs {
        self.0.root.fs()
    }

    /// The tree in which the node was found.
    pub fn root(&self) -> &Root {
        &self.0.root
    }

    /// The path at which the node was found.
    pub fn path(&self) -> &FsPath {
        &self.0.path
    }

    /// The ID of the node-revision.
    pub fn id(&self) -> &NodeRevId {
        &self.noderev().id
    }

    /// Caches for [`Root::try_node_cached`] that the path of this node leads to the same node-revision in revision
    /// `rev`. The caller must know that it does.
    pub fn cache_at(&self, rev: Revnum) {
        let key = NodeRevAtPath::key(self.fs().instance(), rev.0, self.path().as_str());
        let value = NodeRevAtPath::new(self.path().as_str(), self.0.noderev.clone());
        self.fs().cache().insert(key, value);
    }

    /// File or directory.
    pub fn kind(&self) -> NodeKind {
        self.noderev().kind
    }

    /// The revision that made this node-revision; `None` for one of a transaction. The root of a transaction without
    /// changes yet has that of the base revision.
    pub fn created_rev(&self) -> Option<Revnum> {
        let fresh = || {
            let base = self.predecessor_id().filter(|_| self.noderev().is_fresh_txn_root);
            base?.rev()
        };
        self.id().rev().or_else(fresh)
    }

    /// The path at which it was made. It differs from `path` below a lazily copied directory.
    pub fn created_path(&self) -> &FsPath {
        &self.noderev().created_path
    }

    /// The ID of the preceding node-revision of the node.
    pub fn predecessor_id(&self) -> Option<&NodeRevId> {
        self.noderev().predecessor.as_ref()
    }

    /// The number of predecessors.
    pub fn predecessor_count(&self) -> u64 {
        self.noderev().count
    }

    /// Returns the relation to another node-revision.
    pub fn relation(&self, other: &Node) -> Relation {
        if self.id() == other.id() {
            Relation::Same
        } else if self.noderev().is_related(other.noderev()) {
            Relation::Related
        } else {
            Relation::Unrelated
        }
    }

    /// True if the property list is not empty.
    pub fn has_props(&self) -> bool {
        match &self.noderev().props {
            None => false,
            Some(rep) if rep.location == RepLocation::Mutable => {
                self.props().is_ok_and(|props| !props.is_empty())
            }
            Some(rep) => {
                let empty = self.fs().format().back_end.empty_props_len();
                !matches!(rep.size(), RepSize::Known(size) if size <= empty)
            }
        }
    }

    /// The property list.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn props(&self) -> Result<Arc<Props>> {
        let noderev = self.noderev();
        let Some(rep) = &noderev.props else {
            return Ok(Arc::default());
        };
        let parse = |text: &[u8]| -> Result<Arc<Props>> {
            let props = self.fs().format().back_end.parse_node_props(text, &noderev.id)?;
            Ok(Arc::new(props))
        };
        let load = || parse(&TextReader::new(self.fs(), Some(rep), noderev.id.txn())?.read_shared()?);
        match (rep.location, noderev.id.txn()) {
            (RepLocation::Rev(rev, item), _) => {
                let key = Key::new::<Arc<Props>>(self.fs().instance(), rev.0, item);
                match self.fs().cache().get(&key) {
                    Some(props) => Ok(props),
                    None => self.fs().cache().get_or_load(self.fs().read_mode(), key, load),
                }
            }
            (RepLocation::Mutable, Some(txn)) => {
                if let Some(tree) = self.fs().open_txns().tree(txn) {
                    return tree.props((noderev.id.node, noderev.id.copy));
                }
                let path = self
                    .fs()
                    .layout()
                    .txn_node_props(txn, noderev.id.node, noderev.id.copy);
                let text = self.fs().disk().read_small(&path);
                parse(&text.map_err(|e| Error::io("Can't open file", &path, &e))?)
            }
            (RepLocation::Txn(_), _) | (RepLocation::Mutable, None) => load(),
        }
    }

    /// One property.
    ///
    /// # Errors
    /// As [`Node::props`].
    pub fn prop(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.props()?.get(name).cloned())
    }

    /// The key of the property list; `None` if the node never had one.
    pub fn props_key(&self) -> Option<RepKey> {
        self.key_of(self.noderev().props.as_ref())
    }

    /// True if the property lists differ. Compares keys, and with `strict` the contents where keys differ.
    ///
    /// # Errors
    /// As [`Node::props`].
    pub fn props_differ(&self, other: &Node, strict: bool) -> Result<bool> {
        if self.props_key() == other.props_key() {
            return Ok(false);
        }
        Ok(!strict || self.props()? != other.props()?)
    }

    /// The entries of a directory, sorted by the bytes of the name.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY`.
    pub fn entries(&self) -> Result<DirEntries> {
        if self.kind() != NodeKind::Dir {
            return Err(Error::new(
                Code::FS_NOT_DIRECTORY,
                "Can't get entries of non-directory",
            ));
        }
        self.root().entries(self.noderev())
    }

    /// The child of this name.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY`.
    pub fn child(&self, name: &str) -> Result<Option<Node>> {
        let entries = self.entries()?;
        let entry = entries.find(name);
        entry.map(|entry| self.child_of(entry)).transpose()
    }

    /// The child of an entry that [`Node::entries`] returned, without looking the name up again.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn child_of(&self, entry: DirEntry<'_>) -> Result<Node> {
        self.root().entry_node(entry, self.path().join_str(entry.name))
    }

    /// The same node-revision at another path of the same tree. The caller must know that it is there.
    pub fn at(&self, path: FsPath) -> Node {
        Node::new(self.root().clone(), path, self.shared_noderev())
    }

    /// The length of the text, bytes.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn size(&self) -> Result<u64> {
        self.check_file("length")?;
        match self.noderev().text.as_ref().map(|rep| (rep, rep.size())) {
            None => Ok(0),
            Some((_, RepSize::Known(size))) => Ok(size),
            Some((rep, RepSize::DependsOnHeader)) => match self.fs().rep_header(rep, self.id().txn())? {
                RepHeader::Plain => Ok(rep.length),
                RepHeader::SelfDelta | RepHeader::Delta { .. } => Ok(0),
            },
        }
    }

    /// The recorded MD5 of the text. For a file without a text (see [`Node::has_text`]), that of the empty text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn md5(&self) -> Result<Md5> {
        self.check_file("checksum")?;
        Ok(self.noderev().text.as_ref().map_or(Md5::EMPTY, |rep| rep.md5))
    }

    /// The SHA-1 of the text, if it is recorded.
    pub fn sha1(&self) -> Option<Sha1> {
        self.noderev().text.as_ref().and_then(|rep| rep.sha1)
    }

    /// False for a file that never got a text (no `text:` line).
    pub fn has_text(&self) -> bool {
        self.noderev().text.is_some()
    }

    /// The key of the text; `None` if the node never got one.
    pub fn text_key(&self) -> Option<RepKey> {
        self.key_of(self.noderev().text.as_ref())
    }

    /// True if the texts differ. Compares keys, and with `strict` sizes, digests and contents where keys differ.
    ///
    /// # Errors
    /// `FS_NOT_FILE`; those of [`Node::reader`].
    pub fn text_differs(&self, other: &Node, strict: bool) -> Result<bool> {
        if self.text_key() == other.text_key() {
            return Ok(false);
        }
        if !strict || self.size()? != other.size()? {
            return Ok(true);
        }
        let (a, b) = (self.noderev().text.as_ref(), other.noderev().text.as_ref());
        if let (Some(a), Some(b)) = (a, b) {
            if !a.md5.matches(&b.md5) {
                return Ok(true);
            }
            if matches!(a.location, RepLocation::Rev(..)) && a.location == b.location {
                return Ok(false);
            }
            if let (Some(a), Some(b)) = (a.sha1, b.sha1) {
                return Ok(a != b);
            }
        }
        let (mut a, mut b) = (self.reader()?, other.reader()?);
        loop {
            let (from_a, from_b) = (a.fill()?, b.fill()?);
            let length = from_a.len().min(from_b.len());
            if length == 0 {
                return Ok(from_a.len() != from_b.len());
            }
            if from_a[..length] != from_b[..length] {
                return Ok(true);
            }
            a.consume(length);
            b.consume(length);
        }
    }

    /// The text as a stream, checked against the MD5 at its end.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn reader(&self) -> Result<TextReader> {
        self.check_file("textual contents")?;
        TextReader::new(self.fs(), self.noderev().text.as_ref(), self.id().txn())
    }

    /// The text without the check against its MD5, for callers that check many texts at once
    /// (`base::checksum::md5_many` against [`Node::md5`]), which is ten times as fast.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn reader_unchecked(&self) -> Result<TextReader> {
        Ok(self.reader()?.unchecked())
    }

    /// The source of the copy, on the node-revision that the copy itself made.
    pub fn copyfrom(&self) -> Option<(Revnum, FsPath)> {
        self.noderev().copyfrom.clone()
    }

    /// The number of nodes at or below this one with `svn:mergeinfo`.
    pub fn mergeinfo_count(&self) -> u64 {
        self.noderev().mergeinfo_count
    }

    /// True if this node itself has `svn:mergeinfo`.
    pub fn has_mergeinfo(&self) -> bool {
        self.noderev().has_mergeinfo
    }

    pub(crate) fn check_file(&self, what: &str) -> Result<()> {
        if self.kind() == NodeKind::File {
            return Ok(());
        }
        Err(Error::new(
            Code::FS_NOT_FILE,
            format!("Attempted to get {what} of a *non*-file node"),
        ))
    }

    fn key_of(&self, rep: Option<&Rep>) -> Option<RepKey> {
        let rep = rep?;
        let txn = match rep.location {
            RepLocation::Rev(..) => None,
            RepLocation::Txn(_) | RepLocation::Mutable => self.id().txn(),
        };
        let owner = (rep.location == RepLocation::Mutable).then_some(*self.id());
        Some(RepKey {
            location: rep.location,
            txn,
            uniquifier: rep.uniquifier,
            owner,
        })
    }
}
