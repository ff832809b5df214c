//! Paths that the stock client does not send, with every command of `svn://`, as a table: the results equal the
//! incumbent's, and the connection stays open.

use std::sync::Arc;

use testkit::probe::{Probe, ProbeItem, word};
use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, sample};

/// Returns the paths with their names in messages.
fn paths() -> Vec<(&'static str, Vec<u8>)> {
    let own = |bytes: &[u8]| bytes.to_vec();
    vec![
        ("not UTF-8", own(b"\xff")),
        ("not UTF-8 below", own(b"A/\xff")),
        ("not UTF-8 below nothing", own(b"nope/\xff")),
        ("overlong", own(b"\xc0\xaf")),
        ("a surrogate", own(b"\xed\xa0\x80")),
        ("above Unicode", own(b"\xf5\x80\x80\x80")),
        ("a control character", own(b"a\x01b")),
        ("a line feed", own(b"a\nb")),
        ("a carriage return", own(b"a\rb")),
        ("a tabulator", own(b"a\tb")),
        ("DEL", own(b"a\x7f")),
        ("empty", own(b"")),
        ("a slash", own(b"/")),
        ("absolute", own(b"/A")),
        ("two slashes", own(b"A//mu")),
        ("a dot", own(b"./A")),
        ("a dot inside", own(b"A/./mu")),
        ("a slash behind", own(b"A/")),
        ("a slash behind a file", own(b"A/mu/")),
        ("below a file", own(b"A/mu/x")),
        ("a percent sign", own(b"%ff")),
        ("a backslash", own(b"a\\b")),
        ("not ASCII", own("ä/ö".as_bytes())),
        ("deep", own(&[&b"x/".repeat(3000)[..], b"x"].concat())),
        ("long", own(&b"n".repeat(5000))),
        ("huge", own(&b"n".repeat(300_000))),
        // The incumbent accepts these, or reads them up to the NUL.
        ("..", own(b"..")),
        (".. inside", own(b"A/../mu")),
        (".. first", own(b"../x")),
        ("NUL", own(b"A\0b")),
    ]
}

/// True if Sven refuses a path that the incumbent truncates, or accepts although no node can have it.
fn is_known(name: &str, command: &str) -> bool {
    let refused = name.contains("..") || name == "NUL";
    let no_text = ["not UTF-8", "overlong", "a surrogate", "above Unicode"];
    let no_text = no_text.iter().any(|known| name.starts_with(known));
    // Clients cannot read a property whose name is not UTF-8.
    let stores = ["prop", "absent", "( ( PATH 1:m ) )"];
    let stores = stores.iter().any(|part| command.contains(part));
    refused || no_text && stores
}

/// The commands; `PATH` stands for the path, `URL` for one that ends with it, `ROOT` for that of the repository.
const COMMANDS: &[&str] = &[
    "( reparent ( URL ) ) ( reparent ( ROOT ) ) ",
    "( check-path ( PATH ( 2 ) ) ) ",
    "( stat ( PATH ( 2 ) ) ) ",
    "( get-file ( PATH ( 2 ) true true false ) ) ",
    "( get-file ( PATH ( 2 ) true false true ) ) ",
    "( get-dir ( PATH ( 2 ) true true ( kind ) false ) ) ",
    "( get-dir ( PATH ( 2 ) false true ( ) true ) ) ",
    "( get-iprops ( PATH ( 2 ) ) ) ",
    "( list ( PATH ( 2 ) immediates ( kind ) ) ) ",
    "( list ( 0: ( 2 ) infinity ( kind ) ( PATH ) ) ) ",
    "( get-mergeinfo ( ( PATH ) ( 2 ) inherited true ) ) ",
    "( log ( ( PATH ) ( 2 ) ( 0 ) true false 0 false revprops ( 7:svn:log ) ) ) ",
    "( log ( ( PATH ) ( 2 ) ( 1 ) false true 0 false all-revprops ( ) ) ) ",
    "( log ( ( 0: ) ( 2 ) ( 1 ) false true 0 false revprops ( PATH ) ) ) ",
    "( get-locations ( PATH 2 ( 1 2 ) ) ) ",
    "( get-location-segments ( PATH ( 2 ) ( 2 ) ( 0 ) ) ) ",
    "( get-file-revs ( PATH ( 0 ) ( 2 ) false ) ) ",
    "( get-deleted-rev ( PATH 1 2 ) ) ",
    "( lock ( PATH ( ) false ( ) ) ) ",
    "( unlock ( PATH ( ) true ) ) ",
    "( unlock ( 4:A/mu ( PATH ) false ) ) ",
    "( unlock-many ( true ( ( PATH ( ) ) ) ) ) ",
    "( get-lock ( PATH ) ) ",
    "( get-locks ( PATH ( infinity ) ) ) ",
    "( rev-prop ( 1 PATH ) ) ",
    "( change-rev-prop ( 1 PATH 1:x ) ) ",
    "( get-dated-rev ( PATH ) ) ",
    "( update ( ( 2 ) PATH true infinity false false ) ) REPORT",
    "( switch ( ( 2 ) 0: true URL infinity false true ) ) REPORT",
    "( status ( PATH true ( 2 ) infinity ) ) REPORT",
    "( diff ( ( 2 ) PATH true false ROOT true infinity ) ) REPORT",
    "( diff ( ( 2 ) 0: true false URL true infinity ) ) REPORT",
    "( update ( ( 2 ) 0: true infinity false false ) ) FIRST( set-path ( PATH 1 false ( ) infinity ) ) END",
    "( update ( ( 2 ) 0: true infinity false false ) ) ( set-path ( 0: 1 false ( PATH ) infinity ) ) END",
    "( update ( ( 2 ) 0: true infinity false false ) ) FIRST( delete-path ( PATH ) ) END",
    "( update ( ( 2 ) 0: true infinity false false ) ) FIRST( link-path ( 1:A URL 1 false ( ) infinity ) ) END",
    "COMMIT( add-dir ( PATH 2:d0 2:d1 ( ) ) ) ABORT",
    "COMMIT( add-file ( PATH 2:d0 2:c1 ( ) ) ) ABORT",
    "COMMIT( open-dir ( PATH 2:d0 2:d1 ( 2 ) ) ) ABORT",
    "COMMIT( open-file ( PATH 2:d0 2:c1 ( 2 ) ) ) ABORT",
    "COMMIT( delete-entry ( PATH ( 2 ) 2:d0 ) ) ABORT",
    "COMMIT( add-dir ( 1:z 2:d0 2:d1 ( URL 2 ) ) ) ABORT",
    "COMMIT( absent-dir ( PATH 2:d0 ) ) ABORT",
    "COMMIT( absent-file ( PATH 2:d0 ) ) ABORT",
    "COMMIT( change-dir-prop ( 2:d0 PATH ( 1:x ) ) ) ABORT",
    "COMMIT( open-file ( 4:A/mu 2:d0 2:c1 ( 2 ) ) ) ( change-file-prop ( 2:c1 PATH ( 1:x ) ) ) ABORT",
    "COMMIT( change-dir-prop ( 2:d0 10:svn:ignore ( PATH ) ) ) ABORT",
    "COMMIT( open-dir ( 1:A 2:d0 PATH ( 2 ) ) ) ABORT",
    "( commit ( PATH ( ) false ( ) ) ) ( open-root ( ( ) 2:d0 ) ) ABORT",
    "( commit ( 1:m ( ) false ( ( PATH 1:m ) ) ) ) ( open-root ( ( ) 2:d0 ) ) ABORT",
    "( commit ( 1:m ( ( PATH 1:t ) ) false ( ) ) ) ( open-root ( ( ) 2:d0 ) ) ABORT",
];

/// The replacements of the longer words in [`COMMANDS`], in their order.
const WORDS: &[(&str, &str)] = &[
    (
        "COMMIT",
        "( commit ( 1:m ( ) false ( ( 7:svn:log 1:m ) ) ) ) ( open-root ( ( ) 2:d0 ) ) ",
    ),
    ("ABORT", "( abort-edit ( ) ) "),
    ("REPORT", "FIRSTEND"),
    ("FIRST", "( set-path ( 0: 1 false ( ) infinity ) ) "),
    ("END", "( finish-report ( ) ) "),
];

fn string(bytes: &[u8]) -> Vec<u8> {
    [format!("{}:", bytes.len()).as_bytes(), bytes].concat()
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// One side of the comparison.
struct ComparedSide {
    server: Arc<TestServer>,
    url: String,
    probe: Probe,
    youngest: u64,
}

impl ComparedSide {
    fn new(side: Side, repo: &Repo) -> ComparedSide {
        let root = repo.path().parent().expect("because it is in a folder");
        let server = Arc::new(TestServer::svnserve(side, root, &[]));
        let url = format!("svn://127.0.0.1:{}/repo", server.port());
        let probe = Probe::connect_as(server.clone(), url.clone(), None);
        ComparedSide {
            server,
            url,
            probe,
            youngest: repo.youngest(),
        }
    }

    /// Returns the first error number in the response, 0 without an error; `None` if the server closes the
    /// connection.
    fn outcome(&mut self, command: &str, path: &[u8]) -> Option<u64> {
        let mut text = command.to_owned();
        for (word, meaning) in WORDS {
            text = text.replace(word, meaning);
        }
        let url = [self.url.as_bytes(), b"/", path].concat();
        let bytes = replaced(text.as_bytes(), b"ROOT", &string(self.url.as_bytes()));
        let bytes = replaced(&bytes, b"URL", &string(&url));
        self.probe.send(&replaced(&bytes, b"PATH", &string(path)));
        let mut outcome = 0;
        let is_report = command.contains("REPORT") || command.contains("END");
        while is_report && outcome == 0 {
            let item = self.probe.read();
            outcome = number_of(&item);
            let first = item.items().first().cloned();
            if item == word("closed") {
                break;
            }
            if first == Some(word("close-edit")) || first == Some(word("abort-edit")) {
                self.probe.send(b"( success ( ) ) ");
                break;
            }
        }
        self.probe.send(b"( get-latest-rev ( ) ) ");
        let end = ProbeItem::List(vec![
            word("success"),
            ProbeItem::List(vec![ProbeItem::Number(self.youngest)]),
        ]);
        loop {
            let item = self.probe.read();
            if item == word("closed") {
                self.probe = Probe::connect_as(self.server.clone(), self.url.clone(), None);
                return None;
            }
            if item == end {
                return Some(outcome);
            }
            if outcome == 0 {
                outcome = number_of(&item);
            }
        }
    }
}

/// The error number of a failure, else 0.
fn number_of(item: &ProbeItem) -> u64 {
    match item.items() {
        [ProbeItem::Word(failure), ProbeItem::List(errors)] if failure == "failure" => {
            match errors.first().and_then(|error| error.items().first()) {
                Some(ProbeItem::Number(number)) => *number,
                _ => 0,
            }
        }
        _ => 0,
    }
}

#[test]
fn odd_paths_have_the_incumbents_results() {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8")).copy();
    let conf = repo.path().join("conf/svnserve.conf");
    std::fs::write(conf, "[general]\nanon-access = write\n").expect("because it is ours");
    let mut theirs = ComparedSide::new(Side::Theirs, &repo);
    let mut ours = ComparedSide::new(Side::Ours, &repo);
    let mut wrong = Vec::new();
    let paths = paths();
    let cases = paths
        .iter()
        .flat_map(|path| COMMANDS.iter().map(move |command| (path, command)));
    for ((name, path), command) in sample(4, cases) {
        let (expected, outcome) = (theirs.outcome(command, path), ours.outcome(command, path));
        if outcome.is_none() || expected != outcome && !is_known(name, command) {
            wrong.push(format!("{name}: {command}: {outcome:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
