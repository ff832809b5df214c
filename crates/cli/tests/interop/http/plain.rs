//! Plain WebDAV programs, which know nothing of Subversion: litmus, which tries everything, and cadaver.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use testkit::server::Server;
use testkit::server::http::Site;
use testkit::{Side, Tool, scratch};

/// Everybody must say a name: such programs lock, and locks have owners.
const APACHE: &str =
    "SVNAutoversioning on\nAuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\n";
const OURS: &str = "autoversioning = true\nanonymous = false\n[location.auth]\nhtpasswd-file = 'USERS'\n";

/// A server with an empty repository in which every write becomes a revision.
struct Place {
    server: Server,
    repository: PathBuf,
    root: TempDir,
}

impl Place {
    fn new(side: Side) -> Place {
        let root = scratch();
        let repository = root.path().join("repo");
        Tool::new("svnadmin").arg("create").arg(&repository).ok();
        let site = Site {
            apache: APACHE,
            ours: OURS,
            ..Site::plain(root.path())
        };
        Place {
            server: Server::site(side, &site),
            repository,
            root,
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/repo/", self.server.port())
    }
}

/// How many checks of each part of litmus passed and how many failed.
fn litmus(side: Side) -> Vec<(String, u32, u32)> {
    let place = Place::new(side);
    let said = Tool::new("litmus")
        .args(["-k", &place.url(), "alice", "secret"])
        .dir(place.root.path())
        .run();
    let said = said.out();
    let number = |text: &str, after: &str| -> u32 {
        let rest = text.split_once(after).map_or("", |(_, rest)| rest).trim_start();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let summaries = said.lines().filter(|line| line.contains("<- summary for"));
    let found = summaries.map(|line| {
        let name = line.split(['`', '\'']).nth(1).unwrap_or_default().to_owned();
        (name, number(line, "tests run:"), number(line, "passed,"))
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 5, "{said}");
    if side == Side::Ours {
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&place.repository)
            .ok();
    }
    eprintln!("{side:?}: {found:?}");
    found
}

#[test]
fn litmus_finds_no_more_faults_than_in_apache() {
    let [theirs, ours] = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| litmus(Side::Theirs));
        let ours = litmus(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    });
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs.0, ours.0);
        assert!(
            ours.1 >= theirs.1 && ours.2 <= theirs.2,
            "passed, failed: {theirs:?} {ours:?}"
        );
    }
}

const SESSION: &str = "\
ls
mkcol c
cd c
put up.txt
ls
copy up.txt copy.txt
move copy.txt moved.txt
cat up.txt
propset up.txt color red
propget up.txt color
lock up.txt
put up.txt
unlock up.txt
ls
get moved.txt got.txt
delete moved.txt
mkcol d
rmcol d
delete nothing
cd ..
ls
quit
";

/// What cadaver says, without dates, and what is there afterwards.
fn cadaver(side: Side) -> String {
    let (place, home) = (Place::new(side), scratch());
    let login = home.path().join(".netrc");
    fs::write(&login, "machine 127.0.0.1\nlogin alice\npassword secret\n").expect("because it is ours");
    Tool::new("chmod").arg("600").arg(&login).ok();
    fs::write(home.path().join("up.txt"), "hello\n").expect("because it is ours");
    let said = Tool::new("cadaver")
        .arg(place.url())
        .env("HOME", home.path())
        .stdin(SESSION)
        .dir(home.path())
        .run();
    let got = fs::read_to_string(home.path().join("got.txt")).unwrap_or_default();
    assert_eq!(got, "hello\n", "{said:?}");
    let log = Tool::new("svnlook")
        .args(["changed", "-r", "1"])
        .arg(&place.repository)
        .ok();
    let tree = Tool::new("svnlook").arg("tree").arg(&place.repository).ok();
    let mut out = String::new();
    for line in said.out().lines() {
        // A listing ends with a date.
        out += match line.split_once("  ") {
            Some((name, rest)) if line.contains('>') || rest.ends_with(|c: char| c.is_ascii_digit()) => name,
            _ => line,
        };
        out.push('\n');
    }
    out.replace(&format!(":{}", place.server.port()), ":PORT") + &log.out() + &tree_without_ids(&tree.out())
}

fn tree_without_ids(tree: &str) -> String {
    let lines = tree.lines().map(|line| line.split(" <").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn cadaver_browses_and_writes() {
    let [theirs, ours] = Side::BOTH.map(cadaver);
    crate::pair::compare(&theirs, &ours);
    assert!(ours.contains("up.txt") && !ours.contains("failed: 5"), "{ours}");
}
