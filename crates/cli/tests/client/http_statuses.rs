//! Servers of `http://` whose responses have unusual status lines: both clients end with the same errors.
//!
//! A server of the test answers the first request, which opens a session, as Subversion's server does, or with the status; and all others
//! with the status.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use testkit::{Side, normalize, sample};

/// What Subversion's server says when a session is opened.
const OPENED: &str = "HTTP/1.1 200 OK\r\nDAV: 1,2\r\nDAV: version-control,checkout,working-resource\r\n\
     DAV: http://subversion.tigris.org/xmlns/dav/svn/depth\r\nSVN-Youngest-Rev: 1\r\n\
     SVN-Repository-UUID: 1e720ca1-2b3c-4d4e-8f50-0123456789ac\r\nSVN-Repository-MergeInfo: no\r\n\
     SVN-Repository-Root: /repo\r\nSVN-Me-Resource: /repo/!svn/me\r\nSVN-Rev-Root-Stub: /repo/!svn/rvr\r\n\
     SVN-Rev-Stub: /repo/!svn/rev\r\nSVN-Txn-Root-Stub: /repo/!svn/txr\r\nSVN-Txn-Stub: /repo/!svn/txn\r\n\
     SVN-VTxn-Root-Stub: /repo/!svn/vtxr\r\nSVN-VTxn-Stub: /repo/!svn/vtxn\r\n\
     Content-Type: text/xml\r\nContent-Length: 122\r\n\r\n\
     <?xml version=\"1.0\" encoding=\"utf-8\"?><D:options-response xmlns:D=\"DAV:\"><D:activity-collection-set/></D:options-response>";

/// Status lines that both clients treat alike, without the version.
const STATUSES: &[&str] = &[
    "201 Created",
    "202 Accepted",
    "203 Other",
    "204 None",
    "205 Reset",
    "206 Partial",
    "207 Many",
    "299 Odd",
    "300 Choices",
    "301 Moved",
    "302 Found",
    "303 Other",
    "304 Not Modified",
    "305 Proxy",
    "306 Odd",
    "307 Other",
    "308 Other",
    "399 Odd",
    "400 Bad",
    "403 No",
    "404 None",
    "405 No",
    "409 Conflict",
    "410 Gone",
    "411 Length",
    "412 Condition",
    "413 Large",
    "418 Teapot",
    "423 Locked",
    "424 Odd",
    "429 Many",
    "451 Law",
    "499 Odd",
    "500 Failed",
    "501 No",
    "502 Bad",
    "503 No",
    "504 Late",
    "507 Full",
    "599 Odd",
    "600 Odd",
    "999 Odd",
    "20 Odd",
    "abc Odd",
    "-1 Odd",
    "+200 Odd",
    " 200 Odd",
    "",
];

/// Commands, whether the first request gets the status, and the requests that follow otherwise.
const COMMANDS: &[(&str, bool)] = &[
    ("svn list {URL}", true),
    ("svn cat {URL}/f", false),
    ("svn log {URL}", false),
    ("svn mkdir -m x {URL}/new", false),
];

#[test]
fn unusual_statuses() {
    let home = testkit::scratch();
    let mut wrong = Vec::new();
    // The commands are the inner ones: each status is in every sample.
    let all = STATUSES.iter().flat_map(|status| {
        COMMANDS
            .iter()
            .map(move |(command, is_first)| (status, command, is_first))
    });
    for (status, command, is_first) in sample(3, all) {
        // Subversion's client takes any other answer to its first question about a node for one about a directory.
        if command.contains("cat") && (status.starts_with('2') || *status == "399 Odd") {
            continue;
        }
        let [theirs, ours] = Side::BOTH.map(|side| {
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let port = serve(response, *is_first);
            let url = format!("http://127.0.0.1:{port}/repo");
            let line = command.replace("{URL}", &url);
            let words: Vec<&str> = line.split(' ').collect();
            let output = side
                .tool(words[0])
                .args(&words[1..])
                .arg("--non-interactive")
                // The server of the test reads bodies whose length is known.
                .args(["--config-option", "servers:global:http-chunked-requests=no"])
                .env("HOME", home.path())
                .under("timeout", &["-s", "KILL", "20"])
                .run();
            let text = format!("{}{}exit {}", output.out(), output.err(), output.code);
            normalize::replace(&text, &[(&url, "{URL}")])
        });
        if theirs != ours {
            wrong.push(format!(
                "{command}: {status}\n--- theirs\n{theirs}\n--- ours\n{ours}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Starts a server for the connections of one command. Returns its port. It ends with the process.
fn serve(response: String, is_first: bool) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            let response = response.clone();
            thread::spawn(move || answer(&peer, &response, is_first));
        }
    });
    port
}

/// Answers the requests of a connection.
fn answer(peer: &TcpStream, response: &str, is_first: bool) {
    let mut requests = BufReader::new(peer);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if !matches!(requests.read_line(&mut line), Ok(1..)) {
                return;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = number.trim().parse().expect("because it is a number");
            }
            if line == "\r\n" {
                break;
            }
        }
        if requests
            .by_ref()
            .take(length)
            .read_to_end(&mut Vec::new())
            .is_err()
        {
            return;
        }
        let text = match first.starts_with("OPTIONS") && !is_first {
            true => OPENED,
            false => response,
        };
        let mut to = peer;
        if to.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}
