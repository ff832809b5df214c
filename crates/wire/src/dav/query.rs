//! The query of a `GET`: `p` is the revision in which the path is looked up, `r` the one that is wanted, `kw` asks for
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
        for pair in query.split(['&', ';']) {
            let Some((key, value)) = pair.split_once('=') else {
                continue;
            };
            match key {
                "p" => out.peg = Some(revision(value)?),
                "r" => out.wanted = Some(revision(value)?),
                "kw" => out.keywords = value == "1",
                _ => {}
            }
        }
        Ok(out)
    }
}

/// A number, with any number of `r` before it.
fn revision(text: &str) -> Result<Revnum, QueryFault> {
    let text = text.trim_start_matches('r');
    match text.strip_prefix('-') {
        Some(digits) if Revnum::parse(digits.as_bytes()).is_some() => Err(QueryFault::Negative),
        _ => Revnum::parse(text.as_bytes()).ok_or(QueryFault::NoRevision),
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
        assert_eq!(RevisionQuery::parse("p=r5;r=rr4&x&kw=1"), Ok(both));
        assert_eq!(RevisionQuery::parse(""), Ok(RevisionQuery::default()));
        assert_eq!(RevisionQuery::parse("p&foo=1&kw=0"), Ok(RevisionQuery::default()));
        for none in ["p=zz", "p=", "r=HEAD", "p=%35", "p=1x"] {
            assert_eq!(RevisionQuery::parse(none), Err(QueryFault::NoRevision), "{none}");
        }
        assert_eq!(RevisionQuery::parse("p=-1"), Err(QueryFault::Negative));
    }
}
