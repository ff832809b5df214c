//! A cache of responses to reports: a thousand clients that check out a release send the same request.
//!
//! Only responses that are the same for all users are stored ([`super::Report::same_for_all`]), in the process's
//! cache, under a name that holds the request and the form of the response. Revision properties, which a response
//! contains and which may change, are compared at each use.

use std::any::Any;
use std::sync::Arc;

use base::Result;
use fsfs::ResponsePart;

use super::ReportOutcome;
use crate::repo::Repository;

impl Repository {
    /// Returns the response that was stored under this name, if it is still valid.
    ///
    /// # Errors
    /// Those of reading revision properties.
    pub fn cached_report(&self, name: &str) -> Result<Option<Vec<ResponsePart>>> {
        self.fs().cached_response(name)
    }

    /// Stores a response, if its revisions were collected ([`super::Report::collect_sent_revisions`]).
    pub fn cache_report(&self, name: &str, outcome: ReportOutcome, parts: Vec<ResponsePart>) {
        if let Some(sent_revisions) = outcome.sent_revisions {
            self.fs().cache_response(name, sent_revisions, parts);
        }
    }

    /// Returns the small value that was stored under this name.
    pub fn cached_response(&self, name: &[u8]) -> Option<Arc<dyn Any + Send + Sync>> {
        self.fs().cached_value(name)
    }

    /// Stores a small value of `bytes` bytes under a name that holds everything that it depends on: it must never
    /// change.
    pub fn cache_response(&self, name: &[u8], answer: Arc<dyn Any + Send + Sync>, bytes: usize) {
        self.fs().cache_value(name, answer, bytes);
    }
}
