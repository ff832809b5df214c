//! Several writers of one transaction at the same time, each with its own nodes, some with common parents: all
//! acknowledged changes are in the revision. Apache gets the same requests one after the other, because its storage
//! may refuse or lose concurrent ones. Statuses and trees are equal.
//!
//! `WRITERS_SEEDS=100..2000 cargo test -p sven --test interop writers_of_one_transaction` runs these seeds and prints
//! the longest time of a request.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use testkit::history::{Random, lines};

use super::raw_http::HttpConnection;
use super::served::{AGENT, LONGEST, Served, code, compare_trees, twins, verify};
use super::webdav_clients::ALICE;

/// A request below the transaction's tree.
struct Write {
    method: &'static str,
    path: String,
    body: String,
    /// The destination of a COPY of `path` in revision 1.
    to: Option<String>,
}

#[test]
fn writers_of_one_transaction_lose_nothing() {
    let twins = twins();
    let mut seen = twins[0].youngest();
    let mut slowest = Duration::ZERO;
    let count = if testkit::runs_all_cases() { 25 } else { 8 };
    let seeds = testkit::seeds("WRITERS_SEEDS", 0..count);
    for seed in seeds {
        let [theirs, ours] = &twins;
        let lists = lists(seed);
        let received = in_turn(theirs, &lists);
        let (output_text, took) = together(ours, &lists);
        slowest = slowest.max(took);
        assert_eq!(received, output_text, "WRITERS_SEEDS={seed}");
        seen = compare_trees(&twins, seen, &format!("WRITERS_SEEDS={seed}"));
    }
    assert!(slowest < LONGEST, "{slowest:?}");
    if std::env::var_os("WRITERS_SEEDS").is_some() {
        eprintln!("slowest request: {slowest:?}");
    }
    verify(&twins);
}

/// Returns the requests of each writer.
fn lists(seed: u64) -> Vec<Vec<Write>> {
    let mut random = Random::new(seed);
    random.next();
    let writers = 2 + random.below(2);
    (0..writers)
        .map(|writer| {
            let mut made: Vec<String> = Vec::new();
            let own = ["f", "a/g", "a/b/h"][writer];
            (0..3 + random.below(8))
                .map(|nth| write(&mut random, seed, writer, nth, own, &mut made))
                .collect()
        })
        .collect()
}

fn write(
    random: &mut Random,
    seed: u64,
    writer: usize,
    nth: usize,
    own: &str,
    made: &mut Vec<String>,
) -> Write {
    let dirs: Vec<&String> = made.iter().filter(|path| path.ends_with('d')).collect();
    let parent = match (random.below(4), dirs.is_empty()) {
        (0, false) => format!("{}/", dirs[random.below(dirs.len())]),
        (1, _) => "a/".to_owned(),
        (2, _) => "a/b/".to_owned(),
        _ => String::new(),
    };
    let old = match made.is_empty() || random.below(3) == 0 {
        true => own.to_owned(),
        false => made[random.below(made.len())].clone(),
    };
    let new = format!("{parent}s{seed}-{writer}-{nth}");
    let write = |method, path: String, body: String, to| Write {
        method,
        path,
        body,
        to,
    };
    match random.below(10) {
        0..=2 => {
            made.push(new.clone());
            // Some texts are longer than a packet or a window of a delta.
            let long = lines(seed, [1, 3, 40, 4_000][random.below(4)]);
            write("PUT", new, long, None)
        }
        3 => write("PUT", old, format!("of seed {seed}, {writer}\n"), None),
        4 | 5 => {
            let new = format!("{new}d");
            made.push(new.clone());
            write("MKCOL", new, String::new(), None)
        }
        6 | 7 => {
            let body = format!(
                "<D:propertyupdate xmlns:D='DAV:' xmlns:C='http://subversion.tigris.org/xmlns/custom/'><D:set><D:prop>\
                 <C:color>{seed} {nth}</C:color></D:prop></D:set></D:propertyupdate>"
            );
            write("PROPPATCH", old, body, None)
        }
        8 => {
            let source = ["f", "a", "a/b", "a/g"][random.below(4)];
            let new = format!(
                "{new}{}",
                if source.starts_with('a') && source != "a/g" {
                    "d"
                } else {
                    ""
                }
            );
            made.push(new.clone());
            write("COPY", source.to_owned(), String::new(), Some(new))
        }
        _ => {
            made.retain(|path| *path != old && !path.starts_with(&format!("{old}/")));
            write("DELETE", old, String::new(), None)
        }
    }
}

/// Sends a request; returns its status and error.
fn send(served: &Served, connection: &mut HttpConnection, txn: &str, write: &Write) -> String {
    let port = served.server.port();
    let mut headers = vec![AGENT, ALICE];
    let to = write
        .to
        .as_ref()
        .map(|to| format!("http://127.0.0.1:{port}/r/!svn/txr/{txn}/{to}"));
    if let Some(to) = &to {
        headers.push(("Destination", to));
    }
    let path = match write.to {
        Some(_) => format!("/r/!svn/rvr/1/{}", write.path),
        None => format!("/r/!svn/txr/{txn}/{}", write.path),
    };
    let response = connection.send_request(write.method, &path, &headers, &write.body);
    // With both servers a PUT that is refused while another text is written has created its file.
    if write.method == "PUT" && response.status == 204 {
        return format!("PUT {}: 201 ", write.path);
    }
    format!(
        "{} {}: {} {}",
        write.method,
        write.path,
        response.status,
        code(&response)
    )
}

/// Sends all lists over one connection.
fn in_turn(served: &Served, lists: &[Vec<Write>]) -> Vec<Vec<String>> {
    let txn = served.begin();
    let mut connection = HttpConnection::new(served.server.port());
    let mut one = |list: &Vec<Write>| {
        list.iter()
            .map(|write| send(served, &mut connection, &txn, write))
            .collect()
    };
    let output_text = lists.iter().map(&mut one).collect();
    assert_eq!(served.merge(&txn).status, 200);
    output_text
}

/// Sends each list over its own connection, all at the same time. Also returns the time of the slowest request.
fn together(served: &Served, lists: &[Vec<Write>]) -> (Vec<Vec<String>>, Duration) {
    let txn = served.begin();
    let start = Barrier::new(lists.len());
    let one = |list: &Vec<Write>| {
        let mut connection = HttpConnection::new(served.server.port());
        start.wait();
        let mut slowest = Duration::ZERO;
        let mut output_text = Vec::new();
        for write in list {
            let first = Instant::now();
            loop {
                let begun = Instant::now();
                let received = send(served, &mut connection, &txn, write);
                slowest = slowest.max(begun.elapsed());
                // Both servers write one text at a time. The other requests are refused, and sent again.
                if received.ends_with(" 500 160044") && first.elapsed() < LONGEST {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
                output_text.push(received);
                break;
            }
        }
        (output_text, slowest)
    };
    let all: Vec<(Vec<String>, Duration)> = thread::scope(|scope| {
        let threads: Vec<_> = lists.iter().map(|list| scope.spawn(|| one(list))).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|output_text| output_text.expect("because it only asks"))
            .collect()
    });
    assert_eq!(served.merge(&txn).status, 200);
    let slowest = all.iter().map(|(_, took)| *took).max().unwrap_or_default();
    (
        all.into_iter().map(|(output_text, _)| output_text).collect(),
        slowest,
    )
}
