//! Random options together: which of them exclude each other, and which error comes first.
//!
//! `OPTION_SEEDS=A..B` runs these seeds. A seed is one command.

use testkit::history::Random;
use testkit::normalize::sorted_lines;

use crate::read_repo;
use crate::twins::{Access, TwinClients};

/// A subcommand, its options, and operands for it.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "list",
        "-v -R -H --xml --incremental --depth=files -r1 -rHEAD:1 --search=x -q --include-externals --depth=bad -c1",
        &["{URL}", "", "{URL} {URL}/P/d", "{URL}/nosuch"],
    ),
    (
        "info",
        "-R --xml --incremental -H --no-newline --show-item=url --show-item=bad --depth=files -r1 -r1:2 -c1 --include-externals",
        &["{URL}", "{URL}/P/d/g", "{URL}/nosuch", "", "{URL} {URL}/P"],
    ),
    (
        "cat",
        "-r1 --ignore-keywords -v -rx -r1:2",
        &["{URL}/P/d/g", "", "{URL}"],
    ),
    (
        "log",
        "-v -q --diff --xml --incremental --with-all-revprops --with-no-revprops --with-revprop=x -l1 -l0 -l-1 -lx -c1 -r1 -r1:x \
         --depth=files -x-u --diff-cmd=x --internal-diff --stop-on-copy --search=a --search-and=b",
        &["{URL}/P/d/g", "{URL}/P d", "", "{URL} /x"],
    ),
    (
        "propget",
        "-v -R --xml --revprop --strict --no-newline --show-inherited-props -r1 -r1:2 --depth=empty",
        &[
            "a {URL}/P",
            "a",
            "",
            "svn:log {URL}",
            "a {URL} {URL}/P",
            "a*b {URL}",
        ],
    ),
    (
        "proplist",
        "-v -q -R --xml --revprop --show-inherited-props -r1 -r1:2 --depth=empty",
        &["{URL}/P/d", "", "{URL} {URL}/P"],
    ),
    (
        "diff",
        "-r1:2 -c2 -c1,2 --summarize --xml --git --no-diff-added --no-diff-deleted --ignore-properties --force --internal-diff \
         --show-copies-as-adds --patch-compatible --diff-cmd=/bin/true -x-u --notice-ancestry --depth=files -N",
        &[
            "{URL}/trunk",
            "{URL}/P/d {URL}/P/long",
            "--old={URL}/P/d",
            "--new={URL}",
        ],
    ),
    (
        "blame",
        "-v -r1 -r1:2 --xml --incremental --force -x-w -x-y",
        &["{URL}/P/d/g", "", "{URL}"],
    ),
    (
        "mergeinfo",
        "-v -q -R -r1 -r1:2 --log --show-revs=merged --show-revs=x --incremental",
        &["", "{URL} {URL}/P", "{URL} {URL} {URL}"],
    ),
    ("auth", "--remove --show-passwords", &["", "x"]),
    (
        "lock",
        "-q -mx --force --force-log",
        &["", "{URL}/nosuch", "{URL}"],
    ),
];

#[test]
fn random_options() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    testkit::each_seed("OPTION_SEEDS", 0..80, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let (name, options, operands) = CASES[random.below(CASES.len())];
        let options: Vec<&str> = options.split_ascii_whitespace().collect();
        let mut words = vec!["svn", name];
        for _ in 0..random.below(5) {
            words.push(options[random.below(options.len())]);
        }
        words.extend(operands[random.below(operands.len())].split_ascii_whitespace());
        println!("seed {seed}: {words:?}");
        let [theirs, ours] = twins.outputs(&words, |tool| tool);
        // Entries of directories have no defined order in some outputs.
        let same = theirs == ours || sorted_lines(&theirs) == sorted_lines(&ours);
        assert!(same, "{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}");
    });
}
