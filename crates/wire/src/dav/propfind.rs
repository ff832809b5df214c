//! `PROPFIND`: the properties that a client requests.

use super::names;
use super::xml::{Element, MalformedXml, XmlName};

/// The properties that a `PROPFIND` requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropfindRequest {
    /// Every property, with its value.
    All,
    /// The name of every property.
    Names,
    /// These.
    Props(Vec<XmlName>),
}

impl PropfindRequest {
    /// Parses a request's body.
    ///
    /// # Errors
    /// If it is something else, or requests nothing.
    pub fn parse(root: &Element) -> Result<PropfindRequest, MalformedXml> {
        if !root.name.is(names::DAV, "propfind") {
            return Err(MalformedXml("not a propfind".to_owned()));
        }
        if root.child(names::DAV, "allprop").is_some() {
            return Ok(PropfindRequest::All);
        }
        if root.child(names::DAV, "propname").is_some() {
            return Ok(PropfindRequest::Names);
        }
        let Some(props) = root.child(names::DAV, "prop") else {
            return Err(MalformedXml("a propfind that asks for nothing".to_owned()));
        };
        if props.children.len() > MAX_PROPS {
            return Err(MalformedXml("too many properties".to_owned()));
        }
        let mut wanted = Vec::with_capacity(props.children.len());
        for child in &props.children {
            // Outside of any namespace a colon would be taken for the end of a prefix.
            let bare = child.name.space.is_empty() && child.name.local.contains(':');
            if bare || !is_element_name(&child.name.local) {
                return Err(MalformedXml(format!("a property named '{}'", child.name.local)));
            }
            wanted.push(child.name.clone());
        }
        Ok(PropfindRequest::Props(wanted))
    }

    /// True if the property of this name is to be looked at.
    pub fn asks_for(&self, space: &str, local: &str) -> bool {
        match self {
            PropfindRequest::All | PropfindRequest::Names => true,
            PropfindRequest::Props(wanted) => wanted.iter().any(|name| name.is(space, local)),
        }
    }

    /// True if stored properties may be among the requested ones.
    pub fn asks_for_stored(&self) -> bool {
        match self {
            PropfindRequest::All | PropfindRequest::Names => true,
            PropfindRequest::Props(wanted) => wanted
                .iter()
                .any(|name| name.space == names::SVN_PROP || name.space == names::CUSTOM_PROP),
        }
    }
}

/// The maximum number of properties that may be requested by name.
const MAX_PROPS: usize = 4096;

/// True if a name can stand in a tag without ending or changing it. Colons may be in it: both ends of this protocol take them.
pub fn is_element_name(name: &str) -> bool {
    let fine = |c: char| !c.is_whitespace() && !c.is_control() && !"<>&\"'/=!?".contains(c);
    !name.is_empty() && name.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(body: &str) -> Result<PropfindRequest, MalformedXml> {
        PropfindRequest::parse(&Element::parse(body.as_bytes(), XmlLimits::default())?)
    }

    #[test]
    fn bodies_of_clients_are_understood() {
        let body = "<propfind xmlns=\"DAV:\"><prop><resourcetype xmlns=\"DAV:\"/>\
                    <C:my:prop xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\"/></prop></propfind>";
        let Ok(found) = parse(body) else {
            panic!("it is well-formed")
        };
        assert!(found.asks_for(names::DAV, "resourcetype"));
        assert!(found.asks_for(names::CUSTOM_PROP, "my:prop"));
        assert!(!found.asks_for(names::SVN_PROP, "my:prop"));
        assert!(found.asks_for_stored());
        assert_eq!(
            parse("<propfind xmlns=\"DAV:\"><allprop xmlns=\"DAV:\"/></propfind>"),
            Ok(PropfindRequest::All)
        );
        assert_eq!(
            parse("<D:propfind xmlns:D=\"DAV:\"><D:propname/></D:propfind>"),
            Ok(PropfindRequest::Names)
        );
        assert_eq!(
            parse("<D:propfind xmlns:D=\"DAV:\"><D:prop/></D:propfind>"),
            Ok(PropfindRequest::Props(Vec::new()))
        );
    }

    #[test]
    fn other_bodies_are_refused() {
        for body in [
            "<propfind/>",
            "<D:propfind xmlns:D=\"DAV:\"/>",
            "<D:propfind xmlns:D=\"DAV:\"><prop/></D:propfind>",
            "<D:lockinfo xmlns:D=\"DAV:\"><D:prop/></D:lockinfo>",
            "<D:propfind xmlns:D=\"DAV:\"><D:prop><a&b/></D:prop></D:propfind>",
            "<D:propfind xmlns:D=\"DAV:\" xmlns:p=\"\"><D:prop><p:a:b/></D:prop></D:propfind>",
        ] {
            assert!(parse(body).is_err(), "{body}");
        }
    }
}
