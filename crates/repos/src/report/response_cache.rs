//! Answers to reports, kept for the next one who asks for the same: a thousand clients that check out a release ask one question.
//!
//! Only what is the same for everybody is kept ([`super::Report::same_for_all`]), in the cache, under a name that says what was
//! asked for and in which form it was answered. Properties of revisions, which the answer tells and which may change, are compared
//! each time.

use std::any::Any;
use std::sync::Arc;

use base::Result;
use fsfs::AnswerPart;

use super::ReportOutcome;
use crate::repo::Repository;

impl Repository {
    /// The answer that was kept under this name, if it is still right.
    ///
    /// # Errors
    /// What reading revision properties may say.
    pub fn cached_report(&self, name: &str) -> Result<Option<Vec<AnswerPart>>> {
        self.fs().kept_answer(name)
    }

    /// Keeps an answer, unless its report was not noted ([`super::Report::collect_sent_revisions`]).
    pub fn cache_report(&self, name: &str, outcome: ReportOutcome, parts: Vec<AnswerPart>) {
        if let Some(sent_revisions) = outcome.sent_revisions {
            self.fs().keep_answer(name, sent_revisions, parts);
        }
    }

    /// The short answer that was kept under this name, as whoever kept it has made it.
    pub fn cached_response(&self, name: &[u8]) -> Option<Arc<dyn Any + Send + Sync>> {
        self.fs().kept_value(name)
    }

    /// Keeps a short answer of so many bytes under a name that says all that it depends on: nothing in it may ever change.
    pub fn cache_response(&self, name: &[u8], answer: Arc<dyn Any + Send + Sync>, bytes: usize) {
        self.fs().keep_value(name, answer, bytes);
    }
}
