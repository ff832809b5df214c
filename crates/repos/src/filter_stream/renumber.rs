//! The new numbers of revisions.

use std::collections::HashMap;

use base::{Code, Error, Result};

/// What became of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionMapping {
    /// It was written with this number.
    Written(i64),
    /// It was left out. What refers to it refers to the last revision that was written before it, if there is one.
    Dropped(Option<i64>),
}

/// The new numbers so far, by the numbers in the stream.
#[derive(Debug, Default)]
pub(super) struct Renumbering {
    mappings: HashMap<i64, RevisionMapping>,
    last_written: Option<i64>,
}

impl Renumbering {
    pub fn write(&mut self, original: i64, actual: i64) {
        self.mappings.insert(original, RevisionMapping::Written(actual));
        self.last_written = Some(actual);
    }

    pub fn drop(&mut self, original: i64) {
        let mapping = RevisionMapping::Dropped(self.last_written);
        self.mappings.insert(original, mapping);
    }

    /// Returns the new number of a revision to which something refers.
    ///
    /// # Errors
    /// `NODE_UNEXPECTED_KIND` with the message if no revision stands for it: it is not in the stream, or was left out and
    /// nothing was written before it.
    pub fn find(&self, original: i64, message: impl FnOnce() -> String) -> Result<i64> {
        match self.mappings.get(&original) {
            Some(RevisionMapping::Written(actual) | RevisionMapping::Dropped(Some(actual)))
                if *actual >= 0 =>
            {
                Ok(*actual)
            }
            _ => Err(Error::new(Code::NODE_UNEXPECTED_KIND, message())),
        }
    }

    /// Returns all mappings by descending numbers in the stream.
    pub fn into_descending(self) -> Vec<(i64, RevisionMapping)> {
        let mut all: Vec<_> = self.mappings.into_iter().collect();
        all.sort_unstable_by_key(|(original, _)| std::cmp::Reverse(*original));
        all
    }
}
