//! Write-through proxy: passes writes to another server, the master, of which this one is a read-only copy.
//!
//! Reading requests are answered here. Writing requests, and those that read a transaction, which only the master has, are passed on
//! unchanged, and so is the master's response. Where the two servers have the repositories at different paths, URLs in XML bodies
//! and in header lines are translated; other bodies are not changed.

use std::io;

use base::{Code, Error};
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, StatusCode, Uri};
use wire::dav::uri::{self, Resource};

use super::Outcome;
use crate::http::{Fault, ResponseWriter, Upstream};
use crate::site::RequestContext;

/// Headers that are about one connection, not about the request.
const CONNECTION_HEADERS: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::HOST,
    header::EXPECT,
];

/// Returns whether the request goes to the master.
pub(super) fn is_wanted(context: &RequestContext<'_>) -> bool {
    if context.mount.location.master.is_none() {
        return false;
    }
    let in_txn = matches!(
        context.resource,
        Resource::Txn(_)
            | Resource::TxnRoot(..)
            | Resource::Working(..)
            | Resource::Vtxn(_)
            | Resource::VtxnRoot(..)
    );
    match context.request.method.as_str() {
        "OPTIONS" | "REPORT" => false,
        "GET" | "HEAD" | "PROPFIND" => in_txn,
        // A write here would make the copy differ from the master.
        _ => true,
    }
}

/// Passes a request to the master, and the response back.
///
/// # Errors
/// 502 if the master cannot be reached or does not respond.
pub(super) fn forward(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let Some(master) = context.mount.location.master.clone() else {
        return Err(Fault::html(StatusCode::INTERNAL_SERVER_ERROR));
    };
    let peer = Peer {
        url: &master.url,
        added: None,
        is_alive: &|| true,
        lost: &|e| unreachable(e.to_string()),
    };
    forward_to(context, reply, peer)
}

/// The server to which a request is passed.
pub(super) struct Peer<'a> {
    /// Its URL of the same location.
    pub(super) url: &'a str,
    /// A header line for it; a line of that name from the client is not passed on.
    pub(super) added: Option<(HeaderName, HeaderValue)>,
    /// Whether its response is still to be expected.
    pub(super) is_alive: &'a dyn Fn() -> bool,
    /// Makes the error for a response that does not come, or not whole, although the request was sent.
    pub(super) lost: &'a dyn Fn(io::Error) -> Fault,
}

/// Passes a request to another server, and the response back.
///
/// # Errors
/// As [`forward`]; those of `lost`.
pub(super) fn forward_to(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    peer: Peer<'_>,
) -> Outcome {
    let Peer {
        url,
        added,
        is_alive,
        lost,
    } = peer;
    let paths = Paths::of(context, url)?;
    let target = paths.target(context)?;
    let authority = paths.authority.clone();
    let mut request = Request::builder()
        .method(context.request.method.clone())
        .uri(target)
        .body(())
        .map_err(unreachable)?;
    for (name, value) in &context.request.headers {
        if !CONNECTION_HEADERS.contains(name) && *name != header::CONTENT_LENGTH {
            request.headers_mut().append(name, paths.outward(name, value));
        }
    }
    if let Some((name, value)) = added {
        request.headers_mut().insert(name, value);
    }
    let host = HeaderValue::from_str(authority.as_str()).map_err(unreachable)?;
    request.headers_mut().insert(header::HOST, host);
    let body = &mut context.request.body;
    let mut first = body.next_piece()?;
    if first.is_some() && paths.differ() && is_xml(&request) {
        let mut whole = first.take().unwrap_or_default().to_vec();
        whole.extend(body.read_all(context.options.limits.xml_body)?);
        first = Some(replaced(&whole, &paths.here, &paths.there).into());
    }
    let tls = match paths.is_tls {
        true => Some(context.site.upstream_tls().map_err(unreachable)?),
        false => None,
    };
    let mut upstream = Upstream::begin(reply, tls, authority, request, first.is_some());
    while let Some(piece) = first {
        if upstream.send(piece).is_err() {
            break;
        }
        first = context.request.body.next_piece()?;
    }
    let response = upstream.response(is_alive).map_err(|e| match e.kind() {
        io::ErrorKind::NotConnected => unreachable(e),
        _ => lost(e),
    })?;
    pass_back(context, reply, &paths, &response, &mut upstream, lost)
}

fn pass_back(
    context: &RequestContext<'_>,
    reply: &mut ResponseWriter,
    paths: &Paths,
    response: &http::response::Parts,
    upstream: &mut Upstream,
    lost: &dyn Fn(io::Error) -> Fault,
) -> Outcome {
    reply.head.status(response.status);
    for (name, value) in &response.headers {
        let ours =
            CONNECTION_HEADERS.contains(name) || *name == header::CONTENT_LENGTH || *name == header::DATE;
        if !ours {
            reply
                .head
                .header_named(name.clone(), paths.inward(context, name, value));
        }
    }
    let kind = response.headers.get(header::CONTENT_TYPE);
    let is_xml = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/xml"));
    if !(paths.differ() && is_xml) {
        while let Some(piece) = upstream.next_piece().map_err(lost)? {
            reply.pass(piece)?;
        }
        return Ok(());
    }
    let mut whole = Vec::new();
    // The response to a MERGE names each node of the new revision.
    let max = match context.options.limits.longest_report() {
        0 => u64::MAX,
        bytes => bytes,
    };
    while let Some(piece) = upstream.next_piece().map_err(lost)? {
        if (whole.len() + piece.len()) as u64 > max {
            return Err(lost(io::ErrorKind::FileTooLarge.into()));
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
    let text = format!("The other server cannot be reached: {error}");
    Fault::hidden(
        StatusCode::BAD_GATEWAY,
        Error::new(Code::RA_DAV_REQUEST_FAILED, text),
    )
}

/// The URL path of the same location on this server and on the master.
struct Paths {
    is_tls: bool,
    authority: http::uri::Authority,
    /// The path on this server, encoded, without a final slash.
    here: String,
    /// The path on the master.
    there: String,
}

impl Paths {
    fn of(context: &RequestContext<'_>, url: &str) -> Result<Paths, Fault> {
        let url: Uri = url.parse().map_err(unreachable)?;
        let authority = url.authority().cloned();
        let mut here = String::new();
        uri::encode(context.mount.location.prefix.trim_end_matches('/'), &mut here);
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

    /// Returns path and query of the request on the master.
    fn target(&self, context: &RequestContext<'_>) -> Result<PathAndQuery, Fault> {
        // The client may have encoded the prefix in another way.
        let (all, slash) = uri::split(&context.request.path).ok_or_else(|| unreachable("a strange path"))?;
        let (prefix, _) = uri::split(&context.mount.location.prefix).unwrap_or_default();
        let mut path = self.there.clone();
        for component in all.get(prefix.len()..).unwrap_or_default() {
            path.push('/');
            uri::encode(component, &mut path);
        }
        if slash || path.is_empty() {
            path.push('/');
        }
        if let Some(query) = &context.request.query {
            path.push('?');
            path.push_str(query);
        }
        path.parse().map_err(unreachable)
    }

    /// Returns a header value for the master, with the master's URLs.
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

    /// Returns the destination's URL on the master, encoded as it was authorized here; `None` if it is not below the location.
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

    /// Replaces scheme and host of the URLs in `text` by the master's.
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

    /// Returns a header value of the master with this server's URLs.
    fn inward(&self, context: &RequestContext<'_>, name: &HeaderName, value: &HeaderValue) -> HeaderValue {
        if *name != header::LOCATION {
            return value.clone();
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        let ours = uri::path_of(&text).and_then(|path| {
            let below = path.strip_prefix(self.there.as_str())?;
            let url = format!("{}{}{below}", context.request.origin(), self.here);
            HeaderValue::from_str(&url).ok()
        });
        ours.unwrap_or_else(|| value.clone())
    }
}

/// Replaces `from` in `text` by `to` where it is the beginning of a path: all of it, or followed by a slash.
fn replaced(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let from = from.as_bytes();
    if from.is_empty() {
        // An empty prefix matches everywhere: only paths at the beginning of elements are replaced.
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
