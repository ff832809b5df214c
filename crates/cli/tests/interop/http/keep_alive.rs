//! The header lines about the connection, which must say what the server does with it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use testkit::server::TestServer;
use testkit::server::http::READ_FREELY;
use testkit::{Repo, Side, Tool, scratch};

use super::webdav_clients::WebDavServer;

/// The lines about a connection that stays open: 5 s is the default of both servers.
const KEPT: &str = "keep-alive: timeout=5, connection: keep-alive";

/// The lines about the connection in the response to the request with these lines (`\r\n` is added); "open" or "closed" is behind them.
fn connection_lines(port: u16, request: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because the server is there");
    let mut text = request.lines().map(str::trim).collect::<Vec<_>>().join("\r\n");
    text += "\r\n\r\n";
    text += body;
    stream
        .write_all(text.as_bytes())
        .expect("because the server reads");
    let timeout = Some(Duration::from_millis(150));
    stream.set_read_timeout(timeout).expect("because it is a timeout");
    let mut received = Vec::new();
    let end = stream.read_to_end(&mut received).map_err(|e| e.kind());
    let state = match end {
        Err(ErrorKind::WouldBlock | ErrorKind::TimedOut) => "open",
        _ => "closed",
    };
    let received = String::from_utf8_lossy(&received).into_owned();
    let received = received
        .strip_prefix("HTTP/1.1 100 Continue\r\n\r\n")
        .unwrap_or(&received);
    let status = received.get(9..12).and_then(|status| status.parse().ok());
    let head = received.split("\r\n\r\n").next().unwrap_or_default();
    let lines = head.lines().map(str::to_ascii_lowercase);
    let lines = lines.filter(|line| line.starts_with("connection:") || line.starts_with("keep-alive:"));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| !line.starts_with('k'));
    lines.push(state.to_owned());
    (status.unwrap_or(0), lines.join(", "))
}

/// SVNKit up to 1.8.5 uses a connection that the server has closed unless a `Keep-Alive` line says for how long it stays open.
#[test]
fn clients_that_ask_are_told_how_long_a_connection_stays_open() {
    let root = scratch();
    Repo::create("1.14").copy_to(&root.path().join("repo"));
    let propfind = "<propfind xmlns=\"DAV:\"><prop><resourcetype/></prop></propfind>";
    let length = propfind.len();
    let kept = format!("{KEPT}, open");
    let cases = [
        ("GET /repo/ HTTP/1.1\nHost: x", "", 200, "open"),
        (
            "GET /repo/ HTTP/1.1\nHost: x\nConnection: Keep-Alive",
            "",
            200,
            &kept,
        ),
        (
            "HEAD /repo/ HTTP/1.1\nHost: x\nConnection: TE, kEEP-aLIVE",
            "",
            200,
            &kept,
        ),
        (
            "OPTIONS /repo HTTP/1.1\nHost: x\nConnection: Keep-Alive\nKeep-Alive:",
            "",
            200,
            &kept,
        ),
        (
            "GET /repo/none HTTP/1.1\nHost: x\nConnection: Keep-Alive",
            "",
            404,
            &kept,
        ),
        (
            "GET /repo/ HTTP/1.1\nHost: x\nConnection: keep-alive, close",
            "",
            200,
            "connection: close, closed",
        ),
        (
            "GET /repo/ HTTP/1.1\nConnection: Keep-Alive",
            "",
            400,
            "connection: close, closed",
        ),
        (
            &*format!(
                "PROPFIND /repo/ HTTP/1.1\nHost: x\nConnection: Keep-Alive\nExpect: 100-continue\nDepth: 0\nContent-Length: {length}"
            ),
            propfind,
            207,
            &kept,
        ),
        ("GET /repo/ HTTP/1.0", "", 200, "connection: close, closed"),
        ("GET /repo/ HTTP/1.0\nConnection: keep-alive", "", 200, &kept),
        ("HEAD /repo/ HTTP/1.0\nConnection: keep-alive", "", 200, &kept),
        ("GET /repo/none HTTP/1.0\nConnection: keep-alive", "", 404, &kept),
        (
            "GET repo HTTP/1.0\nConnection: keep-alive",
            "",
            400,
            "connection: close, closed",
        ),
    ];
    for side in Side::BOTH {
        let server = TestServer::http(side, root.path(), READ_FREELY, &[]);
        // No client shares a connection with another one.
        std::thread::scope(|scope| {
            for (request, body, status, lines) in &cases {
                let port = server.port();
                scope.spawn(move || {
                    let expected = (*status, (*lines).to_owned());
                    assert_eq!(
                        connection_lines(port, request, body),
                        expected,
                        "{side:?} {request}"
                    );
                });
            }
        });
    }
}

/// Where the client was not asked for its body, the server cannot know whether it comes.
#[test]
fn refused_requests_keep_the_connection_unless_their_body_was_not_read() {
    let head = "/repo/none HTTP/1.1\nHost: x\nConnection: Keep-Alive";
    for side in Side::BOTH {
        let place = WebDavServer::new(side);
        let lines = |request: &str| connection_lines(place.server.port(), request, "");
        let refused = lines(&format!("MKCOL {head}"));
        assert_eq!(refused, (401, format!("{KEPT}, open")), "{side:?}");
        let refused = lines(&format!("PUT {head}\nExpect: 100-continue\nContent-Length: 4"));
        assert_eq!(refused, (401, "connection: close, closed".to_owned()), "{side:?}");
    }
}

/// The end of a long response is the end of the connection for a client that knows no chunks.
#[test]
fn long_responses_of_http_10_end_the_connection() {
    let root = scratch();
    let repo = root.path().join("repo");
    Repo::create("1.14").copy_to(&repo);
    let long = "m".repeat(600 << 10);
    let url = format!("file://{}/d", repo.display());
    let message = root.path().join("message");
    std::fs::write(&message, long).expect("because the folder is ours");
    Tool::new("svn")
        .args(["mkdir", "-q", "-F"])
        .arg(&message)
        .arg(&url)
        .ok();
    let body = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>1</S:start-revision><S:end-revision>1</S:end-revision></S:log-report>";
    let request = format!(
        "REPORT /repo/!svn/bc/1/ HTTP/1.0\nConnection: keep-alive\nContent-Length: {}",
        body.len()
    );
    for side in Side::BOTH {
        let server = TestServer::http(side, root.path(), READ_FREELY, &[]);
        let lines = connection_lines(server.port(), &request, body);
        assert_eq!(lines, (200, "connection: close, closed".to_owned()), "{side:?}");
    }
}
