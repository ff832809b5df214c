//! Revisions with a missing or invalid date, author or log message: over both protocols the stock client must have
//! the same exit code and output as with the incumbent's server.

use std::path::Path;

use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, Tool};

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

/// Returns output and exit code of the stock client for each command.
fn session(url: &str, folder: &Path) -> Vec<(String, i32, String, Vec<i32>)> {
    let wc = folder.join("wc");
    let wc = wc.to_str().expect("because it is ASCII");
    let at = |below: &str| format!("{url}/{below}");
    let mut all = Vec::new();
    for args in [
        vec!["info", url],
        vec!["info", "-r", "1", url],
        vec!["info", &at("A/mu")],
        vec!["info", "--show-item", "last-changed-date", url],
        vec!["ls", "-v", url],
        vec!["ls", "-v", "--search", "mu", url],
        vec!["log", "-q", url],
        vec!["log", "--xml", "-q", url],
        vec!["blame", "-v", &at("A/mu")],
        vec!["cat", &at("A/mu")],
        vec!["checkout", "-q", url, wc],
        vec!["info", "-r", "HEAD", wc],
        vec!["update", "-q", "-r", "1", wc],
        vec!["update", "-q", wc],
        vec!["proplist", "-v", "--revprop", "-r", "2", url],
        vec!["propget", "--revprop", "-r", "2", "svn:date", url],
    ] {
        let svn = Tool::new("svn").args(["--non-interactive", "--config-dir"]);
        let output = svn.arg(folder.join("conf")).args(&args).run();
        let output_text = output.out().replace(url, "URL").replace(wc, "WC");
        all.push((
            args.join(" ").replace(url, "URL"),
            output.code,
            output_text,
            output.error_codes(),
        ));
    }
    all
}

fn compare(serve: impl Fn(Side, &Path) -> (TestServer, String)) {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8")).copy();
    let root = repo.path().parent().expect("because it is in a folder");
    let (_theirs, their_url) = serve(Side::Theirs, root);
    let (_ours, our_url) = serve(Side::Ours, root);
    for (name, props) in cases() {
        give(&repo, &props);
        let output_text = |url: &str| session(url, testkit::scratch().path());
        for (theirs, ours) in output_text(&their_url).into_iter().zip(output_text(&our_url)) {
            let (command, code, output_text, errors) = &ours;
            assert!(*code >= 0, "{name}: {command} was killed");
            assert_eq!((*code, errors), (theirs.1, &theirs.3), "{name}: {command}");
            let is_same = *output_text == theirs.2 || command.contains("--search");
            assert!(
                is_same,
                "{name}: {command}: {output_text} instead of {}",
                theirs.2
            );
        }
    }
}

#[test]
fn odd_revision_properties_have_equal_results_over_svn() {
    compare(|side, root| {
        let server = TestServer::svnserve(side, root, &[]);
        let url = format!("svn://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}

#[test]
fn odd_revision_properties_have_equal_results_over_http() {
    compare(|side, root| {
        let server = TestServer::http(side, root, "", &[]);
        let url = format!("http://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}
