//! What was answered before, answered again.
//!
//! A checkout asks for each file by the revision of its last change and its path. What is there never changes, and every client of
//! the same kind asks with the same bytes. Others ask by the path alone, and get the same until the next commit. So an answer that came out of memory is kept as it was sent, under the head that
//! asked for it; when the same head comes again it is not taken apart, nor is the answer made again. That is a third of
//! what such a request costs otherwise.
//!
//! What may be different the next time is not in the head, and looked at: the configuration, the repository at that path, for some the
//! youngest revision and the date that is told, whether who
//! asks may read it (by the rules and proofs that the connection's last request went by, as long as these hold: see
//! [`crate::dav::Known`]), and whether the client has become so slow that answers are compressed for it. Where anything is
//! unlike, the request goes the long way. Name and password are no part of what is remembered.
//!
//! What is kept is in the cache, within its budget.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use base::{Date, FsPath, Revnum};
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE, REFERER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use memchr::memchr;
use repos::Repository;
use repos::read_mode::cached_only;
use wire::dav::http_date;

use super::body::ReplyBody;
use super::exchange::next_number;
use super::options::HttpOptions;
use super::pulse::Pulse;
use super::request::{Peer, Request};
use crate::access_log::Line;
use crate::dav::{Place, Standing};
use crate::metrics::{Done, Protocol};
use crate::service::{Service, now};

/// Longer heads are hyper's business from the beginning, bytes.
const LONGEST: usize = 8 << 10;

/// Of what an answer tells whose bytes will be the same for a while.
#[derive(Clone)]
pub(crate) struct Lasting {
    pub(crate) place: Arc<Place>,
    pub(crate) path: FsPath,
    pub(crate) depends: Depends,
}

/// What must be as it was, beyond the repository itself, for an answer to be the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Depends {
    /// This is the youngest revision.
    pub(crate) youngest: Option<Revnum>,
    /// The date of that revision.
    pub(crate) date: Option<(Revnum, Option<Date>)>,
}

impl Depends {
    /// True if it is so now, as far as that can be seen without waiting.
    fn holds(&self, repository: &Repository) -> bool {
        let Depends { youngest, date } = self;
        let looks = || {
            youngest.is_none_or(|rev| repository.youngest().is_ok_and(|now| now == rev))
                && date.is_none_or(|(rev, date)| repository.date(rev).is_ok_and(|now| now == date))
        };
        youngest.is_none() && date.is_none() || cached_only(looks) == Some(true)
    }
}

/// An answer that is kept.
pub(super) struct Kept {
    http: Arc<HttpOptions>,
    /// Where its repository stands.
    root: String,
    /// Who may read this may have the answer.
    path: FsPath,
    depends: Depends,
    /// Without its last lines, which are different each time.
    head: Box<[u8]>,
    body: Box<[Bytes]>,
    /// For the access log.
    target: Box<str>,
    referer: Option<HeaderValue>,
    agent: Option<HeaderValue>,
}

/// Answers again, on one connection.
pub(super) struct Again {
    service: Arc<Service>,
    peer: Arc<Peer>,
    pulse: Pulse,
}

/// Requests that have come together.
pub(super) struct Batch<'a> {
    again: Option<&'a Again>,
    /// What holds for those that have come; `None` was not looked at yet.
    standing: Option<Option<Standing>>,
    /// Since when.
    begun: Instant,
    /// The last lines of an answer's head.
    tail: String,
    answered: bool,
}

/// What there is to do.
pub(super) enum Look {
    /// The first request has so many bytes, and this answer.
    Known(Arc<Kept>, usize),
    /// The first request is to be answered; its head has so many bytes, if it is one that may be kept.
    New(Option<usize>),
    /// Of the first request something is missing.
    Part,
}

/// Where answers go.
pub(super) trait Outgoing {
    /// Takes bytes.
    fn head(&mut self, bytes: &[u8]);
    /// Takes a part of a body.
    fn piece(&mut self, piece: &Bytes);
}

impl Again {
    pub(super) fn new(service: Arc<Service>, peer: Arc<Peer>, pulse: Pulse) -> Again {
        Again { service, peer, pulse }
    }

    /// Begins to look at what comes; without anybody to ask everything is new.
    pub(super) fn begin(again: Option<&Again>) -> Batch<'_> {
        Batch {
            again,
            standing: None,
            begun: Instant::now(),
            tail: String::new(),
            answered: false,
        }
    }

    fn standing(&self) -> Option<Standing> {
        if self.pulse.is_slow() {
            return None;
        }
        self.peer
            .known
            .standing(&self.service.recent, &self.service.http())
    }
}

impl Batch<'_> {
    /// Looks at the beginning of what has come.
    pub(super) fn look(&mut self, waiting: &[u8]) -> Look {
        const GET: &[u8] = b"GET ";
        if !waiting.starts_with(&GET[..waiting.len().min(GET.len())]) {
            return Look::New(None);
        }
        match Asked::parse(waiting) {
            Some(asked) => match self.find(&asked) {
                Some(kept) => Look::Known(kept, asked.length),
                None => Look::New(Some(asked.length)),
            },
            None if waiting.len() > LONGEST => Look::New(None),
            None => Look::Part,
        }
    }

    fn find(&mut self, asked: &Asked<'_>) -> Option<Arc<Kept>> {
        let again = self.again?;
        let standing = self.standing.get_or_insert_with(|| {
            self.begun = Instant::now();
            again.standing()
        });
        let Standing {
            http,
            place,
            admitted,
        } = standing.as_ref()?;
        let name = asked.name.as_deref()?;
        let kept = place.repository.cached_response(name)?;
        let kept = kept.downcast::<Kept>().ok()?;
        let is_same = Arc::ptr_eq(&kept.http, http) && kept.root == place.base.root();
        let may_have = is_same && admitted.lets_in(asked.authorization, &kept.path);
        (may_have && kept.depends.holds(&place.repository)).then_some(kept)
    }

    /// Before more is waited for: true if something was answered since this was asked last.
    pub(super) fn rest(&mut self) -> bool {
        // Time goes by.
        self.standing = None;
        std::mem::take(&mut self.answered)
    }

    /// Writes down what was done.
    pub(super) fn write_down(&mut self, kept: &Kept, sent: u64) {
        self.answered = true;
        let Some(again) = self.again else { return };
        let took = self.begun.elapsed();
        if let Some(log) = again.service.access_log() {
            let user = self
                .standing
                .as_ref()
                .and_then(|standing| standing.as_ref()?.admitted.user());
            log.add(&Line {
                address: again.peer.address.ip(),
                user,
                method: "GET",
                target: &kept.target,
                version: Version::HTTP_11,
                status: StatusCode::OK,
                bytes: sent,
                referer: kept.referer.as_ref(),
                agent: kept.agent.as_ref(),
                took,
                id: self.id(),
                operation: None,
            });
        }
        again.service.metrics.count(&Done {
            protocol: match again.peer.tls {
                true => Protocol::Https,
                false => Protocol::Http,
            },
            operation: "GET",
            took,
            received: 0,
            sent,
            failed: false,
        });
    }

    /// The name of the request that was answered last.
    fn id(&self) -> &str {
        let rest = self.tail.strip_prefix(ID).unwrap_or_default();
        rest.split('\r').next().unwrap_or_default()
    }

    /// The lines that are new in each head.
    fn tail(&mut self) -> &str {
        let (process, count) = next_number();
        self.tail.clear();
        // Strings take everything.
        _ = write!(self.tail, "{ID}{process:x}-{count:x}\r\ndate: ");
        with_date(|date| self.tail.push_str(date));
        self.tail.push_str("\r\n\r\n");
        &self.tail
    }
}

impl Kept {
    /// Sends it once more; returns the bytes of its body.
    pub(super) fn send(&self, batch: &mut Batch<'_>, out: &mut impl Outgoing) -> u64 {
        out.head(&self.head);
        out.head(batch.tail().as_bytes());
        self.body.iter().for_each(|piece| out.piece(piece));
        self.body.iter().map(|piece| piece.len() as u64).sum()
    }

    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        let body: usize = self.body.iter().map(Bytes::len).sum();
        size_of::<Kept>()
            + self.root.len()
            + self.path.as_str().len()
            + self.head.len()
            + self.target.len()
            + body
    }
}

/// A head as it was sent, as far as it is looked at.
struct Asked<'a> {
    /// Bytes of all of it.
    length: usize,
    /// All of it but for who asks; `None` if that is not clear.
    name: Option<Cow<'a, [u8]>>,
    /// Who asks.
    authorization: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    /// The first head in `bytes`; `None` if its end is not there.
    fn parse(bytes: &'a [u8]) -> Option<Asked<'a>> {
        let mut at = 0;
        let mut who = None;
        let mut is_clear = true;
        loop {
            let end = at + memchr(b'\n', &bytes[at..])? + 1;
            let line = &bytes[at..end];
            if line == b"\r\n" {
                let name = match &who {
                    None => Cow::Borrowed(&bytes[..end]),
                    Some((at, behind, _)) => Cow::Owned([&bytes[..*at], &bytes[*behind..end]].concat()),
                };
                return Some(Asked {
                    length: end,
                    name: is_clear.then_some(name),
                    authorization: who.map(|(_, _, value)| value),
                });
            }
            // Heads in which lines end in another way may end elsewhere.
            is_clear &= line.ends_with(b"\r\n");
            let name = AUTHORIZATION.as_str().as_bytes();
            if line.len() > name.len()
                && line[name.len()] == b':'
                && line[..name.len()].eq_ignore_ascii_case(name)
            {
                is_clear &= who.is_none();
                who = Some((at, end, line[name.len() + 1..].trim_ascii()));
            }
            at = end;
        }
    }
}

/// Keeps an answer that was made out of memory alone, if it is one that lasts.
pub(super) fn keep(
    head: &[u8],
    http: &Arc<HttpOptions>,
    request: &mut Request,
    response: &Response<ReplyBody>,
) {
    let Some(lasting) = request.lasting.take() else {
        return;
    };
    let depends = CONDITIONS.iter().any(|name| request.headers.contains_key(name));
    if depends || request.method != Method::GET || request.version != Version::HTTP_11 {
        return;
    }
    let Some(Asked {
        name: Some(name),
        length,
        ..
    }) = Asked::parse(head)
    else {
        return;
    };
    let is_plain =
        response.status() == StatusCode::OK && !response.headers().contains_key("authentication-info");
    if !is_plain || length != head.len() {
        return;
    }
    let body: Box<[Bytes]> = match response.body() {
        ReplyBody::Whole(bytes) => bytes.iter().cloned().collect(),
        ReplyBody::Several(pieces) => pieces.iter().cloned().collect(),
        ReplyBody::Pieces { .. } => return,
    };
    let mut lines = b"HTTP/1.1 200 OK\r\n".to_vec();
    let mut line = |name: &str, value: &[u8]| {
        lines.extend_from_slice(name.as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.extend_from_slice(b"\r\n");
    };
    for (name, value) in response.headers() {
        if name != "x-request-id" && name != CONTENT_LENGTH {
            line(name.as_str(), value.as_bytes());
        }
    }
    let bytes: usize = body.iter().map(Bytes::len).sum();
    line(CONTENT_LENGTH.as_str(), bytes.to_string().as_bytes());
    let target = match &request.query {
        Some(query) => format!("{}?{query}", request.path),
        None => request.path.clone(),
    };
    let Lasting { place, path, depends } = lasting;
    let kept = Kept {
        http: http.clone(),
        root: place.base.root().to_owned(),
        path,
        depends,
        head: lines.into(),
        body,
        target: target.into(),
        referer: request.headers.get(REFERER).cloned(),
        agent: request.headers.get(USER_AGENT).cloned(),
    };
    let bytes = kept.bytes();
    place.repository.cache_response(&name, Arc::new(kept), bytes);
}

/// Lends the time of day as heads have it.
fn with_date(lend: impl FnOnce(&str)) {
    thread_local! {
        static NOW: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    let now = now() / 1_000_000;
    NOW.with_borrow_mut(|(second, date)| {
        if *second != now {
            *date = http_date::format(Date(now * 1_000_000));
            *second = now;
        }
        lend(date);
    });
}

/// The line that names a request.
const ID: &str = "x-request-id: ";

/// What an answer depends on beyond what it tells, or what says how the connection goes on.
const CONDITIONS: [HeaderName; 12] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HeaderName::from_static("if"),
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
    TRANSFER_ENCODING,
    UPGRADE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_no_part_of_the_name() {
        let plain = b"GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\n\r\n";
        let named = b"GET /a HTTP/1.1\r\nHost: x\r\nauthorization:  Basic QQ== \r\nUser-Agent: y\r\n\r\nGET ";
        let plain = Asked::parse(plain).expect("it is whole");
        let named = Asked::parse(named).expect("it is whole");
        assert_eq!(plain.name.as_deref(), named.name.as_deref());
        assert!(plain.name.is_some() && plain.authorization.is_none());
        assert_eq!(named.authorization, Some(&b"Basic QQ=="[..]));
        assert_eq!(
            named.length,
            plain.length + "authorization:  Basic QQ== \r\n".len()
        );
    }

    #[test]
    fn heads_that_could_be_read_in_another_way_have_no_name() {
        for head in [
            "GET /a HTTP/1.1\nHost: x\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: x\n\nGET /b HTTP/1.1\r\n\r\n",
            "GET /a HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
        ] {
            let asked = Asked::parse(head.as_bytes()).expect("it ends");
            assert!(asked.name.is_none(), "{head:?}");
        }
        assert!(Asked::parse(b"GET /a HTTP/1.1\r\nHost: x\r\n").is_none());
        assert!(Asked::parse(b"").is_none());
    }
}
