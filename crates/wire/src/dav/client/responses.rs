//! Parts of responses that are in memory.

use base::Code;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::dav::multistatus::stored_name;
use crate::dav::names::{APACHE, DAV, SVN};
use crate::dav::xml::{Element, XmlName};

/// A resource of a multistatus response.
#[derive(Clone, Debug, Default)]
pub struct PropResponse {
    /// The path of its URL, as the server wrote it.
    pub href: String,
    /// The properties that it has.
    pub found: Vec<Element>,
    /// The properties, or the whole resource, with another status than success.
    pub failures: Vec<PropFailure>,
}

/// A failure within a multistatus response.
#[derive(Clone, Debug, Default)]
pub struct PropFailure {
    /// The property; `None` for the whole resource.
    pub name: Option<XmlName>,
    /// The status.
    pub status: u16,
    /// The server's error, or its description.
    pub fault: Option<ServerFault>,
}

/// The error that a server describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFault {
    /// Subversion's number, if the server sent one.
    pub code: Option<Code>,
    /// The text, without the line ends around it.
    pub message: String,
}

impl PropResponse {
    /// Reads a `DAV:response`; `None` for another element, or one without a URL.
    pub fn read(response: &Element) -> Option<PropResponse> {
        if !response.name.is(DAV, "response") {
            return None;
        }
        let mut out = PropResponse {
            href: response.child(DAV, "href")?.text.trim().to_owned(),
            ..PropResponse::default()
        };
        if let Some(status) = status(response).filter(|status| *status >= 300) {
            out.failures.push(PropFailure {
                name: None,
                status,
                fault: description(response),
            });
        }
        for propstat in response.all(DAV, "propstat") {
            let Some(props) = propstat.child(DAV, "prop") else {
                continue;
            };
            let status = status(propstat).unwrap_or(200);
            if status < 300 {
                out.found.extend(props.children.iter().cloned());
                continue;
            }
            out.failures.extend(props.children.iter().map(|prop| PropFailure {
                name: Some(prop.name.clone()),
                status,
                fault: description(propstat),
            }));
        }
        Some(out)
    }

    /// The property of this name.
    pub fn get(&self, space: &str, local: &str) -> Option<&Element> {
        self.found.iter().find(|prop| prop.name.is(space, local))
    }

    /// The text of the property of this name.
    pub fn text(&self, space: &str, local: &str) -> Option<&str> {
        self.get(space, local).map(|prop| prop.text.as_str())
    }
}

/// Reads `HTTP/1.1 200 OK`: the second word counts.
fn status(element: &Element) -> Option<u16> {
    let text = &element.child(DAV, "status")?.text;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn description(element: &Element) -> Option<ServerFault> {
    let error = element.child(DAV, "error").and_then(read_fault);
    error.or_else(|| {
        let text = element.child(DAV, "responsedescription")?.text.trim();
        Some(ServerFault {
            code: None,
            message: text.to_owned(),
        })
    })
}

/// Reads a `DAV:error`.
pub fn read_fault(error: &Element) -> Option<ServerFault> {
    if !error.name.is(DAV, "error") {
        return None;
    }
    let text = error
        .child(APACHE, "human-readable")
        .or_else(|| error.child(SVN, "human-readable"))?;
    let code = text.attribute("errcode").and_then(|code| code.parse().ok());
    Some(ServerFault {
        code: code.map(Code),
        message: text.text.trim_matches('\n').to_owned(),
    })
}

/// The name of a property that users see; `None` for the server's own.
pub fn property_name(name: &XmlName) -> Option<String> {
    match name.space.as_str() {
        SVN => Some(format!("svn:{}", name.local)),
        "" => Some(name.local.clone()),
        _ => stored_name(name),
    }
}

/// The value of an element: its text, or what it encodes; `None` if it cannot be decoded.
pub fn value(element: &Element) -> Option<Vec<u8>> {
    match element.attribute("encoding") {
        None => Some(element.text.as_bytes().to_vec()),
        Some("base64") => decode_base64(&element.text),
        Some(_) => None,
    }
}

/// Decodes base64 with white space.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn properties_and_failures_are_separated() {
        let text = r#"<D:multistatus xmlns:D="DAV:" xmlns:V="http://subversion.tigris.org/xmlns/dav/"
            xmlns:C="http://subversion.tigris.org/xmlns/custom/"><D:response><D:href>/r</D:href>
            <D:propstat><D:prop><C:my:p V:encoding="base64">YQFi
            Cg==</C:my:p></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
            <D:propstat><D:prop><D:x/></D:prop><D:status>HTTP/1.1 412 (status)</D:status>
            <D:responsedescription>wrong</D:responsedescription></D:propstat></D:response></D:multistatus>"#;
        let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed");
        let read = PropResponse::read(&root.children[0]).expect("a response");
        assert_eq!(read.href, "/r");
        assert_eq!(property_name(&read.found[0].name).as_deref(), Some("my:p"));
        assert_eq!(value(&read.found[0]).as_deref(), Some(&b"a\x01b\n"[..]));
        assert_eq!(read.failures[0].status, 412);
        assert_eq!(
            read.failures[0].fault.as_ref().expect("described").message,
            "wrong"
        );
    }

    #[test]
    fn errors_are_read_as_the_server_writes_them() {
        let mut text = String::new();
        crate::dav::fault::write_error(Code::FS_NOT_FOUND, "a <b>", &mut text);
        let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed");
        let read = read_fault(&root).expect("an error");
        assert_eq!(
            (read.code, read.message.as_str()),
            (Some(Code::FS_NOT_FOUND), "a <b>")
        );
    }
}
