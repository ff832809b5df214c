//! Revisions with a missing or invalid date, author or log message: over both protocols the stock client must have
//! the same exit code and output as with the incumbent's server.

use std::path::Path;

use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, Tool, sample};

type RevProps = Vec<(&'static str, &'static [u8])>;

fn cases() -> Vec<(&'static str, RevProps)> {
    let date: (&str, &[u8]) = ("svn:date", b"2020-01-01T00:00:00.000000Z");
    let author: (&str, &[u8]) = ("svn:author", b"jrandom");
    let log: (&str, &[u8]) = ("svn:log", b"message");
    vec![
        ("no date", vec![author, log]),
        ("an empty date", vec![author, ("svn:date", b""), log]),
        (
            "no date but a text",
            vec![author, ("svn:date", b"yesterday"), log],
        ),
        (
            "an old date",
            vec![author, ("svn:date", b"2011-01-01T00:00:00.0Z"), log],
        ),
        (
            "a control character in the date",
            vec![author, ("svn:date", b"\x01"), log],
        ),
        ("no author", vec![date, log]),
        ("an empty author", vec![("svn:author", b""), date, log]),
        ("no message", vec![author, date]),
        (
            "a message of control characters",
            vec![author, date, ("svn:log", b"\x01\x1b")],
        ),
        ("nothing", vec![]),
        (
            "all empty",
            vec![("svn:author", b""), ("svn:date", b""), ("svn:log", b"")],
        ),
    ]
}

/// Sets these properties on all revisions of a repository, without any check.
fn give(repo: &Repo, props: &RevProps) {
    let mut text = Vec::new();
    for (name, value) in props {
        text.extend(format!("K {}\n{name}\nV {}\n", name.len(), value.len()).into_bytes());
        text.extend_from_slice(value);
        text.push(b'\n');
    }
    text.extend_from_slice(b"END\n");
    for rev in 1..=repo.youngest() {
        let path = repo.db().join(format!("revprops/0/{rev}"));
        let new = path.with_extension("new");
        std::fs::write(&new, &text).expect("because the repository is ours");
        std::fs::rename(&new, &path).expect("because the repository is ours");
    }
}

/// The sessions of the client: commands that do not need each other, and those of a working copy.
const SESSIONS: [&[&str]; 13] = [
    &["info URL"],
    &["info -r 1 URL"],
    &["info URL/A/mu"],
    &["info --show-item last-changed-date URL"],
    &["ls -v URL"],
    &["ls -v --search mu URL"],
    &["log -q URL"],
    &["log --xml -q URL"],
    &["blame -v URL/A/mu"],
    &["cat URL/A/mu"],
    &[
        "checkout -q URL WC",
        "info -r HEAD WC",
        "update -q -r 1 WC",
        "update -q WC",
    ],
    &["proplist -v --revprop -r 2 URL"],
    &["propget --revprop -r 2 svn:date URL"],
];

/// Returns output and exit code of the stock client for each command.
fn session(commands: &[&str], url: &str, folder: &Path) -> Vec<(i32, String, Vec<i32>)> {
    let wc = folder.join("wc");
    let wc = wc.to_str().expect("because it is ASCII");
    let run = |command: &&str| {
        let args = command
            .split(' ')
            .map(|arg| arg.replace("URL", url).replace("WC", wc));
        let svn = Tool::new("svn").args(["--non-interactive", "--config-dir"]);
        let output = svn.arg(folder.join("conf")).args(args).run();
        let output_text = output.out().replace(url, "URL").replace(wc, "WC");
        (output.code, output_text, output.error_codes())
    };
    commands.iter().map(run).collect()
}

fn compare(cases: &[(&str, RevProps)], serve: impl Fn(Side, &Path) -> (TestServer, String)) {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8")).copy();
    let root = repo.path().parent().expect("because it is in a folder");
    let (_theirs, their_url) = serve(Side::Theirs, root);
    let (_ours, our_url) = serve(Side::Ours, root);
    let mut given = "";
    let sessions = cases
        .iter()
        .flat_map(|case| SESSIONS.iter().map(move |commands| (case, *commands)));
    for ((name, props), commands) in sample(3, sessions) {
        if given != *name {
            give(&repo, props);
            given = name;
        }
        let outputs = |url: &str| session(commands, url, testkit::scratch().path());
        let pairs = outputs(&their_url).into_iter().zip(outputs(&our_url));
        for (command, (theirs, ours)) in commands.iter().zip(pairs) {
            let (code, output_text, errors) = &ours;
            assert!(*code >= 0, "{name}: {command} was killed");
            assert_eq!((*code, errors), (theirs.0, &theirs.2), "{name}: {command}");
            let is_same = *output_text == theirs.1 || command.contains("--search");
            assert!(
                is_same,
                "{name}: {command}: {output_text} instead of {}",
                theirs.1
            );
        }
    }
}

#[test]
fn odd_revision_properties_have_equal_results_over_svn() {
    compare(&cases(), |side, root| {
        let server = TestServer::svnserve(side, root, &[]);
        let url = format!("svn://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}

#[test]
fn odd_revision_properties_have_equal_results_over_http() {
    // In the other order, so that a sample has other sessions than that over svn://.
    let mut cases = cases();
    cases.reverse();
    compare(&cases, |side, root| {
        let server = TestServer::http(side, root, "", &[]);
        let url = format!("http://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}
