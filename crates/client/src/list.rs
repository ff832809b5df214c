//! Lists a tree: its nodes with their last changes, their locks, and the trees of its externals.
//!
//! A server that can lists by itself. For other servers, and for externals, the tree is walked directory by directory: a stack, because
//! trees may be deep. Externals follow after the tree that defines them, and are listed with their own externals.

use std::collections::HashMap;

use base::{Code, Depth, Error, FsPath, Lock, NodeKind, RelPath, Result, Revnum, Url, glob};
use ra::{Capability, DirectoryRequest, Dirent, DirentFields, ListRequest, Session};

use crate::externals::{self, EXTERNALS, ParseDate};
use crate::locate;
use crate::revision::Revision;

/// How to list.
#[derive(Clone, Copy)]
pub struct ListOptions<'a> {
    /// How deep: `empty` or deeper.
    pub depth: Depth,
    /// Patterns for the last component of paths; empty for all.
    pub patterns: &'a [String],
    /// What to read of each node.
    pub fields: DirentFields,
    /// Whether to look for locks.
    pub locks: bool,
    /// Whether to list externals.
    pub externals: bool,
    /// Opens a session at a URL.
    pub open: &'a dyn Fn(&Url) -> Result<Box<dyn Session>>,
    /// Parses a date in the property `svn:externals`.
    pub parse_date: ParseDate<'a>,
    /// Returns a name or a pattern without differences of case and accents.
    pub fold: &'a dyn Fn(&str) -> String,
}

/// A listed node.
#[derive(Clone, Copy, Debug)]
pub struct ListedNode<'a> {
    /// The path relative to the target; empty for the target itself.
    pub path: &'a RelPath,
    /// The last component of the path in the repository, in the listed revision; empty for the root.
    pub name: &'a str,
    /// What is known of the node.
    pub dirent: &'a Dirent,
    /// Its lock.
    pub lock: Option<&'a Lock>,
    /// The external to which the node belongs.
    pub external: Option<ListedExternal<'a>>,
}

/// An external.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedExternal<'a> {
    /// The URL of the directory that defines it.
    pub parent: &'a Url,
    /// Its path below that directory.
    pub target: &'a RelPath,
}

/// What happens during a listing.
#[derive(Debug)]
pub enum ListEvent<'a> {
    /// A node was found.
    Node(ListedNode<'a>),
    /// An external cannot be listed.
    ExternalFailed(&'a RelPath, &'a Error),
}

/// Receives events.
pub type Notify<'a> = &'a mut dyn FnMut(ListEvent<'_>) -> Result<()>;

/// Lists the tree at a URL. Externals that fail are events.
///
/// # Errors
/// `FS_NOT_FOUND` if there is no such node; those of the session and of `notify`.
pub fn list(
    url: &Url,
    peg: locate::Revision,
    operative: locate::Revision,
    options: &ListOptions<'_>,
    notify: Notify<'_>,
) -> Result<()> {
    let source = Source {
        url: url.clone(),
        peg: peg.into(),
        rev: operative.into(),
        external: None,
    };
    let mut trees = vec![list_tree(source, options, notify)?];
    while let Some(tree) = trees.last_mut() {
        let next = match tree.next_external(options) {
            Ok(Some(next)) => next,
            Ok(None) => {
                trees.pop();
                continue;
            }
            Err(error) => {
                let failed = trees.pop().and_then(|tree| tree.target);
                match failed {
                    Some(target) => notify(ListEvent::ExternalFailed(&target, &error))?,
                    None => return Err(error),
                }
                continue;
            }
        };
        let target = next.external.as_ref().map(|(_, target)| target.clone());
        let target = target.unwrap_or_else(RelPath::empty);
        let listed = match trees.len() {
            ..=MAX_NESTING => list_tree(next, options, notify),
            _ => {
                let message = "Externals are nested too deeply";
                Err(Error::new(Code::CLIENT_INVALID_EXTERNALS_DESCRIPTION, message))
            }
        };
        match listed {
            Ok(inner) => trees.push(inner),
            Err(error) if error.has(Code::CANCELLED) || error.has(Code::IO_PIPE_WRITE_ERROR) => {
                return Err(error);
            }
            Err(error) => notify(ListEvent::ExternalFailed(&target, &error))?,
        }
    }
    Ok(())
}

/// Externals within externals. The incumbent crashes on a cycle.
const MAX_NESTING: usize = 100;

/// What to list.
struct Source {
    url: Url,
    peg: Revision,
    rev: Revision,
    /// For an external, the URL of the directory that defines it, and its target.
    external: Option<(Url, RelPath)>,
}

/// A tree that is listed, but for its externals.
struct ListedTree {
    root_url: Url,
    /// The target of the external that the tree is.
    target: Option<RelPath>,
    /// The directories with `svn:externals` and the values, the next one last.
    definitions: Vec<(Url, Vec<u8>)>,
    /// The externals of one of the directories, the next one last.
    externals: Vec<(Url, externals::External)>,
}

impl ListedTree {
    /// Returns the next external; `None` after the last one.
    fn next_external(&mut self, options: &ListOptions<'_>) -> Result<Option<Source>> {
        while self.externals.is_empty() {
            let Some((directory, value)) = self.definitions.pop() else {
                return Ok(None);
            };
            let parsed = externals::parse(directory.as_str(), &value, options.parse_date)?;
            let parsed = parsed.into_iter().rev();
            self.externals = parsed.map(|one| (directory.clone(), one)).collect();
        }
        let Some((directory, external)) = self.externals.pop() else {
            return Ok(None);
        };
        Ok(Some(Source {
            url: externals::absolute_url(&external.url, &directory, &self.root_url)?,
            peg: external.peg,
            rev: external.rev,
            external: Some((directory, external.target)),
        }))
    }
}

/// Lists a tree without its externals.
fn list_tree(source: Source, options: &ListOptions<'_>, notify: Notify<'_>) -> Result<ListedTree> {
    let (peg, rev) = (source.peg.of_url()?, source.rev.of_url()?);
    let mut session = (options.open)(&source.url)?;
    let rev = locate::move_to_node(&mut *session, peg, rev)?;
    let root_url = session.root_url().clone();
    let path = session
        .url()
        .relative_to(&root_url)
        .unwrap_or_else(RelPath::empty);
    let locks = match options.locks {
        true => find_locks(&mut *session, options.depth)?,
        false => HashMap::new(),
    };
    let external = source.external.as_ref();
    let external = external.map(|(parent, target)| ListedExternal { parent, target });
    let top = FsPath::root().join(&path);
    let mut found = |below: &RelPath, dirent: &Dirent| {
        let full = top.join(below);
        notify(ListEvent::Node(ListedNode {
            path: below,
            name: full.basename(),
            dirent,
            lock: locks.get(&full),
            external,
        }))
    };
    let definitions = if !options.externals && session.has(Capability::List)? {
        let request = ListRequest {
            path: &RelPath::empty(),
            rev: Some(rev),
            depth: options.depth,
            fields: options.fields,
            patterns: (!options.patterns.is_empty()).then_some(options.patterns),
        };
        session.list(&request, &mut found)?;
        Vec::new()
    } else {
        walk(&mut *session, rev, top.basename(), options, &mut found)?
    };
    Ok(ListedTree {
        root_url,
        target: source.external.map(|(_, target)| target),
        definitions,
        externals: Vec::new(),
    })
}

/// Returns the locks in a tree; none if the server has no locks.
fn find_locks(session: &mut dyn Session, depth: Depth) -> Result<HashMap<FsPath, Lock>> {
    match session.get_locks(&RelPath::empty(), depth) {
        Ok(locks) => Ok(locks.into_iter().map(|lock| (lock.path.clone(), lock)).collect()),
        Err(error) if error.code() == Code::RA_NOT_IMPLEMENTED => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}

/// Walks a tree directory by directory. Returns the URLs of the directories with externals, and their values, the first one last.
fn walk(
    session: &mut dyn Session,
    rev: Revnum,
    name: &str,
    options: &ListOptions<'_>,
    found: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
) -> Result<Vec<(Url, Vec<u8>)>> {
    let patterns: Vec<String> = options.patterns.iter().map(|text| (options.fold)(text)).collect();
    let matches = |name: &str| {
        let mut patterns = patterns.iter();
        patterns.len() == 0
            || patterns.any(|pattern| glob::matches(pattern.as_bytes(), (options.fold)(name).as_bytes()))
    };
    let Some(top) = session.stat(&RelPath::empty(), Some(rev))? else {
        let message = format!("URL '{}' non-existent in revision {rev}", session.url());
        return Err(Error::new(Code::FS_NOT_FOUND, message));
    };
    if matches(name) {
        found(&RelPath::empty(), &top)?;
    }
    let mut definitions = Vec::new();
    if top.kind != NodeKind::Dir || options.depth < Depth::Files {
        return Ok(definitions);
    }
    let mut pending = vec![(RelPath::empty(), None)];
    while let Some((path, dirent)) = pending.pop() {
        if let Some(dirent) = &dirent {
            if matches(path.basename()) {
                found(&path, dirent)?;
            }
            if dirent.kind != NodeKind::Dir || options.depth != Depth::Infinity {
                continue;
            }
        }
        let request = DirectoryRequest {
            path: &path,
            rev: Some(rev),
            props: options.externals,
            entries: Some(options.fields),
        };
        let directory = session.directory(&request)?;
        if let Some(value) = directory.props.get(EXTERNALS).filter(|_| options.externals) {
            definitions.push((session.url().join(&path), value.clone()));
        }
        let wanted = directory
            .entries
            .into_iter()
            .filter(|(_, dirent)| options.depth != Depth::Files || dirent.kind == NodeKind::File);
        let wanted = wanted.map(|(name, dirent)| (path.join_str(&name), Some(dirent)));
        let at = pending.len();
        pending.extend(wanted);
        pending[at..].reverse();
    }
    definitions.reverse();
    Ok(definitions)
}
