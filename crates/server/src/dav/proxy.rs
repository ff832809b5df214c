//! Writes that go to another server, the master, of which this one is a copy for reading.
//!
//! What reads is answered here; what writes, and what reads a transaction, which only the master has, is passed on with everything
//! that the client sent, and the master's answer is passed back. Where the two have the repositories at different paths, URLs in
//! bodies of XML and in header lines are translated; other bodies pass untouched.

use base::{Code, Error};
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, StatusCode, Uri};
use wire::dav::uri::{self, Resource};

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::{Master, Reply, Upstream};

/// Header lines that are about one connection, not about the request.
const OF_THE_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::HOST,
    header::EXPECT,
];

/// True if the master should answer.
pub(super) fn is_wanted(visit: &Visit<'_>) -> bool {
    if visit.place.location.master.is_none() {
        return false;
    }
    let in_txn = matches!(
        visit.resource,
        Resource::Txn(_)
            | Resource::TxnRoot(..)
            | Resource::Working(..)
            | Resource::Vtxn(_)
            | Resource::VtxnRoot(..)
    );
    match visit.request.method.as_str() {
        "OPTIONS" | "REPORT" => false,
        "GET" | "HEAD" | "PROPFIND" => in_txn,
        // A copy that wrote by itself would not be one any more.
        _ => true,
    }
}

/// Passes a request to the master, and its answer back.
///
/// # Errors
/// 502 if the master cannot be reached or does not answer.
pub(super) fn forward(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let Some(master) = visit.place.location.master.clone() else {
        return Err(Fault::html(StatusCode::INTERNAL_SERVER_ERROR));
    };
    let paths = Paths::of(visit, &master)?;
    let target = paths.target(visit)?;
    let authority = paths.authority.clone();
    let mut request = Request::builder()
        .method(visit.request.method.clone())
        .uri(target)
        .body(())
        .map_err(unreachable)?;
    for (name, value) in &visit.request.headers {
        if !OF_THE_CONNECTION.contains(name) && *name != header::CONTENT_LENGTH {
            request.headers_mut().append(name, paths.outward(name, value));
        }
    }
    let host = HeaderValue::from_str(authority.as_str()).map_err(unreachable)?;
    request.headers_mut().insert(header::HOST, host);
    let body = &mut visit.request.body;
    let mut first = body.next_piece()?;
    if first.is_some() && paths.differ() && is_xml(&request) {
        let mut whole = first.take().unwrap_or_default().to_vec();
        whole.extend(body.read_all(visit.http.limits.xml_body)?);
        first = Some(replaced(&whole, &paths.here, &paths.there).into());
    }
    let mut upstream = Upstream::begin(reply, paths.is_tls, authority, request, first.is_some());
    while let Some(piece) = first {
        if upstream.send(piece).is_err() {
            break;
        }
        first = visit.request.body.next_piece()?;
    }
    let answer = upstream.answer().map_err(unreachable)?;
    pass_back(visit, reply, &paths, &answer, &mut upstream)
}

fn pass_back(
    visit: &Visit<'_>,
    reply: &mut Reply,
    paths: &Paths,
    answer: &http::response::Parts,
    upstream: &mut Upstream,
) -> Outcome {
    reply.status(answer.status);
    for (name, value) in &answer.headers {
        let ours =
            OF_THE_CONNECTION.contains(name) || *name == header::CONTENT_LENGTH || *name == header::DATE;
        if !ours {
            reply.header_named(name.clone(), paths.inward(visit, name, value));
        }
    }
    let kind = answer.headers.get(header::CONTENT_TYPE);
    let is_xml = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/xml"));
    if !(paths.differ() && is_xml) {
        while let Some(piece) = upstream.next_piece().map_err(unreachable)? {
            reply.pass(piece)?;
        }
        return Ok(());
    }
    let mut whole = Vec::new();
    // The answer to a MERGE names each node of the revision, which exists by then.
    let most = match visit.http.limits.longest_report() {
        0 => u64::MAX,
        bytes => bytes,
    };
    while let Some(piece) = upstream.next_piece().map_err(unreachable)? {
        if (whole.len() + piece.len()) as u64 > most {
            return Err(Fault::html(StatusCode::BAD_GATEWAY));
        }
        whole.extend_from_slice(&piece);
    }
    reply.pass(Bytes::from(replaced(&whole, &paths.there, &paths.here)))?;
    Ok(())
}

fn is_xml(request: &Request<()>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/xml"))
}

fn unreachable(error: impl std::fmt::Display) -> Fault {
    let text = format!("The master server cannot be reached: {error}");
    Fault::hidden(
        StatusCode::BAD_GATEWAY,
        Error::new(Code::RA_DAV_REQUEST_FAILED, text),
    )
}

/// Where the same repositories are, here and there.
struct Paths {
    is_tls: bool,
    authority: http::uri::Authority,
    /// Encoded, without slash at the end.
    here: String,
    there: String,
}

impl Paths {
    fn of(visit: &Visit<'_>, master: &Master) -> Result<Paths, Fault> {
        let url: Uri = master.url.parse().map_err(unreachable)?;
        let authority = url.authority().cloned();
        let mut here = String::new();
        uri::encode(visit.place.location.prefix.trim_end_matches('/'), &mut here);
        Ok(Paths {
            is_tls: url.scheme() == Some(&Scheme::HTTPS),
            authority: authority.ok_or_else(|| unreachable("its URL names no host"))?,
            here,
            there: url.path().trim_end_matches('/').to_owned(),
        })
    }

    fn differ(&self) -> bool {
        self.here != self.there
    }

    /// The path and query of the request, as the master knows them.
    fn target(&self, visit: &Visit<'_>) -> Result<PathAndQuery, Fault> {
        // The prefix may have been sent in another spelling.
        let (all, slash) = uri::split(&visit.request.path).ok_or_else(|| unreachable("a strange path"))?;
        let (prefix, _) = uri::split(&visit.place.location.prefix).unwrap_or_default();
        let mut path = self.there.clone();
        for component in all.get(prefix.len()..).unwrap_or_default() {
            path.push('/');
            uri::encode(component, &mut path);
        }
        if slash || path.is_empty() {
            path.push('/');
        }
        if let Some(query) = &visit.request.query {
            path.push('?');
            path.push_str(query);
        }
        path.parse().map_err(unreachable)
    }

    /// A header line for the master: URLs in it are its own.
    fn outward(&self, name: &HeaderName, value: &HeaderValue) -> HeaderValue {
        if *name == "destination"
            && let Some(url) = self.destination(value)
        {
            return url;
        }
        let named = ["destination", "if", "x-svn-vr-base"].contains(&name.as_str());
        match named {
            true => {
                let mut text = value.as_bytes().to_vec();
                if name.as_str() != "x-svn-vr-base" {
                    text = self.with_authority(&text);
                }
                if self.differ() {
                    text = replaced(&text, &self.here, &self.there);
                }
                HeaderValue::from_bytes(&text).unwrap_or_else(|_| value.clone())
            }
            false => value.clone(),
        }
    }

    /// A destination as the master knows it, spelled as it was judged here; `None` if it is not below the location.
    fn destination(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let text = std::str::from_utf8(value.as_bytes()).ok()?;
        let (all, slash) = uri::split(uri::path_of(text)?)?;
        let (here, _) = uri::split(&self.here)?;
        let scheme = if self.is_tls { "https" } else { "http" };
        let mut url = format!("{scheme}://{}{}", self.authority, self.there);
        for component in all.strip_prefix(&here[..])? {
            url.push('/');
            uri::encode(component, &mut url);
        }
        if slash {
            url.push('/');
        }
        HeaderValue::from_str(&url).ok()
    }

    /// URLs with the master's scheme and host in the place of ours.
    fn with_authority(&self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let scheme = if self.is_tls { "https" } else { "http" };
        let mut out = String::new();
        let mut rest = text.as_ref();
        while let Some(at) = rest.find("://") {
            let start = rest[..at].rfind(['<', ' ']).map_or(0, |before| before + 1);
            let end = rest[at + 3..]
                .find(['/', '>', ' '])
                .map_or(rest.len(), |len| at + 3 + len);
            out.push_str(&rest[..start]);
            out.push_str(scheme);
            out.push_str("://");
            out.push_str(self.authority.as_str());
            rest = &rest[end..];
        }
        out.push_str(rest);
        out.into_bytes()
    }

    /// A header line from the master: URLs in it are ours.
    fn inward(&self, visit: &Visit<'_>, name: &HeaderName, value: &HeaderValue) -> HeaderValue {
        if *name != header::LOCATION {
            return value.clone();
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        let ours = uri::path_of(&text).and_then(|path| {
            let below = path.strip_prefix(self.there.as_str())?;
            let url = format!("{}{}{below}", visit.request.origin(), self.here);
            HeaderValue::from_str(&url).ok()
        });
        ours.unwrap_or_else(|| value.clone())
    }
}

/// Every `from` in `text` becomes `to`, where it is a path from its beginning: at `from` itself or followed by a slash.
fn replaced(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let from = from.as_bytes();
    if from.is_empty() {
        // Everything begins with nothing: only the beginnings of paths in elements are meant.
        return String::from_utf8_lossy(text)
            .replace(">/", &format!(">{to}/"))
            .into_bytes();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let ends = rest
            .get(from.len())
            .is_none_or(|next| b"/<>\"' \t\r\n".contains(next));
        if rest.starts_with(from) && ends {
            out.extend_from_slice(to.as_bytes());
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_replaced_whole() {
        let text = b"<href>/svn/repo</href><href>/svnx/repo</href><href>/svn</href>";
        let changed = replaced(text, "/svn", "/master/svn");
        assert_eq!(
            String::from_utf8_lossy(&changed),
            "<href>/master/svn/repo</href><href>/svnx/repo</href><href>/master/svn</href>"
        );
    }

    #[test]
    fn urls_name_the_master() {
        let paths = Paths {
            is_tls: true,
            authority: "m:1".parse().expect("because it is as it should be"),
            here: "/a".to_owned(),
            there: "/b".to_owned(),
        };
        let changed = paths.with_authority(b"<http://h/a/x> (<opaquelocktoken:1>) <http://h/a/y> (<t>)");
        assert_eq!(
            String::from_utf8_lossy(&changed),
            "<https://m:1/a/x> (<opaquelocktoken:1>) <https://m:1/a/y> (<t>)"
        );
        let name = HeaderName::from_static("destination");
        let value = HeaderValue::from_static("http://h/a/!svn/txr/1-1/f");
        assert_eq!(paths.outward(&name, &value), "https://m:1/b/!svn/txr/1-1/f");
        for (sent, passed) in [
            ("/a/r/f%20g/", "https://m:1/b/r/f%20g/"),
            ("http://u@h:9//%61/./x/../r", "https://m:1/b/r"),
            ("http://h/x/../a/a/r", "https://m:1/b/a/r"),
        ] {
            let value = HeaderValue::from_static(sent);
            assert_eq!(paths.outward(&name, &value), passed, "{sent}");
        }
    }
}
