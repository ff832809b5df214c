//! Random commands that read: any options, targets, peg revisions and ranges, over all kinds of access.
//!
//! `READ_SEEDS=A..B` runs these seeds. A seed is one command: an even one for [`read_repo`], an odd one for a random repository,
//! which a hundred seeds share: one of branches, one of odd names and texts, or that with paths that cannot be read.

use std::collections::BTreeMap;

use testkit::history::Random;
use testkit::{Repo, Tool, random_history, sample};

use crate::diff;
use crate::known;
use crate::read_repo;
use crate::twins::{Access, TwinClients};

#[test]
fn random_commands() {
    let mut repos: BTreeMap<Option<u64>, (Case, BTreeMap<usize, TwinClients>)> = BTreeMap::new();
    testkit::each_seed("READ_SEEDS", 0..sample(3, 0..60).count() as u64, |seed| {
        let which = (seed % 2 == 1).then_some(seed / 100);
        repos.retain(|other, _| which.is_none() || other.is_none() || *other == which);
        let (case, twins) = repos.entry(which).or_insert_with(|| {
            let case = which.map_or_else(Case::fixed, Case::random);
            (case, BTreeMap::new())
        });
        let mut random = Random::new(seed);
        let words = command(&mut random, &case.paths, case.repo.youngest());
        let number = random.below(Access::ALL.len());
        let access = Access::ALL[number];
        println!("seed {seed}: {access:?} {words:?}");
        let twins = twins.entry(number).or_insert_with(|| match &case.rules {
            Some(rules) => TwinClients::with_rules(&case.repo, access, rules),
            None => TwinClients::new(&case.repo, access),
        });
        check(twins, access, &words);
    });
}

/// A repository, and what commands name.
struct Case {
    repo: Repo,
    /// Paths with the escapes of URLs.
    paths: Vec<String>,
    /// Rules for access to paths.
    rules: Option<String>,
}

impl Case {
    fn fixed() -> Case {
        let repo = read_repo::repository();
        Case {
            paths: paths(&repo),
            repo,
            rules: None,
        }
    }

    fn random(seed: u64) -> Case {
        let repo = Repo::create("1.14");
        if seed.is_multiple_of(3) {
            repo.load(random_history::history(seed, 40, true).stream.bytes());
            return Case {
                paths: paths(&repo),
                repo,
                rules: None,
            };
        }
        let mut random = Random::new(seed);
        random.next();
        let history = diff::history::random(&mut random, 40);
        repo.load(history.stream.bytes());
        // Paths of the past too.
        let mut hidden = || &history.paths[random.below(history.paths.len())];
        let rules = format!(
            "[/]\n* = r\n[/{}]\n* =\n[/{}]\n* =\n[/{}]\n* =\n",
            hidden(),
            hidden(),
            hidden()
        );
        Case {
            repo,
            paths: history
                .paths
                .iter()
                .map(|path| diff::questions::escaped(path))
                .collect(),
            rules: (seed % 3 == 2).then_some(rules),
        }
    }
}

/// Returns all paths of the youngest revision, and some that do not exist.
fn paths(repo: &Repo) -> Vec<String> {
    let tree = Tool::new("svnlook")
        .args(["tree", "--full-paths"])
        .arg(repo.path())
        .ok()
        .out();
    let mut paths: Vec<String> = tree
        .lines()
        .map(|line| line.trim_end_matches('/').to_owned())
        .collect();
    paths.extend(["nosuch", "P/f/below"].map(str::to_owned));
    paths
}

fn check(twins: &TwinClients, access: Access, words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [theirs, ours] = twins.outputs(&words, |tool| tool);
    if ours == theirs || known::reading(access, &theirs, &ours) {
        return;
    }
    // The order of a directory's entries is not defined in the outputs of these commands.
    let is_unordered = ["info", "proplist", "propget"].contains(&words[1]);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let same = is_unordered && sorted(&theirs) == sorted(&ours);
    assert!(
        same,
        "{access:?} {words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"
    );
}

fn command(random: &mut Random, paths: &[String], youngest: u64) -> Vec<String> {
    const COMMANDS: &[(&str, &[&str])] = &[
        (
            "list",
            &[
                "-v",
                "-R",
                "-H",
                "--xml",
                "--incremental",
                "--depth",
                "--search",
                "-r",
            ],
        ),
        ("cat", &["-r", "--ignore-keywords"]),
        (
            "info",
            &[
                "-R",
                "--depth",
                "-r",
                "--xml",
                "--incremental",
                "-H",
                "--no-newline",
                "--show-item",
            ],
        ),
        (
            "propget",
            &[
                "-v",
                "-R",
                "--depth",
                "-r",
                "--xml",
                "--no-newline",
                "--show-inherited-props",
                "--revprop",
            ],
        ),
        (
            "proplist",
            &[
                "-v",
                "-q",
                "-R",
                "--depth",
                "-r",
                "--xml",
                "--show-inherited-props",
                "--revprop",
            ],
        ),
        (
            "mergeinfo",
            &[
                "-R",
                "--show-revs",
                "--show-revs",
                "-r",
                "--log",
                "-v",
                "-q",
                "--incremental",
            ],
        ),
    ];
    const NAMES: &[&str] = &[
        "a",
        "b",
        "color",
        "svn:keywords",
        "svn:mergeinfo",
        "svn:log",
        "svn:author",
        "nosuch",
        "p1",
    ];
    const ITEMS: &[&str] = &[
        "kind",
        "url",
        "relative-url",
        "repos-size",
        "revision",
        "last-changed-author",
        "ur",
    ];
    const DEPTHS: &[&str] = &["empty", "files", "immediates", "infinity"];
    let (name, options) = COMMANDS[random.below(COMMANDS.len())];
    let mut words = vec!["svn".to_owned(), name.to_owned()];
    let mut push = |word: &str| words.push(word.to_owned());
    if name == "propget" {
        push(NAMES[random.below(NAMES.len())]);
    }
    for _ in 0..random.below(4) {
        let option = options[random.below(options.len())];
        push(option);
        match option {
            "--depth" => push(DEPTHS[random.below(DEPTHS.len())]),
            "--search" => push(["*a*", "F*", "?", "*", "[a-f]*", ""][random.below(6)]),
            "--show-item" => push(ITEMS[random.below(ITEMS.len())]),
            "--show-revs" => push(["merged", "eligible"][random.below(2)]),
            "-r" => push(&revision(random, youngest)),
            _ => {}
        }
    }
    let count = match name {
        "mergeinfo" => 2,
        _ => 1 + random.below(3) / 2,
    };
    for _ in 0..count {
        push(&target(random, paths, youngest));
    }
    words
}

fn revision(random: &mut Random, youngest: u64) -> String {
    let number = random.below(usize::try_from(youngest).unwrap_or(0) + 2);
    match random.below(12) {
        0 => "HEAD".to_owned(),
        1 => format!("{number}:HEAD"),
        2 => "{2001-01-01}".to_owned(),
        3 => "PREV".to_owned(),
        _ => number.to_string(),
    }
}

fn target(random: &mut Random, paths: &[String], youngest: u64) -> String {
    let path = &paths[random.below(paths.len())];
    let url = match random.below(8) {
        0 => "{URL}".to_owned(),
        1 => format!("^/{path}"),
        _ => format!("{{URL}}/{path}"),
    };
    match random.below(4) {
        0 => format!("{url}@{}", revision(random, youngest)),
        _ => format!("{url}@"),
    }
}
