//! `-r` as revisions of an open repository.

use base::{Code, Error, Result, Revnum};
use clap::Args;
use repos::Repository;

use crate::args::operand::misuse;
use crate::args::revision::{Revision, RevisionRange};
use crate::out::Out;

/// `-r N` or `-r A:B`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Range {
    /// work on revision ARG, or on the range X:Y
    #[arg(id = "revision", short = 'r', long = "revision", value_parser = RevisionRange::parse)]
    given: Option<RevisionRange>,
}

/// The revisions that a user named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Before the colon, or the only one.
    pub start: Option<Revnum>,
    /// After the colon.
    pub end: Option<Revnum>,
}

impl Range {
    /// As typed.
    pub fn given(self) -> Option<RevisionRange> {
        self.given
    }

    /// Looks dates and words up.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for revisions beyond the youngest and for words that need a working copy.
    pub fn resolve(self, out: &Out, repository: &Repository, youngest: Revnum) -> Result<Resolved> {
        let one =
            |revision: Option<Revision>| revision.map(|r| number(out, repository, youngest, r)).transpose();
        Ok(Resolved {
            start: one(self.given.map(|range| range.start))?,
            end: one(self.given.and_then(|range| range.end))?,
        })
    }

    /// Looks up an ascending range: all revisions if nothing was given, one if one was.
    ///
    /// # Errors
    /// As [`Range::resolve`], and for a descending range.
    pub fn ascending(self, out: &Out, repository: &Repository) -> Result<(Revnum, Revnum)> {
        let youngest = repository.youngest()?;
        let (first, last) = match self.resolve(out, repository, youngest)? {
            Resolved { start: None, .. } => (Revnum::ZERO, youngest),
            Resolved {
                start: Some(one),
                end: None,
            } => (one, one),
            Resolved {
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
