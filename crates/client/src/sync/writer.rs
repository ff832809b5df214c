//! Completes revisions of a mirror: their properties, then the bookkeeping.
//!
//! The order of the changes is that of Subversion's program, except that `svn:sync-currently-copying` goes from one revision to
//! the next without being deleted in between. After each of them, either program can continue:
//!
//! 1. the revision's properties: its author and date, which the commit could not set;
//! 2. `svn:sync-last-merged-rev` = this revision;
//! 3. `svn:sync-currently-copying` = the next revision, or deleted after the last one.

use base::{Result, Revnum};
use ra::Session;

use super::bookkeeping::{self, CURRENTLY_COPYING, LAST_MERGED};
use super::normalize::RevisionProps;
use super::revprops;

/// A revision that was committed.
pub struct CommittedRevision {
    /// Its number.
    pub rev: Revnum,
    /// Its properties.
    pub wanted: RevisionProps,
    /// Returns whether the commit has set a property.
    pub is_set: fn(&str) -> bool,
    /// The revision that will be copied next.
    pub next: Option<Revnum>,
}

/// A revision that is complete.
pub struct CompleteRevision {
    /// Its number.
    pub rev: Revnum,
    /// The source has properties of a mirror.
    pub has_sync_props: bool,
}

impl CommittedRevision {
    /// Completes the revision.
    ///
    /// # Errors
    /// Those of changing a property.
    pub fn complete(self, session: &mut dyn Session) -> Result<CompleteRevision> {
        let CommittedRevision {
            rev,
            wanted,
            is_set,
            next,
        } = self;
        for (name, value) in wanted.props.iter().filter(|(name, _)| !is_set(name)) {
            revprops::change(session, rev, name, Some(value))?;
        }
        let existing = session.revprops(rev)?;
        revprops::delete_others(session, rev, &wanted, &existing)?;
        bookkeeping::set(session, LAST_MERGED, &rev.to_string())?;
        match next {
            Some(next) => bookkeeping::set(session, CURRENTLY_COPYING, &next.to_string())?,
            None => bookkeeping::delete(session, CURRENTLY_COPYING)?,
        }
        Ok(CompleteRevision {
            rev,
            has_sync_props: wanted.has_sync_props,
        })
    }
}
