//! The query of a URL: `p` is the revision in which the path is looked up, `r` the one that is wanted, `kw` asks for
//! keywords.

use base::Revnum;

/// The values of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevisionQuery {
    /// Peg revision.
    pub peg: Option<Revnum>,
    /// Operative revision.
    pub wanted: Option<Revnum>,
    /// Keywords are expanded.
    pub keywords: bool,
}

/// An error in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFault {
    /// Not a revision: nothing is there.
    NoRevision,
    /// A revision that no repository can have.
    Negative,
}

impl RevisionQuery {
    /// Parses a query; unknown names are ignored.
    ///
    /// # Errors
    /// See [`QueryFault`].
    pub fn parse(query: &str) -> Result<RevisionQuery, QueryFault> {
        let mut out = RevisionQuery::default();
        for pair in query.split('&') {
            let Some((key, value)) = pair.split_once('=') else {
                continue;
            };
            match key.to_ascii_lowercase().as_str() {
                "p" => out.peg = Some(revision(value)?),
                "r" => out.wanted = Some(revision(value)?),
                "kw" => out.keywords = value == "1",
                _ => {}
            }
        }
        Ok(out)
    }
}

/// Reads a number with any number of `r` and a sign before it. What follows it is ignored.
fn revision(text: &str) -> Result<Revnum, QueryFault> {
    let text = text.trim_start_matches('r');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.bytes().position(|byte| !byte.is_ascii_digit());
    let digits = &unsigned[..end.unwrap_or(unsigned.len())];
    if digits.is_empty() {
        return Err(QueryFault::NoRevision);
    }
    let number = digits.parse().unwrap_or(u64::MAX).min(i64::MAX as u64);
    match text.starts_with('-') && number > 0 {
        true => Err(QueryFault::Negative),
        false => Ok(Revnum(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_read_as_apache_reads_them() {
        let both = RevisionQuery {
            peg: Some(Revnum(5)),
            wanted: Some(Revnum(4)),
            keywords: true,
        };
        assert_eq!(RevisionQuery::parse("p=5&r=4&kw=1"), Ok(both));
        assert_eq!(RevisionQuery::parse("P=r5&R=rr+4;p=7&x&KW=1"), Ok(both));
        assert_eq!(RevisionQuery::parse("p=5x&r=4:9&kw=1"), Ok(both));
        assert_eq!(RevisionQuery::parse(""), Ok(RevisionQuery::default()));
        assert_eq!(RevisionQuery::parse("p&foo=1&kw=0"), Ok(RevisionQuery::default()));
        for none in [
            "p=zz", "p=", "r=HEAD", "p=%35", "p=x1", "p=r", "p=+", "p=-", "p=--1", "p=+r1",
        ] {
            assert_eq!(RevisionQuery::parse(none), Err(QueryFault::NoRevision), "{none}");
        }
        for negative in ["p=-1", "p=-99999999999999999999"] {
            assert_eq!(
                RevisionQuery::parse(negative),
                Err(QueryFault::Negative),
                "{negative}"
            );
        }
        let peg = |text: &str| RevisionQuery::parse(text).map(|query| query.peg);
        assert_eq!(peg("p=-0"), Ok(Some(Revnum(0))));
        assert_eq!(peg("p=99999999999999999999"), Ok(Some(Revnum(i64::MAX as u64))));
    }
}
