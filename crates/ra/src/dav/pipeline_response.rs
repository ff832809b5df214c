//! Responses of a pipeline: bytes into heads and short bodies. There is no I/O here.

/// The most lines of headers that a response may have.
const MOST_HEADERS: usize = 64;

/// A response whose body is complete.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShortResponse {
    pub(super) status: u16,
    /// The server closes the connection after it.
    pub(super) closes: bool,
    /// How many more requests the server takes on the connection, if it says so.
    pub(super) left: Option<usize>,
    /// The header `X-SVN-Result-Fulltext-MD5`.
    pub(super) text_md5: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The bytes are no response, or one whose end only the end of the connection shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Reads a response from the front of some bytes, and how long it is; `None` if it is not complete.
///
/// # Errors
/// [`Unreadable`].
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(ShortResponse, usize)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let begin = match head.parse(bytes).map_err(|_| Unreadable)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = head.code.ok_or(Unreadable)?;
    let mut response = ShortResponse {
        status,
        closes: head.version != Some(1),
        ..ShortResponse::default()
    };
    let (mut is_chunked, mut length) = (false, None);
    for header in head.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("connection") {
            response.closes |= value
                .split(',')
                .any(|word| word.trim().eq_ignore_ascii_case("close"));
        } else if is("keep-alive") {
            let most = value.split(',').find_map(|word| word.trim().strip_prefix("max="));
            response.left = most.and_then(|most| most.parse().ok());
        } else if is("x-svn-result-fulltext-md5") {
            response.text_md5 = Some(value.to_owned());
        } else if is("transfer-encoding") {
            is_chunked = true;
        } else if is("content-length") {
            length = Some(value.parse().map_err(|_| Unreadable)?);
        }
    }
    let rest = &bytes[begin..];
    let (found, length) = match length {
        _ if matches!(status, 100..200 | 204 | 304) => (Vec::new(), 0),
        _ if is_chunked => match chunks(rest)? {
            Some(found) => found,
            None => return Ok(None),
        },
        Some(length) if length <= rest.len() => (vec![&rest[..length]], length),
        Some(_) => return Ok(None),
        None => return Err(Unreadable),
    };
    response.body = found.concat();
    Ok(Some((response, begin + length)))
}

/// The parts of a body, and how long it is with what frames it.
type FoundBody<'a> = (Vec<&'a [u8]>, usize);

/// Returns the chunks of a body, and how long the body is with everything around them; `None` if it is not complete.
fn chunks(bytes: &[u8]) -> Result<Option<FoundBody<'_>>, Unreadable> {
    let (mut chunks, mut at) = (Vec::new(), 0);
    loop {
        let (skip, size) = match httparse::parse_chunk_size(&bytes[at..]).map_err(|_| Unreadable)? {
            httparse::Status::Complete(found) => found,
            httparse::Status::Partial => return Ok(None),
        };
        let begin = at + skip;
        let size = usize::try_from(size).map_err(|_| Unreadable)?;
        if size == 0 {
            return trailers(&bytes[begin..]).map(|found| found.map(|length| (chunks, begin + length)));
        }
        let end = begin.checked_add(size).ok_or(Unreadable)?;
        match bytes.get(end..).map(|rest| rest.get(..2)) {
            Some(Some(b"\r\n")) => {}
            Some(Some(_)) => return Err(Unreadable),
            _ => return Ok(None),
        }
        chunks.push(&bytes[begin..end]);
        at = end + 2;
    }
}

/// Returns the length of the trailers behind the last chunk.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    match httparse::parse_headers(bytes, &mut headers).map_err(|_| Unreadable)? {
        httparse::Status::Complete((length, _)) => Ok(Some(length)),
        httparse::Status::Partial => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "HTTP/1.1 201 Created\r\nKeep-Alive: timeout=5, max=97\r\nContent-Length: 3\r\n\
                         X-SVN-Result-Fulltext-MD5: d41d8cd98f00b204e9800998ecf8427e\r\n\r\nabc";
    const CHUNKED: &str = "HTTP/1.1 207 Multi\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
    const CLOSING: &str = "HTTP/1.1 204 No Content\r\nConnection: Keep-Alive, Close\r\n\r\n";

    #[test]
    fn a_response_is_read_when_it_is_complete() {
        for (text, status, body) in [(PLAIN, 201, "abc"), (CHUNKED, 207, "abcde"), (CLOSING, 204, "")] {
            for length in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..length]), Ok(None), "{length} of {text}");
            }
            let with_next = format!("{text}HTTP/1.1 200");
            let (response, length) = parse(with_next.as_bytes())
                .expect("it is a response")
                .expect("it is complete");
            assert_eq!(length, text.len());
            assert_eq!((response.status, &response.body[..]), (status, body.as_bytes()));
            assert_eq!(response.closes, text == CLOSING);
            assert_eq!(response.left, (text == PLAIN).then_some(97));
            assert_eq!(response.text_md5.is_some(), text == PLAIN);
        }
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        for text in [
            "HTTP/1.1 201 Created\r\n\r\n",
            "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 201 Created\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nx",
            "no response\r\n\r\n",
        ] {
            assert_eq!(parse(text.as_bytes()), Err(Unreadable), "{text}");
        }
        let old = parse(b"HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n");
        assert!(matches!(old, Ok(Some((response, _))) if response.closes));
    }
}
