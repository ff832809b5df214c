//! Revisions as users write them: `N`, `HEAD`, `{DATE}`, and the words for a working copy.

use base::{Code, Date, Error, Result, Revnum};

use crate::locate;

/// Parses a date between braces; `None` if it is not a date.
pub type ParseDate<'a> = &'a (dyn Fn(&str) -> Option<Date> + Sync);

/// One revision, not resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A number.
    Number(Revnum),
    /// The youngest revision.
    Head,
    /// The revision that was the youngest at this time.
    Date(Date),
    /// The base revision of a working copy; not valid for a repository alone.
    Base,
    /// The revision of the last change.
    Committed,
    /// The revision before the last change.
    Previous,
}

impl Revision {
    /// Parses a text that is one revision.
    pub fn parse(text: &str, parse_date: ParseDate<'_>) -> Option<Revision> {
        let (revision, rest) = Revision::parse_first(text, parse_date)?;
        rest.is_empty().then_some(revision)
    }

    /// Parses the first revision of a range and returns it with the rest of the text. Any number of `r` may precede it.
    pub fn parse_first<'a>(text: &'a str, parse_date: ParseDate<'_>) -> Option<(Revision, &'a str)> {
        let text = text.trim_start_matches('r');
        if let Some(braced) = text.strip_prefix('{') {
            let (date, rest) = braced.split_once('}')?;
            return Some((Revision::Date(parse_date(date)?), rest));
        }
        let end = text.find(':').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let revision = match word.to_ascii_lowercase().as_str() {
            "head" => Revision::Head,
            "base" => Revision::Base,
            "committed" => Revision::Committed,
            "prev" => Revision::Previous,
            _ => Revision::Number(saturating(word)?),
        };
        Some((revision, rest))
    }

    /// Returns the revision of a URL, which has no working copy.
    ///
    /// # Errors
    /// `CLIENT_BAD_REVISION` for revisions of a working copy.
    pub fn of_url(self) -> Result<locate::Revision> {
        match self {
            Revision::Number(rev) => Ok(locate::Revision::Number(rev)),
            Revision::Head => Ok(locate::Revision::Head),
            Revision::Date(date) => Ok(locate::Revision::Date(date)),
            Revision::Base | Revision::Committed | Revision::Previous => Err(Error::new(
                Code::CLIENT_BAD_REVISION,
                "PREV, BASE, or COMMITTED revision keywords are invalid for URL",
            )),
        }
    }
}

impl From<locate::Revision> for Revision {
    fn from(revision: locate::Revision) -> Revision {
        match revision {
            locate::Revision::Number(rev) => Revision::Number(rev),
            locate::Revision::Date(date) => Revision::Date(date),
            locate::Revision::Head => Revision::Head,
        }
    }
}

/// Parses digits. A number too large for Subversion's type becomes its largest value.
pub fn saturating(digits: &str) -> Option<Revnum> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Revnum::parse(digits.as_bytes()).unwrap_or(Revnum::MAX))
}
