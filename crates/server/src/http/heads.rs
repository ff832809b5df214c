//! What hyper does not tell: that a request's target had a fragment (`/x#y`), which hyper drops with all behind it. Clients
//! never send one, and a request for another thing than was named is not to be answered: `DELETE /x/#y` must not delete `/x`.
//!
//! They also tell where a request ends, so that hyper is given one at a time ([`super::intake`]).
//!
//! The bytes are read along, on their way to hyper, no further than it takes to know where the heads are: a head line by
//! line, a body by its length or chunk by chunk. What cannot be followed is never let through: then all requests that come
//! behind it count as refused. Hyper ends the connection at the same places.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;

/// Tells which requests are to be refused.
#[derive(Clone, Debug)]
pub(super) struct Refused(Arc<Numbers>);

/// Requests are known by their number on the connection.
#[derive(Debug)]
struct Numbers {
    /// The first one with a fragment.
    first: AtomicU64,
    /// How many hyper has handed on.
    handed_on: AtomicU64,
}

impl Refused {
    /// Whether the request that hyper hands on now is to be refused. All are behind the first: its answer is the last.
    pub(super) fn next(&self) -> bool {
        let number = self.0.handed_on.fetch_add(1, Ordering::Relaxed);
        number >= self.0.first.load(Ordering::Acquire)
    }
}

/// Reads along on one connection.
#[derive(Debug)]
pub(super) struct Heads {
    state: State,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// How long a line may be.
    limit: usize,
    framing: Framing,
    /// How many requests have begun.
    begun: u64,
    refused: Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Request,
    Field,
    /// That many bytes mean nothing to us; then comes what is named.
    Skip(u64, After),
    Chunk,
    Trailer,
    /// Nobody knows where the next request begins.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Request,
    Chunk,
}

/// What a head says of the body's end.
#[derive(Clone, Copy, Debug, Default)]
struct Framing {
    length: u64,
    chunked: bool,
}

impl Heads {
    /// For a connection on which no line of a head is longer than `limit`.
    pub(super) fn new(limit: usize) -> Heads {
        Heads {
            state: State::Request,
            line: Vec::new(),
            limit,
            framing: Framing::default(),
            begun: 0,
            refused: Refused(Arc::new(Numbers {
                first: AtomicU64::new(u64::MAX),
                handed_on: AtomicU64::new(0),
            })),
        }
    }

    /// How many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// True between requests.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Request && self.line.is_empty()
    }

    /// What will be known.
    pub(super) fn refused(&self) -> Refused {
        self.refused.clone()
    }

    /// These bytes have come. Returns how many of them belong to the first request; the others are not looked at.
    pub(super) fn read(&mut self, all: &[u8]) -> usize {
        let mut bytes = all;
        let begun = self.begun;
        let was_between = self.is_between();
        while !bytes.is_empty() {
            if self.is_between() && !(was_between && self.begun == begun) {
                return all.len() - bytes.len();
            }
            match self.state {
                State::Lost => break,
                State::Skip(left, after) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[here..];
                    self.state = match (left - here as u64, after) {
                        (0, After::Request) => State::Request,
                        (0, After::Chunk) => State::Chunk,
                        (left, after) => State::Skip(left, after),
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
                            self.whole(line);
                            continue;
                        }
                        self.keep(line);
                        let line = std::mem::take(&mut self.line);
                        self.whole(&line);
                    }
                },
            }
        }
        all.len()
    }

    /// Keeps the beginning of a line.
    fn keep(&mut self, part: &[u8]) {
        match self.line.len() + part.len() <= self.limit {
            true => self.line.extend_from_slice(part),
            false => self.lose(),
        }
    }

    /// A line without its line feed.
    fn whole(&mut self, line: &[u8]) {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        self.state = match self.state {
            // Empty lines may stand before a request.
            State::Request if text.is_empty() => State::Request,
            State::Request => {
                self.framing = Framing::default();
                let target = text.iter().position(|byte| *byte == b' ').unwrap_or(0);
                if text[target..].contains(&b'#') {
                    self.refuse();
                }
                self.begun += 1;
                State::Field
            }
            State::Field if text.is_empty() => match self.framing {
                Framing { chunked: true, .. } => State::Chunk,
                Framing { length: 0, .. } => State::Request,
                Framing { length, .. } => State::Skip(length, After::Request),
            },
            State::Field => match self.framing.heed(text) {
                Some(()) => State::Field,
                None => return self.lose(),
            },
            // Here a line feed alone ends nothing.
            State::Chunk | State::Trailer if text.len() == line.len() => return self.lose(),
            State::Chunk => match chunk_size(text) {
                Some(0) => State::Trailer,
                // The end of the line behind it belongs to it.
                Some(size) => State::Skip(size, After::Chunk),
                None => return self.lose(),
            },
            State::Trailer if text.is_empty() => State::Request,
            other => other,
        };
    }

    fn lose(&mut self) {
        self.state = State::Lost;
        self.line = Vec::new();
        self.refuse();
    }

    /// The next request to begin is refused, unless one was before it.
    fn refuse(&self) {
        self.refused.0.first.fetch_min(self.begun, Ordering::Release);
    }
}

impl Framing {
    /// Looks at a line of the head; `None` if it says nothing that can be followed.
    fn heed(&mut self, line: &[u8]) -> Option<()> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = std::str::from_utf8(value).ok()?.parse().ok()?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // Any other encoding is the end of the connection.
            self.chunked = true;
        }
        Some(())
    }
}

/// How many bytes a chunk has, the end of line behind them included; 0 is the last.
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

    /// Which of the first few requests are refused, however the bytes come.
    fn refused(bytes: &[u8], step: usize) -> Vec<u64> {
        let mut heads = Heads::new(200);
        let refused = heads.refused();
        for mut part in bytes.chunks(step.max(1)) {
            while !part.is_empty() {
                let read = heads.read(part);
                assert!(read > 0);
                part = &part[read..];
            }
        }
        assert!(heads.line.len() <= 200);
        (0..6).filter(|_| refused.next()).collect()
    }

    #[track_caller]
    fn check(bytes: &str, wanted: &[u64]) {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(refused(bytes.as_bytes(), step), wanted, "{bytes:?} by {step}");
        }
    }

    #[test]
    fn fragments_are_seen_in_targets_alone() {
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
    fn bodies_are_passed_over() {
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
    fn what_cannot_be_followed_is_refused() {
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        // The first of them was whole before anything went wrong.
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
        fn requests_are_counted_whatever_is_in_their_bodies(
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
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1..50_usize) {
            refused(&bytes, step);
        }
    }
}
