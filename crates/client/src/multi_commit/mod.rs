//! A commit of several actions on paths of one repository, which may build on each other: a directory is copied, and a file in the copy replaced.
//!
//! The actions are collected in a [`MultiCommit`]; each is checked against the repository and the earlier ones. Nothing is sent to the repository
//! before [`MultiCommit::commit`]. All paths are relative to the URL of the session, the anchor.

mod drive;
mod line_ends;
mod naming_order;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::PathBuf;

use base::{Code, Error, NodeKind, Props, RelPath, Result, Revnum, props};
use ra::{CommitInfo, Session};

use self::line_ends::LineEndCheck;
use self::naming_order::{NamingOrder, ancestry};
use crate::externals::ParseDate;
use crate::prop_rules;
use crate::tree_order::TreeOrder;

/// A commit that is being put together.
pub struct MultiCommit {
    session: Box<dyn Session>,
    /// The revision that the actions start from.
    base: Revnum,
    changes: BTreeMap<TreeOrder, Change>,
    /// The order in which the incumbent sends the changes of a directory.
    order: NamingOrder,
}

/// What happens to one path.
#[derive(Default)]
struct Change {
    /// The node of the base revision is deleted, by the action with this place in the order.
    deleted: Option<usize>,
    node: Option<NodeChange>,
}

/// A node that is added or changed.
struct NodeChange {
    kind: NodeKind,
    /// Whether it is added, and what it is a copy of.
    added: Option<Option<(RelPath, Revnum)>>,
    props: BTreeMap<String, Option<Vec<u8>>>,
    text: Option<TextOfPut>,
}

/// The text that a file gets.
pub struct TextOfPut {
    /// Its file, for error messages.
    pub path: PathBuf,
    /// The bytes.
    pub reader: Box<dyn Read>,
}

impl NodeChange {
    fn new(kind: NodeKind, added: Option<Option<(RelPath, Revnum)>>) -> NodeChange {
        NodeChange {
            kind,
            added,
            props: BTreeMap::new(),
            text: None,
        }
    }
}

impl MultiCommit {
    /// Begins a commit below the session's URL. `base` is the revision that the actions start from; `None` is the youngest.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn new(mut session: Box<dyn Session>, base: Option<Revnum>) -> Result<MultiCommit> {
        let youngest = session.latest_revision()?;
        let base = base.unwrap_or(youngest);
        if base > youngest {
            let message = format!("No such revision {base} (HEAD is {youngest})");
            return Err(Error::new(Code::FS_NO_SUCH_REVISION, message));
        }
        Ok(MultiCommit {
            session,
            base,
            changes: BTreeMap::new(),
            order: NamingOrder::default(),
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS`.
    pub fn mkdir(&mut self, path: &RelPath) -> Result<()> {
        self.check_new(path)?;
        self.add(path, NodeChange::new(NodeKind::Dir, Some(None)))
    }

    /// Copies a node; `rev` of `None` is the youngest revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`; `FS_NOT_FOUND` without the source; `FS_ALREADY_EXISTS`.
    pub fn copy(&mut self, from: &RelPath, rev: Option<Revnum>, to: &RelPath) -> Result<()> {
        let rev = match rev {
            Some(rev) if rev <= self.base => rev,
            given => {
                let youngest = self.session.latest_revision()?;
                let rev = given.unwrap_or(youngest);
                if rev > youngest {
                    let message = format!("No such revision {rev}");
                    return Err(Error::new(Code::FS_NO_SUCH_REVISION, message));
                }
                rev
            }
        };
        self.check_new(to)?;
        let kind = self.session.check_path(from, Some(rev))?;
        if !matches!(kind, NodeKind::File | NodeKind::Dir) {
            let message = format!("Path '{from}' not found in revision {rev}");
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        }
        self.add(to, NodeChange::new(kind, Some(Some((from.clone(), rev)))))
    }

    /// Moves a node.
    ///
    /// # Errors
    /// Those of [`MultiCommit::copy`] and [`MultiCommit::delete`].
    pub fn rename(&mut self, from: &RelPath, to: &RelPath) -> Result<()> {
        let is_new = |path: &RelPath| {
            let change = self.changes.get(&TreeOrder(path.clone()));
            let node = change.and_then(|change| change.node.as_ref());
            node.is_some_and(|node| node.added.is_some())
        };
        let origin = self
            .origin(from)
            .filter(|_| !ancestry(from).any(|path| is_new(&path)));
        let Some((source, rev)) = origin else {
            let message = format!("No origin found for node at '{from}'");
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        };
        let is_opened = self.is_opened(from);
        self.copy(&source, Some(rev), to)?;
        if is_opened {
            return Err(cannot_delete(from));
        }
        self.delete(from)
    }

    /// Deletes a node.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `ILLEGAL_TARGET` for a node that an earlier action adds or changes.
    pub fn delete(&mut self, path: &RelPath) -> Result<()> {
        let below: Vec<TreeOrder> = self.at_or_below(path).map(|(path, _)| path.clone()).collect();
        if below.iter().any(|path| self.changes[path].node.is_some()) {
            return Err(cannot_delete(path));
        }
        if self.kind_of(path)? == NodeKind::None {
            let message = format!("Can't delete node at '{path}' as it does not exist");
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        }
        for path in below {
            self.changes.remove(&path);
        }
        let at = self.order.delete(path);
        self.change(path)?.deleted = Some(at);
        Ok(())
    }

    /// Adds a file or replaces the text of one. A directory is replaced by a file.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS`; `ILLEGAL_TARGET` for a file whose text an earlier action changes.
    pub fn put(&mut self, path: &RelPath, text: TextOfPut) -> Result<()> {
        let kind = self.kind_of(path)?;
        self.check_opened(path, kind)?;
        match kind {
            NodeKind::File => {
                let node = self
                    .named(path)?
                    .node
                    .get_or_insert_with(|| NodeChange::new(NodeKind::File, None));
                if node.text.is_some() {
                    let message = format!("Can't update file at '{path}'");
                    return Err(Error::new(Code::ILLEGAL_TARGET, message));
                }
                node.text = Some(text);
            }
            kind => {
                if kind == NodeKind::Dir {
                    self.delete(path)?;
                }
                self.check_new(path)?;
                let mut node = NodeChange::new(NodeKind::File, Some(None));
                node.text = Some(text);
                self.add(path, node)?;
            }
        }
        Ok(())
    }

    /// Sets or (with `None`) deletes a property.
    ///
    /// # Errors
    /// `CLIENT_PROPERTY_NAME` for a name that node properties cannot have; `ILLEGAL_TARGET` without a node; those of
    /// [`prop_rules::canonical_value`].
    pub fn set_prop(
        &mut self,
        path: &RelPath,
        name: &str,
        value: Option<&[u8]>,
        parse_date: ParseDate<'_>,
    ) -> Result<()> {
        let wrong = |message: String| Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
        if prop_rules::is_revision_prop(name) {
            return wrong(format!("Revision property '{name}' not allowed in this context"));
        }
        if name.starts_with("svn:wc:") {
            return wrong(format!("'{name}' is a wcprop, thus not accessible to clients"));
        }
        if !prop_rules::is_name(name) {
            return wrong(format!("Bad property name: '{name}'"));
        }
        let known = self.changes.get(&TreeOrder(path.clone()));
        let kind = match known.and_then(|change| change.node.as_ref()) {
            Some(node) => node.kind,
            // Whether it is one is not looked at before the commit.
            None if self.is_opened(path) => NodeKind::Dir,
            None => self.kind_of(path)?,
        };
        let mut stored = value.map(<[u8]>::to_vec);
        if let Some(value) = value
            && name.starts_with("svn:")
            && !name.starts_with("svn:entry:")
        {
            let shown = if path.is_empty() { "." } else { path.as_str() };
            if kind == NodeKind::None {
                let message = format!("'{shown}' is not a file or directory");
                return Err(Error::new(Code::NODE_UNEXPECTED_KIND, message));
            }
            stored = Some(self.canonical_value(path, shown, kind, name, value, parse_date)?);
        }
        if kind == NodeKind::None {
            let message = format!("Can't set properties at not existing '{path}'");
            return Err(Error::new(Code::ILLEGAL_TARGET, message));
        }
        let node = self
            .named(path)?
            .node
            .get_or_insert_with(|| NodeChange::new(kind, None));
        node.props.insert(name.to_owned(), stored);
        Ok(())
    }

    /// Returns the form of a value that is stored.
    fn canonical_value(
        &mut self,
        path: &RelPath,
        shown: &str,
        kind: NodeKind,
        name: &str,
        value: &[u8],
        parse_date: ParseDate<'_>,
    ) -> Result<Vec<u8>> {
        let stored = prop_rules::canonical_value(name, value, shown, kind, false, parse_date)?;
        if name == "svn:eol-style" {
            prop_rules::check_line_end_style(&stored, shown)?;
        }
        if matches!(name, "svn:eol-style" | "svn:keywords") && self.is_binary(path)? {
            let message = format!("Can't set '{name}': file '{shown}' has binary mime type property");
            return Err(Error::new(Code::ILLEGAL_TARGET, message));
        }
        if name == "svn:eol-style" {
            self.check_line_ends(path, shown)?;
        }
        Ok(stored)
    }

    /// Checks that the text that a file will have has line ends of one kind only.
    ///
    /// # Errors
    /// `ILLEGAL_TARGET`; those of reading the text.
    fn check_line_ends(&mut self, path: &RelPath, shown: &str) -> Result<()> {
        let mut check = LineEndCheck::default();
        let change = self.changes.get_mut(&TreeOrder(path.clone()));
        let node = change.and_then(|change| change.node.as_mut());
        if let Some(node) = node
            && let Some(mut text) = node.text.take()
        {
            // The text is sent later, and can be read once only.
            let failed = |e: io::Error| Error::os(&e, "Can't copy the text to a temporary file");
            let mut copy = tempfile::tempfile().map_err(failed)?;
            let mut buffer = vec![0; 64 << 10];
            loop {
                let length = text
                    .reader
                    .read(&mut buffer)
                    .map_err(|e| Error::os(&e, "Can't read from stream"))?;
                if length == 0 {
                    break;
                }
                check.push(&buffer[..length]);
                copy.write_all(&buffer[..length]).map_err(failed)?;
            }
            copy.rewind().map_err(failed)?;
            text.reader = Box::new(copy);
            node.text = Some(text);
            return check.finish(shown);
        }
        let Some((from, rev)) = self.origin(path) else {
            return Ok(());
        };
        let request = ra::FileRequest {
            path: &from,
            rev: Some(rev),
            props: false,
            text: true,
        };
        self.session.file(&request, &mut |_, piece| {
            check.push(piece);
            Ok(())
        })?;
        check.finish(shown)
    }

    /// True for a file with a media type that is not text.
    fn is_binary(&mut self, path: &RelPath) -> Result<bool> {
        let changed = self
            .changes
            .get(&TreeOrder(path.clone()))
            .and_then(|change| change.node.as_ref())
            .and_then(|node| node.props.get(props::MIME_TYPE));
        if let Some(mime_type) = changed {
            return Ok(mime_type.as_deref().is_some_and(props::mime_type_is_binary));
        }
        let Some((from, rev)) = self.origin(path) else {
            return Ok(false);
        };
        let request = ra::FileRequest {
            path: &from,
            rev: Some(rev),
            props: true,
            text: false,
        };
        let info = self.session.file(&request, &mut |_, _| Ok(()))?;
        let mime_type = info.props.get(props::MIME_TYPE);
        Ok(mime_type.is_some_and(|mime_type| props::mime_type_is_binary(mime_type)))
    }

    /// Commits all actions.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY` if the anchor is not a directory; those of [`Session::commit`].
    pub fn commit(self, revprops: Props) -> Result<CommitInfo> {
        drive::commit(self, revprops)
    }

    /// Returns the kind of the node that a path has after the earlier actions, as far as it comes from the repository; none for nodes that are
    /// new.
    fn kind_of(&mut self, path: &RelPath) -> Result<NodeKind> {
        match self.origin(path) {
            Some((from, rev)) => self.session.check_path(&from, Some(rev)),
            None => Ok(NodeKind::None),
        }
    }

    /// Returns where the node at a path comes from: its own path in the base revision, or the source of a copy. There may be a copy in a new
    /// directory.
    fn origin(&self, path: &RelPath) -> Option<(RelPath, Revnum)> {
        let mut here = RelPath::empty();
        let mut origin = Some((RelPath::empty(), self.base));
        for name in path.components() {
            here = here.join_str(name);
            if let Some((from, _)) = &mut origin {
                *from = from.join_str(name);
            }
            let Some(change) = self.changes.get(&TreeOrder(here.clone())) else {
                continue;
            };
            match &change.node {
                Some(NodeChange {
                    added: Some(from), ..
                }) => origin = from.clone(),
                Some(_) => {}
                None if change.deleted.is_some() && !self.is_opened(&here) => origin = None,
                None => {}
            }
        }
        origin
    }

    /// # Errors
    /// `FS_ALREADY_EXISTS` unless a node can be added at the path.
    fn check_new(&mut self, path: &RelPath) -> Result<()> {
        let exists = |rest: &str| {
            let message = format!("Path '{path}' already exists{rest}");
            Err(Error::new(Code::FS_ALREADY_EXISTS, message))
        };
        let change = self.changes.get(&TreeOrder(path.clone()));
        if self.is_opened(path) || change.is_some_and(|change| change.node.is_some()) {
            return exists(", or was created by an earlier operation");
        }
        match self.kind_of(path)? {
            NodeKind::None => Ok(()),
            _ => exists(""),
        }
    }

    /// Checks that a path which an earlier action needs as a directory is one. `kind` is what is there.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` and `FS_NOT_DIRECTORY`.
    fn check_opened(&self, path: &RelPath, kind: NodeKind) -> Result<()> {
        let change = self.changes.get(&TreeOrder(path.clone()));
        if !self.is_opened(path) || change.is_some_and(|change| change.node.is_some()) {
            return Ok(());
        }
        let (code, message) = match kind {
            NodeKind::Dir => return Ok(()),
            NodeKind::None => (
                Code::FS_NOT_FOUND,
                format!("Can't open '{path}' as it does not exist"),
            ),
            _ => (
                Code::FS_NOT_DIRECTORY,
                format!("Can't perform directory operation on '{path}' as it is not a directory"),
            ),
        };
        Err(Error::new(code, message))
    }

    /// True if earlier actions have changed something below the path, which is opened for them.
    fn is_opened(&self, path: &RelPath) -> bool {
        self.at_or_below(path).any(|(below, _)| below.0 != *path)
    }

    fn at_or_below(&self, path: &RelPath) -> impl Iterator<Item = (&TreeOrder, &Change)> {
        let path = path.clone();
        self.changes
            .range(TreeOrder(path.clone())..)
            .take_while(move |(below, _)| below.0.relative_to(&path).is_some())
    }

    /// Returns the change of a path, a new one if there is none.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY` below a file that an earlier action adds or changes.
    fn change(&mut self, path: &RelPath) -> Result<&mut Change> {
        let mut file: Option<RelPath> = None;
        for here in [RelPath::empty()].into_iter().chain(ancestry(path)) {
            if let Some(file) = file {
                let (file, name) = (file.basename(), here.basename());
                let message = format!("Can't operate on '{name}' because '{file}' is not a directory");
                return Err(Error::new(Code::FS_NOT_DIRECTORY, message));
            }
            let change = self.changes.get(&TreeOrder(here.clone()));
            let node = change.and_then(|change| change.node.as_ref());
            file = node.filter(|node| node.kind == NodeKind::File).map(|_| here);
        }
        Ok(self.changes.entry(TreeOrder(path.clone())).or_default())
    }

    /// As [`MultiCommit::change`], of a node that has its place in the order now.
    fn named(&mut self, path: &RelPath) -> Result<&mut Change> {
        self.change(path)?;
        self.order.name(path);
        self.change(path)
    }

    fn add(&mut self, path: &RelPath, node: NodeChange) -> Result<()> {
        self.named(path)?.node = Some(node);
        Ok(())
    }
}

fn cannot_delete(path: &RelPath) -> Error {
    Error::new(Code::ILLEGAL_TARGET, format!("Can't delete node at '{path}'"))
}
