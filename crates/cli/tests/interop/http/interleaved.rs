//! Requests for one transaction in any order, compared with Apache: complete, partial, aborted and interleaved ones,
//! as the stock client and as a hostile one send them. Statuses and trees are equal, and no request waits for the
//! body of another one.
//!
//! The default run is a small part; `TXN_SEEDS=100..10000 cargo test -p sven --test interop
//! transactions_in_every_order` runs more.
//!
//! What every run does is a small part; `TXN_SEEDS=100..10000 cargo test -p sven --test interop transactions_in_every_order` does more.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use testkit::history::Random;
use testkit::probe::read_some;
use testkit::{Side, Tool, scratch};

use super::served::{AGENT, LONGEST, Served, code, compare_trees, status_and_code, twins, verify};
use super::webdav_clients::ALICE;

/// bob, pw.
const BOB: (&str, &str) = ("Authorization", "Basic Ym9iOnB3");
const PROPPATCH: &str = "<D:propertyupdate xmlns:D='DAV:' xmlns:C='http://subversion.tigris.org/xmlns/custom/'><D:set><D:prop>\
                         <C:color>red</C:color></D:prop></D:set></D:propertyupdate>";

/// A `PUT` of which a part of the body has been sent.
struct PartialPut {
    stream: TcpStream,
    rest: usize,
}

impl PartialPut {
    /// Begins a `PUT`. Returns when the server writes the text, or with the status if the server refuses the request
    /// before it has read any of it.
    fn begin(served: &Served, path: &str, text: &str, rest: usize) -> Result<PartialPut, u16> {
        let mut stream = TcpStream::connect(served.server.addr()).expect("because it listens");
        stream
            .set_read_timeout(Some(LONGEST))
            .expect("because the time is not zero");
        let (name, value) = ALICE;
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: {}\r\n{name}: {value}\r\nContent-Type: text/plain\r\n\
             Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            AGENT.1,
            text.len() + rest
        );
        stream
            .write_all(request.as_bytes())
            .expect("because the server reads");
        // `Expect: 100-continue` makes the server report that it begins to read the body.
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match read_some(&mut stream, &mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => break,
            }
        }
        match status(&head) {
            100 => {
                stream
                    .write_all(text.as_bytes())
                    .expect("because the server reads");
                Ok(PartialPut { stream, rest })
            }
            refused => Err(refused),
        }
    }

    /// Sends the rest of the body; returns the status.
    fn end(mut self) -> u16 {
        // A server that has refused the request may have closed the connection.
        _ = self.stream.write_all("z".repeat(self.rest).as_bytes());
        let mut response = Vec::new();
        _ = self.stream.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response);
        status(response.as_bytes())
    }
}

/// Returns the status of a response.
fn status(response: &[u8]) -> u16 {
    let response = String::from_utf8_lossy(response);
    let word = response.split(' ').nth(1);
    word.and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// Waits until the server has noticed that a text was aborted.
fn wait_until_free(served: &Served, txn: &str) {
    let begun = Instant::now();
    loop {
        let probe = served.send_request("PUT", &format!("/r/!svn/txr/{txn}/probe"), &[ALICE], "probe");
        if code(&probe) != "160044" {
            // Subversion writes the node after it has released the file, which breaks concurrent requests (E160004).
            return sleep(Duration::from_millis(30));
        }
        assert!(
            begun.elapsed() < LONGEST,
            "a text that was broken off is still being written"
        );
        sleep(Duration::from_millis(10));
    }
}

/// A method, a path, a body and an additional header line.
type TestRequest = (&'static str, String, &'static str, Option<(&'static str, String)>);

/// Returns the requests that are sent while a text is being sent to `/f`.
fn others(txn: &str) -> Vec<TestRequest> {
    let to = |path: &str| Some(("Destination", format!("http://127.0.0.1/r/!svn/txr/{txn}/{path}")));
    let at = |path: &str| format!("/r/!svn/txr/{txn}/{path}");
    vec![
        ("GET", at("f"), "", None),
        ("PROPFIND", at("f"), "", Some(("Depth", "0".to_owned()))),
        ("MKCOL", at("n"), "", None),
        ("MKCOL", at("f"), "", None),
        ("PUT", at("o"), "other", None),
        ("PUT", at("f"), "same", None),
        ("PROPPATCH", at("a/g"), PROPPATCH, None),
        ("PROPPATCH", format!("/r/!svn/txn/{txn}"), PROPPATCH, None),
        ("COPY", "/r/!svn/rvr/1/a".to_owned(), "", to("c")),
        ("DELETE", at("a"), "", None),
        ("DELETE", format!("/r/!svn/txn/{txn}"), "", None),
        ("MERGE", String::new(), "", None),
    ]
}

#[test]
fn no_request_waits_for_the_body_of_another_one() {
    let twins = twins();
    let status_and_code = |served: &Served| {
        let mut status_and_code = String::new();
        for nth in 0..others("").len() {
            let txn = served.begin();
            let (method, path, body, header) = others(&txn).swap_remove(nth);
            let half = PartialPut::begin(served, &format!("/r/!svn/txr/{txn}/f"), "some of it\n", 100)
                .expect("because nothing else is written");
            let mut headers = vec![ALICE];
            headers.extend(header.as_ref().map(|(name, value)| (*name, value.as_str())));
            let response = match method {
                "MERGE" => served.merge(&txn),
                _ => served.send_request(method, &path, &headers, body),
            };
            let rest = half.end();
            let merged = served.merge(&txn).status;
            let path = path.replace(&txn, "T");
            _ = writeln!(
                status_and_code,
                "{method} {path}: {} {}, then PUT {rest} MERGE {merged}",
                response.status,
                code(&response)
            );
        }
        status_and_code + &served.dump(2)
    };
    let [theirs, ours] = thread::scope(|scope| {
        let theirs = scope.spawn(|| status_and_code(&twins[0]));
        let ours = status_and_code(&twins[1]);
        [theirs.join().expect("because Apache is there"), ours]
    });
    crate::pair::compare(&theirs, &ours);
}

#[test]
fn requests_for_another_users_transaction_are_refused_at_once() {
    let twins = twins();
    let [theirs, ours] = twins.each_ref().map(|served| {
        let txn = served.begin();
        let half = PartialPut::begin(served, &format!("/r/!svn/txr/{txn}/f"), "some of it\n", 100)
            .expect("because nothing else is written");
        let path = |name: &str| format!("/r/!svn/txr/{txn}/{name}");
        let mut status_and_code = String::new();
        for (method, path, body) in [
            ("GET", path("f"), ""),
            ("PROPFIND", path("f"), ""),
            ("MKCOL", path("n"), ""),
            ("PUT", path("o"), "text"),
            ("PROPPATCH", path("f"), PROPPATCH),
            ("DELETE", path("f"), ""),
        ] {
            let response = served.send_request(method, &path, &[BOB, ("Depth", "0")], body);
            _ = writeln!(status_and_code, "{method} {}", response.status);
        }
        let rest = half.end();
        _ = writeln!(status_and_code, "{rest} {}", served.merge(&txn).status);
        status_and_code
    });
    assert_eq!(theirs, ours);
    assert_eq!(ours.matches("501").count(), 6, "{ours}");
}

#[test]
fn a_client_that_cannot_read_its_file_aborts_the_commit() {
    let twins = twins();
    let status_and_code = |served: &Served| {
        let dir = scratch();
        let url = format!("http://127.0.0.1:{}/r", served.server.port());
        let svn = |args: &[&str]| {
            let tool = Tool::new("svn").args(args).dir(dir.path());
            tool.args(["--username", "alice", "--password", "secret"])
                .args(["--non-interactive", "--no-auth-cache"])
                .run()
        };
        svn(&["checkout", "-q", &url, "wc"]).expect_ok();
        svn(&["propset", "-q", "svn:eol-style", "native", "wc/f"]).expect_ok();
        svn(&["commit", "-q", "-m", "native", "wc"]).expect_ok();
        let lines = "a line\n".repeat(100_000);
        fs::write(dir.path().join("wc/f"), format!("{lines}mixed\r\n{lines}")).expect("because it is ours");
        // The client waits until the server closes the idle connection, which both do after five seconds.
        let refused = svn(&["commit", "-m", "mixed", "wc"]);
        let storage = served.server.storage();
        let transactions = storage.open_transactions(Side::Theirs, &served.repository);
        let text = refused.err().replace(&dir.path().display().to_string(), "DIR");
        format!("{}{text}{transactions}", refused.out())
    };
    let begun = Instant::now();
    let [theirs, ours] = thread::scope(|scope| {
        let theirs = scope.spawn(|| status_and_code(&twins[0]));
        let ours = status_and_code(&twins[1]);
        [theirs.join().expect("because Apache is there"), ours]
    });
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    crate::pair::compare(&theirs, &ours);
}

/// Runs a random sequence of requests for one transaction.
fn sequence(served: &Served, seed: u64) -> String {
    let mut random = Random::new(seed);
    random.next();
    let mut output_text = format!("seed {seed}\n");
    let txn = served.begin();
    let mut half: Option<(PartialPut, String)> = None;
    let paths = [
        "f", "a", "a/g", "a/b", "a/b/h", "new", "a/new", "a/new/x", "none/x",
    ];
    for _ in 0..4 + random.below(9) {
        let path = paths[random.below(paths.len())];
        let other = paths[random.below(paths.len())];
        let (kind, number) = (random.below(12), random.below(4));
        let url = format!("/r/!svn/txr/{txn}/{path}");
        let is_half = half.is_some();
        // In Subversion the end of a text determines the file's state: properties that were set meanwhile are lost,
        // and if the file was deleted or replaced a part of the text may stay (docs/KNOWN-DIFFERENCES.md).
        let touched = if kind == 8 { other } else { path };
        let kind = match &half {
            Some((_, to)) if [6, 7, 8].contains(&kind) && holds(touched, to) => 10,
            _ => kind,
        };
        let mut send = |what: &str, outcome: String| _ = writeln!(output_text, "  {what} {path}: {outcome}");
        match kind {
            0 | 1 if !is_half => {
                let begun = PartialPut::begin(served, &url, "part\n", 1 + number * 500);
                match begun {
                    Ok(begun) => {
                        send("PUT begins", String::new());
                        half = Some((begun, path.to_owned()));
                    }
                    Err(status) => send("PUT refused", status.to_string()),
                }
            }
            0 | 1 => {
                if let Some((begun, to)) = half.take() {
                    match number {
                        0 => {
                            drop(begun);
                            send("PUT breaks off", String::new());
                            wait_until_free(served, &txn);
                            // Subversion sometimes stores the received part, so the client sends the text again.
                            let url = format!("/r/!svn/txr/{txn}/{to}");
                            send(
                                "PUT again",
                                status_and_code(&served.send_request("PUT", &url, &[ALICE], "again\n")),
                            );
                        }
                        _ => {
                            let status = begun.end();
                            send(&format!("PUT of {to} ends"), status.to_string());
                        }
                    }
                }
            }
            2 | 3 => {
                let text = format!("text {number}\n");
                send(
                    "PUT",
                    status_and_code(&served.send_request("PUT", &url, &[ALICE], &text)),
                );
            }
            4 => {
                let base = ["0", "1", "-1", "99"][number];
                let headers = [ALICE, ("X-SVN-Version-Name", base)];
                send(
                    &format!("PUT based on {base}"),
                    status_and_code(&served.send_request("PUT", &url, &headers, "based\n")),
                );
            }
            5 => send(
                "MKCOL",
                status_and_code(&served.send_request("MKCOL", &url, &[ALICE], "")),
            ),
            6 => send(
                "PROPPATCH",
                status_and_code(&served.send_request("PROPPATCH", &url, &[ALICE], PROPPATCH)),
            ),
            7 => {
                send(
                    "DELETE",
                    status_and_code(&served.send_request("DELETE", &url, &[ALICE], "")),
                );
            }
            8 => {
                let to = format!(
                    "http://127.0.0.1:{}/r/!svn/txr/{txn}/{other}",
                    served.server.port()
                );
                let overwrite = if number < 3 { "T" } else { "F" };
                let headers = [ALICE, ("Destination", &to), ("Overwrite", overwrite)];
                let from = format!("/r/!svn/rvr/1/{path}");
                send(
                    &format!("COPY {overwrite} to {other} of"),
                    status_and_code(&served.send_request("COPY", &from, &headers, "")),
                );
            }
            9 => send("GET", {
                let response = served.send_request("GET", &url, &[ALICE], "");
                let text = String::from_utf8_lossy(&response.body).into_owned();
                match response.status {
                    200 if !text.starts_with("<html>") => format!("200 {text:?}"),
                    status => status.to_string(),
                }
            }),
            10 => send("PROPFIND", {
                let headers = [ALICE, ("Depth", "0")];
                served
                    .send_request("PROPFIND", &url, &headers, "")
                    .status
                    .to_string()
            }),
            _ => {
                let txn_url = format!("/r/!svn/txn/{txn}");
                send(
                    "PROPPATCH of the transaction",
                    status_and_code(&served.send_request("PROPPATCH", &txn_url, &[ALICE], PROPPATCH)),
                );
            }
        }
    }
    if random.below(5) > 0 {
        let merged = status_and_code(&served.merge(&txn));
        _ = writeln!(output_text, "  MERGE: {merged}");
        if merged.starts_with("200") {
            // The commit gives the next sequences the same start in both repositories.
            return output_text;
        }
    }
    let removed = served.send_request("DELETE", &format!("/r/!svn/txn/{txn}"), &[ALICE], "");
    _ = writeln!(output_text, "  DELETE: {}", removed.status);
    if let Some((begun, _)) = half {
        _ = writeln!(output_text, "  PUT ends: {}", begun.end() >= 400);
    }
    output_text
}

/// True if a path equals `below` or is an ancestor of it.
fn holds(path: &str, below: &str) -> bool {
    below
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn run(seeds: Range<u64>) {
    let twins = twins();
    let mut seen = twins[0].youngest();
    for from in seeds.clone().step_by(20) {
        let part = from..(from + 20).min(seeds.end);
        let status_and_code = |served: &Served| {
            part.clone()
                .map(|seed| sequence(served, seed))
                .collect::<String>()
        };
        let [theirs, ours] = thread::scope(|scope| {
            let theirs = scope.spawn(|| status_and_code(&twins[0]));
            let ours = status_and_code(&twins[1]);
            [theirs.join().expect("because Apache is there"), ours]
        });
        if theirs != ours {
            let seed = theirs.lines().zip(ours.lines()).take_while(|(a, b)| a == b);
            let seed = seed.filter(|(line, _)| line.starts_with("seed")).last();
            panic!(
                "{:?}\n--- theirs\n{}\n--- ours\n{}",
                seed.map(|(line, _)| line),
                lines_up_to_the_difference(&theirs, &ours),
                lines_up_to_the_difference(&ours, &theirs)
            );
        }
        seen = compare_trees(&twins, seen, &format!("{part:?}:\n{ours}"));
    }
    verify(&twins);
}

/// Returns the lines of `text` from the beginning of the sequence up to the first difference from `other`.
fn lines_up_to_the_difference(text: &str, other: &str) -> String {
    let same = text
        .lines()
        .zip(other.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let lines: Vec<&str> = text.lines().take(same + 3).collect();
    let from = lines[..same.min(lines.len())]
        .iter()
        .rposition(|line| line.starts_with("seed"))
        .unwrap_or(0);
    lines[from..].join("\n")
}

#[test]
fn transactions_in_every_order() {
    run(testkit::seeds("TXN_SEEDS", 0..40));
}
