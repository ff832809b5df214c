//! The repository of the tests of reading commands: Subversion's own history of branches and odd files, and what the commands show
//! besides: properties, keywords, line ends, externals, locks, and revisions without author or date.

use std::sync::OnceLock;

use testkit::history::rich;
use testkit::{Repo, Side, Spec, Tool, build};

/// Returns a copy of the repository, which is made once.
pub fn repository() -> Repo {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    let repo = build(&Spec::new("1.14").with(rich())).copy();
    let archive = ARCHIVE.get_or_init(|| {
        fill(&repo);
        let tool = Tool::new("tar").args(["-c", "-f", "-", "-C"]).arg(repo.path());
        tool.arg(".").ok().stdout
    });
    let tool = Tool::new("tar").args(["-x", "-f", "-", "-C"]).arg(repo.path());
    tool.stdin(archive.as_slice()).ok();
    repo
}

/// Commits what the commands show, and sets properties of revisions and a lock.
fn fill(repo: &Repo) {
    let mut lines = String::new();
    for line in [
        "mkdir\nP",
        "mkdir\nP/d",
        "mkdir\nP/d/e",
        "mkdir\nP/d/none",
        "put\n{TEXT}\nP/f",
        "put\n{TEXT}\nP/sp ace",
        "put\n{TEXT}\nP/café",
        "put\n{TEXT}\nP/at@2",
        "put\n{TEXT}\nP/d/g",
        "put\n{CRLF}\nP/dos",
        "put\n{EMPTY}\nP/zero",
        "propset\na\n1\nP",
        "propset\nb\nx\ny\n\nP",
        "propset\na\nfval\nP/f",
        "propset\nsvn:keywords\nRev Id Author URL Date Header Custom=%r%a%%\nP/f",
        "propset\nsvn:eol-style\nnative\nP/f",
        "propset\nsvn:eol-style\nCRLF\nP/dos",
        "propset\nc\ndval\nP/d",
        "propset\nempty\n\nP/d/g",
        "propset\nxmlish\n<a>&\"'\nP/d/g",
        "propset\nsvn:ignore\ncafé\n*.o\n\nP/d/e",
    ] {
        lines.push_str(line);
        lines.push('\u{0}');
    }
    commit(repo, "alice", &script(&lines));
    commit(repo, "a-very-very-long-user-name", &["mkdir", "P/long"]);
    commit(repo, "éééééééééééé", &["mkdir", "P/Ünï"]);
    commit(
        repo,
        "bob",
        &[
            "propset",
            "svn:externals",
            "^/P/d ext\n^/P/f extfile\n^/nosuch missing",
            "P/long",
        ],
    );
    commit(repo, "bob", &["propset", "binary", "b\u{1}in\u{7f}", "P/d/g"]);
    commit(repo, "bob", &["mkdir", "P/old"]);
    commit(repo, "bob", &["mv", "P/old", "P/moved"]);
    let youngest = repo.youngest();
    repo.set_revprop(youngest - 1, "svn:date", b"2001-02-03T04:05:06.000789Z");
    repo.set_revprop(youngest, "color", b"red\nblue");
    repo.set_revprop(youngest, "bytes", b"\x01\x02");
    let name = "svn:author";
    Tool::new("svnadmin")
        .args(["delrevprop", "-r", &(youngest - 2).to_string()])
        .arg(repo.path())
        .arg(name)
        .ok();
    let token = "opaquelocktoken:1e720ca1-0000-4000-8000-00000000000f";
    repo.lock("/P/f", "alice", "two\nlines", token);
}

/// Returns the words of a script for `svnmucc`: commands end with NUL, words with the first line feeds of a command.
fn script(text: &str) -> Vec<&str> {
    text.split_terminator('\u{0}').flat_map(words).collect()
}

fn words(command: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = command.splitn(3, '\n').collect();
    if let ["propset", _, rest] = parts[..] {
        parts.pop();
        let (value, path) = rest.rsplit_once('\n').expect("because a path is the last word");
        parts.extend([value, path]);
    }
    parts
}

fn commit(repo: &Repo, user: &str, words: &[&str]) {
    let scratch = testkit::scratch();
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).expect("because the directory is there");
        path.to_string_lossy().into_owned()
    };
    let text = file(
        "text",
        "one $Rev$ $Id$\n$Author: x $ $URL$\n$Date$ $Header$ $Custom$\n",
    );
    let crlf = file("crlf", "a\r\nb\r\n");
    let empty = file("empty", "");
    let words = words.iter().map(|word| match *word {
        "{TEXT}" => text.as_str(),
        "{CRLF}" => crlf.as_str(),
        "{EMPTY}" => empty.as_str(),
        word => word,
    });
    Side::Theirs
        .tool("svnmucc")
        .args(["--non-interactive", "-m", "made for a test", "-u", user, "-U"])
        .arg(repo.url())
        .args(words)
        .ok();
}
