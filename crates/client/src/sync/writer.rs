//! Completes revisions of a mirror: their properties, then the bookkeeping.
//!
//! The order of the changes is that of Subversion's program, except that the date and the author are set at the same time, by two
//! sessions, and that `svn:sync-currently-copying` goes from one revision to the next without being deleted in between.
//! After each of them, either program can continue:
//!
//! 1. the revision's properties: its author and date, which the commit could not set;
//! 2. `svn:sync-last-merged-rev` = this revision;
//! 3. `svn:sync-currently-copying` = the next revision, or deleted after the last one.

use std::sync::Arc;

use base::{Result, Revnum, props};
use ra::Session;

use super::bookkeeping::{self, CURRENTLY_COPYING, LAST_MERGED};
use super::normalize::RevisionProps;
use super::revprops;
use crate::session_thread::SessionThread;

/// A revision that was committed.
#[derive(Clone)]
pub struct CommittedRevision {
    /// Its number.
    pub rev: Revnum,
    /// Its properties.
    pub wanted: Arc<RevisionProps>,
    /// Returns whether the commit has set a property.
    pub is_set: fn(&str) -> bool,
    /// The revision that will be copied next.
    pub next: Option<Revnum>,
}

impl CommittedRevision {
    /// Copies the properties that the commit did not set, by both sessions, and deletes others.
    ///
    /// # Errors
    /// Those of changing a property.
    pub fn copy_props(&self, session: &mut dyn Session, thread: &mut SessionThread<()>) -> Result<()> {
        let this = self.clone();
        thread.begin(Box::new(move |session| this.copy_other_props(session)))?;
        let date = match self.wanted.props.get(props::DATE) {
            Some(date) => revprops::change(session, self.rev, props::DATE, Some(date)),
            None => Ok(()),
        };
        thread.wait().and(date)
    }

    /// Copies all but the date.
    fn copy_other_props(&self, session: &mut dyn Session) -> Result<()> {
        let wanted = self.wanted.props.iter();
        for (name, value) in wanted.filter(|(name, _)| !(self.is_set)(name) && *name != props::DATE) {
            revprops::change(session, self.rev, name, Some(value))?;
        }
        let existing = session.revprops(self.rev)?;
        revprops::delete_others(session, self.rev, &self.wanted, &existing)
    }

    /// Does the bookkeeping after the revision is complete.
    ///
    /// # Errors
    /// Those of changing a property.
    pub fn finish(&self, session: &mut dyn Session) -> Result<()> {
        bookkeeping::set(session, LAST_MERGED, &self.rev.to_string())?;
        match self.next {
            Some(next) => bookkeeping::set(session, CURRENTLY_COPYING, &next.to_string()),
            None => bookkeeping::delete(session, CURRENTLY_COPYING),
        }
    }
}
