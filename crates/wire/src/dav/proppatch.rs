//! `PROPPATCH`: changes of properties, and the response with the result of each.
//!
//! A property of Subversion's is an element in one of two namespaces ([`SVN_PROP`], [`CUSTOM_PROP`]). Its value is the element's text, or
//! base64 of it. In front of the text may stand what the client believes to be the present value.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::names::{CUSTOM_PROP, DAV, SVN_DAV, SVN_PROP};
use super::xml::{self, Element, XmlName};

/// One change, in the order of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyUpdate {
    /// The property's element.
    pub name: XmlName,
    /// The new value.
    pub action: PropAction,
    /// The present value that the client expects (`Some(None)`: not set); `None` is any.
    pub expected: Option<Option<PropValue>>,
}

/// A change of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropAction {
    /// Sets the property to this value.
    Set(PropValue),
    /// Deletes the property, as part of a set with an expected old value (`V:absent` in `D:set`).
    SetAbsent,
    /// Deletes the property.
    Remove,
}

/// A value, or why it is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropValue {
    /// The bytes.
    Bytes(Vec<u8>),
    /// The encoding is unknown, or the text is not in it.
    Undecodable,
}

impl PropertyUpdate {
    /// Parses a body; `None` if it is another one.
    pub fn parse_all(root: &Element) -> Option<Vec<PropertyUpdate>> {
        if !root.name.is(DAV, "propertyupdate") {
            return None;
        }
        let mut all = Vec::new();
        for part in &root.children {
            let is_set = part.name.is(DAV, "set");
            if !is_set && !part.name.is(DAV, "remove") {
                continue;
            }
            // A set or remove without its list is no update.
            let list = part.child(DAV, "prop")?;
            all.extend(list.children.iter().map(|element| change(element, is_set)));
        }
        Some(all)
    }
}

fn change(element: &Element, is_set: bool) -> PropertyUpdate {
    let old = element.child(SVN_DAV, "old-value").filter(|_| is_set);
    let is_absent = |element: &Element| element.attribute("absent").is_some();
    PropertyUpdate {
        name: element.name.clone(),
        action: match (is_set, is_absent(element)) {
            (false, _) => PropAction::Remove,
            (true, true) => PropAction::SetAbsent,
            (true, false) => PropAction::Set(value(element)),
        },
        expected: old.map(|old| (!is_absent(old)).then(|| value(old))),
    }
}

fn value(element: &Element) -> PropValue {
    match element.attribute("encoding") {
        None => PropValue::Bytes(element.text.clone().into_bytes()),
        Some("base64") => {
            let text: Vec<u8> = element
                .text
                .bytes()
                .filter(|b| !b.is_ascii_whitespace())
                .collect();
            STANDARD
                .decode(text)
                .map_or(PropValue::Undecodable, PropValue::Bytes)
        }
        Some(_) => PropValue::Undecodable,
    }
}

/// Returns the name of the property of an element; `None` in foreign namespaces.
pub fn property_name(name: &XmlName) -> Option<String> {
    match name.space.as_str() {
        SVN_PROP => Some(format!("svn:{}", name.local)),
        CUSTOM_PROP => Some(name.local.clone()),
        _ => None,
    }
}

/// The result for one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedChange {
    /// Status code.
    pub status: u16,
    /// For people.
    pub description: String,
}

/// Appends the response. `outcome` is parallel to `changes`; if nothing failed all are in one list.
///
/// `namespaces` are those that the request's body declares or uses, in the order of their first appearance.
pub fn write_proppatch(
    href: &str,
    namespaces: &[String],
    changes: &[PropertyUpdate],
    outcome: &[Option<FailedChange>],
    out: &mut String,
) {
    out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\"");
    for (number, space) in namespaces.iter().enumerate().rev() {
        _ = write!(out, " xmlns:ns{number}=\"");
        xml::escape_attribute(space, out);
        out.push('"');
    }
    out.push_str(">\n<D:response>\n<D:href>");
    xml::escape_text(href, out);
    out.push_str("</D:href>\n");
    if outcome.iter().all(Option::is_none) {
        out.push_str("<D:propstat>\n<D:prop>\n");
        for change in changes {
            empty_element(&change.name, namespaces, out);
        }
        out.push_str("</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n");
    }
    for (change, failed) in changes.iter().zip(outcome) {
        let Some(failed) = failed else { continue };
        out.push_str("<D:propstat>\n<D:prop>");
        empty_element(&change.name, namespaces, out);
        _ = write!(
            out,
            "</D:prop>\n<D:status>HTTP/1.1 {} (status)</D:status>\n",
            failed.status
        );
        out.push_str("<D:responsedescription>\n");
        xml::escape_text(&failed.description, out);
        out.push_str("</D:responsedescription>\n</D:propstat>\n");
    }
    out.push_str("</D:response>\n</D:multistatus>\n");
}

fn empty_element(name: &XmlName, namespaces: &[String], out: &mut String) {
    match namespaces.iter().position(|space| *space == name.space) {
        Some(number) => _ = write!(out, "<ns{number}:{}/>\r\n", name.local),
        None => _ = write!(out, "<{}/>\r\n", name.local),
    }
}

/// The namespaces of the elements in a body, in the order of their first appearance; `DAV:` is always the first.
pub fn namespaces(root: &Element) -> Vec<String> {
    let mut all = vec![DAV.to_owned()];
    let mut open = vec![root];
    while let Some(element) = open.pop() {
        let space = &element.name.space;
        if !space.is_empty() && !all.contains(space) && all.len() < MOST_NAMESPACES {
            all.push(space.clone());
        }
        open.extend(element.children.iter().rev());
    }
    all
}

/// Maximum number of properties that a response names.
const MOST_NAMESPACES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(inside: &str) -> (Element, Vec<PropertyUpdate>) {
        let text = format!(
            r#"<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:V="{SVN_DAV}" xmlns:C="{CUSTOM_PROP}" xmlns:S="{SVN_PROP}">{inside}</D:propertyupdate>"#
        );
        let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("because it is well-formed");
        let changes = PropertyUpdate::parse_all(&root).expect("because it is well-formed");
        (root, changes)
    }

    #[test]
    fn sets_and_removals() {
        let (_, all) = parse(
            "<D:set><D:prop><S:eol-style>native</S:eol-style><C:my:p V:encoding=\"base64\">YQFi\nCg==\n</C:my:p></D:prop></D:set>\
             <D:remove><D:prop><C:gone V:absent=\"1\"></C:gone></D:prop></D:remove>",
        );
        let names: Vec<_> = all.iter().filter_map(|c| property_name(&c.name)).collect();
        assert_eq!(names, ["svn:eol-style", "my:p", "gone"]);
        assert_eq!(
            all[1].action,
            PropAction::Set(PropValue::Bytes(b"a\x01b\n".to_vec()))
        );
        assert_eq!(all[2].action, PropAction::Remove);
    }

    #[test]
    fn expectations() {
        let (_, all) = parse(
            "<D:set><D:prop><S:log><V:old-value>old</V:old-value>new</S:log><C:a><V:old-value V:absent=\"1\"/>x</C:a>\
             <C:b V:absent=\"1\"><V:old-value V:encoding=\"base64\">YQ==</V:old-value></C:b>\
             <C:c V:encoding=\"rot13\">x</C:c></D:prop></D:set>",
        );
        let bytes = |text: &str| PropValue::Bytes(text.as_bytes().to_vec());
        assert_eq!(all[0].action, PropAction::Set(bytes("new")));
        assert_eq!(all[0].expected, Some(Some(bytes("old"))));
        assert_eq!(all[1].expected, Some(None));
        assert_eq!(all[2].action, PropAction::SetAbsent);
        assert_eq!(all[2].expected, Some(Some(bytes("a"))));
        assert_eq!(all[3].action, PropAction::Set(PropValue::Undecodable));
    }

    /// As Apache 2.4 with mod_dav_svn 1.14.2 answers.
    #[test]
    fn answers_are_the_incumbents_to_the_byte() {
        let (root, all) = parse("<D:set><D:prop><S:log>x</S:log><C:my:p>y</C:my:p></D:prop></D:set>");
        let spaces = namespaces(&root);
        let mut out = String::new();
        write_proppatch("/R/x", &spaces, &all, &[None, None], &mut out);
        let head = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\" \
                    xmlns:ns2=\"http://subversion.tigris.org/xmlns/custom/\" \
                    xmlns:ns1=\"http://subversion.tigris.org/xmlns/svn/\" xmlns:ns0=\"DAV:\">\n<D:response>\n\
                    <D:href>/R/x</D:href>\n<D:propstat>\n";
        let tail = "</D:propstat>\n</D:response>\n</D:multistatus>\n";
        assert_eq!(
            out,
            format!(
                "{head}<D:prop>\n<ns1:log/>\r\n<ns2:my:p/>\r\n</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n{tail}"
            )
        );
        let mut out = String::new();
        let failed = FailedChange {
            status: 500,
            description: "Could not execute PROPPATCH.".into(),
        };
        write_proppatch("/R/x", &spaces, &all[..1], &[Some(failed)], &mut out);
        assert_eq!(
            out,
            format!(
                "{head}<D:prop><ns1:log/>\r\n</D:prop>\n<D:status>HTTP/1.1 500 (status)</D:status>\n\
                 <D:responsedescription>\nCould not execute PROPPATCH.</D:responsedescription>\n{tail}"
            )
        );
    }
}
