//! The two ends of a difference: which nodes are there, and where the edit between them is rooted.

use base::{Code, Error, NodeKind, RelPath, Result, Revnum, Url};
use ra::Session;

use super::{Comparison, TreeOptions};
use crate::locate::Revision;

/// One end.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub url: Url,
    pub rev: Revnum,
    pub kind: NodeKind,
}

/// Both ends, and a session with their repository.
pub(super) struct Ends {
    pub session: Box<dyn Session>,
    pub old: End,
    pub new: End,
}

impl Ends {
    /// Returns true if the edit is about an entry of the directory above the nodes, so that the node itself can be replaced. Nothing is
    /// above the repository's root.
    pub(super) fn has_target(&self) -> bool {
        !self.has_root()
    }

    /// Returns true if the paths of changes begin with the name of the node: for files, and for nodes of different kinds.
    pub(super) fn names_node(&self) -> bool {
        let is_file = |end: &End| end.kind == NodeKind::File;
        self.has_target() && (is_file(&self.old) || is_file(&self.new))
    }

    /// Returns the path in the repository of the directory above the old node; of the old node itself if one of the nodes is the
    /// repository's root.
    pub(super) fn anchor(&self) -> RelPath {
        let path = self.old.url.relative_to(self.session.root_url());
        let path = path.unwrap_or_else(RelPath::empty);
        match path.parent() {
            Some(parent) if !self.has_root() => parent,
            _ => path,
        }
    }

    fn has_root(&self) -> bool {
        let root = self.session.root_url();
        self.old.url == *root || self.new.url == *root
    }
}

/// Finds the nodes of a comparison.
///
/// # Errors
/// `FS_NOT_FOUND` if there is nothing to compare; `RA_ILLEGAL_URL` for URLs of two repositories; those of the connection.
pub(super) fn find(comparison: &Comparison, tree: &TreeOptions<'_>) -> Result<Ends> {
    let mut old_first = false;
    let (mut session, old, new) = match comparison {
        Comparison::Node { url, peg, old, new } => {
            let (session, peg, [old, new]) = located(url, *peg, [*old, *new], tree)?;
            // A node in its peg revision is where it is: only the other end is looked up before.
            old_first = new.1 == peg && old.1 != peg;
            (session, old, new)
        }
        Comparison::Urls {
            old,
            old_rev,
            new,
            new_rev,
        } => {
            let session = tree.sessions.take(new)?;
            (session, (old.clone(), *old_rev), (new.clone(), *new_rev))
        }
    };
    // As in the incumbent, the error of the newer end comes first.
    let (new, old) = if old_first {
        let old = end(&mut *session, old)?;
        (end(&mut *session, new)?, old)
    } else {
        (end(&mut *session, new)?, end(&mut *session, old)?)
    };
    let mut ends = Ends { session, old, new };
    check(&mut ends)?;
    check_root(&ends)?;
    Ok(ends)
}

/// An end whose node was not looked up.
type NamedEnd = (Url, Revision);

/// Returns the peg revision and where a node was in two revisions. A node that was not there in one of them is missing where it was in
/// the other one.
fn located(
    url: &Url,
    peg: Revision,
    revs: [Revision; 2],
    tree: &TreeOptions<'_>,
) -> Result<(Box<dyn Session>, Revision, [NamedEnd; 2])> {
    let mut session = tree.sessions.take(url)?;
    let peg = peg.number(&mut *session)?;
    let [old, new] = revs.map(|rev| rev.number(&mut *session));
    let (old, new) = (old?, new?);
    let number = |rev| Revision::Number(rev);
    let is_root = session.url() == session.root_url();
    // In the peg revision the node is at its URL, even if it is not there; so is the root in all revisions.
    let is_at_url = |rev: Revnum| is_root || rev == peg;
    let others: Vec<Revnum> = [old, new].into_iter().filter(|rev| !is_at_url(*rev)).collect();
    let mut locations = Vec::new();
    let mut look_up = |revs: &[Revnum]| match session.locations(&RelPath::empty(), peg, revs) {
        Ok(found) => {
            locations.extend(found);
            Ok(true)
        }
        Err(error) if error.has(Code::FS_NOT_FOUND) => Ok(false),
        // The server names one of the revisions; the incumbent's client asks for the newer end first.
        Err(error) if revs.len() > 1 && error.has(Code::FS_NO_SUCH_REVISION) => Ok(false),
        Err(error) => Err(error),
    };
    if !others.is_empty() && !look_up(&others)? && others.len() > 1 {
        // A younger revision without the node is an error, which hides the other revision.
        look_up(&[new])?;
        look_up(&[old])?;
    }
    let at = |rev: Revnum| {
        if is_at_url(rev) {
            return Some(url.clone());
        }
        let (_, path) = locations.iter().find(|(found, _)| *found == rev)?;
        Some(session.root_url().join(&path.to_rel()))
    };
    let (old_url, new_url) = match (at(old), at(new)) {
        (Some(old), Some(new)) => (old, new),
        (Some(one), None) | (None, Some(one)) => (one.clone(), one),
        (None, None) => (url.clone(), url.clone()),
    };
    let ends = [(old_url, number(old)), (new_url, number(new))];
    Ok((session, number(peg), ends))
}

fn end(session: &mut dyn Session, (url, rev): NamedEnd) -> Result<End> {
    if url.relative_to(session.root_url()).is_none() {
        let message = format!("'{url}' isn't in the same repository as '{}'", session.root_url());
        return Err(Error::new(Code::RA_ILLEGAL_URL, message));
    }
    if *session.url() != url {
        session.reparent(&url)?;
    }
    let rev = rev.number(session)?;
    let kind = session.check_path(&RelPath::empty(), Some(rev))?;
    Ok(End { url, rev, kind })
}

/// Checks that there is something at one end, and that nothing at the other end means a deletion or an addition.
fn check(ends: &mut Ends) -> Result<()> {
    let (old, new) = (ends.old.clone(), ends.new.clone());
    let message = match (old.kind, new.kind) {
        (NodeKind::None, NodeKind::None) if old.url == new.url => format!(
            "Diff target '{}' was not found in the repository at revisions '{}' and '{}'",
            old.url, old.rev, new.rev
        ),
        (NodeKind::None, NodeKind::None) => format!(
            "Diff targets '{}' and '{}' were not found in the repository at revisions '{}' and '{}'",
            old.url, new.url, old.rev, new.rev
        ),
        (NodeKind::None, _) => return check_other_revision(&mut *ends.session, &old, new.rev),
        (_, NodeKind::None) => return check_other_revision(&mut *ends.session, &new, old.rev),
        _ => return Ok(()),
    };
    Err(Error::new(Code::FS_NOT_FOUND, message))
}

/// Refuses to compare nothing with the repository's root, as servers refuse what the incumbent's client asks of them then.
fn check_root(ends: &Ends) -> Result<()> {
    let root = ends.session.root_url();
    if ends.old.kind == NodeKind::None && ends.new.url == *root && ends.old.url != *root {
        let message = "Cannot replace a directory from within";
        return Err(Error::new(Code::FS_PATH_SYNTAX, message));
    }
    Ok(())
}

/// Checks that the URL of a missing node names one in the revision of the other end.
fn check_other_revision(session: &mut dyn Session, missing: &End, other: Revnum) -> Result<()> {
    if *session.url() != missing.url {
        session.reparent(&missing.url)?;
    }
    if session.check_path(&RelPath::empty(), Some(other))? != NodeKind::None {
        return Ok(());
    }
    let (url, rev) = (&missing.url, missing.rev);
    let revisions = match rev == other {
        true => format!("revision '{other}'"),
        false => format!("revision '{other}' or '{rev}'"),
    };
    let message = format!("Diff target '{url}' was not found in the repository at {revisions}");
    Err(Error::new(Code::FS_NOT_FOUND, message))
}
