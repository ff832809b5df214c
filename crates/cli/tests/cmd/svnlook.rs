//! `svnlook` on revisions and transactions, in formats old and new.

use testkit::repo::When;
use testkit::{Repo, Spec, build};

use crate::pair::{Order, Pair};

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

/// Every revision (or every `step`-th), and the transaction if there is one.
fn places(repo: &Repo, step: usize) -> Vec<[String; 2]> {
    let revisions = (0..=repo.youngest()).step_by(step);
    let mut places: Vec<[String; 2]> = revisions.map(|rev| ["-r".into(), rev.to_string()]).collect();
    places.extend(txn(repo).map(|name| ["-t".into(), name]));
    places
}

fn at_places(step: usize, commands: &[&str]) {
    for repo in repositories() {
        let pair = Pair::new("svnlook", repo.path());
        for [option, place] in places(&repo, step) {
            for command in commands {
                let mut words: Vec<&str> = command.split_ascii_whitespace().collect();
                words.extend([".", &option, &place]);
                pair.same(&words);
            }
        }
    }
}

#[test]
fn what_changed() {
    at_places(1, &["changed --copy-info", "dirs-changed", "diff"]);
    at_places(3, &["changed"]);
}

#[test]
fn diff_options() {
    at_places(
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
fn diff_by_another_program() {
    let repo = build(&Spec::small("1.14"));
    let pair = Pair::new("svnlook", repo.path());
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
    at_places(
        5,
        &["author", "date", "log", "info", "propget --revprop -v svn:log"],
    );
    let repo = &repositories()[1];
    let pair = Pair::new("svnlook", repo.path());
    for [option, place] in places(repo, 7) {
        for words in [&["-v"][..], &["--xml"], &[]] {
            let all = [&["proplist", "--revprop", ".", &option, &place][..], words].concat();
            pair.compare(&all, Order::OfLines);
        }
    }
    for zone in ["America/New_York", "Asia/Kolkata"] {
        let env = [("TZ", zone)];
        let pair = Pair { env: &env, ..pair };
        pair.same(&["date", ".", "-r", "3"]);
        pair.same(&["info", ".", "-r", "40"]);
        pair.same(&["lock", ".", "trunk/big.txt"]);
        pair.same(&["diff", ".", "-r", "40"]);
    }
}

#[test]
fn nodes() {
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
        let pair = Pair::new("svnlook", repo.path());
        let places: Vec<Vec<String>> = [vec![], vec!["-r".to_owned(), "30".to_owned()]]
            .into_iter()
            .chain(txn(&repo).map(|name| vec!["-t".to_owned(), name]))
            .collect();
        for path in paths {
            for place in &places {
                for (command, order) in commands
                    .iter()
                    .map(|c| (c, Order::Exact))
                    .chain(listings.iter().map(|c| (c, Order::OfLines)))
                {
                    // The property's name comes after the repository.
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
    }
}

#[test]
fn whole_trees() {
    at_places(30, &["tree --show-ids", "tree --full-paths", "tree"]);
}

#[test]
fn the_c_locale_degrades_alike() {
    let repo = build(&Spec::new("1.14"));
    let env = [("LC_ALL", "C")];
    let pair = Pair {
        env: &env,
        ..Pair::new("svnlook", repo.path())
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
