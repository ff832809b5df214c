//! Clocks that jump, or were ahead when something was committed.

use std::fs;

use testkit::fake_clock::FakeClock;
use testkit::server::http::READ_FREELY;
use testkit::server::{TestServer, free_port};
use testkit::{Repo, Side, Tool, scratch};

use super::raw_http::send_request;
use super::webdav_clients::{ALICE, LOCK, WebDavServer};

/// A clock that is set back does not stop the date of responses, whether they are made anew or come from the cache.
#[test]
fn dates_of_responses_go_back_with_the_clock() {
    let (root, clock, port) = (scratch(), FakeClock::new(), free_port());
    Repo::create("1.14").copy_to(&root.path().join("repo"));
    let config = root.path().join("sven.toml");
    let text = format!(
        "[listen]\nhttp = '127.0.0.1:{port}'\n[[location]]\npath = '/'\nparent = '{}'\nrequire = 'anyone'\n",
        root.path().display()
    );
    fs::write(&config, text).expect("because the folder is ours");
    let server = TestServer::sven_serve_with(&config, port, &clock.variables());
    let years = |methods: &[&str]| -> Vec<String> {
        let year = |method: &&str| {
            let response = send_request(server.port(), method, "/repo/", &[("Depth", "0")], "");
            let date = response.headers["date"][0].clone();
            date.split(' ').nth(3).unwrap_or_default().to_owned()
        };
        methods.iter().map(year).collect()
    };
    let methods = ["GET", "GET", "GET", "PROPFIND", "OPTIONS", "NOSUCH"];
    let now = years(&methods);
    assert!(now.iter().all(|year| *year == now[0]), "{now:?}");
    clock.set("+3000d");
    let later = years(&methods);
    assert!(later.iter().all(|year| *year > now[0]), "{later:?}");
    clock.set("+0");
    assert_eq!(years(&methods), now);
}

/// What was committed by a clock that was ahead was modified now.
#[test]
fn nothing_was_modified_in_the_future() {
    let root = scratch();
    let repo = root.path().join("repo");
    Repo::create("1.14").copy_to(&repo);
    let url = format!("file://{}", repo.display());
    let date = root.path().join("date");
    fs::write(&date, "2999-01-02T03:04:05.678901Z").expect("because the folder is ours");
    Tool::new("svnmucc")
        .args(["-m", "m", "-U", &url, "put"])
        .arg(&date)
        .arg("f")
        .ok();
    let set = Tool::new("svnadmin").args(["setrevprop", "-r", "1"]);
    set.arg(&repo).arg("svn:date").arg(&date).ok();
    for side in Side::BOTH {
        let server = TestServer::http(side, root.path(), READ_FREELY, &[]);
        // A second may begin between the two times of a response.
        let same = (0..5).any(|_| {
            let response = send_request(server.port(), "GET", "/repo/f", &[], "");
            let line = |name: &str| response.headers[name][0].clone();
            let since = ("If-Modified-Since", &*line("date"));
            let again = send_request(server.port(), "GET", "/repo/f", &[since], "");
            line("last-modified") == line("date") && again.status == 304
        });
        assert!(same, "{side:?}");
    }
}

/// Timeouts that a client requests, and those of the responses.
const TIMEOUTS: [(&str, &str); 10] = [
    ("Second-100", "Second-100"),
    ("Second-1", "Second-1"),
    ("Second-0", "Second-0"),
    ("Second-12x", "Second-12"),
    ("Second-x", "Second-0"),
    ("Second-", "Second-0"),
    ("Second-2, Infinite", "Second-2"),
    ("x, Second-60", "Second-60"),
    ("Infinite, Second-4100000000", "Infinite"),
    ("x", "Infinite"),
];

/// The timeouts of responses to LOCK are Apache's, also for what is no number.
#[test]
fn locks_have_the_timeouts_that_were_requested() {
    for side in Side::BOTH {
        let place = WebDavServer::new(side);
        let send = |method: &str, name: &str, headers: &[(&str, &str)], body: &str| {
            let headers = [&[ALICE][..], headers].concat();
            send_request(
                place.server.port(),
                method,
                &format!("/repo/{name}"),
                &headers,
                body,
            )
        };
        for (number, (timeout, expected)) in TIMEOUTS.into_iter().enumerate() {
            let name = format!("f{number}");
            send("PUT", &name, &[], "text");
            // A second may begin between the request and the response.
            let mut shown = Vec::new();
            while shown.last().is_none_or(|last| last != expected) {
                let locked = send("LOCK", &name, &[("Timeout", timeout)], LOCK);
                let body = String::from_utf8_lossy(&locked.body).into_owned();
                let found = body.split("timeout>").nth(1).unwrap_or_default();
                shown.push(found.trim_end_matches("</D:").to_owned());
                assert!(shown.len() < 20, "{side:?} {timeout}: {shown:?}\n{body}");
                if let Some(token) = locked.headers.get("lock-token") {
                    send("UNLOCK", &name, &[("Lock-Token", &token[0])], "");
                }
            }
        }
    }
}
