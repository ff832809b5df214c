//! `COPY` and `MOVE` where each write is a revision: between public URLs, from earlier revisions, and to transactions.

use std::fmt::Write as _;

use testkit::Tool;

use super::served::{Served, code, twins_with};
use super::webdav_clients::ALICE;

/// The source and the destination below the repository, and `Overwrite`; `TXN` is the URL of a new transaction's tree.
const COPIES: &[(&str, &str, &str)] = &[
    ("f", "f2", "F"),
    ("f", "f2", "F"),
    ("f", "f", "F"),
    ("f", "f", "T"),
    ("a", "b/", "F"),
    ("a", "a/inside", "T"),
    ("b", "b/g/none", "T"),
    ("", "root", "F"),
    ("", "a/root", "T"),
    ("a/g", "a", "T"),
    ("a/g", "", "T"),
    ("a/g", "", "F"),
    ("!svn/rvr/1/f", "restored", "F"),
    ("!svn/bc/1/f", "f", "F"),
    ("!svn/bc/1/f", "f", "T"),
    ("!svn/bc/1/a/", "dir", "F"),
    ("!svn/bc/1/a", "a/self", "F"),
    ("!svn/bc/1/", "old-root/", "F"),
    ("!svn/bc/1/a", "none/x", "T"),
    ("!svn/bc/1/a", "f/x", "T"),
    ("!svn/bc/1/none", "x", "F"),
    ("!svn/bc/999/a", "x", "F"),
    ("!svn/bc/1/a", "", "T"),
    ("!svn/ver/1/f", "x", "F"),
    ("f?p=1", "peg", "F"),
    ("!svn/rvr/1/f", "TXN/f", "F"),
    ("!svn/rvr/1/f", "TXN/old", "F"),
    ("f", "TXN/new", "F"),
    ("f", "TXN/none/new", "F"),
    ("TXN/f", "y", "F"),
    ("TXN/f", "TXN/y", "F"),
    ("none", "TXN/y", "F"),
];

const MOVES: &[(&str, &str, &str)] = &[
    ("f", "TXN/new", "F"),
    ("f", "TXN/a", "F"),
    ("f", "TXN/a", "T"),
    ("a", "TXN/b", "T"),
    ("none", "TXN/b", "T"),
    ("TXN/f", "y", "F"),
    ("f", "f", "F"),
    ("f", "f", "T"),
    ("", "x", "T"),
    ("a", "a/x", "T"),
];

/// Returns the responses to all requests, each with the youngest revision after it.
fn responses(served: &Served, method: &str, list: &[(&str, &str, &str)]) -> String {
    let mut printed = String::new();
    let base = format!("http://127.0.0.1:{}", served.server.port());
    for (from, to, overwrite) in list {
        let tree = format!("!svn/txr/{}", served.begin());
        let at = |path: &str| format!("/r/{}", path.replace("TXN", &tree));
        let to_url = format!("{base}{}", at(to));
        let headers = [ALICE, ("Destination", &*to_url), ("Overwrite", *overwrite)];
        let response = served.send_request(method, &at(from), &headers, "");
        let location = response.headers.get("location").map_or("", |values| &values[0]);
        let location = location.replace(&base, "").replace(&tree, "TXN");
        let look = |args: &[&str]| Tool::new("svnlook").args(args).arg(&served.repository).ok().out();
        _ = writeln!(
            printed,
            "{method} {from} -> {to} {overwrite}: {} {} {location}\nr{} {}{}",
            response.status,
            code(&response),
            served.youngest(),
            look(&["log"]),
            look(&["changed", "--copy-info"])
        );
    }
    printed
}

#[test]
fn copies_and_moves_have_apaches_results() {
    for (method, list) in [("COPY", COPIES), ("MOVE", MOVES)] {
        let twins = twins_with("SVNAutoversioning on\n", "autoversioning = true\n");
        let [theirs, ours] = twins.each_ref().map(|served| responses(served, method, list));
        crate::pair::compare(&theirs, &ours);
    }
}
