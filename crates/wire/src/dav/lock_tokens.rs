//! The list of locks that a client holds, as the bodies of `MERGE` and `DELETE` carry it.

use super::names;
use super::xml::Element;

/// A lock that a client claims to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// Relative to the resource of the request, as it was sent.
    pub path: String,
    /// The token.
    pub token: String,
}

/// Reads a `lock-token-list`. Real clients write its children without declaring their namespace, so only their local names
/// count; an entry without path or token is passed over.
pub fn lock_tokens(list: &Element) -> Vec<HeldLock> {
    let locks = list.children.iter().filter(|lock| lock.name.local == "lock");
    let text = |lock: &Element, name: &str| {
        let found = lock.children.iter().find(|child| child.name.local == name)?;
        Some(found.text.clone())
    };
    locks
        .filter_map(|lock| {
            Some(HeldLock {
                path: text(lock, "lock-path")?,
                token: text(lock, "lock-token")?.trim().to_owned(),
            })
        })
        .collect()
}

/// The list in a body: the root itself, or a child of it.
pub fn find_lock_tokens(root: &Element) -> Vec<HeldLock> {
    if root.name.is(names::SVN, LIST) {
        return lock_tokens(root);
    }
    root.child(names::SVN, LIST).map(lock_tokens).unwrap_or_default()
}

const LIST: &str = "lock-token-list";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn children_are_known_by_local_name() {
        let body = br#"<S:lock-token-list xmlns:S="svn:"><S:lock><lock-token>opaquelocktoken:1</lock-token>
            <lock-path>a &amp; b</lock-path></S:lock><S:lock><lock-path>x</lock-path></S:lock></S:lock-token-list>"#;
        let root = Element::parse(body, XmlLimits::default()).expect("because it is well-formed");
        let expected = HeldLock {
            path: "a & b".into(),
            token: "opaquelocktoken:1".into(),
        };
        assert_eq!(find_lock_tokens(&root), [expected]);
    }
}
