//! Describes nodes of a repository: the node at a URL, and those below it.

use std::collections::HashMap;

use base::{Code, Depth, Error, FsPath, Lock, NodeKind, RelPath, Result, Revnum, Url};
use ra::{DirectoryRequest, Dirent, DirentFields, Session};

/// The description of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeInfo<'a> {
    /// The path relative to the target; empty for the target itself.
    pub path: &'a RelPath,
    /// The URL.
    pub url: &'a Url,
    /// The revision that was asked for.
    pub rev: Revnum,
    /// The URL of the repository's root.
    pub root_url: &'a Url,
    /// The UUID of the repository.
    pub uuid: &'a str,
    /// The kind, the size and the last change.
    pub dirent: &'a Dirent,
    /// The lock.
    pub lock: Option<&'a Lock>,
}

/// Describes the node at the session's URL, and with a greater depth those below it, each directory's entries sorted by name.
///
/// # Errors
/// `RA_ILLEGAL_URL` if there is no such node; those of the session and of `receive`.
pub fn info(
    session: &mut dyn Session,
    rev: Revnum,
    depth: Depth,
    locks: Locks,
    receive: &mut dyn FnMut(&NodeInfo<'_>) -> Result<()>,
) -> Result<()> {
    let (url, root_url) = (session.url().clone(), session.root_url().clone());
    let uuid = session.uuid().to_owned();
    let Some(top) = session.stat(&RelPath::empty(), Some(rev))? else {
        let message = format!("URL '{url}' non-existent in revision {rev}");
        return Err(Error::new(Code::RA_ILLEGAL_URL, message));
    };
    let path = url.relative_to(&root_url).unwrap_or_else(RelPath::empty);
    let top_path = FsPath::root().join(&path);
    let locks = match locks {
        Locks::OfFile if top.kind != NodeKind::File => HashMap::new(),
        _ => find_locks(session, top.kind, depth)?,
    };
    let mut pending = vec![(RelPath::empty(), top)];
    while let Some((path, dirent)) = pending.pop() {
        receive(&NodeInfo {
            path: &path,
            url: &url.join(&path),
            rev,
            root_url: &root_url,
            uuid: &uuid,
            dirent: &dirent,
            lock: locks.get(&top_path.join(&path)),
        })?;
        let descends = match depth {
            Depth::Infinity => true,
            Depth::Files | Depth::Immediates => path.is_empty(),
            _ => false,
        };
        if dirent.kind != NodeKind::Dir || !descends {
            continue;
        }
        let request = DirectoryRequest {
            path: &path,
            rev: Some(rev),
            props: false,
            entries: Some(DirentFields::SHOWN),
        };
        let entries = session.directory(&request)?.entries.into_iter().rev();
        let entries = entries.filter(|(_, entry)| depth != Depth::Files || entry.kind == NodeKind::File);
        pending.extend(entries.map(|(name, entry)| (path.join_str(&name), entry)));
    }
    Ok(())
}

/// Which locks are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// All.
    All,
    /// That of a file, and none of those below a directory: in an earlier revision, other nodes may have their paths.
    OfFile,
}

/// Returns the locks of a file or in a tree; none if the server has no locks.
fn find_locks(session: &mut dyn Session, kind: NodeKind, depth: Depth) -> Result<HashMap<FsPath, Lock>> {
    let found = if kind == NodeKind::File {
        session.get_lock(&RelPath::empty()).map(Vec::from_iter)
    } else if depth > Depth::Empty {
        session.get_locks(&RelPath::empty(), depth)
    } else {
        Ok(Vec::new())
    };
    match found {
        Ok(locks) => Ok(locks.into_iter().map(|lock| (lock.path.clone(), lock)).collect()),
        Err(error) if error.code() == Code::RA_NOT_IMPLEMENTED => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}
