//! Reads properties: of a node, of the nodes below it, and those that it inherits.

use base::props::is_regular;
use base::{Code, Depth, Error, NodeKind, Props, RelPath, Result, Revnum, Url};
use ra::{Capability, DirectoryRequest, DirentFields, FileRequest, Session};

/// The properties of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeProps<'a> {
    /// The URL of the node.
    pub url: &'a Url,
    /// Its properties, with those that describe its last change.
    pub props: &'a Props,
}

impl NodeProps<'_> {
    /// The properties that a user can set.
    pub fn regular(&self) -> impl Iterator<Item = (&str, &[u8])> {
        regular(self.props)
    }
}

/// Returns the properties of a list that a user can set.
pub fn regular(props: &Props) -> impl Iterator<Item = (&str, &[u8])> {
    let props = props.iter().filter(|(name, _)| is_regular(name));
    props.map(|(name, value)| (name.as_str(), value.as_slice()))
}

/// Passes the properties of the node at the session's URL, which is of this kind, and with a greater depth those of the nodes below
/// it, each directory's entries sorted by name.
///
/// # Errors
/// Those of the session and of `receive`.
pub fn read(
    session: &mut dyn Session,
    rev: Revnum,
    kind: NodeKind,
    depth: Depth,
    receive: &mut dyn FnMut(&NodeProps<'_>) -> Result<()>,
) -> Result<()> {
    let top = session.url().clone();
    let mut pending = vec![(RelPath::empty(), kind)];
    while let Some((path, kind)) = pending.pop() {
        let url = top.join(&path);
        if kind != NodeKind::Dir {
            let request = FileRequest {
                path: &path,
                rev: Some(rev),
                props: true,
                text: false,
            };
            let props = session.file(&request, &mut |_, _| Ok(()))?.props;
            receive(&NodeProps {
                url: &url,
                props: &props,
            })?;
            continue;
        }
        let descends = depth == Depth::Infinity || (path.is_empty() && depth >= Depth::Files);
        let request = DirectoryRequest {
            path: &path,
            rev: Some(rev),
            props: true,
            entries: descends.then_some(DirentFields::KIND),
        };
        let directory = session.directory(&request)?;
        receive(&NodeProps {
            url: &url,
            props: &directory.props,
        })?;
        let entries = directory.entries.into_iter().rev().filter(|_| descends);
        let entries = entries.filter(|(_, entry)| depth != Depth::Files || entry.kind == NodeKind::File);
        pending.extend(entries.map(|(name, entry)| (path.join_str(&name), entry.kind)));
    }
    Ok(())
}

/// Returns the properties of the ancestors of the node at the session's URL, with the URLs of the ancestors, root first. Ancestors
/// without properties are left out.
///
/// # Errors
/// Those of the session.
pub fn inherited(session: &mut dyn Session, rev: Revnum) -> Result<Vec<(Url, Props)>> {
    let root = session.root_url().clone();
    if session.has(Capability::InheritedProps)? {
        let found = session.inherited_props(&RelPath::empty(), rev)?;
        return Ok(found
            .into_iter()
            .map(|(path, props)| (root.join(&path), props))
            .collect());
    }
    // An older server is asked for the properties of each ancestor.
    let url = session.url().clone();
    let mut found = Vec::new();
    let mut ancestor = url.clone();
    while ancestor != root {
        let Some(parent) = ancestor.parent() else { break };
        ancestor = parent;
        session.reparent(&ancestor)?;
        let request = DirectoryRequest {
            path: &RelPath::empty(),
            rev: Some(rev),
            props: true,
            entries: None,
        };
        let mut props = session.directory(&request)?.props;
        props.retain(|name, _| is_regular(name));
        if !props.is_empty() {
            found.push((ancestor.clone(), props));
        }
    }
    session.reparent(&url)?;
    found.reverse();
    Ok(found)
}

/// Returns the kind of the node at the session's URL.
///
/// # Errors
/// `code` with `message` if there is none; those of the session.
pub fn kind(session: &mut dyn Session, rev: Revnum, code: Code, message: &str) -> Result<NodeKind> {
    match session.check_path(&RelPath::empty(), Some(rev))? {
        NodeKind::None | NodeKind::Unknown => Err(Error::new(code, message)),
        kind => Ok(kind),
    }
}
