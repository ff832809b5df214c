//! Text of `svn://` that is not UTF-8 or has a NUL, and a node whose name is the character that stands for such bytes in messages: what is
//! stored and what is found equals the incumbent's.

use std::fmt::Write as _;
use std::sync::Arc;

use testkit::probe::{Probe, ProbeItem};
use testkit::server::TestServer;
use testkit::{Side, Tool, scratch};

/// Commands and their names. `URL` is that of the repository with `/%ff`, encoded as a string.
const COMMANDS: &[(&str, &[u8])] = &[
    ("message", b"( commit ( 1:\xff ( ) false ) ) ( open-root ( ( ) 2:d0 ) ) ( abort-edit ( ) ) "),
    (
        "message in the list",
        b"( commit ( 1:m ( ) false ( ( 7:svn:log 1:\xff ) ) ) ) ( open-root ( ( ) 2:d0 ) ) ( abort-edit ( ) ) ",
    ),
    ("comment", b"( lock ( 1:f ( 1:\xff ) false ( ) ) ) "),
    ("comment of many", b"( lock-many ( ( 1:\xff ) false ( ( 1:f ( ) ) ) ) ) "),
    ("get-file", b"( get-file ( 1:\xff ( ) true false ) ) "),
    ("get-dir", b"( get-dir ( 1:\xff ( ) true true ) ) "),
    ("check-path", b"( check-path ( 1:\xff ( ) ) ) "),
    ("stat", b"( stat ( 1:\xff ( ) ) ) "),
    ("lock", b"( lock ( 1:\xff ( ) false ( ) ) ) "),
    ("get-lock", b"( get-lock ( 1:\xff ) ) "),
    ("unlock", b"( unlock ( 1:\xff ( ) true ) ) "),
    (
        "copy source",
        b"( commit ( 1:m ( ) false ) ) ( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:n 2:d0 2:c0 ( URL 1 ) ) ) ( abort-edit ( ) ) ",
    ),
    ("reparent", b"( reparent ( URL ) ) ( check-path ( 0: ( ) ) ) "),
    ("the node itself", b"( check-path ( 3:\xef\xbf\xbd ( ) ) ) "),
];

/// Names of properties that no client could read: Sven refuses them.
const NAMES: &[&[u8]] = &[b"1:\xff", b"3:a\0b"];

fn numbers(item: &ProbeItem, out: &mut String) {
    match item {
        ProbeItem::Number(number) if *number > 99 => _ = write!(out, "{number} "),
        ProbeItem::Word(word) if word != "success" => _ = write!(out, "{word} "),
        item => item.items().iter().for_each(|item| numbers(item, out)),
    }
}

/// A server of a repository with the files `f` and U+FFFD.
struct OddServer {
    probe: Probe,
    server: Arc<TestServer>,
    root: tempfile::TempDir,
}

impl OddServer {
    fn new(side: Side) -> OddServer {
        let root = scratch();
        let repository = root.path().join("repo");
        testkit::create_repository(&repository);
        let conf = repository.join("conf");
        let write = |name: &str, text: &str| {
            std::fs::write(conf.join(name), text).expect("because the repository is ours");
        };
        write(
            "svnserve.conf",
            "[general]\nanon-access = none\npassword-db = passwd\n",
        );
        write("passwd", "[users]\nalice = secret\n");
        std::fs::write(root.path().join("text"), "text\n").expect("because the directory is ours");
        let mut made = Tool::new("svnmucc").args(["-m", "made", "-U"]);
        made = made.arg(format!("file://{}", repository.display()));
        for name in ["f", "%EF%BF%BD"] {
            made = made.arg("put").arg(root.path().join("text")).arg(name);
        }
        made.ok();
        let server = Arc::new(TestServer::svnserve(side, root.path(), &[]));
        let probe = Probe::connect_as(Arc::clone(&server), server.url("repo"), Some(("alice", "secret")));
        OddServer { probe, server, root }
    }

    /// Returns the error numbers and words of the responses to a command.
    fn outcome(&mut self, command: &[u8]) -> String {
        let url = format!("{}/%ff", self.server.url("repo"));
        let encoded = format!("{}:{url}", url.len());
        let mut bytes = Vec::new();
        let mut rest = command;
        while let Some(at) = rest.windows(3).position(|window| window == b"URL") {
            bytes.extend_from_slice(&rest[..at]);
            bytes.extend_from_slice(encoded.as_bytes());
            rest = &rest[at + 3..];
        }
        bytes.extend_from_slice(rest);
        self.probe.send(&bytes);
        self.probe.send(b"( get-latest-rev ( ) ) ");
        let mut out = String::new();
        loop {
            let item = self.probe.read();
            let is_end = |item: &ProbeItem| matches!(item.items(), [ProbeItem::Word(word), ProbeItem::List(rest)] if word == "success" && matches!(rest[..], [ProbeItem::Number(_)]));
            numbers(&item, &mut out);
            if is_end(&item) || out.contains("closed") {
                return out;
            }
        }
    }

    fn tool(&self, name: &str, arg: &str) -> String {
        let tool = Tool::new(name).arg(arg).arg(self.root.path().join("repo"));
        tool.ok().out()
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_as_by_the_incumbent() {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let mut server = OddServer::new(side);
        let mut out = String::new();
        for (name, command) in COMMANDS {
            let outcome = server.outcome(command);
            _ = writeln!(out, "{name}: {outcome}");
            if name == &"reparent" {
                server
                    .outcome(format!("( reparent ( {} ) ) ", string(&server.server.url("repo"))).as_bytes());
            }
        }
        out + &server.tool("svnlook", "youngest") + &server.tool("svnadmin", "lslocks")
    });
    assert_eq!(theirs, ours);
}

fn string(text: &str) -> String {
    format!("{}:{text}", text.len())
}

/// The incumbent stores the bytes, or the name up to the NUL.
#[test]
fn names_of_properties_that_no_client_can_read_are_refused() {
    let mut server = OddServer::new(Side::Ours);
    for name in NAMES {
        let commit = [&b"( commit ( 1:m ( ) false ( ( "[..], name, b" 1:v ) ) ) ) "].concat();
        assert!(server.outcome(&commit).starts_with("failure 195011"), "{name:?}");
        let change = [&b"( change-rev-prop ( 1 "[..], name, b" 1:v ) ) "].concat();
        assert!(server.outcome(&change).contains("195011"), "{name:?}");
        let edit = [
            &b"( commit ( 1:m ( ) false ) ) ( open-root ( ( ) 2:d0 ) ) ( change-dir-prop ( 2:d0 "[..],
            name,
            b" ( 1:v ) ) ) ( abort-edit ( ) ) ",
        ];
        assert!(server.outcome(&edit.concat()).contains("195011"), "{name:?}");
    }
}
