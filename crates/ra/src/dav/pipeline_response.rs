//! Responses of a pipeline: bytes into heads and pieces of bodies. There is no I/O here.

/// The most lines of headers that a response may have.
const MOST_HEADERS: usize = 64;

/// What the head of a response says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    /// The server closes the connection after it.
    pub(super) closes: bool,
    /// How many more requests the server takes on the connection, if it says so.
    pub(super) left: Option<usize>,
    /// The header `X-SVN-Result-Fulltext-MD5`.
    pub(super) text_md5: Option<String>,
    /// The body is compressed with gzip.
    pub(super) is_gzip: bool,
    /// The body is svndiff against the base that the request named.
    pub(super) is_delta: bool,
}

/// The next part of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResponsePart<'a> {
    Head(ResponseHead),
    /// Bytes of the body.
    Body(&'a [u8]),
    End,
}

/// The bytes are no response, or one whose end only the end of the connection shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Reads responses that follow each other.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    at: Position,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default)]
enum Position {
    #[default]
    Head,
    /// The rest of a body of a known length.
    Sized(u64),
    ChunkHead,
    Chunk(u64),
    ChunkEnd,
    Trailers,
}

impl ResponseReader {
    /// True between two responses.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.at, Position::Head)
    }

    /// Reads the next part from the front of `bytes`, and how many bytes are read with it; `None` if more bytes are needed for it. Then
    /// bytes that are read must be removed all the same.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub(super) fn next<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<(Option<ResponsePart<'a>>, usize), Unreadable> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            match self.at {
                Position::Head => {
                    let Some((head, position, length)) = head(rest)? else {
                        return Ok((None, at));
                    };
                    self.at = position;
                    return Ok((Some(ResponsePart::Head(head)), at + length));
                }
                Position::Sized(0) => {
                    self.at = Position::Head;
                    return Ok((Some(ResponsePart::End), at));
                }
                Position::Chunk(0) => self.at = Position::ChunkEnd,
                Position::Sized(left) | Position::Chunk(left) => {
                    let length = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    if length == 0 {
                        return Ok((None, at));
                    }
                    let left = left - length as u64;
                    self.at = match self.at {
                        Position::Sized(_) => Position::Sized(left),
                        _ => Position::Chunk(left),
                    };
                    return Ok((Some(ResponsePart::Body(&rest[..length])), at + length));
                }
                Position::ChunkEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        at += 2;
                        self.at = Position::ChunkHead;
                    }
                    [] | [b'\r'] => return Ok((None, at)),
                    _ => return Err(Unreadable),
                },
                Position::ChunkHead => match httparse::parse_chunk_size(rest).map_err(|_| Unreadable)? {
                    httparse::Status::Partial => return Ok((None, at)),
                    httparse::Status::Complete((length, size)) => {
                        at += length;
                        self.at = match size {
                            0 => Position::Trailers,
                            size => Position::Chunk(size),
                        };
                    }
                },
                Position::Trailers => {
                    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
                    match httparse::parse_headers(rest, &mut headers).map_err(|_| Unreadable)? {
                        httparse::Status::Partial => return Ok((None, at)),
                        httparse::Status::Complete((length, _)) => {
                            self.at = Position::Head;
                            return Ok((Some(ResponsePart::End), at + length));
                        }
                    }
                }
            }
        }
    }
}

/// Reads a head, what follows it, and how long it is; `None` if it is not complete.
fn head(bytes: &[u8]) -> Result<Option<(ResponseHead, Position, usize)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let begin = match parsed.parse(bytes).map_err(|_| Unreadable)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = parsed.code.ok_or(Unreadable)?;
    let mut head = ResponseHead {
        status,
        closes: parsed.version != Some(1),
        ..ResponseHead::default()
    };
    let (mut is_chunked, mut length) = (false, None);
    let (mut is_svndiff, mut has_base) = (false, false);
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("connection") {
            let mut words = value.split(',').map(str::trim);
            head.closes |= words.any(|word| word.eq_ignore_ascii_case("close"));
        } else if is("keep-alive") {
            let most = value.split(',').find_map(|word| word.trim().strip_prefix("max="));
            head.left = most.and_then(|most| most.parse().ok());
        } else if is("x-svn-result-fulltext-md5") {
            head.text_md5 = Some(value.to_owned());
        } else if is("x-svn-vr-base") {
            has_base = true;
        } else if is("content-type") {
            is_svndiff = value.starts_with("application/vnd.svn-svndiff");
        } else if is("content-encoding") {
            head.is_gzip = value.eq_ignore_ascii_case("gzip");
        } else if is("transfer-encoding") {
            is_chunked = true;
        } else if is("content-length") {
            length = Some(value.parse().map_err(|_| Unreadable)?);
        }
    }
    head.is_delta = is_svndiff && has_base;
    let position = match length {
        _ if matches!(status, 100..200 | 204 | 304) => Position::Sized(0),
        _ if is_chunked => Position::ChunkHead,
        Some(length) => Position::Sized(length),
        None => return Err(Unreadable),
    };
    Ok(Some((head, position, begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "HTTP/1.1 201 Created\r\nKeep-Alive: timeout=5, max=97\r\nContent-Length: 3\r\n\
                         X-SVN-Result-Fulltext-MD5: d41d8cd98f00b204e9800998ecf8427e\r\n\r\nabc";
    const CHUNKED: &str = "HTTP/1.1 207 Multi\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\
                           \r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
    const CLOSING: &str = "HTTP/1.1 204 No Content\r\nConnection: Keep-Alive, Close\r\n\r\n";
    const DELTA: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.svn-svndiff\r\nX-SVN-VR-Base: /x\r\n\
                         Content-Length: 0\r\n\r\n";

    /// Reads all responses of a text that arrives in pieces of `step` bytes.
    fn read(text: &str, step: usize) -> Result<Vec<(ResponseHead, String)>, Unreadable> {
        let (mut reader, mut have, mut found) = (ResponseReader::default(), Vec::new(), Vec::new());
        for piece in text.as_bytes().chunks(step) {
            have.extend_from_slice(piece);
            loop {
                let (part, length) = reader.next(&have)?;
                let is_last = part.is_none();
                match part {
                    Some(ResponsePart::Head(head)) => found.push((head, String::new())),
                    Some(ResponsePart::Body(bytes)) => {
                        let (_, body) = found.last_mut().expect("because a body follows a head");
                        body.push_str(std::str::from_utf8(bytes).expect("because it is ASCII"));
                    }
                    Some(ResponsePart::End) => assert!(reader.is_between()),
                    None => {}
                }
                have.drain(..length);
                if is_last {
                    break;
                }
            }
        }
        assert!(reader.is_between() && have.is_empty());
        Ok(found)
    }

    #[test]
    fn responses_follow_each_other_however_they_arrive() {
        let text = [PLAIN, CHUNKED, CLOSING, DELTA, PLAIN].concat();
        for step in 1..=text.len() {
            let found = read(&text, step).expect("they are responses");
            let short: Vec<_> = found
                .iter()
                .map(|(head, body)| (head.status, body.as_str()))
                .collect();
            assert_eq!(
                short,
                [(201, "abc"), (207, "abcde"), (204, ""), (200, ""), (201, "abc")]
            );
            let heads: Vec<&ResponseHead> = found.iter().map(|(head, _)| head).collect();
            assert_eq!((heads[0].left, heads[0].text_md5.is_some()), (Some(97), true));
            assert!(heads[1].is_gzip && heads[2].closes && heads[3].is_delta);
            assert!(!heads[0].is_gzip && !heads[0].closes && !heads[0].is_delta);
        }
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        for text in [
            "HTTP/1.1 201 Created\r\n\r\n",
            "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 201 Created\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nx",
            "no response\r\n\r\n",
        ] {
            assert!(matches!(read(text, text.len()), Err(Unreadable)), "{text}");
        }
        let old = read("HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n", 5);
        assert!(old.is_ok_and(|found| found[0].0.closes));
    }
}
