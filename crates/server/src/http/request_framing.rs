//! Finds where each request begins and ends, on the way of its bytes to hyper.
//!
//! The request reader needs the ends to give hyper one request at a time. And hyper does not tell that a request's target had a
//! fragment (`/x#y`): it drops the fragment with everything behind it. Clients never send one, and such a request must not be
//! answered for another resource than it names: `DELETE /x/#y` must not delete `/x`.
//!
//! Bytes are parsed no further than that takes: a head line by line, a body by its length or chunk by chunk. Where the framing
//! cannot be followed, all requests behind that point count as refused. hyper ends the connection at the same places.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;

/// Decides which requests are refused. Clones share the decision.
#[derive(Clone, Debug)]
pub(super) struct RefusedRequests(Arc<RequestNumbers>);

/// Requests are numbered on each connection, from 0.
#[derive(Debug)]
struct RequestNumbers {
    /// The first request that is refused.
    first: AtomicU64,
    /// How many requests hyper has passed to the service.
    handed_on: AtomicU64,
}

impl RefusedRequests {
    /// Counts a request that hyper passes to the service, and returns whether it is refused. All behind the first refused one are:
    /// its response is the last one.
    pub(super) fn next(&self) -> bool {
        let number = self.0.handed_on.fetch_add(1, Ordering::Relaxed);
        number >= self.0.first.load(Ordering::Acquire)
    }
}

/// The state of one connection's framing.
#[derive(Debug)]
pub(super) struct RequestFraming {
    state: FramingState,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// The longest line, bytes.
    limit: usize,
    framing: BodyFraming,
    /// How many requests have begun.
    begun: u64,
    refused: RefusedRequests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramingState {
    Request,
    Field,
    /// This many bytes are skipped; then the named part begins.
    Skip(u64, AfterSkip),
    Chunk,
    Trailer,
    /// The framing cannot be followed any more.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterSkip {
    Request,
    Chunk,
}

/// How a head frames the body.
#[derive(Clone, Copy, Debug, Default)]
struct BodyFraming {
    length: u64,
    chunked: bool,
}

impl RequestFraming {
    /// Returns the framing of a new connection. A line may have `limit` bytes.
    pub(super) fn new(limit: usize) -> RequestFraming {
        RequestFraming {
            state: FramingState::Request,
            line: Vec::new(),
            limit,
            framing: BodyFraming::default(),
            begun: 0,
            refused: RefusedRequests(Arc::new(RequestNumbers {
                first: AtomicU64::new(u64::MAX),
                handed_on: AtomicU64::new(0),
            })),
        }
    }

    /// Returns how many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns whether no request has begun that has not ended.
    pub(super) fn is_between(&self) -> bool {
        self.state == FramingState::Request && self.line.is_empty()
    }

    /// Returns the decision about the connection's requests.
    pub(super) fn refused(&self) -> RefusedRequests {
        self.refused.clone()
    }

    /// Parses bytes that have arrived. Returns how many of them belong to the first request; the others are not parsed.
    pub(super) fn read(&mut self, all: &[u8]) -> usize {
        let mut bytes = all;
        let begun = self.begun;
        let was_between = self.is_between();
        while !bytes.is_empty() {
            if self.is_between() && !(was_between && self.begun == begun) {
                return all.len() - bytes.len();
            }
            match self.state {
                FramingState::Lost => break,
                FramingState::Skip(left, after) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[here..];
                    self.state = match (left - here as u64, after) {
                        (0, AfterSkip::Request) => FramingState::Request,
                        (0, AfterSkip::Chunk) => FramingState::Chunk,
                        (left, after) => FramingState::Skip(left, after),
                    };
                }
                _ => match memchr(b'\n', bytes) {
                    None => {
                        self.keep(bytes);
                        break;
                    }
                    Some(end) => {
                        let line = &bytes[..end];
                        bytes = &bytes[end + 1..];
                        if self.line.is_empty() {
                            self.parse_line(line);
                            continue;
                        }
                        self.keep(line);
                        let line = std::mem::take(&mut self.line);
                        self.parse_line(&line);
                    }
                },
            }
        }
        all.len()
    }

    /// Stores the beginning of a line.
    fn keep(&mut self, part: &[u8]) {
        match self.line.len() + part.len() <= self.limit {
            true => self.line.extend_from_slice(part),
            false => self.lose(),
        }
    }

    /// Parses a line without its line feed.
    fn parse_line(&mut self, line: &[u8]) {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        self.state = match self.state {
            // Empty lines may stand before a request.
            FramingState::Request if text.is_empty() => FramingState::Request,
            FramingState::Request => {
                self.framing = BodyFraming::default();
                let target = text.iter().position(|byte| *byte == b' ').unwrap_or(0);
                if text[target..].contains(&b'#') {
                    self.refuse();
                }
                self.begun += 1;
                FramingState::Field
            }
            FramingState::Field if text.is_empty() => match self.framing {
                BodyFraming { chunked: true, .. } => FramingState::Chunk,
                BodyFraming { length: 0, .. } => FramingState::Request,
                BodyFraming { length, .. } => FramingState::Skip(length, AfterSkip::Request),
            },
            FramingState::Field => match self.framing.parse_field(text) {
                Some(()) => FramingState::Field,
                None => return self.lose(),
            },
            // Here a line feed alone does not end a line.
            FramingState::Chunk | FramingState::Trailer if text.len() == line.len() => return self.lose(),
            FramingState::Chunk => match chunk_size(text) {
                Some(0) => FramingState::Trailer,
                // The size includes the end of line behind the chunk.
                Some(size) => FramingState::Skip(size, AfterSkip::Chunk),
                None => return self.lose(),
            },
            FramingState::Trailer if text.is_empty() => FramingState::Request,
            other => other,
        };
    }

    fn lose(&mut self) {
        self.state = FramingState::Lost;
        self.line = Vec::new();
        self.refuse();
    }

    /// Refuses the request that begins next, unless an earlier one is refused.
    fn refuse(&self) {
        self.refused.0.first.fetch_min(self.begun, Ordering::Release);
    }
}

impl BodyFraming {
    /// Parses a header line; returns `None` if the framing cannot be followed.
    fn parse_field(&mut self, line: &[u8]) -> Option<()> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = std::str::from_utf8(value).ok()?.parse().ok()?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // With any other encoding hyper ends the connection.
            self.chunked = true;
        }
        Some(())
    }
}

/// Returns how many bytes a chunk has, the end of line behind them included; 0 for the last chunk.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t'));
    let digits = std::str::from_utf8(&line[..end.unwrap_or(line.len())]).ok()?;
    match u64::from_str_radix(digits, 16).ok()? {
        0 => Some(0),
        size => size.checked_add(2),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns which of the first requests are refused. The bytes arrive in pieces of `step`.
    fn refused(bytes: &[u8], step: usize) -> Vec<u64> {
        let mut framing = RequestFraming::new(200);
        let refused = framing.refused();
        for mut part in bytes.chunks(step.max(1)) {
            while !part.is_empty() {
                let read = framing.read(part);
                assert!(read > 0);
                part = &part[read..];
            }
        }
        assert!(framing.line.len() <= 200);
        (0..6).filter(|_| refused.next()).collect()
    }

    #[track_caller]
    fn check(bytes: &str, wanted: &[u64]) {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(refused(bytes.as_bytes(), step), wanted, "{bytes:?} by {step}");
        }
    }

    #[test]
    fn fragments_are_found_in_targets_only() {
        check("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\n", &[]);
        check("GET /# HTTP/1.1\r\nHost: x\r\n\r\n", &[0, 1, 2, 3, 4, 5]);
        check("\r\nGET /?a#b HTTP/1.1\nHost: x\n\n", &[0, 1, 2, 3, 4, 5]);
        check("M#T / HTTP/1.1\r\nReferer: http://x/#y\r\n\r\n", &[]);
        check(
            "GET /a HTTP/1.1\r\n\r\nDELETE /x/#y HTTP/1.1\r\n\r\n",
            &[1, 2, 3, 4, 5],
        );
    }

    #[test]
    fn bodies_are_skipped() {
        let body = "DELETE /#\r\n\r\n";
        let put = format!(
            "PUT /a HTTP/1.1\r\ncontent-LENGTH:  {} \r\n\r\n{body}",
            body.len()
        );
        check(&put.repeat(3), &[]);
        check(&format!("{put}DELETE /#"), &[]);
        check(&format!("{put}{put}GET /# HTTP/1.1\r\n"), &[2, 3, 4, 5]);
        let chunks = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n\
                      4;x=#\r\n\r\n#\n\r\nb\r\nGET /# HTTP\r\n0\r\nA: #\r\n\r\n";
        check(&chunks.repeat(2), &[]);
        check(&format!("{chunks}GET /# HTTP/1.1\r\n"), &[1, 2, 3, 4, 5]);
    }

    #[test]
    fn requests_behind_unknown_framing_are_refused() {
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        // The first request was complete before the error.
        check(
            &format!("{chunked}0\r\na\n\r\nGET / HTTP/1.1\r\n"),
            &[1, 2, 3, 4, 5],
        );
        check(&format!("{chunked}z\r\n"), &[1, 2, 3, 4, 5]);
        check(&format!("{chunked}ffffffffffffffff\r\n"), &[1, 2, 3, 4, 5]);
        check("PUT / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", &[1, 2, 3, 4, 5]);
        check(&format!("GET /{}", "a".repeat(300)), &[0, 1, 2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn requests_are_counted_with_any_bytes_in_their_bodies(
            bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 0..5),
            step in 1..50_usize,
        ) {
            let mut bytes = Vec::new();
            for (chunked, body) in &bodies {
                if *chunked {
                    bytes.extend_from_slice(b"PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
                    for part in body.chunks(17) {
                        bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                        bytes.extend_from_slice(part);
                        bytes.extend_from_slice(b"\r\n");
                    }
                    bytes.extend_from_slice(b"0\r\n\r\n");
                } else {
                    let head = format!("PUT / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
                    bytes.extend_from_slice(head.as_bytes());
                    bytes.extend_from_slice(body);
                }
            }
            bytes.extend_from_slice(b"GET /#x HTTP/1.1\r\n\r\n");
            let wanted: Vec<u64> = (bodies.len() as u64..6).collect();
            prop_assert_eq!(refused(&bytes, step), wanted);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1..50_usize) {
            refused(&bytes, step);
        }
    }
}
