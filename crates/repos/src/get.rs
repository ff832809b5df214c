//! Reads nodes: kind, properties, text, entries.
//!
//! These are the responses to `check-path`, `stat`, `get-file`, `get-dir` and `get-iprops`. A path is looked up in
//! the tree of one revision. The caller checks whether the user may read that path; entries and ancestors that the
//! user may not read are left out here.

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, PropList, Props, RelPath, Result, Revnum, props};
use fsfs::{Node, TextReader};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

/// The first entries of a directory.
#[derive(Clone, Debug)]
pub struct FirstEntries {
    /// Names and descriptions, directories first.
    pub entries: Vec<(Box<str>, Dirent)>,
    /// The number of further entries.
    pub left_out: usize,
}

/// Which fields of a [`Dirent`] are wanted; the others keep their defaults and cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirentFields {
    /// The kind.
    pub kind: bool,
    /// The length of a file.
    pub size: bool,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: bool,
    /// The date of that revision.
    pub time: bool,
    /// The author of that revision.
    pub last_author: bool,
}

impl DirentFields {
    /// Everything.
    pub const ALL: DirentFields = DirentFields {
        kind: true,
        size: true,
        has_props: true,
        created_rev: true,
        time: true,
        last_author: true,
    };

    /// Nothing.
    pub const NONE: DirentFields = DirentFields {
        kind: false,
        size: false,
        has_props: false,
        created_rev: false,
        time: false,
        last_author: false,
    };

    /// Returns whether a directory's entry says all that is wanted of a node.
    pub(crate) fn are_in_entry(self) -> bool {
        !(self.size || self.has_props || self.created_rev || self.time || self.last_author)
    }
}

/// The description of a node in a listing.
#[derive(Clone, Debug)]
pub struct Dirent {
    /// The kind; `Unknown` if not wanted.
    pub kind: NodeKind,
    /// Bytes of a file's text; `None` for directories or if not wanted.
    pub size: Option<u64>,
    /// True if the node has properties of its own.
    pub has_props: bool,
    /// Revision of the last change at or below the node; 0 if not wanted.
    pub created_rev: Revnum,
    time: bool,
    last_author: bool,
    revprops: Option<PropList>,
}

impl Dirent {
    /// `svn:date` of the created revision as stored, if it is set and wanted.
    pub fn date(&self) -> Option<&[u8]> {
        let props = self.revprops.as_ref().filter(|_| self.time)?;
        props.get(props::DATE)
    }

    /// `svn:author` of the created revision, if it is set and wanted.
    pub fn author(&self) -> Option<&[u8]> {
        let props = self.revprops.as_ref().filter(|_| self.last_author)?;
        props.get(props::AUTHOR)
    }

    /// Returns what is known without the node: its kind, if it is wanted.
    pub(crate) fn of_kind(kind: NodeKind, wanted: DirentFields) -> Dirent {
        Dirent {
            kind: match wanted.kind {
                true => kind,
                false => NodeKind::Unknown,
            },
            size: None,
            has_props: false,
            created_rev: Revnum::ZERO,
            time: wanted.time,
            last_author: wanted.last_author,
            revprops: None,
        }
    }

    pub(crate) fn of(node: &Node, wanted: DirentFields) -> Result<Dirent> {
        let mut dirent = Dirent::of_kind(node.kind(), wanted);
        dirent.has_props = wanted.has_props && node.has_props();
        if wanted.size && node.kind() == NodeKind::File {
            dirent.size = Some(node.size()?);
        }
        if wanted.created_rev || wanted.time || wanted.last_author {
            let rev = created_rev(node);
            if wanted.created_rev {
                dirent.created_rev = rev;
            }
            if wanted.time || wanted.last_author {
                dirent.revprops = Some(node.fs().revprops(rev)?);
            }
        }
        Ok(dirent)
    }
}

/// A file in a revision, ready to be read.
pub struct FileContent {
    /// The revision it was looked up in.
    pub rev: Revnum,
    /// MD5 of the text.
    pub md5: Md5,
    node: Node,
}

impl FileContent {
    /// The properties, with the four entry properties that clients expect.
    pub fn props(&self) -> Result<Props> {
        props_with_entry(&self.node)
    }

    /// Bytes of the text.
    pub fn size(&self) -> Result<u64> {
        self.node.size()
    }

    /// The text, checked against [`FileContent::md5`] at its end.
    pub fn reader(&self) -> Result<TextReader> {
        self.node.reader()
    }
}

impl Repository {
    /// The kind of the node at `path`; `None` if there is none.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn check_path(&self, rev: Revnum, path: &FsPath) -> Result<NodeKind> {
        self.fs().root(rev)?.kind(path)
    }

    /// Describes the node at `path`; `None` if there is none.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn stat(&self, rev: Revnum, path: &FsPath) -> Result<Option<Dirent>> {
        match self.fs().root(rev)?.try_node(path)? {
            Some(node) => Dirent::of(&node, DirentFields::ALL).map(Some),
            None => Ok(None),
        }
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`, `FS_NOT_FILE`.
    pub fn file(&self, rev: Revnum, path: &FsPath) -> Result<FileContent> {
        let node = self.fs().root(rev)?.node(path)?;
        if node.kind() != NodeKind::File {
            return Err(Error::new(
                Code::FS_NOT_FILE,
                "Attempted to get checksum of a *non*-file node",
            ));
        }
        Ok(FileContent {
            rev,
            md5: node.md5()?,
            node,
        })
    }

    /// The properties of any node, with the four entry properties that clients expect.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
    pub fn node_props(&self, rev: Revnum, path: &FsPath) -> Result<Props> {
        props_with_entry(&self.fs().root(rev)?.node(path)?)
    }

    /// The readable entries of the directory at `path`, sorted by name.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`.
    pub fn directory(
        &self,
        rev: Revnum,
        path: &FsPath,
        fields: DirentFields,
        readable: &dyn Readable,
    ) -> Result<Vec<(Box<str>, Dirent)>> {
        let node = self.directory_node(rev, path)?;
        let all = readable.subtree(path) == Subtree::All;
        let entries = node.entries()?;
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries.iter() {
            if all || readable.read(&path.join_str(entry.name)) {
                let dirent = Dirent::of(&node.child_of(entry)?, fields)?;
                found.push((entry.name.into(), dirent));
            }
        }
        Ok(found)
    }

    /// Returns at most `most` of the readable entries of the directory at `path`: directories first, each kind sorted
    /// by name. Entries beyond are not read.
    ///
    /// # Errors
    /// As of [`Repository::directory`].
    pub fn first_of_directory(
        &self,
        rev: Revnum,
        path: &FsPath,
        fields: DirentFields,
        readable: &dyn Readable,
        most: usize,
    ) -> Result<FirstEntries> {
        let node = self.directory_node(rev, path)?;
        let all = readable.subtree(path) == Subtree::All;
        let entries = node.entries()?;
        let mut found = Vec::with_capacity(entries.len().min(most));
        let mut left_out = 0;
        for is_dir in [true, false] {
            for entry in entries.iter() {
                if (entry.kind == NodeKind::Dir) != is_dir {
                    continue;
                }
                if !all && !readable.read(&path.join_str(entry.name)) {
                    continue;
                }
                if found.len() == most {
                    left_out += 1;
                    continue;
                }
                let dirent = Dirent::of(&node.child_of(entry)?, fields)?;
                found.push((entry.name.into(), dirent));
            }
        }
        Ok(FirstEntries {
            entries: found,
            left_out,
        })
    }

    fn directory_node(&self, rev: Revnum, path: &FsPath) -> Result<Node> {
        let node = self.fs().root(rev)?.node(path)?;
        match node.kind() {
            NodeKind::Dir => Ok(node),
            _ => Err(Error::new(
                Code::FS_NOT_DIRECTORY,
                "Can't get entries of non-directory",
            )),
        }
    }

    /// Returns the properties of the readable ancestors of `path`, root first; with `name`, only that property.
    /// Leaves out ancestors without any, and the node itself.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
    pub fn inherited_props(
        &self,
        rev: Revnum,
        path: &FsPath,
        name: Option<&str>,
        readable: &dyn Readable,
    ) -> Result<Vec<(RelPath, Props)>> {
        let root = self.fs().root(rev)?;
        if root.try_node(path)?.is_none() {
            return Err(Error::new(Code::FS_NOT_FOUND, format!("'{path}' path not found")));
        }
        self.inherited_from_above(rev, path, name, readable)
    }

    /// As [`Repository::inherited_props`], but only the parents of `path` must exist.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
    pub fn inherited_from_above(
        &self,
        rev: Revnum,
        path: &FsPath,
        name: Option<&str>,
        readable: &dyn Readable,
    ) -> Result<Vec<(RelPath, Props)>> {
        let root = self.fs().root(rev)?;
        let mut found = Vec::new();
        for dir in root.ancestors(path)? {
            let dir = dir?;
            if !dir.has_props() || !readable.read(dir.path()) {
                continue;
            }
            let own = dir.props()?;
            let chosen: Props = match name {
                None => Props::clone(&own),
                Some(name) => own
                    .get_key_value(name)
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .into_iter()
                    .collect(),
            };
            if !chosen.is_empty() {
                found.push((dir.path().to_rel(), chosen));
            }
        }
        found.reverse();
        Ok(found)
    }
}

/// The revision in which a committed node was last changed.
pub(crate) fn created_rev(node: &Node) -> Revnum {
    node.created_rev().unwrap_or_else(|| node.root().base_revision())
}

fn props_with_entry(node: &Node) -> Result<Props> {
    let mut all = Props::clone(&*node.props()?);
    let rev = created_rev(node);
    let revprops = node.fs().revprops(rev)?;
    all.insert(props::ENTRY_COMMITTED_REV.into(), rev.to_string().into_bytes());
    all.insert(props::ENTRY_UUID.into(), node.fs().uuid().into_bytes());
    for (entry, source) in [
        (props::ENTRY_COMMITTED_DATE, props::DATE),
        (props::ENTRY_LAST_AUTHOR, props::AUTHOR),
    ] {
        if let Some(value) = revprops.get(source) {
            all.insert(entry.into(), value.to_vec());
        }
    }
    Ok(all)
}
