//! Paths that the stock client does not send, with every method and every kind of URL, compared with Apache: the same
//! status and error number, and the connection stays open in the same cases.

use std::fmt::Write as _;

use testkit::sample_from;

use super::raw_http::{HttpConnection, HttpResponse};
use super::served::{AGENT, SKEL, Served, code, twins, twins_with};
use super::webdav_clients::ALICE;

/// Encoded paths.
const PATHS: &[&str] = &[
    "%ff",
    "a/%ff",
    "f/%ff",
    "none/%ff",
    "%c0%af",
    "%ed%a0%80",
    "%f5%80%80%80",
    "%c3%a4%ff",
    "a%80",
    "%c3",
    "!svn%ff",
    "%ff/x",
    "a%01b",
    "a/%01",
    "none/a%01b",
    "a%0ab",
    "a%0db",
    "a%09b",
    "a%7fb",
    "a%1f",
    "%ff%01",
    "%1a",
    "%00",
    "a%2fb",
    "%ff%2f",
    "%zz",
    "%4",
    "%",
    "a/../f",
    "./f",
    "a//g",
    "a/",
    "f/",
    "%25ff",
    "a%5cb",
    "%c3%a4",
    "%c2%85",
    "%e2%80%a8",
    "%ef%bf%bf",
    "new%20x",
    "%20",
    "a;b",
    "a:b",
    "%3f",
    "%23",
];

const BODY: &str = "<D:propertyupdate xmlns:D='DAV:' xmlns:C='http://subversion.tigris.org/xmlns/custom/'><D:set><D:prop><C:p>v</C:p>\
                    </D:prop></D:set></D:propertyupdate>";
const CHECKOUT: &str = "<D:checkout xmlns:D='DAV:'><D:activity-set><D:href>/r/!svn/act/none</D:href></D:activity-set></D:checkout>";
const REPORT: &str = "<S:get-locks-report xmlns:S='svn:' depth='infinity'/>";

/// The methods; the last two have the path in `Destination` and in the body.
const METHODS: &[&str] = &[
    "GET",
    "PROPFIND",
    "OPTIONS",
    "MKCOL",
    "PUT",
    "PROPPATCH",
    "DELETE",
    "COPY",
    "MOVE",
    "CHECKOUT",
    "REPORT",
    "MKACTIVITY",
    "POST",
    "MERGE",
    "COPY to",
    "MERGE of",
];

/// Begins a transaction; returns the URL of its nodes.
fn begin(served: &Served, is_v1: bool, name: &str) -> String {
    match is_v1 {
        true => {
            let activity = format!("/r/!svn/act/{name}");
            assert_eq!(
                served.send_request("MKACTIVITY", &activity, &[ALICE], "").status,
                201
            );
            format!("/r/!svn/wrk/{name}")
        }
        false => format!("/r/!svn/txr/{}", served.begin()),
    }
}

/// Sends a request with `path` after `base`.
fn request(
    connection: &mut HttpConnection,
    method: &str,
    base: &str,
    path: &str,
    working: &str,
) -> HttpResponse {
    let url = format!("{base}{path}");
    let to = format!("http://127.0.0.1{url}");
    let elsewhere = format!("http://127.0.0.1{working}/to");
    let mut headers = vec![AGENT, ALICE, ("Overwrite", "F")];
    let merge = format!("<D:merge xmlns:D='DAV:'><D:source><D:href>{url}</D:href></D:source></D:merge>");
    let (method, url, body) = match method {
        "COPY to" => {
            headers.push(("Destination", &to));
            ("COPY", "/r/!svn/rvr/1/a", "")
        }
        "MERGE of" => ("MERGE", "/r", merge.as_str()),
        "COPY" | "MOVE" => {
            headers.push(("Destination", &elsewhere));
            (method, url.as_str(), "")
        }
        "PROPFIND" => {
            headers.push(("Depth", "0"));
            (method, url.as_str(), "")
        }
        "PUT" => (method, url.as_str(), "text"),
        "PROPPATCH" => (method, url.as_str(), BODY),
        "CHECKOUT" => (method, url.as_str(), CHECKOUT),
        "REPORT" => (method, url.as_str(), REPORT),
        "MERGE" => (
            method,
            url.as_str(),
            "<D:merge xmlns:D='DAV:'><D:source><D:href>/r/!svn/vcc/default</D:href></D:source></D:merge>",
        ),
        "POST" => {
            headers.push(SKEL);
            (method, url.as_str(), "( nothing )")
        }
        _ => (method, url.as_str(), ""),
    };
    connection.send_request(method, url, &headers, body)
}

/// True for known differences: Apache accepts some requests for missing versions without effect.
fn is_known(base: &str, method: &str) -> bool {
    base.contains("/ver/") && matches!(method, "GET" | "PROPFIND" | "REPORT")
}

/// Returns status, error number and state of the connection for all requests, one a line.
fn table(served: &Served, is_v1: bool, others: &[&str]) -> String {
    let mut connection = HttpConnection::new(served.server.port());
    let mut reported = String::new();
    for (nth, path) in PATHS.iter().enumerate() {
        let working = begin(served, is_v1, &format!("n{nth}"));
        let txn = format!("{working}/");
        let bases = others.iter().copied().chain([txn.as_str()]);
        let requests = bases.flat_map(|base| METHODS.iter().map(move |method| (base, *method)));
        // A sample has other requests for each path.
        for (base, method) in sample_from(nth, 5, requests) {
            if is_known(base, method) {
                continue;
            }
            let response = request(&mut connection, method, base, path, &working);
            let base = base.replace(&working, "WORKING");
            let number = code(&response);
            let end = match connection.is_open() {
                // The proxy before a cluster keeps connections open.
                _ if testkit::server::cluster::is_chosen() => "",
                true => "stays",
                false => "ends",
            };
            _ = writeln!(
                reported,
                "{path} {method} {base}: {} {number} {end}",
                response.status
            );
        }
    }
    reported
}

fn compare(twins: &[Served; 2], is_v1: bool, others: &[&str]) {
    let [theirs, ours] = twins.each_ref().map(|served| table(served, is_v1, others));
    let wrong: Vec<String> = theirs
        .lines()
        .zip(ours.lines())
        .filter(|(theirs, ours)| theirs != ours)
        .map(|(theirs, ours)| format!("theirs {theirs}\n  ours {ours}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let [theirs, ours] = twins.each_ref().map(|served| served.dump(1));
    crate::pair::compare(&theirs, &ours);
}

#[test]
fn odd_paths_of_the_newer_protocol() {
    compare(&twins(), false, &["/r/", "/r/!svn/rvr/1/"]);
}

#[test]
fn odd_paths_of_the_older_protocol() {
    compare(&twins(), true, &["/r/!svn/bc/1/", "/r/!svn/ver/1/"]);
}

#[test]
fn odd_paths_where_every_write_is_a_revision() {
    compare(
        &twins_with("SVNAutoversioning on\n", "autoversioning = true\n"),
        false,
        &["/r/"],
    );
}
