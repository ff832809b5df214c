//! `svnlook` on revisions and transactions, in old and new formats.

use testkit::repo::When;
use testkit::{Repo, Spec, build, sample};

use testkit::pair::{AllowedDifference, ToolPair};

fn repositories() -> Vec<Repo> {
    let half_packed = Spec::new("1.14")
        .shard(4)
        .pack(When::Halfway)
        .packed_revprops(1, true)
        .busy()
        .named("f8-half-packed");
    [Spec::new("1.3").named("f1"), half_packed]
        .iter()
        .map(build)
        .collect()
}

fn txn(repo: &Repo) -> Option<String> {
    let out = testkit::Tool::new("svnadmin")
        .arg("lstxns")
        .arg(repo.path())
        .ok()
        .out();
    out.lines().next().map(str::to_owned)
}

/// Returns the options for every `step`-th revision, and for the transaction if there is one.
fn revisions_and_txn(repo: &Repo, step: usize) -> Vec<[String; 2]> {
    let revisions = (0..=repo.youngest()).step_by(step);
    let mut places: Vec<[String; 2]> = revisions.map(|rev| ["-r".into(), rev.to_string()]).collect();
    places.extend(txn(repo).map(|name| ["-t".into(), name]));
    places
}

fn same_at_each_revision(step: usize, commands: &[&str]) {
    let repositories = repositories().into_iter();
    let repositories: Vec<(Repo, Vec<[String; 2]>)> = repositories
        .map(|repo| {
            let places = revisions_and_txn(&repo, step);
            (repo, places)
        })
        .collect();
    let places = repositories
        .iter()
        .flat_map(|(repo, places)| places.iter().map(move |place| (repo, place)));
    let cases = places.flat_map(|(repo, place)| commands.iter().map(move |command| (repo, place, command)));
    // No test has a multiple of 7 commands.
    for (repo, [option, place], command) in sample(7, cases) {
        let mut words: Vec<&str> = command.split_ascii_whitespace().collect();
        words.extend([".", option, place]);
        ToolPair::new("svnlook", repo.path()).same(&words);
    }
}

#[test]
fn changed_and_dirs_changed() {
    same_at_each_revision(1, &["changed --copy-info", "dirs-changed", "diff"]);
    same_at_each_revision(3, &["changed"]);
}

#[test]
fn diff_options() {
    same_at_each_revision(
        4,
        &[
            "diff --diff-copy-from",
            "diff --no-diff-added --ignore-properties",
            "diff --no-diff-deleted --properties-only",
            "diff -x -pU1",
        ],
    );
}

#[test]
fn diff_with_diff_cmd() {
    let repo = build(&Spec::small("1.14"));
    let pair = ToolPair::new("svnlook", repo.path());
    for rev in ["2", "5", "6", "7", "9"] {
        pair.same(&["diff", ".", "-r", rev, "--diff-cmd", "diff"]);
        pair.same(&["diff", ".", "-r", rev, "--diff-cmd", "diff", "-x", "-U1  -b"]);
    }
    for words in [
        &["--diff-cmd", "nosuch"][..],
        &["-x", "-z"],
        &["-x", "--context"],
        &["-x", "foo"],
        &["-x", "-U x"],
    ] {
        pair.same(&[&["diff", ".", "-r", "2"][..], words].concat());
    }
}

#[test]
fn revision_properties() {
    same_at_each_revision(
        5,
        &["author", "date", "log", "info", "propget --revprop -v svn:log"],
    );
    let repo = &repositories()[1];
    let pair = ToolPair::new("svnlook", repo.path());
    let cases = revisions_and_txn(repo, 7)
        .into_iter()
        .flat_map(|place| [&["-v"][..], &["--xml"], &[]].map(|words| (place.clone(), words)));
    for ([option, place], words) in sample(2, cases) {
        let all = [&["proplist", "--revprop", ".", &option, &place][..], words].concat();
        pair.compare(&all, AllowedDifference::OfLines);
    }
    // Descriptions have no rules, seconds, or numbers that are too large.
    for zone in [
        "CET-1CEST",
        ":PST8PDT4",
        "ABC5:30:15",
        "ABC-25:99",
        "ABC3 DEF",
        "posix/Asia/Kolkata",
        "asia/kolkata",
        "",
    ] {
        let env = [("TZ", zone)];
        let pair = ToolPair { env: &env, ..pair };
        pair.same(&["date", ".", "-r", "3"]);
        pair.same(&["date", ".", "-r", "40"]);
    }
    for zone in ["America/New_York", "Asia/Kolkata"] {
        let env = [("TZ", zone)];
        let pair = ToolPair { env: &env, ..pair };
        pair.same(&["date", ".", "-r", "3"]);
        pair.same(&["info", ".", "-r", "40"]);
        pair.same(&["lock", ".", "trunk/big.txt"]);
        pair.same(&["diff", ".", "-r", "40"]);
    }
}

#[test]
fn cat_filesize_history_and_properties() {
    let paths = [
        "trunk/c11.txt",
        "/",
        "",
        "trunk//",
        "./trunk/no-newline",
        "nosuch",
        "/nosuch/",
        "../x",
        "trunk/a.b/x",
        "branches/b2/inner/hello.txt",
        "trunk/日本語/コピー.txt",
        "trunk/at@sign.txt",
    ];
    let commands = [
        "cat",
        "filesize",
        "history",
        "history --show-ids -l 3",
        "tree -N --show-ids",
        "tree --full-paths -N",
        "lock",
        "propget svn:ignore",
        "propget -v --show-inherited-props svn:mergeinfo",
        "propget --show-inherited-props svn:ignore",
        "propget -v crlf",
        "propget nul",
    ];
    let listings = ["proplist", "proplist -v --show-inherited-props", "proplist --xml"];
    for repo in repositories() {
        let pair = ToolPair::new("svnlook", repo.path());
        let places: Vec<Vec<String>> = [vec![], vec!["-r".to_owned(), "30".to_owned()]]
            .into_iter()
            .chain(txn(&repo).map(|name| vec!["-t".to_owned(), name]))
            .collect();
        let commands = commands.iter().map(|c| (c, AllowedDifference::Exact));
        let commands = commands.chain(listings.iter().map(|c| (c, AllowedDifference::OfLines)));
        let places = paths
            .iter()
            .flat_map(|path| places.iter().map(move |place| (path, place)));
        let cases =
            places.flat_map(|(path, place)| commands.clone().map(move |command| (path, place, command)));
        for (path, place, (command, order)) in sample(11, cases) {
            // The property's name is the argument after the repository.
            let mut words: Vec<&str> = command.split_ascii_whitespace().collect();
            match words[0] {
                "propget" => drop(words.splice(words.len() - 1..words.len() - 1, ["."])),
                _ => words.push("."),
            }
            words.push(path);
            words.extend(place.iter().map(String::as_str));
            pair.compare(&words, order);
        }
    }
}

#[test]
fn tree_with_all_options() {
    same_at_each_revision(10, &["tree --show-ids", "tree --full-paths", "tree"]);
}

#[test]
fn output_in_the_c_locale() {
    let repo = build(&Spec::new("1.14"));
    let env = [("LC_ALL", "C")];
    let pair = ToolPair {
        env: &env,
        ..ToolPair::new("svnlook", repo.path())
    };
    for line in [
        "tree . -N trunk",
        "changed . -r 39",
        "diff . -r 8",
        "info . -r 51",
        "log . -r 51",
        "author . -r 5",
        "propget . -v owner trunk -r 4",
    ] {
        pair.same_line(line);
    }
}
