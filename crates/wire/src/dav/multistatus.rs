//! Multistatus responses: the properties of many resources.
//!
//! A multistatus has a `response` for each resource, in it the properties that exist and then those that do not.
//! The prefixes of namespaces are declared once for the whole response: clients go by namespaces, with one
//! exception: Subversion's own looks for an attribute that is literally called `V:encoding`.

use std::fmt::Write as _;

use base::Lock;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::live::{DAV_PREFIX, LiveProperty, SVN_DAV_PREFIX};
use super::lock::{ActiveLock, write_active_lock};
use super::names;
use super::propfind::{PropfindRequest, is_element_name};
use super::xml::{Element, XmlLimits, XmlName, escape_attribute, escape_text, safe};

/// The settings that all resources of one response share.
#[derive(Debug)]
pub struct Multistatus {
    /// How each response begins, to its `href`.
    head: String,
    /// Prefixes (with their colons) of requested properties that do not exist, by namespace.
    spaces: Vec<(String, String)>,
}

impl Multistatus {
    /// For responses to `wanted`.
    pub fn new(wanted: &PropfindRequest) -> Multistatus {
        let mut head = String::from("<D:response");
        let mut declare = |prefix: &str, space: &str| {
            _ = write!(head, " xmlns:{prefix}=\"");
            escape_attribute(space, &mut head);
            head.push('"');
        };
        if wanted.asks_for_stored() {
            for (prefix, space) in [
                ("S", names::SVN_PROP),
                ("C", names::CUSTOM_PROP),
                ("V", names::SVN_DAV),
            ] {
                declare(prefix, space);
            }
        }
        declare(DAV_PREFIX.trim_end_matches(':'), names::DAV);
        declare(SVN_DAV_PREFIX.trim_end_matches(':'), names::SVN_DAV);
        let mut spaces: Vec<(String, String)> = Vec::new();
        if let PropfindRequest::Props(props) = wanted {
            for XmlName { space, .. } in props {
                let known = match space.as_str() {
                    names::DAV => DAV_PREFIX,
                    names::SVN_DAV => SVN_DAV_PREFIX,
                    names::SVN_PROP => "S:",
                    names::CUSTOM_PROP => "C:",
                    _ => "",
                };
                if spaces.iter().any(|(have, _)| have == space) {
                    continue;
                }
                let prefix = match known {
                    "" if !space.is_empty() => {
                        let prefix = format!("g{}", spaces.len());
                        declare(&prefix, space);
                        prefix + ":"
                    }
                    known => known.to_owned(),
                };
                spaces.push((space.clone(), prefix));
            }
        }
        head.push_str(">\n<D:href>");
        Multistatus { head, spaces }
    }

    /// Begins the response.
    pub fn open(out: &mut String) {
        out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n");
    }

    /// Ends the response.
    pub fn close(out: &mut String) {
        out.push_str("</D:multistatus>\n");
    }

    /// Begins the resource at `href`, which is encoded for URLs.
    pub fn response<'a>(&'a self, href: &str, out: &'a mut String) -> PropResponse<'a> {
        out.push_str(&self.head);
        escape_text(href, out);
        out.push_str("</D:href>\n<D:propstat>\n<D:prop>\n");
        PropResponse {
            out,
            spaces: &self.spaces,
            found: false,
            missing: String::new(),
        }
    }
}

/// The part about one resource. [`PropResponse::finish`] ends it.
#[derive(Debug)]
#[must_use]
pub struct PropResponse<'a> {
    out: &'a mut String,
    spaces: &'a [(String, String)],
    found: bool,
    missing: String,
}

impl PropResponse<'_> {
    /// A live property whose value is text; without value its name alone.
    pub fn live(&mut self, live: LiveProperty, text: &str) {
        self.element(live.tag(), text);
    }

    /// A live property whose value is a URL's path, encoded.
    pub fn href(&mut self, live: LiveProperty, url: &str) {
        self.markup(live, |out| {
            out.push_str("<D:href>");
            escape_text(url, out);
            out.push_str("</D:href>");
        });
    }

    /// A live property whose value is markup.
    pub fn markup(&mut self, live: LiveProperty, write: impl FnOnce(&mut String)) {
        self.found = true;
        let tag = live.tag();
        _ = write!(self.out, "<{tag}>");
        write(self.out);
        _ = writeln!(self.out, "</{tag}>");
    }

    /// A stored property. One whose name cannot stand in XML is left out: with it the answer could not be read at all.
    pub fn stored(&mut self, name: &str, value: &[u8]) {
        let (prefix, local) = prefixed(name);
        if !is_element_name(local) {
            return;
        }
        match safe(value) {
            Some(text) => self.element_of(prefix, local, text),
            None => {
                self.found = true;
                _ = write!(self.out, "<{prefix}{local} V:encoding=\"base64\">");
                base64_lines(value, self.out);
                _ = writeln!(self.out, "</{prefix}{local}>");
            }
        }
    }

    /// The name of a stored property.
    pub fn stored_name(&mut self, name: &str) {
        self.stored(name, b"");
    }

    /// A requested property that does not exist.
    pub fn missing(&mut self, name: &XmlName) {
        let prefix = self.spaces.iter().find(|(space, _)| *space == name.space);
        let prefix = prefix.map_or("", |(_, prefix)| prefix);
        _ = writeln!(self.missing, "<{prefix}{}/>", name.local);
    }

    /// Ends the response.
    pub fn finish(self) {
        let out = self.out;
        if self.found || self.missing.is_empty() {
            out.push_str("</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n");
            if !self.missing.is_empty() {
                out.push_str("<D:propstat>\n<D:prop>\n");
            }
        }
        if !self.missing.is_empty() {
            out.push_str(&self.missing);
            out.push_str("</D:prop>\n<D:status>HTTP/1.1 404 Not Found</D:status>\n</D:propstat>\n");
        }
        out.push_str("</D:response>\n");
    }

    fn element(&mut self, tag: &str, text: &str) {
        self.element_of("", tag, text);
    }

    fn element_of(&mut self, prefix: &str, local: &str, text: &str) {
        self.found = true;
        let out = &mut *self.out;
        if text.is_empty() {
            _ = writeln!(out, "<{prefix}{local}/>");
            return;
        }
        _ = write!(out, "<{prefix}{local}>");
        escape_text(text, out);
        _ = writeln!(out, "</{prefix}{local}>");
    }
}

/// Prefix and local name of a stored property.
pub fn prefixed(name: &str) -> (&'static str, &str) {
    match name.strip_prefix("svn:") {
        Some(local) => ("S:", local),
        None => ("C:", name),
    }
}

/// The name under which a repository stores the property; `None` if it is not a possible name.
pub fn stored_name(name: &XmlName) -> Option<String> {
    match name.space.as_str() {
        names::SVN_PROP => Some(format!("svn:{}", name.local)),
        names::CUSTOM_PROP => Some(name.local.clone()),
        _ => None,
    }
}

/// Appends base64 in lines of 76 characters, each with its end.
pub fn base64_lines(bytes: &[u8], out: &mut String) {
    for line in bytes.chunks(BYTES_A_LINE) {
        STANDARD.encode_string(line, out);
        out.push('\n');
    }
}

/// So many bytes make 76 characters.
const BYTES_A_LINE: usize = 57;

/// Appends the value of `supportedlock`.
pub fn supported_lock(out: &mut String) {
    out.push_str(
        "\n<D:lockentry>\n<D:lockscope><D:exclusive/></D:lockscope>\n\
         <D:locktype><D:write/></D:locktype>\n</D:lockentry>\n",
    );
}

/// Appends the value of `lockdiscovery` for a lock; `left` are the seconds until it expires.
pub fn active_lock(lock: &Lock, left: Option<u64>, out: &mut String) {
    let comment = lock.comment.as_deref();
    // The comment of a WebDAV program is an XML fragment, stored as it came. Other programs may have stored anything.
    let is_xml = |text: &str| Element::parse(text.as_bytes(), XmlLimits::default()).is_ok();
    let comment_is_xml = lock.is_dav_comment && comment.is_some_and(is_xml);
    let shown = ActiveLock {
        token: &lock.token,
        depth: "0",
        comment: match comment_is_xml {
            true => comment.map(without_declaration),
            false => comment,
        },
        comment_is_xml,
        timeout: left,
    };
    write_active_lock(&shown, out);
}

fn without_declaration(xml: &str) -> &str {
    match xml.trim_start().strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>").map_or(xml, |(_, rest)| rest.trim_start()),
        None => xml,
    }
}

#[cfg(test)]
mod tests {
    use base::{Date, FsPath};
    use proptest::prelude::*;

    use super::*;

    fn name(space: &str, local: &str) -> XmlName {
        XmlName {
            space: space.into(),
            local: local.into(),
        }
    }

    /// As Apache answers the same question, but for the prefixes.
    #[test]
    fn what_is_there_comes_first_and_what_is_not_comes_second() {
        let wanted = PropfindRequest::Props(vec![
            name(names::DAV, "resourcetype"),
            name("foo:", "nope"),
            name(names::CUSTOM_PROP, "my:prop"),
            name("", "nons"),
        ]);
        let answer = Multistatus::new(&wanted);
        let mut out = String::new();
        Multistatus::open(&mut out);
        let mut response = answer.response("/svn/r/a&b", &mut out);
        response.live(LiveProperty::ResourceType, "");
        response.missing(&name("foo:", "nope"));
        response.stored("my:prop", b"colon <&>\r value");
        response.missing(&name("", "nons"));
        response.finish();
        Multistatus::close(&mut out);
        assert_eq!(
            out,
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n\
             <D:response xmlns:S=\"http://subversion.tigris.org/xmlns/svn/\" \
             xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\" \
             xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\" xmlns:lp1=\"DAV:\" \
             xmlns:lp2=\"http://subversion.tigris.org/xmlns/dav/\" xmlns:g1=\"foo:\">\n\
             <D:href>/svn/r/a&amp;b</D:href>\n<D:propstat>\n<D:prop>\n<lp1:resourcetype/>\n\
             <C:my:prop>colon &lt;&amp;&gt;&#13; value</C:my:prop>\n</D:prop>\n\
             <D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n<D:propstat>\n<D:prop>\n<g1:nope/>\n\
             <nons/>\n</D:prop>\n<D:status>HTTP/1.1 404 Not Found</D:status>\n</D:propstat>\n\
             </D:response>\n</D:multistatus>\n"
        );
    }

    /// Recorded from Apache: a property of the bytes 0 to 255, and one of three.
    #[test]
    fn binary_values_are_base64_in_lines() {
        let answer = Multistatus::new(&PropfindRequest::All);
        let mut out = String::new();
        let mut response = answer.response("/", &mut out);
        response.stored("binprop", b"a\x01b");
        let all: Vec<u8> = (0..=255).collect();
        response.stored("svn:long", &all);
        response.stored("no name", b"x");
        response.finish();
        assert!(
            out.contains("<C:binprop V:encoding=\"base64\">YQFi\n</C:binprop>\n"),
            "{out}"
        );
        assert!(out.contains(
            "<S:long V:encoding=\"base64\">AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4\n\
             OTo7PD0+P0BB"
        ));
        assert!(out.contains("8/T19vf4+fr7/P3+/w==\n</S:long>"));
        assert!(!out.contains("no name"));
    }

    /// As Apache shows a lock that `svn lock` made.
    #[test]
    fn a_lock_is_shown_with_its_owners_words() {
        let lock = Lock {
            path: FsPath::root(),
            token: "opaquelocktoken:bba6abb6".into(),
            owner: "alice".into(),
            comment: Some("lock <c> & é".into()),
            is_dav_comment: false,
            created: Date(0),
            expires: None,
        };
        let mut out = String::new();
        active_lock(&lock, None, &mut out);
        assert_eq!(
            out,
            "<D:activelock>\n<D:locktype><D:write/></D:locktype>\n<D:lockscope><D:exclusive/></D:lockscope>\n\
             <D:depth>0</D:depth>\n<ns0:owner xmlns:ns0=\"DAV:\">lock &lt;c&gt; &amp; é</ns0:owner>\
             <D:timeout>Infinite</D:timeout>\n<D:locktoken>\n<D:href>opaquelocktoken:bba6abb6</D:href>\n\
             </D:locktoken>\n</D:activelock>\n"
        );
        let broken = Lock {
            comment: Some("<D:owner>".into()),
            is_dav_comment: true,
            ..lock
        };
        out.clear();
        active_lock(&broken, Some(9), &mut out);
        assert!(
            out.contains("&lt;D:owner&gt;</ns0:owner><D:timeout>Second-9<"),
            "{out}"
        );
    }

    proptest! {
        /// Whatever a value is, a client reads it back.
        #[test]
        fn values_survive(value in proptest::collection::vec(any::<u8>(), 0..200)) {
            let answer = Multistatus::new(&PropfindRequest::All);
            let mut out = String::new();
            Multistatus::open(&mut out);
            let mut response = answer.response("/", &mut out);
            response.stored("p:q", &value);
            response.finish();
            Multistatus::close(&mut out);
            let root = Element::parse(out.as_bytes(), XmlLimits::default()).expect("because it is well-formed");
            let prop = &root.children[0].children[1].children[0].children[0];
            prop_assert!(prop.name.is(names::CUSTOM_PROP, "p:q"));
            let read = match prop.attribute("encoding") {
                Some(_) => STANDARD.decode(prop.text.replace('\n', "")).expect("because it is base64"),
                None => prop.text.clone().into_bytes(),
            };
            prop_assert_eq!(read, value);
        }
    }
}
