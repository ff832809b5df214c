//! The locks of plain WebDAV programs after what they delete, move or copy over.

use std::fmt::Write as _;

use testkit::{Side, Tool};

use super::raw_http::send_request;
use super::webdav_clients::{ALICE, LOCK, WebDavServer};

const SHARED: &str =
    "<lockinfo xmlns='DAV:'><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>";

/// A request, the path that it is sent to, the locked paths whose tokens it has, and its destination.
type LockedRequest = (
    &'static str,
    &'static str,
    &'static [&'static str],
    Option<&'static str>,
);

/// Each runs in a directory of its own with `f`, `g`, `d/f`, `d/g`. All of `LOCKED` are locked before.
const REQUESTS: &[(&[&str], LockedRequest)] = &[
    (&["f"], ("DELETE", "f", &["f"], None)),
    (&["f"], ("DELETE", "f", &[], None)),
    (&["d/f"], ("DELETE", "d", &["d/f"], None)),
    (&["d/f", "d/g"], ("DELETE", "d", &["d/g"], None)),
    (&["d/f", "d/g"], ("DELETE", "d", &["d/f", "d/g"], None)),
    (&["f"], ("MOVE", "f", &["f"], Some("new"))),
    (&["f"], ("MOVE", "f", &[], Some("new"))),
    (&["d/f"], ("MOVE", "d", &["d/f"], Some("new"))),
    (&["d/f"], ("MOVE", "d", &[], Some("new"))),
    (&["f"], ("COPY", "g", &["f"], Some("f"))),
    (&["f"], ("COPY", "f", &["f"], Some("new"))),
    (&["d/f"], ("COPY", "d", &["d/f"], Some("new"))),
    (&["f"], ("PUT", "f", &["f"], None)),
    (&["f"], ("LOCK", "f", &[], None)),
    (&[], ("LOCK", "f", &[], None)),
    (&[], ("DELETE", "", &[], None)),
];

/// Returns the statuses of the requests, of writes without tokens afterwards, and the paths that are locked then.
fn run(side: Side) -> String {
    let place = WebDavServer::new(side);
    let port = place.server.port();
    let send = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        send_request(port, method, path, &[&[ALICE], headers].concat(), body)
    };
    let mut out = String::new();
    for (number, (locked, (method, path, tokens, destination))) in REQUESTS.iter().enumerate() {
        let top = format!("/repo/{number}");
        for directory in ["", "/d"] {
            send("MKCOL", &format!("{top}{directory}"), &[], "");
        }
        for file in ["f", "g", "d/f", "d/g"] {
            send("PUT", &format!("{top}/{file}"), &[], "text");
        }
        let mut condition = String::new();
        for file in *locked {
            let response = send("LOCK", &format!("{top}/{file}"), &[], LOCK);
            let token = &response.headers["lock-token"][0];
            if tokens.contains(file) {
                _ = write!(condition, "<http://127.0.0.1:{port}{top}/{file}> ({token}) ");
            }
        }
        let to = destination.map(|to| format!("http://127.0.0.1:{port}{top}/{to}"));
        let mut headers = Vec::new();
        if !condition.is_empty() {
            headers.push(("If", condition.trim_end()));
        }
        if let Some(to) = &to {
            headers.push(("Destination", to));
        }
        let at = match *path {
            "" => "/repo/".to_owned(),
            path => format!("{top}/{path}"),
        };
        let body = match *method {
            "LOCK" => SHARED,
            "PUT" => "new text",
            _ => "",
        };
        let status = send(method, &at, &headers, body).status;
        _ = writeln!(out, "{number} {method} {path}: {status}");
        let status = send("PUT", &format!("{top}/f"), &[], "other text").status;
        _ = writeln!(out, "{number} PUT f: {status}");
    }
    place.server.storage().bring_back(&place.repository);
    let locks = Tool::new("svnadmin")
        .arg("lslocks")
        .arg(&place.repository)
        .ok()
        .out();
    let mut paths: Vec<&str> = locks.lines().filter(|line| line.starts_with("Path: ")).collect();
    paths.sort_unstable();
    out + &paths.join("\n")
}

#[test]
fn locks_end_with_what_they_are_for() {
    let [theirs, ours] = Side::BOTH.map(run);
    crate::pair::compare(&theirs, &ours);
    assert!(
        ours.contains("0 DELETE f: 204") && ours.contains("Path: /1/f"),
        "{ours}"
    );
}
