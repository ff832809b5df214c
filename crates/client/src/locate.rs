//! Finds the node that a URL, a peg revision and an operative revision name.
//!
//! The peg revision says in which revision the URL names the node; the operative revision says which revision of that node is
//! meant. Between the two the node may have moved.

use base::{Code, Date, Error, RelPath, Result, Revnum, Url};
use ra::Session;

/// A revision of a repository, as users name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A number.
    Number(Revnum),
    /// The youngest revision at a time.
    Date(Date),
    /// The youngest revision.
    Head,
}

impl Revision {
    /// Returns the number.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn number(self, session: &mut dyn Session) -> Result<Revnum> {
        match self {
            Revision::Number(rev) => Ok(rev),
            Revision::Date(date) => session.dated_revision(date),
            Revision::Head => session.latest_revision(),
        }
    }
}

/// Moves a session, which is at the URL that the user named, to the URL that the node has in the operative revision. Returns that revision.
///
/// # Errors
/// `CLIENT_UNRELATED_RESOURCES` if the node did not exist then; `FS_NOT_FOUND` and `FS_NO_SUCH_REVISION`.
pub fn move_to_node(session: &mut dyn Session, peg: Revision, operative: Revision) -> Result<Revnum> {
    let peg_rev = peg.number(session)?;
    let rev = if operative == peg {
        peg_rev
    } else {
        operative.number(session)?
    };
    move_from_peg(session, peg, peg_rev, rev)?;
    Ok(rev)
}

/// As [`move_to_node`], with the numbers of both revisions.
///
/// # Errors
/// As of [`move_to_node`].
pub fn move_from_peg(session: &mut dyn Session, peg: Revision, peg_rev: Revnum, rev: Revnum) -> Result<()> {
    if rev == peg_rev {
        return Ok(());
    }
    if session.url() == session.root_url() {
        return check_root(session, peg, peg_rev, rev);
    }
    let locations = session.locations(&RelPath::empty(), peg_rev, &[rev])?;
    let Some((_, path)) = locations.into_iter().find(|(found, _)| *found == rev) else {
        let message = format!(
            "Unable to find repository location for '{}' in revision {rev}",
            session.url()
        );
        return Err(Error::new(Code::CLIENT_UNRELATED_RESOURCES, message));
    };
    let url: Url = session.root_url().join(&path.to_rel());
    if url != *session.url() {
        session.reparent(&url)?;
    }
    Ok(())
}

/// Fails for a revision that does not exist. The root is at its place in every revision, even if the peg revision does not exist; a peg
/// revision without a number shows that all revisions up to it exist.
fn check_root(session: &mut dyn Session, peg: Revision, peg_rev: Revnum, rev: Revnum) -> Result<()> {
    let is_known = rev < peg_rev && !matches!(peg, Revision::Number(_));
    if is_known || rev <= session.latest_revision()? {
        return Ok(());
    }
    let message = format!("No such revision {rev}");
    Err(Error::new(Code::FS_NO_SUCH_REVISION, message))
}
