//! The body of `CHECKOUT`: which activity a version is taken into.

use super::names::DAV;
use super::xml::Element;

/// The request of a `CHECKOUT`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutRequest {
    /// URLs of the activities; exactly one is right.
    pub activities: Vec<String>,
    /// The activity is to be made (`<new/>`).
    pub new_activity: bool,
    /// The version itself is taken, which is the only way there is here.
    pub apply_to_version: bool,
    /// Others may take the same version out.
    pub unreserved: bool,
}

impl CheckoutRequest {
    /// Parses a body; `None` if it is another one.
    pub fn parse(root: &Element) -> Option<CheckoutRequest> {
        if !root.name.is(DAV, "checkout") {
            return None;
        }
        let set = root.child(DAV, "activity-set");
        let hrefs = set.into_iter().flat_map(|set| set.all(DAV, "href"));
        Some(CheckoutRequest {
            activities: hrefs.map(|href| href.text.trim().to_owned()).collect(),
            new_activity: set.is_some_and(|set| set.child(DAV, "new").is_some()),
            apply_to_version: root.child(DAV, "apply-to-version").is_some(),
            unreserved: root.child(DAV, "unreserved").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn as_svn_sends_it() {
        let body = br#"<?xml version="1.0" encoding="utf-8"?><D:checkout xmlns:D="DAV:"><D:activity-set><D:href>/v1/!svn/act/x</D:href></D:activity-set><D:apply-to-version/></D:checkout>"#;
        let root = Element::parse(body, XmlLimits::default()).expect("because it is well-formed");
        let expected = CheckoutRequest {
            activities: vec!["/v1/!svn/act/x".into()],
            new_activity: false,
            apply_to_version: true,
            unreserved: false,
        };
        assert_eq!(CheckoutRequest::parse(&root), Some(expected));
    }
}
