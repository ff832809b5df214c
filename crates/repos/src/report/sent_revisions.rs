//! The revision properties that the response to a report shows: what can change of it afterwards.

use std::time::{Duration, Instant};

use base::{PropList, Result, Revnum, props};
use fsfs::RevpropsDirs;
use parking_lot::Mutex;

use crate::repo::Repository;

/// How long unchanged directories count as a proof for unchanged properties.
const DIRS_TRUSTED: Duration = Duration::from_secs(1);

/// The revisions whose date and author a response shows, with both.
#[derive(Debug, Default)]
pub struct SentRevisions {
    revisions: Vec<SentRevision>,
    /// The last time when all properties were as they were sent, and the state of their directories before that.
    last_check: Mutex<Option<(Instant, RevpropsDirs)>>,
}

#[derive(Debug, PartialEq, Eq)]
struct SentRevision {
    rev: Revnum,
    date: Option<Box<[u8]>>,
    author: Option<Box<[u8]>>,
}

impl SentRevisions {
    /// Adds a revision, with the properties to show of `revprops`.
    pub(super) fn add(&mut self, rev: Revnum, revprops: &PropList) {
        self.revisions.push(SentRevision {
            rev,
            date: revprops.get(props::DATE).map(Into::into),
            author: revprops.get(props::AUTHOR).map(Into::into),
        });
    }

    /// Returns the number of revisions.
    pub(super) fn len(&self) -> usize {
        self.revisions.len()
    }

    /// Returns whether the properties are still those that were sent.
    ///
    /// For one second after they were compared, only the metadata of their directories is compared.
    ///
    /// # Errors
    /// Those of reading revision properties.
    pub fn are_current(&self, repository: &Repository) -> Result<bool> {
        let fs = repository.fs();
        let is_proof =
            |(when, dirs): &(Instant, RevpropsDirs)| when.elapsed() < DIRS_TRUSTED && dirs.are_unchanged(fs);
        if self.last_check.lock().as_ref().is_some_and(is_proof) {
            return Ok(true);
        }
        let begun = Instant::now();
        let revs: Vec<Revnum> = self.revisions.iter().map(|sent| sent.rev).collect();
        let dirs = fs.revprops_dirs(revs.iter().copied());
        for (sent, revprops) in self.revisions.iter().zip(fs.revprop_lists(&revs)) {
            if !sent.matches(&revprops?) {
                return Ok(false);
            }
        }
        *self.last_check.lock() = dirs.map(|dirs| (begun, dirs));
        Ok(true)
    }

    /// Returns about how many bytes of memory this takes.
    pub fn bytes(&self) -> usize {
        let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len() + 16);
        let sent = |sent: &SentRevision| size_of::<SentRevision>() + text(&sent.date) + text(&sent.author);
        size_of::<SentRevisions>() + self.revisions.iter().map(sent).sum::<usize>()
    }
}

impl SentRevision {
    fn matches(&self, revprops: &PropList) -> bool {
        revprops.get(props::DATE) == self.date.as_deref()
            && revprops.get(props::AUTHOR) == self.author.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use base::Date;
    use fsfs::Cache;

    use super::*;
    use crate::access::Everything;
    use crate::change_revprop::RevpropChange;
    use crate::create::{CreateOptions, create};

    #[test]
    fn a_changed_date_or_author_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("r");
        create(&path, &CreateOptions::default(), Date(0)).expect("a new repository");
        let repository = Repository::open(&path, &Cache::new(1 << 20)).expect("it was created");
        let set = |name: &str, value: Option<&[u8]>| {
            let change = RevpropChange {
                rev: Revnum(0),
                name,
                expected: None,
                value,
                user: None,
            };
            let changed = repository.change_revprop(&change, None, None, &Everything);
            changed.expect("a valid change");
        };
        let sent = || {
            let mut sent = SentRevisions::default();
            let revprops = repository.fs().revprops(Revnum(0)).expect("readable");
            sent.add(Revnum(0), &revprops);
            sent
        };
        let is_current = |sent: &SentRevisions| sent.are_current(&repository).expect("readable");
        let first = sent();
        assert!(is_current(&first) && first.len() == 1);
        set("svn:log", Some(b"new"));
        assert!(is_current(&first));
        set(props::AUTHOR, Some(b"alice"));
        assert!(!is_current(&first));
        let second = sent();
        set(props::AUTHOR, Some(b"bob"));
        assert!(!is_current(&second));
        set(props::AUTHOR, Some(b"alice"));
        assert!(is_current(&second));
        set(props::DATE, None);
        assert!(!is_current(&second) && is_current(&sent()));
    }
}
