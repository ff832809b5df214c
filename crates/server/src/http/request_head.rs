//! The head of a request as the response cache sees it: a key, and the credentials apart from it.

use std::borrow::Cow;

use http::header::AUTHORIZATION;
use memchr::memchr;

/// The head of a request, parsed as far as the cache needs it.
pub(super) struct RequestHead<'a> {
    /// Its length in bytes.
    pub(super) length: usize,
    /// The head without its `Authorization` line; `None` if the head can be read in more than one way.
    pub(super) key: Option<Cow<'a, [u8]>>,
    /// The value of its `Authorization` line.
    pub(super) authorization: Option<&'a [u8]>,
}

impl<'a> RequestHead<'a> {
    /// Parses the first head in `bytes`; returns `None` if its end is missing.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<RequestHead<'a>> {
        let mut at = 0;
        let mut authorization = None;
        let mut is_unambiguous = true;
        loop {
            let end = at + memchr(b'\n', &bytes[at..])? + 1;
            let line = &bytes[at..end];
            if line == b"\r\n" {
                let key = match &authorization {
                    None => Cow::Borrowed(&bytes[..end]),
                    Some((at, after, _)) => Cow::Owned([&bytes[..*at], &bytes[*after..end]].concat()),
                };
                return Some(RequestHead {
                    length: end,
                    key: is_unambiguous.then_some(key),
                    authorization: authorization.map(|(_, _, value)| value),
                });
            }
            // A head whose lines end in another way may end elsewhere.
            is_unambiguous &= line.ends_with(b"\r\n");
            let name = AUTHORIZATION.as_str().as_bytes();
            if line.len() > name.len()
                && line[name.len()] == b':'
                && line[..name.len()].eq_ignore_ascii_case(name)
            {
                is_unambiguous &= authorization.is_none();
                authorization = Some((at, end, line[name.len() + 1..].trim_ascii()));
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authorization_line_is_no_part_of_the_key() {
        let plain = b"GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\n\r\n";
        let named = b"GET /a HTTP/1.1\r\nHost: x\r\nauthorization:  Basic QQ== \r\nUser-Agent: y\r\n\r\nGET ";
        let plain = RequestHead::parse(plain).expect("it is whole");
        let named = RequestHead::parse(named).expect("it is whole");
        assert_eq!(plain.key.as_deref(), named.key.as_deref());
        assert!(plain.key.is_some() && plain.authorization.is_none());
        assert_eq!(named.authorization, Some(&b"Basic QQ=="[..]));
        assert_eq!(
            named.length,
            plain.length + "authorization:  Basic QQ== \r\n".len()
        );
    }

    #[test]
    fn ambiguous_heads_have_no_key() {
        for head in [
            "GET /a HTTP/1.1\nHost: x\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: x\n\nGET /b HTTP/1.1\r\n\r\n",
            "GET /a HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
        ] {
            let parsed = RequestHead::parse(head.as_bytes()).expect("it ends");
            assert!(parsed.key.is_none(), "{head:?}");
        }
        assert!(RequestHead::parse(b"GET /a HTTP/1.1\r\nHost: x\r\n").is_none());
        assert!(RequestHead::parse(b"").is_none());
    }
}
