//! The `If` header: the lock tokens of a client, and conditions on resources.
//!
//! `(<token> ["etag"] Not <other>) …` asks about the resource of the request; `<url> (…) (…)` about another. One list that holds
//! is enough for a resource.

/// A parsed header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IfHeader {
    /// The lists, in their order.
    pub lists: Vec<ConditionList>,
}

/// One list: everything in it must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionList {
    /// The resource that it is about, as it was sent; the request's own if there is none.
    pub resource: Option<String>,
    /// The conditions of the list, all of which must hold.
    pub conditions: Vec<Condition>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The opposite must hold.
    pub not: bool,
    /// What.
    pub what: ConditionKind,
}

/// The two kinds of conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// The resource is locked with this token.
    Token(String),
    /// The resource has this entity tag (quotes and weakness as sent).
    Etag(String),
}

impl IfHeader {
    /// Reads a header's value; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<IfHeader> {
        let mut lists: Vec<ConditionList> = Vec::new();
        let mut resource = None;
        let mut rest = text.trim_ascii_start();
        if rest.is_empty() {
            return None;
        }
        while let Some(first) = rest.bytes().next() {
            match first {
                b'<' => {
                    // Untagged lists do not mix with tagged ones. (A resource without a list has no condition.)
                    if resource.is_none() && !lists.is_empty() {
                        return None;
                    }
                    let (url, after) = rest[1..].split_once('>')?;
                    resource = Some(url.to_owned());
                    rest = after;
                }
                b'(' => {
                    let (conditions, after) = conditions(&rest[1..])?;
                    lists.push(ConditionList {
                        resource: resource.clone(),
                        conditions,
                    });
                    rest = after;
                }
                _ => return None,
            }
            rest = rest.trim_ascii_start();
        }
        Some(IfHeader { lists })
    }

    /// Returns all tokens that the client claims to hold, for any resource.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        let conditions = self.lists.iter().flat_map(|list| &list.conditions);
        conditions.filter_map(|condition| match &condition.what {
            ConditionKind::Token(token) if !condition.not => Some(token.as_str()),
            _ => None,
        })
    }
}

/// The conditions up to `)`, and what follows it.
fn conditions(text: &str) -> Option<(Vec<Condition>, &str)> {
    let mut all = Vec::new();
    let mut not = false;
    let mut rest = text.trim_ascii_start();
    loop {
        let (what, after) = match rest.bytes().next()? {
            // As with Apache, an empty list has no condition, and a `Not` without one means nothing.
            b')' => return Some((all, &rest[1..])),
            b'<' => {
                let (token, after) = rest[1..].split_once('>')?;
                (ConditionKind::Token(token.to_owned()), after)
            }
            b'[' => {
                let (tag, after) = rest[1..].split_once(']')?;
                (ConditionKind::Etag(tag.to_owned()), after)
            }
            b'N' | b'n' if !not && rest.get(..3).is_some_and(|w| w.eq_ignore_ascii_case("not")) => {
                not = true;
                rest = rest[3..].trim_ascii_start();
                continue;
            }
            _ => return None,
        };
        all.push(Condition { not, what });
        not = false;
        rest = after.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_lists_as_svn_sends_them() {
        let header = IfHeader::parse("<http://h/lk/f1> (<t:1>) <http://h/lk/f2> (<t:2>)")
            .expect("because it is well-formed");
        assert_eq!(header.tokens().collect::<Vec<_>>(), ["t:1", "t:2"]);
        assert_eq!(header.lists[1].resource.as_deref(), Some("http://h/lk/f2"));
    }

    #[test]
    fn conditions_of_other_clients() {
        let header =
            IfHeader::parse("(<t:1> [\"e\"]) (Not <DAV:no-lock>)").expect("because it is well-formed");
        assert_eq!(header.lists.len(), 2);
        assert_eq!(header.tokens().collect::<Vec<_>>(), ["t:1"]);
        assert_eq!(
            header.lists[0].conditions[1].what,
            ConditionKind::Etag("\"e\"".to_owned())
        );
    }

    #[test]
    fn empty_lists_have_no_condition() {
        for text in ["()", "( )", "(Not)", "<http://h/x> ()"] {
            let header = IfHeader::parse(text).expect("because Apache accepts it");
            assert_eq!(header.lists.len(), 1, "{text}");
            assert!(header.lists[0].conditions.is_empty(), "{text}");
        }
    }

    #[test]
    fn malformed_headers() {
        for bad in ["", "x", "(<t>", "(Not Not <t>)", "(<t>) <u> (<t>)", "(<t", "([t)"] {
            assert_eq!(IfHeader::parse(bad), None, "{bad}");
        }
    }
}
