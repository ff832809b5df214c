//! Resolves `-r` in an open repository.

use base::{Code, Error, Result, Revnum};
use clap::Args;
use repos::Repository;

use crate::args::operand::misuse;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::out::Out;

/// The option `-r N` or `-r A:B`.
#[derive(Clone, Copy, Debug, Args)]
pub struct RangeOption {
    /// work on revision ARG, or on the range X:Y
    #[arg(id = "revision", short = 'r', long = "revision", value_parser = RevisionRangeArg::parse)]
    given: Option<RevisionRangeArg>,
}

/// The revision numbers of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedRange {
    /// The revision before the colon, or the only one; `None` without `-r`.
    pub start: Option<Revnum>,
    /// The revision after the colon.
    pub end: Option<Revnum>,
}

impl RangeOption {
    /// Returns the argument of `-r`, not resolved.
    pub fn given(self) -> Option<RevisionRangeArg> {
        self.given
    }

    /// Resolves dates and keywords to revision numbers.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for revisions beyond the youngest and for words that need a working copy.
    pub fn resolve(self, out: &Out, repository: &Repository, youngest: Revnum) -> Result<ResolvedRange> {
        let one =
            |revision: Option<Revision>| revision.map(|r| number(out, repository, youngest, r)).transpose();
        Ok(ResolvedRange {
            start: one(self.given.map(|range| range.start))?,
            end: one(self.given.and_then(|range| range.end))?,
        })
    }

    /// Resolves an ascending range: all revisions without `-r`, one for a single revision.
    ///
    /// # Errors
    /// As [`RangeOption::resolve`], and for a descending range.
    pub fn ascending(self, out: &Out, repository: &Repository) -> Result<(Revnum, Revnum)> {
        let youngest = repository.youngest()?;
        let (first, last) = match self.resolve(out, repository, youngest)? {
            ResolvedRange { start: None, .. } => (Revnum::ZERO, youngest),
            ResolvedRange {
                start: Some(one),
                end: None,
            } => (one, one),
            ResolvedRange {
                start: Some(first),
                end: Some(last),
            } => (first, last),
        };
        if first > last {
            let text = "First revision cannot be higher than second";
            return Err(misuse(
                out.program(),
                Error::new(Code::CL_ARG_PARSING_ERROR, text),
            ));
        }
        Ok((first, last))
    }
}

fn number(out: &Out, repository: &Repository, youngest: Revnum, revision: Revision) -> Result<Revnum> {
    let wrong = |text: String| {
        Err(misuse(
            out.program(),
            Error::new(Code::CL_ARG_PARSING_ERROR, text),
        ))
    };
    let found = match revision {
        Revision::Number(number) => number,
        Revision::Head => youngest,
        Revision::Date(date) => repository.dated_revision(date)?,
        Revision::Base | Revision::Committed | Revision::Previous => {
            return wrong("Invalid revision specifier".into());
        }
    };
    if found > youngest {
        return wrong(format!(
            "Revisions must not be greater than the youngest revision ({youngest})"
        ));
    }
    Ok(found)
}
