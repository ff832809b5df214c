//! How often the clients ask: no command takes more requests over HTTP, or more round trips over svn://, than with Subversion's client.
//!
//! Both clients talk to their servers through a relay, which counts.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use testkit::server::transport::Transport;
use testkit::{Side, sample_from};

use crate::read_repo;
use crate::twins::{Access, TwinClients};

/// The commands that read.
pub const READING: &[&str] = &[
    "svn cat {URL}/P/f",
    "svn cat {URL}/P/f {URL}/P/d/g",
    "svn cat -r {REV} {URL}/P/f",
    "svn list {URL}/P",
    "svn list -v {URL}/P",
    "svn list -vR {URL}/P",
    "svn list --depth=empty {URL}/P/f",
    "svn info {URL}/P",
    "svn info {URL}/P/f",
    "svn info -R {URL}/P",
    "svn info --show-item=revision {URL}/P/f",
    "svn log {URL}",
    "svn log -v -l2 {URL}/P/d/g",
    "svn log -c3,5 {URL}/trunk@10",
    "svn log -l3 --diff {URL}/P",
    "svn diff -c5 {URL}",
    "svn diff -r3:HEAD {URL}/P",
    "svn diff -r9:8 {URL}/trunk",
    "svn diff {URL}/P/d {URL}/P/long",
    "svn diff --summarize -r3:HEAD {URL}",
    "svn blame {URL}/P/f",
    "svn export {URL}/P/d/g {DIR}/file",
    "svn export --ignore-externals {URL}/P/d {DIR}/tree",
    "svn propget a {URL}/P",
    "svn propget -R a {URL}/P",
    "svn proplist -v {URL}/P",
    "svn proplist -vR {URL}/P",
    "svn propget --show-inherited-props a {URL}/P/d/g",
    "svn proplist --revprop -r3 {URL}",
    "svn propget --revprop -r3 svn:log {URL}",
    "svnrdump dump -q -r1:9 {URL}",
    "svnrdump dump -q --incremental -r8:9 {URL}",
    "svnbench null-export {URL}/P/d",
    "svnbench null-list -R {URL}",
];

/// The commands that write. Those of a group need each other.
pub const WRITING: &[&[&str]] = &[
    &["svn propset --revprop -r3 svn:log text {URL}"],
    &[
        "svn mkdir -m made {URL}/new",
        "svn mkdir --parents -m made {URL}/new/a/b",
    ],
    &[
        "svn copy -m copied {URL}/P/d {URL}/copy",
        "svn mergeinfo {URL}/P/d {URL}/copy",
        "svn move -m moved {URL}/copy {URL}/moved",
        "svn delete -m deleted {URL}/moved {URL}/P/zero",
    ],
    &["svn import -m imported {DIR}/import {URL}/imported"],
    &["svn lock {URL}/P/d/g", "svn unlock {URL}/P/d/g"],
    &["svnmucc -m mixed mkdir {URL}/m put {DIR}/import/a {URL}/m/a propset p v {URL}/P/d"],
];

/// What takes more all the same, by how much at most, and why.
const MORE: &[(Access, &str, usize)] = &[
    // Several connections share a tree.
    (Access::Http, "svn export --ignore-externals", 2),
    (Access::Svn, "svn export --ignore-externals", 9),
    // A command after the login shows whether a failure is that of the file or of all files.
    (Access::Svn, "svn lock", 1),
    (Access::Svn, "svn unlock", 1),
    // The histories of both branches are read, so that a copy of a copy is no change.
    (Access::Http, "svn mergeinfo", 4),
    (Access::Svn, "svn mergeinfo", 4),
];

#[test]
fn no_command_asks_more_often() {
    let repo = read_repo::repository();
    let mut wrong = Vec::new();
    for (number, access) in [Access::Http, Access::Svn].into_iter().enumerate() {
        if access.transport() == Some(Transport::Https) {
            // The relay cannot read what passes.
            continue;
        }
        let twins = TwinClients::new(&repo, access);
        prepare(&twins);
        let relays = Side::BOTH.map(|side| Relay::new(twins.url(side)));
        let writing = sample_from(number, 2, WRITING).copied().flatten();
        for line in sample_from(number, 2, READING).chain(writing) {
            let line = line.replace("{REV}", &(repo.youngest() - 1).to_string());
            let [theirs, ours] = [0, 1].map(|at| count(&twins, Side::BOTH[at], &relays[at], access, &line));
            println!("{access:?} {theirs:3} {ours:3} {line}");
            let more = MORE
                .iter()
                .find(|(over, start, _)| *over == access && line.starts_with(start));
            if ours > theirs + more.map_or(0, |(_, _, more)| *more) {
                wrong.push(format!("{access:?}: {theirs}, ours {ours}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Makes what the commands need.
pub fn prepare(twins: &TwinClients) {
    for side in Side::BOTH {
        crate::writing::write_hook(twins, side, "pre-revprop-change", "#!/bin/sh\n");
        let dir = twins.dir(side).join("import");
        std::fs::create_dir_all(dir.join("below")).expect("because the directory is new");
        for name in ["a", "b", "below/c"] {
            std::fs::write(dir.join(name), name).expect("because the directory is there");
        }
    }
}

/// Runs a command, which must succeed, and returns how often it asked.
fn count(twins: &TwinClients, side: Side, relay: &Relay, access: Access, line: &str) -> usize {
    let line = line.replace("{URL}", &relay.url);
    let mut words: Vec<&str> = line.split(' ').collect();
    words.extend(crate::writing::USER.split(' '));
    let output = twins.tool(side, &words).run();
    assert!(output.code == 0, "{line}: {}", output.err());
    let counted = std::mem::take(&mut *relay.counted());
    match access {
        Access::Svn => counted.turns,
        _ => counted.requests,
    }
}

/// What passed a relay since the last command.
#[derive(Default)]
struct Counted {
    /// How often a client sent something after a response. The sum of all connections.
    turns: usize,
    /// How many heads of HTTP requests there were.
    requests: usize,
}

/// Relays connections to a server.
struct Relay {
    /// The repository's URL through the relay.
    url: String,
    counted: Arc<Mutex<Counted>>,
}

impl Relay {
    /// `url` is the repository's.
    fn new(url: &str) -> Relay {
        let (scheme, rest) = url.split_once("://").expect("because it is a URL");
        let (server, path) = rest.split_once('/').expect("because there is a path");
        let listener = TcpListener::bind("127.0.0.1:0").expect("because there are free ports");
        let port = listener.local_addr().expect("because it is bound").port();
        let counted = Arc::new(Mutex::new(Counted::default()));
        let (server, shared) = (server.to_owned(), Arc::clone(&counted));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&server).expect("because the server runs");
                relay(client, server, &shared);
            }
        });
        Relay {
            url: format!("{scheme}://127.0.0.1:{port}/{path}"),
            counted,
        }
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counted.lock().expect("because no thread panics")
    }
}

/// Relays one connection in two threads.
fn relay(client: TcpStream, server: TcpStream, counted: &Arc<Mutex<Counted>>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("because there are descriptors left");
    let has_response = Arc::new(Mutex::new(true));
    let (from_client, from_server) = ((clone(&client), clone(&server)), (server, client));
    let (counted, responded) = (Arc::clone(counted), Arc::clone(&has_response));
    thread::spawn(move || {
        copy(from_client, &mut |bytes| {
            let mut has_response = has_response.lock().expect("because no thread panics");
            let mut counted = counted.lock().expect("because no thread panics");
            counted.turns += usize::from(std::mem::take(&mut *has_response));
            let heads = bytes.windows(HEAD.len()).filter(|bytes| *bytes == HEAD);
            counted.requests += heads.count();
        });
    });
    thread::spawn(move || {
        copy(from_server, &mut |_| {
            *responded.lock().expect("because no thread panics") = true;
        });
    });
}

/// Copies a stream to another one, each piece after a look at it.
fn copy((mut from, mut to): (TcpStream, TcpStream), look: &mut dyn FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(count) if count > 0 => {
                look(&buffer[..count]);
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    _ = to.shutdown(Shutdown::Write);
}

/// What ends the first line of a request.
const HEAD: &[u8] = b" HTTP/1.1\r\n";
