//! Answers to reports, kept for the next one who asks for the same: a thousand clients that check out a release ask one question.
//!
//! Only what is the same for everybody is kept ([`super::Report::same_for_all`]), in the cache, under a name that says what was
//! asked for and in which form it was answered. Properties of revisions, which the answer tells and which may change, are compared
//! each time.

use base::Result;
use fsfs::AnswerPart;

use super::Outcome;
use crate::repo::Repository;

impl Repository {
    /// The answer that was kept under this name, if it is still right.
    ///
    /// # Errors
    /// What reading revision properties may say.
    pub fn kept_report(&self, name: &str) -> Result<Option<Vec<AnswerPart>>> {
        self.fs().kept_answer(name)
    }

    /// Keeps an answer, unless its report was not noted ([`super::Report::note_told`]).
    pub fn keep_report(&self, name: &str, outcome: Outcome, parts: Vec<AnswerPart>) {
        if let Some(told) = outcome.told {
            self.fs().keep_answer(name, told, parts);
        }
    }
}
