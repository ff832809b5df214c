//! The facts that must hold when a stored response is sent again.

use std::sync::Arc;

use base::{Date, FsPath, Result, Revnum};
use repos::report::SentRevisions;
use repos::{ReadMode, Repository};

use crate::config::HttpOptions;

/// The facts that must still hold when a stored response is sent again, beside its key.
pub(crate) struct Validators {
    /// The options that it was made under.
    pub(crate) options: Arc<HttpOptions>,
    /// The path of the repository's URL, which responses show.
    pub(crate) root: Arc<str>,
    /// What the requester must be allowed to read.
    pub(crate) access: RequiredAccess,
    /// This is the youngest revision.
    pub(crate) youngest: Option<Revnum>,
    /// This is the date of that revision.
    pub(crate) date: Option<(Revnum, Option<Date>)>,
    /// These revisions have the dates and authors that were sent.
    pub(crate) sent_revisions: Option<SentRevisions>,
}

/// What a user must be allowed to read to get a response.
pub(crate) enum RequiredAccess {
    /// The node at this path.
    Path(FsPath),
    /// The whole repository.
    Everything,
}

/// The request that may get a stored response.
pub(crate) trait Requester {
    /// The repository that the request is for.
    fn repository(&self) -> &Repository;
    /// The options that hold for the request.
    fn options(&self) -> &Arc<HttpOptions>;
    /// The path of the repository's URL.
    fn root(&self) -> &str;
    /// Returns whether the request's user has been identified and has this access.
    fn may_read(&self, access: &RequiredAccess) -> bool;
}

impl Validators {
    /// Returns whether the requester may have the response, and all facts hold now. The date is compared only as far as that needs
    /// no wait for the disk.
    ///
    /// # Errors
    /// Those of reading revision properties.
    pub(super) fn hold_for(&self, requester: &impl Requester) -> Result<bool> {
        let Validators {
            options,
            root,
            access,
            youngest,
            date,
            sent_revisions,
        } = self;
        let is_same = Arc::ptr_eq(options, requester.options()) && **root == *requester.root();
        if !is_same || !requester.may_read(access) {
            return Ok(false);
        }
        let repository = requester.repository();
        let is_youngest = |rev| repository.youngest().is_ok_and(|now| now == rev);
        let has_date = |(rev, date)| {
            let repository = repository.with_read_mode(&ReadMode::cached_only());
            repository.date(rev).is_ok_and(|now| now == date)
        };
        if !youngest.is_none_or(is_youngest) || !date.is_none_or(has_date) {
            return Ok(false);
        }
        match sent_revisions {
            Some(sent) => sent.are_current(repository),
            None => Ok(true),
        }
    }

    /// Returns about how many bytes of memory this takes beside its own size.
    pub(super) fn bytes(&self) -> usize {
        let path = match &self.access {
            RequiredAccess::Path(path) => path.as_str().len(),
            RequiredAccess::Everything => 0,
        };
        path + self.sent_revisions.as_ref().map_or(0, SentRevisions::bytes)
    }
}
