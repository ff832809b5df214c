//! The `If` header of plain WebDAV clients: preconditions of writes.

use testkit::{Side, sample_from};

use super::raw_http::send_request;
use super::webdav_clients::{ALICE, LOCK, PROPPATCH, WebDavServer};

/// bob, pw.
const BOB: (&str, &str) = ("Authorization", "Basic Ym9iOnB3");

/// Values of `If`. `URL` and `TAG` are those of the resource, `TOKEN` is that of its lock.
const BELIEFS: [&str; 17] = [
    "",
    "nonsense",
    "([TAG])",
    "([\"none\"])",
    "(Not [\"none\"])",
    "(Not [TAG])",
    "(<DAV:no-lock>)",
    "(Not <DAV:no-lock>)",
    "([\"none\"]) ([TAG])",
    "([\"none\"]) (Not <DAV:no-lock>)",
    "<URL> ([TAG])",
    "<URL> ([\"none\"])",
    "<URLelse> ([\"none\"])",
    "<URL> ([\"none\"]) <URLelse> (Not <DAV:no-lock>)",
    "<URLelse> (Not <DAV:no-lock>) <URL> ([TAG])",
    "<URL> ([\"none\"]) ([TAG])",
    "<URL> ([\"none\"]) <URL> ([TAG])",
];

/// More values for locked resources.
const OF_LOCKED: [&str; 9] = [
    "(<TOKEN>)",
    "(Not <TOKEN>)",
    "(<TOKEN> [TAG])",
    "(<TOKEN> [\"none\"])",
    "([\"none\"]) (<TOKEN>)",
    "<URL> (<TOKEN>)",
    "<URLelse> (<TOKEN>)",
    "<URL> (<TOKEN> [\"none\"])",
    "<URL> (Not <TOKEN>)",
];

/// The methods; `REFRESH` is a `LOCK` without a body.
const WRITES: [&str; 8] = [
    "PUT",
    "DELETE",
    "MOVE",
    "COPY",
    "PROPPATCH",
    "LOCK",
    "REFRESH",
    "UNLOCK",
];

/// Returns the results of alice's requests for a file, files locked by alice and by bob, a directory, and a missing
/// path.
fn conditional_writes(side: Side) -> Vec<String> {
    let place = WebDavServer::new(side);
    let port = place.server.port();
    let mut output_text = Vec::new();
    let mut nth_method = 0;
    for (what, methods) in [
        ("f", &WRITES[..]),
        ("f", &["GET", "PROPFIND", "OPTIONS"]),
        ("mine", &WRITES),
        ("bobs", &WRITES),
        ("d", &["DELETE", "MOVE", "COPY", "PROPPATCH", "MKCOL", "LOCK"]),
        ("absent", &["PUT", "MKCOL", "LOCK", "DELETE", "PROPPATCH"]),
    ] {
        let is_locked = ["mine", "bobs"].contains(&what);
        for method in methods {
            let folder = format!("/repo/{method}{}", output_text.len());
            send_request(port, "MKCOL", &folder, &[ALICE], "");
            let of_locked = OF_LOCKED.iter().filter(|_| is_locked);
            let beliefs = BELIEFS.iter().chain(of_locked).enumerate();
            // A sample has other values for each method.
            nth_method += 1;
            for (count, belief) in sample_from(nth_method, 5, beliefs) {
                let at = format!("{folder}/{what}{count}");
                match what {
                    "absent" => {}
                    "d" => _ = send_request(port, "MKCOL", &at, &[ALICE], ""),
                    _ => _ = send_request(port, "PUT", &at, &[ALICE], "one"),
                }
                let slash = if what == "d" { "/" } else { "" };
                let tag = send_request(port, "HEAD", &format!("{at}{slash}"), &[ALICE], "");
                let tag = tag.headers.get("etag").map(|tags| tags[0].clone());
                let tag = tag.unwrap_or("\"none\"".to_owned());
                let token = is_locked.then(|| {
                    let owner = if what == "bobs" { BOB } else { ALICE };
                    let locked = send_request(port, "LOCK", &at, &[owner], LOCK);
                    locked.headers["lock-token"][0].clone()
                });
                let token = token.unwrap_or("<opaquelocktoken:x>".to_owned());
                let host = format!("http://127.0.0.1:{port}");
                let header = belief.replace("TAG", &tag).replace("<TOKEN>", &token);
                let header = header.replace("URL", &format!("{host}{at}"));
                let to = format!("{host}{at}to");
                let mut headers = vec![ALICE];
                match *method {
                    "MOVE" | "COPY" => headers.push(("Destination", &to)),
                    "UNLOCK" => headers.push(("Lock-Token", &token)),
                    _ => {}
                }
                if !header.is_empty() {
                    headers.push(("If", &header));
                }
                let body = match *method {
                    "PUT" => "two",
                    "LOCK" => LOCK,
                    "PROPPATCH" => PROPPATCH,
                    _ => "",
                };
                let method_sent = if *method == "REFRESH" { "LOCK" } else { method };
                let status = send_request(port, method_sent, &at, &headers, body).status;
                output_text.push(format!("{method} {what} {belief}: {status}"));
            }
        }
    }
    output_text
}

/// True for known differences: Apache also checks the parent directory, and lets a client take over a lock with a
/// token for another URL.
fn is_known(theirs: &str, ours: &str) -> bool {
    let asks_above = theirs.ends_with(": 424") && (ours.ends_with(": 204") || ours.ends_with(": 412"));
    asks_above || theirs == "REFRESH bobs <URLelse> (<TOKEN>): 200" && ours.ends_with(": 403")
}

#[test]
fn conditional_writes_have_apaches_results() {
    let [theirs, ours] = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| conditional_writes(Side::Theirs));
        let ours = conditional_writes(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    });
    assert_eq!(theirs.len(), ours.len());
    let differing: Vec<_> = theirs
        .iter()
        .zip(&ours)
        .filter(|(theirs, ours)| theirs != ours && !is_known(theirs, ours))
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

const ASKING: &str = "<propfind xmlns='DAV:'><prop><resourcetype/></prop></propfind>";

/// `Depth: infinity` is refused for collections only.
#[test]
fn infinite_depth_is_refused_for_collections_only() {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let place = WebDavServer::new(side);
        let port = place.server.port();
        send_request(port, "PUT", "/repo/f", &[ALICE], "one");
        let mut output_text = Vec::new();
        for path in [
            "",
            "f",
            "!svn/ver/1/f",
            "!svn/rvr/1/f",
            "!svn/bc/1/",
            "!svn/bln/1",
            "!svn/rev/1",
            "!svn/vcc/default",
            "!svn/me",
        ] {
            for depth in [None, Some("infinity"), Some("Infinity"), Some("1"), Some("2")] {
                let depth_line = depth.map(|depth| ("Depth", depth));
                let headers: Vec<_> = [ALICE].into_iter().chain(depth_line).collect();
                let response = send_request(port, "PROPFIND", &format!("/repo/{path}"), &headers, ASKING);
                let body = String::from_utf8_lossy(&response.body);
                let found = body.matches("<D:response").count();
                output_text.push(format!("{path} {depth:?}: {} {found}", response.status));
            }
        }
        output_text
    });
    assert_eq!(theirs, ours);
}
