//! Bodies of `LOCK`, and how locks are described to clients.

use std::fmt::Write as _;

use super::names::DAV;
use super::xml::{self, Element};

/// The request of a `LOCK`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockInfo {
    /// The text in the `owner` element: Subversion's clients put the comment there.
    pub owner_text: Option<String>,
    /// The whole `owner` element, with every namespace that it needs: it is sent unchanged to other clients.
    pub owner_xml: Option<String>,
}

/// Why a body is no request for an exclusive write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockInfoFault {
    /// It is another document, it lacks the scope or the type, or it asks for a shared lock.
    Malformed,
    /// It has an element that is unknown, or a second one of a kind.
    Unknown,
}

/// Returns whether a `lockinfo` asks for a shared lock, which Subversion does not have.
pub fn asks_for_shared_lock(root: &Element) -> bool {
    let scope = root.child(DAV, "lockscope");
    scope.and_then(|scope| scope.child(DAV, "shared")).is_some()
}

impl LockInfo {
    /// Reads a `lockinfo`; `document` is what `root` was parsed from.
    ///
    /// # Errors
    /// If it is none, or asks for anything but an exclusive write lock.
    pub fn parse(root: &Element, document: &[u8]) -> Result<LockInfo, LockInfoFault> {
        check_parts(root)?;
        let Some(owner) = root.child(DAV, "owner") else {
            return Ok(LockInfo::default());
        };
        let content = document.get(owner.content.clone()).unwrap_or_default();
        let content = std::str::from_utf8(content).map_err(|_| LockInfoFault::Malformed)?;
        let mut whole = String::from("<D:owner xmlns:D=\"DAV:\"");
        for (prefix, uri) in root.declared.iter().chain(&owner.declared) {
            // Our own prefix means the same wherever it is redeclared so.
            if prefix == "D" {
                continue;
            }
            let mut value = String::new();
            xml::escape_attribute(uri, &mut value);
            let later = owner.declared.iter().any(|(other, _)| other == prefix);
            if later
                && !owner
                    .declared
                    .iter()
                    .any(|own| own == &(prefix.clone(), uri.clone()))
            {
                continue;
            }
            match prefix.as_str() {
                "" => _ = write!(whole, " xmlns=\"{value}\""),
                prefix => _ = write!(whole, " xmlns:{prefix}=\"{value}\""),
            }
        }
        _ = write!(whole, ">{content}</D:owner>");
        // A `D` that means something else cannot be kept as it is.
        let foreign = |(prefix, uri): &(String, String)| prefix == "D" && uri != DAV;
        if root.declared.iter().chain(&owner.declared).any(foreign) {
            whole = String::from("<D:owner xmlns:D=\"DAV:\">");
            xml::escape_text(&owner.text, &mut whole);
            whole.push_str("</D:owner>");
        }
        Ok(LockInfo {
            owner_text: Some(owner.text.replace("\r\n", "\n").replace('\r', "\n")),
            owner_xml: Some(whole),
        })
    }
}

/// Checks the elements of a `lockinfo`.
fn check_parts(root: &Element) -> Result<(), LockInfoFault> {
    if !root.name.is(DAV, "lockinfo") || asks_for_shared_lock(root) {
        return Err(LockInfoFault::Malformed);
    }
    let count = |name: &str| {
        root.children
            .iter()
            .filter(|part| part.name.is(DAV, name))
            .count()
    };
    let counts = ["lockscope", "locktype", "owner"].map(count);
    let [scopes, types, _] = counts;
    if counts.iter().sum::<usize>() < root.children.len() || counts.iter().any(|count| *count > 1) {
        return Err(LockInfoFault::Unknown);
    }
    if scopes == 0 || types == 0 {
        return Err(LockInfoFault::Malformed);
    }
    let has = |part: &str, value: &str| {
        root.child(DAV, part)
            .is_some_and(|part| part.child(DAV, value).is_some())
    };
    match has("lockscope", "exclusive") && has("locktype", "write") {
        true => Ok(()),
        false => Err(LockInfoFault::Unknown),
    }
}

/// A lock, as WebDAV clients see it.
#[derive(Clone, Copy, Debug)]
pub struct ActiveLock<'a> {
    /// Its token.
    pub token: &'a str,
    /// `0` or `infinity`.
    pub depth: &'a str,
    /// The owner's comment: text, or an `owner` element if `comment_is_xml`.
    pub comment: Option<&'a str>,
    /// `comment` is what a WebDAV client sent.
    pub comment_is_xml: bool,
    /// Seconds until it ends; `None` is never.
    pub timeout: Option<u64>,
}

/// Appends an `activelock`.
pub fn write_active_lock(lock: &ActiveLock<'_>, out: &mut String) {
    out.push_str(
        "<D:activelock>\n<D:locktype><D:write/></D:locktype>\n<D:lockscope><D:exclusive/></D:lockscope>\n<D:depth>",
    );
    out.push_str(lock.depth);
    out.push_str("</D:depth>\n");
    match lock.comment {
        Some(comment) if lock.comment_is_xml => out.push_str(comment),
        Some(comment) => {
            out.push_str("<ns0:owner xmlns:ns0=\"DAV:\">");
            xml::escape_text(comment, out);
            out.push_str("</ns0:owner>");
        }
        None => {}
    }
    out.push_str("<D:timeout>");
    match lock.timeout {
        Some(seconds) => _ = write!(out, "Second-{seconds}"),
        None => out.push_str("Infinite"),
    }
    out.push_str("</D:timeout>\n<D:locktoken>\n<D:href>");
    xml::escape_text(lock.token, out);
    out.push_str("</D:href>\n</D:locktoken>\n</D:activelock>\n");
}

/// Appends the response to `LOCK`.
pub fn write_lock_answer(lock: &ActiveLock<'_>, out: &mut String) {
    out.push_str(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\">\n<D:lockdiscovery>\n",
    );
    write_active_lock(lock, out);
    out.push_str("</D:lockdiscovery>\n</D:prop>\n");
}

/// The first timeout of a `Timeout` header that we can keep, in seconds: `Some(None)` is never, `None` nothing that we know. As in Apache, a
/// number ends before what is no digit, and is 0 without any: that lock is in no one's way.
pub fn parse_timeout(header: &str) -> Option<Option<u64>> {
    header.split(',').find_map(|part| {
        let part = part.trim();
        if part.eq_ignore_ascii_case("infinite") {
            return Some(None);
        }
        part.strip_prefix("Second-").map(|seconds| {
            let digits = seconds.split(|c: char| !c.is_ascii_digit()).next();
            let digits = digits.filter(|digits| !digits.is_empty()).unwrap_or("0");
            // A longer time than any clock has is never.
            digits.parse().ok()
        })
    })
}

/// The token in a `Lock-Token` header.
pub fn parse_token(header: &str) -> Option<&str> {
    header.trim().strip_prefix('<')?.strip_suffix('>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(text: &str) -> Result<LockInfo, LockInfoFault> {
        LockInfo::parse(
            &Element::parse(text.as_bytes(), XmlLimits::default()).expect("because it is as it should be"),
            text.as_bytes(),
        )
    }

    #[test]
    fn comments_of_svn_and_owners_of_others() {
        let svn = r#"<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>a &lt;c&gt;</owner></lockinfo>"#;
        assert_eq!(
            parse(svn)
                .expect("because it is as it should be")
                .owner_text
                .as_deref(),
            Some("a <c>")
        );
        let other = r#"<D:lockinfo xmlns:D='DAV:' xmlns:x='u'><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href x:y='1'>me</D:href></D:owner></D:lockinfo>"#;
        let owner = parse(other)
            .expect("because it is as it should be")
            .owner_xml
            .expect("because it is as it should be");
        assert_eq!(
            owner,
            r#"<D:owner xmlns:D="DAV:" xmlns:x="u"><D:href x:y='1'>me</D:href></D:owner>"#
        );
        assert!(Element::parse(owner.as_bytes(), XmlLimits::default()).is_ok());
        let parts = [
            "<lockscope><exclusive/></lockscope>",
            "<locktype><write/></locktype>",
            "<owner>a</owner>",
        ];
        let whole = |inner: &str| parse(&format!("<lockinfo xmlns='DAV:'>{inner}</lockinfo>")).err();
        assert_eq!(
            parse("<lock xmlns='DAV:'/>").err(),
            Some(LockInfoFault::Malformed)
        );
        for (inner, fault) in [
            (parts[0].to_owned(), LockInfoFault::Malformed),
            (parts[1].to_owned(), LockInfoFault::Malformed),
            (
                parts[0].replace("exclusive", "shared") + parts[1],
                LockInfoFault::Malformed,
            ),
            (
                parts[0].replace("exclusive", "x") + parts[1],
                LockInfoFault::Unknown,
            ),
            (
                parts[0].to_owned() + "<locktype><read/></locktype>",
                LockInfoFault::Unknown,
            ),
            (parts.concat() + "<x/>", LockInfoFault::Unknown),
            (parts.concat() + "<owner xmlns='u'/>", LockInfoFault::Unknown),
            (parts.concat() + parts[0], LockInfoFault::Unknown),
            (parts.concat() + parts[1], LockInfoFault::Unknown),
            (parts.concat() + parts[2], LockInfoFault::Unknown),
        ] {
            assert_eq!(whole(&inner), Some(fault), "{inner}");
        }
        let lines = parts.concat().replace("a<", "a&#13;&#10;b&#13;c<");
        let lines = parse(&format!("<lockinfo xmlns='DAV:'>{lines}</lockinfo>"))
            .expect("because it is as it should be");
        assert_eq!(lines.owner_text.as_deref(), Some("a\nb\nc"));
    }

    #[test]
    fn timeouts_and_tokens() {
        assert_eq!(parse_timeout("Infinite, Second-4100000000"), Some(None));
        assert_eq!(parse_timeout("x, Second-60"), Some(Some(60)));
        assert_eq!(parse_timeout("Second-"), Some(Some(0)));
        assert_eq!(parse_timeout("Second-12abc, Infinite"), Some(Some(12)));
        assert_eq!(parse_timeout("Second--5"), Some(Some(0)));
        assert_eq!(parse_timeout("Second-99999999999999999999999"), Some(None));
        assert_eq!(parse_timeout("second-5, Second-6"), Some(Some(6)));
        assert_eq!(parse_timeout("second-5"), None);
        assert_eq!(parse_timeout("é"), None);
        assert_eq!(parse_token(" <t:1> "), Some("t:1"));
        assert_eq!(parse_token("t:1"), None);
    }
}
