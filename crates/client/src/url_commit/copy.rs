//! Copies and moves nodes from URLs to URLs.
//!
//! The source of each copy is found by its peg revision first. A copy gets the mergeinfo that counts for its source, so that what was merged there counts at
//! the new URL too.

use std::collections::BTreeMap;

use base::{Code, Error, NodeKind, RelPath, Result, Revnum, Url, props};
use delta::editor::{CopyFrom, DirToken, Editor};
use ra::{MergeinfoOf, MergeinfoRequest, Session};

use super::path_driver::drive_paths;
use super::pin_externals::{self, PinExternals};
use super::{UrlCommit, common_parent};
use crate::commit_item::{CommitItem, ItemChange};
use crate::locate::{self, Revision};

/// What to copy or move.
pub struct CopyRequest<'a> {
    /// The sources.
    pub sources: &'a [CopySource],
    /// The target, or the directory of the targets.
    pub target: &'a Url,
    /// Whether to delete the sources.
    pub is_move: bool,
    /// Whether to make the directories above the targets.
    pub with_parents: bool,
    /// How to fix the revisions of externals in the copies; `None` leaves them as they are.
    pub pin: Option<PinExternals<'a>>,
}

/// The source of a copy.
#[derive(Clone, Debug)]
pub struct CopySource {
    /// The URL.
    pub url: Url,
    /// The revision in which the URL names the node.
    pub peg: Revision,
    /// The revision of the node.
    pub rev: Revision,
}

/// A source and its target.
struct Pair<'a> {
    source: &'a CopySource,
    target: Url,
}

/// A copy whose source was found.
#[derive(Clone)]
struct FoundCopy {
    target: Url,
    /// The URL in the revision that is copied.
    from: Url,
    rev: Revnum,
    /// Unknown before [`check_copy`].
    kind: NodeKind,
    mergeinfo: Option<Vec<u8>>,
    /// New values of `svn:externals`, by path below the target.
    externals: BTreeMap<RelPath, Vec<u8>>,
}

/// A change of a path.
enum Action {
    MakeDirectory,
    Delete,
    Copy(FoundCopy),
    SetExternals(Vec<u8>),
}

/// Copies or moves nodes. Several are copied into the target, a single one becomes the target, or an entry of it if it exists.
///
/// # Errors
/// `FS_NOT_FOUND` and `CLIENT_UNRELATED_RESOURCES` for a source that does not exist; `FS_ALREADY_EXISTS`; `UNSUPPORTED_FEATURE` for
/// another repository, or a node that is moved to itself; those of `ui`.
pub fn copy(ui: &mut UrlCommit<'_>, request: &CopyRequest<'_>) -> Result<()> {
    let child = |source: &CopySource| {
        let name = RelPath::empty().join_str(&source.url.basename());
        request.target.join(&name)
    };
    if let [source] = request.sources {
        let target = request.target.clone();
        match copy_pairs(ui, request, &[Pair { source, target }]) {
            Err(error) if error.code() == Code::FS_ALREADY_EXISTS => {}
            outcome => return outcome,
        }
    }
    let sources = request.sources.iter();
    let pairs: Vec<Pair<'_>> = sources
        .map(|source| Pair {
            target: child(source),
            source,
        })
        .collect();
    copy_pairs(ui, request, &pairs)
}

fn copy_pairs(ui: &mut UrlCommit<'_>, request: &CopyRequest<'_>, pairs: &[Pair<'_>]) -> Result<()> {
    if request.is_move
        && let Some(pair) = pairs.iter().find(|pair| pair.source.url == pair.target)
    {
        let message = format!("Cannot move URL '{}' into itself", pair.target);
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    }
    let mut session = (ui.open)(&pairs[0].source.url)?;
    let mut copies = Vec::new();
    for pair in pairs {
        copies.push(find_copy(&mut *session, pair)?);
    }
    let mut new_dirs = Vec::new();
    if request.with_parents {
        let urls: Vec<Url> = pairs
            .iter()
            .flat_map(|pair| [pair.source.url.clone(), pair.target.clone()])
            .collect();
        let base = common_parent(&urls)?;
        let shown_from = request.is_move.then_some(&base);
        for pair in pairs {
            add_missing_parents(&mut *session, &pair.target, shown_from, &mut new_dirs)?;
        }
    }
    for copy in &mut copies {
        check_copy(&mut *session, copy)?;
        if let Some(pin) = &request.pin {
            session.reparent(&copy.from)?;
            copy.externals = pin_externals::pinned(ui.open, &mut *session, copy.rev, pin)?;
        }
    }
    let mut items: Vec<CommitItem> = new_dirs
        .iter()
        .map(|dir| CommitItem::new(dir.as_str(), ItemChange::Add))
        .collect();
    for copy in &copies {
        items.push(CommitItem::new(copy.target.as_str(), ItemChange::Add).copied());
        if request.is_move {
            items.push(CommitItem::new(copy.from.as_str(), ItemChange::Delete));
        }
    }
    let Some(revprops) = ui.describe(&items)? else {
        return Ok(());
    };
    let (base, actions) = plan(session.root_url(), copies, new_dirs, request.is_move)?;
    session.reparent(&base)?;
    let paths: Vec<RelPath> = actions.iter().map(|(path, _)| path.clone()).collect();
    ui.commit(&mut *session, revprops, &mut |editor| {
        let mut next = actions.iter();
        drive_paths(editor, None, &paths, &mut |editor, parent, path| {
            let (_, action) = next.next().expect("because each path has an action");
            let parent = parent.expect("because all URLs are below the session's");
            action.apply(editor, parent, path)
        })
    })
}

/// Finds the source of a copy and its mergeinfo.
fn find_copy(session: &mut dyn Session, pair: &Pair<'_>) -> Result<FoundCopy> {
    let root = session.root_url().clone();
    if pair.source.url.relative_to(&root).is_none() || pair.target.relative_to(&root).is_none() {
        let message = "Source and destination URLs appear not to point to the same repository.";
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    }
    session.reparent(&pair.source.url)?;
    let rev = locate::move_to_node(session, pair.source.peg, pair.source.rev)?;
    let mergeinfo = mergeinfo_of(session, rev)?;
    Ok(FoundCopy {
        target: pair.target.clone(),
        from: session.url().clone(),
        rev,
        kind: NodeKind::Unknown,
        mergeinfo,
        externals: BTreeMap::new(),
    })
}

/// Checks that the source of a copy exists and its target does not.
fn check_copy(session: &mut dyn Session, copy: &mut FoundCopy) -> Result<()> {
    let here = RelPath::empty();
    session.reparent(&copy.from)?;
    copy.kind = session.check_path(&here, Some(copy.rev))?;
    if copy.kind == NodeKind::None {
        let message = format!("Path '{}' does not exist in revision {}", copy.from, copy.rev);
        return Err(Error::new(Code::FS_NOT_FOUND, message));
    }
    session.reparent(&copy.target)?;
    if session.check_path(&here, None)? != NodeKind::None {
        let message = format!("Path '{}' already exists", copy.target);
        return Err(Error::new(Code::FS_ALREADY_EXISTS, message));
    }
    Ok(())
}

/// Returns the mergeinfo that counts for the session's URL as a property; `None` without any.
fn mergeinfo_of(session: &mut dyn Session, rev: Revnum) -> Result<Option<Vec<u8>>> {
    let request = MergeinfoRequest {
        paths: &[RelPath::empty()],
        rev: Some(rev),
        of: MergeinfoOf::Inherited,
        descendants: false,
    };
    match session.mergeinfo(&request) {
        Ok(found) => Ok(found
            .first()
            .map(|(_, mergeinfo)| mergeinfo.to_string().into_bytes())),
        Err(error) if error.code() == Code::UNSUPPORTED_FEATURE => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds the directories above `target` that do not exist, the deepest first.
///
/// # Errors
/// `FS_ALREADY_EXISTS` for a file, which is shown relative to `shown_from`, or with its URL.
fn add_missing_parents(
    session: &mut dyn Session,
    target: &Url,
    shown_from: Option<&Url>,
    new_dirs: &mut Vec<Url>,
) -> Result<()> {
    let root = session.root_url().clone();
    let mut above = target.parent();
    while let Some(dir) = above.filter(|dir| dir.relative_to(&root).is_some()) {
        session.reparent(&dir)?;
        match session.check_path(&RelPath::empty(), None)? {
            NodeKind::None => {}
            NodeKind::File => {
                let shown = match shown_from.and_then(|base| dir.relative_to(base)) {
                    Some(path) => path.to_string(),
                    None => dir.to_string(),
                };
                let message = format!("Path '{shown}' already exists, but is not a directory");
                return Err(Error::new(Code::FS_ALREADY_EXISTS, message));
            }
            _ => break,
        }
        above = dir.parent();
        if !new_dirs.contains(&dir) {
            new_dirs.push(dir);
        }
    }
    Ok(())
}

/// Returns the URL of the edit's root and what happens to the paths below it, in the order of paths.
fn plan(
    root: &Url,
    copies: Vec<FoundCopy>,
    new_dirs: Vec<Url>,
    is_move: bool,
) -> Result<(Url, Vec<(RelPath, Action)>)> {
    let mut urls: Vec<Url> = new_dirs.clone();
    for copy in &copies {
        urls.push(copy.target.clone());
        if is_move {
            urls.push(copy.from.clone());
        }
    }
    if urls.contains(root) {
        let message = format!("Cannot move URL '{root}' into itself");
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    }
    let base = common_parent(&urls)?;
    let below = |url: &Url| {
        url.relative_to(&base)
            .expect("because the base is above all URLs")
    };
    let mut actions: Vec<(RelPath, Action)> = Vec::new();
    for dir in &new_dirs {
        actions.push((below(dir), Action::MakeDirectory));
    }
    if is_move {
        actions.extend(copies.iter().map(|copy| (below(&copy.from), Action::Delete)));
    }
    // Of several copies with one target, the incumbent makes the last one as often.
    let last: BTreeMap<&Url, &FoundCopy> = copies.iter().map(|copy| (&copy.target, copy)).collect();
    for copy in &copies {
        let mut copy = last[&copy.target].clone();
        let target = below(&copy.target);
        for (path, value) in std::mem::take(&mut copy.externals) {
            match path.is_empty() {
                true => {
                    copy.externals.insert(path, value);
                }
                false => actions.push((target.join(&path), Action::SetExternals(value))),
            }
        }
        actions.push((target, Action::Copy(copy)));
    }
    actions.sort_by(|(a, _), (b, _)| a.cmp_tree(b));
    Ok((base, actions))
}

impl Action {
    fn apply(&self, editor: &mut dyn Editor, parent: DirToken, path: &RelPath) -> Result<Option<DirToken>> {
        match self {
            Action::MakeDirectory => editor.add_directory(path, parent, None).map(Some),
            Action::Delete => editor.delete_entry(path, None, parent).map(|()| None),
            Action::SetExternals(value) => {
                let dir = editor.open_directory(path, parent, None)?;
                editor.change_dir_prop(dir, crate::externals::EXTERNALS, Some(value))?;
                Ok(Some(dir))
            }
            Action::Copy(copy) => copy.add(editor, parent, path),
        }
    }
}

impl FoundCopy {
    fn add(&self, editor: &mut dyn Editor, parent: DirToken, path: &RelPath) -> Result<Option<DirToken>> {
        let from = Some(CopyFrom {
            path: self.from.as_str(),
            rev: self.rev,
        });
        if self.kind == NodeKind::File {
            let file = editor.add_file(path, parent, from)?;
            if let Some(mergeinfo) = &self.mergeinfo {
                editor.change_file_prop(file, props::MERGEINFO, Some(mergeinfo))?;
            }
            editor.close_file(file, None)?;
            return Ok(None);
        }
        let dir = editor.add_directory(path, parent, from)?;
        if let Some(mergeinfo) = &self.mergeinfo {
            editor.change_dir_prop(dir, props::MERGEINFO, Some(mergeinfo))?;
        }
        if let Some(externals) = self.externals.get(&RelPath::empty()) {
            editor.change_dir_prop(dir, crate::externals::EXTERNALS, Some(externals))?;
        }
        Ok(Some(dir))
    }
}
