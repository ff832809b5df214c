//! `svnbench`: the same counts and errors. Times differ, and so do the bytes on the network.
//!
//! `SVNBENCH_SEEDS=A..B` runs other random commands.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::{Repo, Side, Spec, Tool, build, sample_from, seeds};

use crate::twins::{Access, TwinClients};

/// Makes a repository with a locked file.
fn repository() -> Repo {
    let repo = build(&Spec::small("1.14")).copy();
    Tool::new("svnadmin")
        .arg("lock")
        .arg(repo.path())
        .args(["iota", "alice", "/dev/null", "opaquelocktoken:1"])
        .ok();
    repo
}

/// Runs a command on both sides. Returns the difference, if there is one.
fn difference(twins: &TwinClients, words: &[&str]) -> Option<String> {
    let outputs = twins.outputs(words, |tool| tool);
    let [theirs, ours] = outputs.map(|output| masked(&output));
    (ours != theirs).then(|| format!("{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"))
}

/// Returns an output without what differs from run to run.
fn masked(output: &str) -> String {
    let mut text = String::new();
    for line in output.lines() {
        let masked = ["seconds taken", "bytes transferred over network"]
            .iter()
            .find(|what| line.ends_with(**what));
        text.push_str(masked.unwrap_or(&line));
        text.push('\n');
    }
    text
}

/// A server before 1.10 has no listings: Apache without the header that announces them.
#[test]
fn a_server_without_listings() {
    let repo = repository();
    let parent = repo.path().parent().expect("because it is in a directory");
    let site = HttpSite {
        apache: READ_FREELY,
        apache_wide: "LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so\n\
                      Header edit DAV .*svn/list$ 1\n",
        ..HttpSite::plain(parent)
    };
    let server = TestServer::http_site(Side::Theirs, &site);
    let name = repo.path().file_name().expect("because it is a directory");
    let url = format!("http://127.0.0.1:{}/{}", server.port(), name.to_string_lossy());
    for line in [
        "svnbench null-list URL",
        "svnbench null-list -R URL",
        "svnbench null-list -v -R URL",
        "svnbench null-list -v -R --search=*a* URL",
        "svnbench null-list -v --search=i* URL URL/nothing",
        "svnbench null-list -r1 URL/iota",
        "svn list -v -R URL",
        "svn list --search=*a* -R URL",
    ] {
        let line = line.replace("URL", &url);
        let mut words = line.split(' ');
        let tool = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let [theirs, ours] = Side::BOTH.map(|side| {
            let output = side.tool(tool).args(&words).run();
            masked(&format!("{}{}{}", output.out(), output.err(), output.code))
        });
        assert_eq!(theirs, ours, "{line}");
    }
}

#[test]
fn counts_and_errors() {
    let repo = repository();
    let mut differences = Vec::new();
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        let lines = [
            "null-export {URL}",
            "null-export -q {URL}",
            "null-export {URL}/nothing",
            "null-export {URL}/trunk@2",
            "null-export -r99 {URL}",
            "null-export --depth files {URL}/trunk",
            "null-export -N {URL}/trunk",
            "null-list {URL} {URL}/trunk",
            "null-list -v -R {URL}",
            "null-list -q {URL}/nothing {URL}",
            "null-list --search *a* -R {URL}",
            "null-list -v --search *a* -R {URL}",
            "null-log {URL}",
            "null-log -v -g {URL}/trunk",
            "null-log -q {URL}",
            "null-log -l 2 --stop-on-copy {URL}/trunk",
            "null-log -c 2,1 {URL}",
            "null-log -r1:2 -r4 --with-all-revprops {URL}",
            "null-log --with-no-revprops {URL}",
            "null-log {URL}/nothing",
            "null-info -R {URL}",
            "null-info {URL} {URL}/nothing {URL}/trunk",
            "null-info --depth files {URL}/trunk",
            "null-info --depth immediates -r2 {URL}/trunk",
            "null-info -r99 {URL}",
        ];
        for line in sample_from(number, 4, lines) {
            let line = format!("svnbench {line}");
            let words: Vec<&str> = line.split(' ').collect();
            differences.extend(difference(&twins, &words).map(|text| format!("{access:?} {text}")));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn arguments() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    let mut differences = Vec::new();
    for line in [
        "",
        "nothing",
        "-q",
        "--version -q",
        "null-export",
        "null-export nothing",
        "null-export {URL} {URL}",
        "null-export -r1:2 {URL}",
        "null-export -r PREV {URL}",
        "null-export -r1 -r2 {URL}",
        "null-export {URL}@x",
        "null-export --depth none {URL}",
        "null-export -v {URL}",
        "null-list",
        "null-list nothing",
        "null-list nothing {URL}",
        "ls -r1:2 {URL}",
        "null-list -R --depth empty {URL}",
        "null-log",
        "null-log nothing",
        "null-log {URL} {URL}",
        "null-log {URL} /x",
        "null-log -l 0 {URL}",
        "null-log -l x {URL}",
        "null-log -l -3 {URL}",
        "null-log -r1 -c2 {URL}",
        "null-log --with-all-revprops --with-no-revprops {URL}",
        "null-log --with-revprop x --with-no-revprops {URL}",
        "null-log -r PREV {URL}",
        "null-log {URL}@99",
        "null-blame",
        "null-blame nothing",
        "null-blame -q {URL}",
        "null-blame {URL}",
        "null-blame {URL}/nothing {URL}",
        "null-blame -r PREV {URL}/iota",
        "null-blame -r 1:0 {URL}/iota",
        "null-blame -r 99:1 {URL}/iota",
        "null-info",
        "null-info nothing",
        "null-info nothing {URL}",
        "null-info -q {URL}",
        "null-info foo://x",
        "null-info file:///nowhere",
        "null-info {URL}@99",
    ] {
        let line = format!("svnbench {line}");
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        differences.extend(difference(&twins, &words));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn statistics_are_an_addition() {
    let repo = repository();
    let twins = TwinClients::new(&repo, Access::Svn);
    let url = twins.url(Side::Ours);
    let tool = Side::Ours
        .tool("svnbench")
        .args(["null-info", "-R", url, "--statistics"]);
    let text = tool.ok().out();
    for what in [
        "bytes sent",
        "bytes received",
        "bytes received per second",
        "requests",
        "milliseconds until 99 % of the answers began",
    ] {
        assert!(text.lines().any(|line| line.ends_with(what)), "{what} in {text}");
    }
}

#[test]
fn random_measurements() {
    let repo = repository();
    let all: Vec<(Access, TwinClients)> = Access::ALL
        .into_iter()
        .map(|access| (access, TwinClients::new(&repo, access)))
        .collect();
    let youngest = repo.youngest();
    let listing = Tool::new("svn").args(["ls", "-R", &repo.url()]).ok().out();
    let paths: Vec<&str> = listing.lines().map(|path| path.trim_end_matches('/')).collect();
    let mut differences = Vec::new();
    for seed in seeds("SVNBENCH_SEEDS", 0..40) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (access, twins) = &all[random.random_range(0..all.len())];
        let command =
            ["null-export", "null-list", "null-log", "null-blame", "null-info"][random.random_range(0..5)];
        let mut words = vec!["svnbench".to_owned(), command.to_owned()];
        // A blame up to revision 0 asks the incumbent's server for a range that it turns around.
        let oldest = u64::from(command == "null-blame");
        let revision = |random: &mut ChaCha8Rng| random.random_range(oldest..=youngest).to_string();
        if random.random_bool(0.4) {
            let start = revision(&mut random);
            let is_range = matches!(command, "null-log" | "null-blame") && random.random_bool(0.6);
            let end = if is_range {
                format!(":{}", revision(&mut random))
            } else {
                String::new()
            };
            words.push(format!("-r{start}{end}"));
        }
        let options: &[&str] = match command {
            "null-export" => &["-N", "--depth=empty", "--depth=immediates"],
            "null-list" => &["-v", "-R", "--depth=files", "--search=*a*", "--search=I?TA"],
            "null-log" => &["-v", "-g", "--stop-on-copy", "-l3", "--with-all-revprops"],
            "null-blame" => &["-g"],
            _ => &["-R", "--depth=files", "--depth=immediates", "--depth=empty"],
        };
        for option in options {
            if random.random_bool(0.3) {
                words.push((*option).to_owned());
            }
        }
        let path = paths[random.random_range(0..paths.len())].replace(' ', "%20");
        let path = if random.random_bool(0.2) {
            String::new()
        } else {
            format!("/{path}")
        };
        let peg = if random.random_bool(0.3) {
            format!("@{}", revision(&mut random))
        } else {
            String::new()
        };
        words.push(format!("{{URL}}{path}{peg}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        differences.extend(difference(twins, &words).map(|text| format!("seed {seed} {access:?} {text}")));
    }
    assert!(
        differences.is_empty(),
        "{} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}
