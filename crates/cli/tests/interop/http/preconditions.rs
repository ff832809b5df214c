//! Conditions of single requests, each with Apache's result: preconditions in transactions, the client's revision, and the options and
//! timeouts of locks.

use std::fmt::Write as _;
use std::thread;

use testkit::sample;

use super::raw_http::{HttpResponse, send_request};
use super::served::{AGENT, Served, status_and_code, twins};
use super::webdav_clients::{ALICE, LOCK, PROPPATCH};

/// bob, pw.
const BOB: (&str, &str) = ("Authorization", "Basic Ym9iOnB3");

const CONDITIONS: &[(&str, &str)] = &[
    ("If-Match", "\"1//f\""),
    ("If-Match", "\"x\""),
    ("If-Match", "*"),
    ("If-None-Match", "*"),
    ("If-None-Match", "\"x\""),
    ("If-None-Match", "\"1//f\""),
    ("If-Unmodified-Since", "Mon, 30 Nov 2020 03:52:27 GMT"),
    ("If-Unmodified-Since", "Mon, 30 Nov 2099 03:52:27 GMT"),
    ("If-Modified-Since", "Mon, 30 Nov 2099 03:52:27 GMT"),
];

/// A method, and what it is sent to: `TXR` and `TXN` are a new transaction's tree and name.
const REQUESTS: &[(&str, &str)] = &[
    ("PUT", "TXR/f"),
    ("PUT", "TXR/new"),
    ("DELETE", "TXR/f"),
    ("PROPPATCH", "TXR/f"),
    ("MKCOL", "TXR/new"),
    ("COPY", "/r/!svn/rvr/1/f"),
    ("COPY", "/r/f"),
    ("PROPPATCH", "TXN"),
    ("DELETE", "TXN"),
    ("PROPPATCH", "/r/!svn/rev/1"),
];

/// Returns what both servers answer, Apache first.
fn of_both(work: impl Fn(&Served) -> String + Sync) -> [String; 2] {
    let twins = twins();
    thread::scope(|scope| {
        let theirs = scope.spawn(|| work(&twins[0]));
        let ours = work(&twins[1]);
        [theirs.join().expect("because Apache is there"), ours]
    })
}

fn send(
    served: &Served,
    (method, path): (&str, &str),
    header: (&str, &str),
    body: Option<&str>,
) -> HttpResponse {
    let txn = match path.starts_with('T') {
        true => served.begin(),
        false if method == "COPY" => served.begin(),
        false => String::new(),
    };
    let tree = format!("/r/!svn/txr/{txn}");
    let path = path.replace("TXR", &tree);
    let path = path.replace("TXN", &format!("/r/!svn/txn/{txn}"));
    let to = format!("http://127.0.0.1:{}{tree}/copy", served.server.port());
    let mut headers = vec![ALICE, header];
    if method == "COPY" {
        headers.push(("Destination", &to));
    }
    let body = body.unwrap_or(if method == "PROPPATCH" { PROPPATCH } else { "" });
    served.send_request(method, &path, &headers, body)
}

/// True for a known difference: Apache applies `If-Match: *` to the destination too.
fn is_known((method, _): (&str, &str), condition: (&str, &str)) -> bool {
    method == "COPY" && condition == ("If-Match", "*")
}

#[test]
fn preconditions_hold_in_transactions() {
    let cases = REQUESTS
        .iter()
        .flat_map(|request| CONDITIONS.iter().map(move |condition| (*request, *condition)));
    let cases: Vec<_> = cases
        .filter(|(request, condition)| !is_known(*request, *condition))
        .collect();
    let [theirs, ours] = of_both(|served| {
        let mut out = String::new();
        for (request, condition) in &cases {
            let response = send(served, *request, *condition, None);
            _ = writeln!(out, "{request:?} {condition:?}: {}", response.status);
        }
        out
    });
    assert_eq!(theirs, ours);
    assert!(ours.matches(": 412").count() > 20, "{ours}");
}

#[test]
fn revisions_of_clients_are_numbers_as_apache_reads_them() {
    let [theirs, ours] = of_both(|served| {
        let mut out = String::new();
        let requests = [
            ("PUT", "TXR/f"),
            ("DELETE", "TXR/f"),
            ("PROPPATCH", "TXR/f"),
            ("LOCK", "/r/f"),
        ];
        for (request, version) in requests.into_iter().flat_map(|request| {
            let versions = [
                "99999999999999999999",
                "9223372036854775807",
                "9223372036854775808",
                "-99999999999999999999",
                "+0",
                "+1",
                "+-5",
                "+99",
                "0x1",
                "1",
                "x",
            ];
            versions.map(|version| (request, version))
        }) {
            let body = (request.0 == "LOCK").then_some(LOCK);
            let response = send(served, request, ("X-SVN-Version-Name", version), body);
            _ = writeln!(out, "{request:?} {version}: {}", status_and_code(&response));
            if request.0 == "LOCK" {
                let token = response.headers.get("lock-token").map(|tokens| tokens[0].clone());
                let headers = [ALICE, ("Lock-Token", token.as_deref().unwrap_or_default())];
                served.send_request("UNLOCK", request.1, &headers, "");
            }
        }
        out
    });
    assert_eq!(theirs, ours);
}

/// The options of Subversion's clients are ignored in requests of other programs; timeouts are those of the request.
#[test]
fn locks_have_the_timeouts_and_owners_as_with_apache() {
    let values = sample(
        2,
        [
            "Second-1000",
            "second-1000",
            "SECOND-1000",
            "Infinite, Second-1000",
            "infinite",
            "second-5, Second-6000",
            "x, Second-1000",
            "Second-2000000000",
            "x",
            "",
        ],
    );
    let values: Vec<_> = values.collect();
    let [theirs, ours] = of_both(|served| {
        let port = served.server.port();
        let mut out = String::new();
        for agent in [AGENT, ("User-Agent", "cadaver")] {
            for value in &values {
                let headers = [agent, ALICE, ("Timeout", *value)];
                let response = send_request(port, "LOCK", "/r/f", &headers, LOCK);
                let body = String::from_utf8_lossy(&response.body);
                let timeout = body.split("timeout>").nth(1).unwrap_or_default();
                _ = writeln!(
                    out,
                    "{agent:?} {value}: {} {}",
                    response.status,
                    rounded(timeout.trim_end_matches("</D:"))
                );
                let token = &response.headers["lock-token"][0];
                let headers = [agent, ALICE, ("Lock-Token", token)];
                send_request(port, "UNLOCK", "/r/f", &headers, "");
            }
            for owner in [ALICE, BOB] {
                send_request(port, "LOCK", "/r/a/g", &[AGENT, owner], LOCK);
                let headers = [agent, ALICE, ("X-SVN-Options", "lock-steal")];
                let response = send_request(port, "LOCK", "/r/a/g", &headers, LOCK);
                _ = writeln!(out, "{agent:?} steals {owner:?}: {}", response.status);
                let headers = [AGENT, BOB, ("X-SVN-Options", "lock-steal")];
                send_request(port, "LOCK", "/r/a/g", &headers, LOCK);
            }
        }
        out
    });
    assert_eq!(theirs, ours);
    assert!(ours.contains("423"), "{ours}");
}

/// Returns a timeout without its last digits: time passes.
fn rounded(timeout: &str) -> String {
    match timeout
        .strip_prefix("Second-")
        .and_then(|text| text.parse::<u64>().ok())
    {
        Some(seconds) => format!("about {}", (seconds + 50) / 100),
        None => timeout.to_owned(),
    }
}
