//! The query of a page's URL.

use base::Revnum;
use wire::dav::uri;

/// The parameters of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// The view: the name of the page.
    pub(super) view: String,
    /// `p`: the peg revision.
    pub(super) peg: Option<Revnum>,
    /// `r`: the operative revision, an older one.
    pub(super) operative: Option<Revnum>,
    /// `from`: the revision at which a log begins.
    pub(super) from: Option<Revnum>,
}

impl Query {
    /// Parses a query; unknown parameters are ignored.
    pub(super) fn parse(text: Option<&str>) -> Query {
        let mut query = Query::default();
        for pair in text.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = uri::decode(value).unwrap_or_default();
            let rev = || Revnum::parse(value.trim().trim_start_matches('r').as_bytes());
            match name {
                "view" => query.view = value,
                "p" => query.peg = rev(),
                "r" => query.operative = rev(),
                "from" => query.from = rev(),
                _ => {}
            }
        }
        query
    }
}

/// Appends a value in the form of a query: everything but letters, digits, `-`, `_` and `.` is encoded.
pub(super) fn encode(value: &str, out: &mut String) {
    for byte in value.bytes() {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-_.".contains(&b) => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_may_have_an_r_and_nonsense_is_nothing() {
        let query = Query::parse(Some("view=log&p=r12&r=3&x&from=zz"));
        assert_eq!(query.view, "log");
        assert_eq!(
            (query.peg, query.operative, query.from),
            (Some(Revnum(12)), Some(Revnum(3)), None)
        );
        assert_eq!(Query::parse(None), Query::default());
    }

    #[test]
    fn values_come_back_encoded() {
        let query = Query::parse(Some("view=a%0d%0aSet-Cookie:%20x%26p=1%23%c3%a9"));
        let mut out = String::new();
        encode(&query.view, &mut out);
        assert_eq!(out, "a%0D%0ASet-Cookie%3A%20x%26p%3D1%23%C3%A9");
    }
}
