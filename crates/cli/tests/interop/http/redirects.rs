//! Redirects, and paths on which recursive actions are refused, with the stock client.

use std::path::Path;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Tool, sample_from, scratch};

const LINES: &str = "Redirect permanent /perm http://127.0.0.1:@PORT/new\nRedirect /temp http://127.0.0.1:@PORT/new\n\
    RedirectPermanent /loop http://127.0.0.1:@PORT/loop\nRedirect 301 /path /new\n\
    RedirectMatch permanent ^/match/(.*)$ http://127.0.0.1:@PORT/new/$1\n\
    <Location /new>\nDAV svn\nSVNParentPath REPOSITORIES\n</Location>\n";

/// Makes a directory with the repository `r`, which has these directories.
fn repositories(directories: &[&str]) -> TempDir {
    let folder = scratch();
    let at = folder.path().join("r");
    testkit::create_repository(&at);
    let urls = directories
        .iter()
        .map(|path| format!("file://{}/{path}", at.display()));
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "made for a test"])
        .args(urls)
        .ok();
    folder
}

/// Returns the output of some commands of the stock client.
fn story(server: &TestServer, folder: &Path) -> String {
    let root = format!("http://127.0.0.1:{}", server.port());
    let mut reported = String::new();
    let mut run = |words: &[&str]| {
        let output = Tool::new("svn")
            .args(words)
            .arg("--non-interactive")
            .dir(folder)
            .run();
        let output_text = format!("{}{}{}\n", words.join(" "), output.out(), output.err());
        let output_text = output_text.replace(&folder.display().to_string(), "FOLDER");
        reported += &output_text.replace(&format!(":{}", server.port()), ":PORT");
    };
    run(&["checkout", "-q", &format!("{root}/new/r"), "new"]);
    let kinds = ["perm", "temp", "loop", "path", "match", "perma"];
    for (nth, kind) in kinds.into_iter().enumerate() {
        let old = format!("{root}/{kind}/r");
        run(&["checkout", &old, kind]);
        run(&["info", "--show-item", "url", kind]);
        // A working copy of the old URL.
        let copy = format!("{kind}-old");
        Tool::new("cp").args(["-r", "new", &copy]).dir(folder).ok();
        let table = format!("UPDATE repository SET root = '{old}'");
        Tool::new("sqlite3")
            .arg(folder.join(&copy).join(".svn/wc.db"))
            .arg(&table)
            .ok();
        run(&["update", &copy]);
        run(&["info", "--show-item", "url", &copy]);
        let (list, mkdir) = (format!("{old}/trunk%20x@1"), format!("{old}/no"));
        let others = [
            &["ls", &list][..],
            &["mkdir", "-m", "x", &mkdir],
            &["log", "-q", &copy],
        ];
        // A sample has other commands for each kind.
        for words in sample_from(nth, 2, others) {
            run(words);
        }
    }
    reported
}

#[test]
fn clients_follow_redirects() {
    let repositories = repositories(&["trunk%20x"]);
    let parent = repositories.path();
    let lines = LINES.replace("REPOSITORIES", &parent.display().to_string());
    let (theirs, ours) = (
        TestServer::apache_with(&lines, &[]),
        TestServer::imported(&lines, &[]),
    );
    let folders = [scratch(), scratch()];
    let reported = [story(&theirs, folders[0].path()), story(&ours, folders[1].path())];
    assert!(
        reported[0].contains("Redirecting to URL 'http://127.0.0.1:PORT/new/r'"),
        "{}",
        reported[0]
    );
    // Both report an error for a missing URL, with different texts.
    let plain = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.contains("perma") || line.contains("Redirecting"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let [theirs, ours] = reported.map(|text| plain(&text));
    let differing = theirs
        .lines()
        .zip(ours.lines())
        .find(|(theirs, ours)| theirs != ours);
    assert_eq!((differing, theirs.len()), (None, ours.len()), "{ours}");
}

#[test]
fn recursive_actions_are_refused_by_configuration() {
    let repositories = repositories(&[
        "p",
        "p/tags",
        "p/tags/1",
        "p/trunk",
        "p/trunk/sub",
        "special",
        "special/tags",
    ]);
    let parent = repositories.path();
    let server = TestServer::http_site(
        testkit::Side::Ours,
        &HttpSite {
            ours: "require = 'anyone'\nrefuse-recursive = ['!/special/tags', '/', '/*', '/*/tags']\nrefuse-replay = true\n",
            ..HttpSite::plain(parent)
        },
    );
    let folder = scratch();
    let url = |path: &str| format!("http://127.0.0.1:{}/r{path}", server.port());
    let svn = |words: &[&str]| {
        let tool = Tool::new("svn")
            .args(words)
            .arg("--non-interactive")
            .dir(folder.path());
        tool.run()
    };
    let refused = |words: &[&str]| {
        let output = svn(words);
        assert!(
            output.code != 0 && output.err().contains("forbidden"),
            "{words:?}: {} {}",
            output.out(),
            output.err()
        );
    };
    for (at, path) in ["", "/p", "/p/tags"].into_iter().enumerate() {
        refused(&["checkout", "-q", &url(path), &format!("checkout{at}")]);
        refused(&["export", "-q", &url(path), &format!("export{at}")]);
        refused(&["list", "-R", &url(path)]);
        refused(&["copy", "-m", "x", &url(path), &url("/copy")]);
        svn(&["list", "--depth", "immediates", &url(path)]).expect_ok();
    }
    svn(&["checkout", "-q", &url("/special/tags"), "special"]).expect_ok();
    svn(&["checkout", "-q", &url("/p/trunk"), "trunk"]).expect_ok();
    svn(&["list", "-R", &url("/p/trunk")]).expect_ok();
    svn(&["copy", "-q", "-m", "x", &url("/p/trunk"), &url("/p/tags/2")]).expect_ok();
    svn(&["update", "-q", "trunk"]).expect_ok();
    refused(&["switch", "-q", "--ignore-ancestry", &url("/p/tags"), "trunk"]);
    refused(&["diff", "--old", &url("/p/trunk"), "--new", &url("/p/tags")]);
    // Sparse working copies: actions with a limited depth are allowed, recursive ones are not.
    svn(&["checkout", "-q", "--depth", "empty", &url(""), "sparse"]).expect_ok();
    svn(&["update", "-q", "--set-depth", "immediates", "sparse/p"]).expect_ok();
    svn(&["update", "-q", "sparse"]).expect_ok();
    refused(&["update", "-q", "--set-depth", "infinity", "sparse/p"]);
    refused(&["update", "-q", "--set-depth", "infinity", "sparse/p/tags"]);
    svn(&["update", "-q", "--set-depth", "infinity", "sparse/p/tags/1"]).expect_ok();
    refused(&["update", "-q", "--set-depth", "infinity", "sparse"]);
    let dump = Tool::new("svnrdump").args(["dump", "-q", &url("")]).run();
    assert_ne!(dump.code, 0, "{}", dump.err());
}
