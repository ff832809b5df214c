//! Random `COPY` and `MOVE` requests, with and without autoversioning: between public URLs, from earlier revisions, to transactions
//! and to URLs that are no nodes. Apache and Sven give the same responses, and make the same copies.
//!
//! Each request has a tree of its own. The default run is a small part; `COPY_SEEDS=100..200` runs others.

use testkit::history::Random;
use testkit::{Side, Tool, each_seed};

use super::served::{Served, code, compare_trees, status_and_code, twins, twins_with, verify};
use super::webdav_clients::ALICE;

/// The requests of a seed.
const REQUESTS: usize = 60;

/// `TREE` is the directory of the request, `TXN` the URL of a new transaction's tree.
const SOURCES: &[&str] = &[
    "TREE/f",
    "TREE/a",
    "TREE/a/",
    "TREE/a/b",
    "TREE/a/b/",
    "TREE/a/b/h",
    "",
    "/",
    "TREE/none",
    "TREE/f/x",
    "TREE/f?p=2",
    "!svn/rvr/2/TREE/a",
    "!svn/rvr/2/TREE/a/",
    "!svn/bc/2/TREE/f",
    "!svn/bc/2/TREE/a/g",
    "!svn/bc/1/TREE/f",
    "!svn/bc/1/a",
    "!svn/bc/999/a",
    "!svn/ver/2/TREE/f",
    "!svn/me",
    "TXN/TREE/f",
    "TXN/none",
];

const TARGETS: &[&str] = &[
    "TREE/f",
    "TREE/a",
    "TREE/a/",
    "TREE/a/b/",
    "TREE/a/new",
    "TREE/a/b/new/",
    "TREE/a/b/h",
    "TREE/new",
    "TREE/new/",
    "TREE",
    "",
    "/",
    "TREE/none/x",
    "TREE/f/x",
    "!svn/rvr/1/f",
    "!svn/bc/1/new",
    "!svn/ver/1/f",
    "!svn/me",
    "!svn/vcc/default",
    "!svn/bln/1",
    "TXN/TREE/new",
    "TXN/TREE/a",
    "TXN/TREE/none/new",
];

#[derive(Debug)]
struct CopyRequest {
    method: &'static str,
    source: &'static str,
    target: &'static str,
    overwrite: &'static str,
    depth: Option<&'static str>,
}

impl CopyRequest {
    fn random(random: &mut Random) -> CopyRequest {
        let mut pick = |choices: &[&'static str]| choices[random.below(choices.len())];
        CopyRequest {
            method: pick(&["COPY", "COPY", "MOVE"]),
            source: pick(SOURCES),
            target: pick(TARGETS),
            overwrite: pick(&["F", "F", "T"]),
            depth: Some(pick(&["", "", "", "0", "infinity", "1", "x"])).filter(|depth| !depth.is_empty()),
        }
    }

    /// Returns the response, and the revision that a copy made.
    fn send(&self, served: &Served, nth: usize) -> String {
        let youngest = served.youngest();
        let txn = format!("!svn/txr/{}", served.begin());
        let tree = format!("t{nth}");
        let base = format!("http://127.0.0.1:{}", served.server.port());
        let url = |path: &str| match path {
            "" => "/r".to_owned(),
            "/" => "/r/".to_owned(),
            _ => format!("/r/{}", path.replace("TREE", &tree).replace("TXN", &txn)),
        };
        let target = format!("{base}{}", url(self.target));
        let mut headers = vec![ALICE, ("Destination", &*target), ("Overwrite", self.overwrite)];
        headers.extend(self.depth.map(|depth| ("Depth", depth)));
        let response = served.send_request(self.method, &url(self.source), &headers, "");
        let location = response.headers.get("location").map_or("", |values| &values[0]);
        let location = location.replace(&base, "").replace(&txn, "TXN");
        // A move is two revisions with Apache.
        let made = match self.method == "COPY" && served.youngest() > youngest {
            true => [&["log"][..], &["changed", "--copy-info"]].map(|args| {
                let storage = served.server.storage();
                let look = storage.tool(Side::Theirs, "svnlook", args, &served.repository);
                look.ok().out()
            }),
            false => Default::default(),
        };
        // Where Apache makes other revisions, as below, the youngest one has another number.
        let mut made = made.concat();
        if !self.source.contains("!svn") && !self.source.contains('?') {
            made = made.replace(&format!(":r{youngest})"), ":YOUNGEST)");
        }
        format!("{} {} {location}\n{made}", response.status, code(&response))
    }

    /// True for known differences, by Apache's response.
    fn is_known(&self, autoversioning: bool, theirs: &str) -> bool {
        // To it, a file and an earlier revision of it are the same.
        if self.source == "TREE/f?p=2" && self.target == "TREE/f" {
            return true;
        }
        let is_of_revision = |url: &str| url.starts_with("!svn/rvr") || url.starts_with("!svn/bc");
        // Apache deletes the target in a revision of its own, and then fails.
        let is_of_autoversioning = theirs.starts_with("409 160024")
            || self.overwrite == "T" && theirs.starts_with("500 160016")
            // It applies both to the youngest revision.
            || is_of_revision(self.target)
            || self.method == "MOVE" && is_of_revision(self.source);
        autoversioning && is_of_autoversioning
    }
}

/// Makes a tree for each request, in one revision.
fn make_trees(served: &Served) {
    let url = format!("http://127.0.0.1:{}/r", served.server.port());
    let user = ["--username", "alice", "--password", "secret", "--no-auth-cache"];
    let mut made = Tool::new("svnmucc").args(user).args(["-m", "trees", "-U", &url]);
    for nth in 0..REQUESTS {
        made = made.args(["cp", "1", &url]).arg(format!("t{nth}"));
    }
    made.ok();
}

fn compare(seed: u64, autoversioning: bool) {
    let (theirs, ours) = match autoversioning {
        true => ("SVNAutoversioning on\n", "autoversioning = true\n"),
        false => ("", ""),
    };
    let twins = twins_with(theirs, ours);
    twins.iter().for_each(make_trees);
    let mut random = Random::new(seed);
    let mut wrong = Vec::new();
    for nth in 0..REQUESTS {
        let request = CopyRequest::random(&mut random);
        let [theirs, ours] = twins.each_ref().map(|served| request.send(served, nth));
        if theirs != ours && !request.is_known(autoversioning, &theirs) {
            wrong.push(format!("{nth} {request:?}\ntheirs {theirs}\nours   {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn random_copies_and_moves_where_every_write_is_a_revision() {
    each_seed("COPY_SEEDS", 1..3, |seed| compare(seed, true));
}

#[test]
fn random_copies_and_moves_without_autoversioning() {
    each_seed("COPY_SEEDS", 1..2, |seed| compare(seed, false));
}

/// What a transaction does to a node before it copies over it, as methods and paths; `COPY` is of `/r/!svn/rvr/1/f`.
const BEFORE: &[&[(&str, &str)]] = &[
    &[],
    &[("PUT", "/a/g")],
    &[("COPY", "/a/g")],
    &[("DELETE", "/a/g"), ("PUT", "/a/g")],
    &[("DELETE", "/a/g"), ("COPY", "/a/g")],
    &[("COPY", "/new")],
    &[("MKCOL", "/n1")],
    &[("PUT", "/n2")],
    &[("MKCOL", "/n3"), ("PUT", "/n3/x")],
    &[("PUT", "/a/b/h")],
];

#[test]
fn copies_replace_what_the_transaction_has_changed() {
    let twins = twins();
    let [theirs, ours] = twins.each_ref().map(|served| {
        let mut out = Vec::new();
        for before in BEFORE {
            let target = before.first().map_or("/a/g", |(_, path)| *path);
            let copied = ["a", "a/g", "f"].map(|source| ("COPY", source, target));
            let txn = served.begin();
            let tree = format!("/r/!svn/txr/{txn}");
            let base = format!("http://127.0.0.1:{}{tree}", served.server.port());
            let mut send = |method: &str, source: &str, path: &str| {
                let to = format!("{base}{path}");
                let headers = [ALICE, ("Destination", to.as_str()), ("Overwrite", "T")];
                let response = match method {
                    "COPY" => served.send_request(method, &format!("/r/!svn/rvr/1/{source}"), &headers, ""),
                    "PUT" => served.send_request(method, &format!("{tree}{path}"), &[ALICE], "text\n"),
                    _ => served.send_request(method, &format!("{tree}{path}"), &[ALICE], ""),
                };
                out.push(format!("{method} {path}: {}", status_and_code(&response)));
            };
            for (method, path) in *before {
                send(method, "f", path);
            }
            for (method, source, path) in copied {
                send(method, source, path);
            }
            out.push(format!("MERGE: {}", status_and_code(&served.merge(&txn))));
        }
        out
    });
    assert_eq!(theirs, ours);
    assert!(ours.iter().all(|line| line.contains(": 20")), "{ours:?}");
    compare_trees(&twins, 1, "copies");
    verify(&twins);
}
