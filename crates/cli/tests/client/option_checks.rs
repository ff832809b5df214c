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
         --show-copies-as-adds --patch-compatible --diff-cmd=/bin/true -x-u -x-q --notice-ancestry --depth=files -N --properties-only -rPREV",
        &[
            "{URL}/trunk",
            "{URL}/P/d {URL}/P/long",
            "--old={URL}/P/d",
            "--new={URL}",
            "",
            "{DIR}",
            "{URL}/P/d@x",
            "{URL}/P/d@PREV {URL}/P",
            "{URL}/P/d {URL}/P@PREV",
            "{URL}/P/d {URL}/P@x {URL}/nosuch",
            "{DIR}@x {DIR}",
            "{URL}/P {DIR}",
            "--old={DIR} --new={URL} x",
            "--old={URL}/P --new={URL} d x://y",
        ],
    ),
    (
        "blame",
        "-v -r1 -r1:2 --xml --incremental --force -x-w -x-y",
        &["{URL}/P/d/g", "", "{URL}"],
    ),
    (
        "mergeinfo",
        "-v -q -R -r1 -r1:2 --log --show-revs=merged --show-revs=eligible --show-revs=x --incremental --depth=files \
         --depth=empty -rPREV -r99",
        &[
            "",
            "{URL} {URL}/P",
            "{URL} {URL} {URL}",
            "{DIR} {URL}",
            "{URL} {DIR}",
            "{DIR} {DIR}",
            "{URL}/nosuch {URL}",
            "{URL} {URL}/nosuch",
            "{URL}@PREV {URL}",
            "{URL} {URL}@PREV",
            "{DIR} {URL}@x",
        ],
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
        same(&twins, &words);
    });
}

fn same(twins: &TwinClients, words: &[&str]) {
    let [theirs, ours] = twins.outputs(words, |tool| tool);
    // Entries of directories have no defined order in some outputs.
    let same = theirs == ours || sorted_lines(&theirs) == sorted_lines(&ours);
    assert!(same, "{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}");
}

const SUBCOMMANDS: &[&str] = &[
    "auth",
    "blame",
    "cat",
    "copy",
    "delete",
    "diff",
    "export",
    "import",
    "info",
    "list",
    "lock",
    "log",
    "mergeinfo",
    "move",
    "propdel",
    "propget",
    "proplist",
    "propset",
    "unlock",
    "nosuch",
    "help",
];

/// Options of any subcommand.
const OPTIONS: &[&str] = &[
    "--old=a",
    "--old=",
    "-c1",
    "-c1,2",
    "-c,",
    "-cx",
    "-c0",
    "--new=b",
    "-r1",
    "-r1:2",
    "-rx",
    "--depth=files",
    "--depth=bad",
    "--set-depth=files",
    "--set-depth=bad",
    "-N",
    "-R",
    "--bad",
    "-Z",
    "--xml",
    "--xml=1",
    "-l1",
    "-l0",
    "-lx",
    "--show-revs=X",
    "--show-revs=merged",
    "-mx",
    "-F/nosuch",
    "-F/dev/null",
    "--with-revprop=",
    "--with-revprop=a=b",
    "--with-no-revprops",
    "--with-all-revprops",
    "--accept=bad",
    "--accept=base",
    "--strip=x",
    "--strip=1",
    "--native-eol=x",
    "--native-eol=LF",
    "--show-item=bad",
    "--show-item=url",
    "--internal-diff",
    "--diff-cmd=x",
    "--non-interactive",
    "--force-interactive",
    "--config-option=bad",
    "--trust-server-cert-failures=bad",
    "--trust-server-cert-failures=other",
    "-x-q",
    "-x-u",
    "--targets=/nosuch",
    "--encoding=bad",
    "--editor-cmd=x",
    "--parents",
    "-q",
    "-v",
    "--incremental",
    "--reintegrate",
    "--search=",
    "--auto-props",
    "--no-auto-props",
    "--changelist=x",
    "--username=x",
    "--no-unlock",
    "--summarize",
    "--revision",
    "--depth",
];

/// Options in any order, before and after the subcommand, most of which it does not accept.
#[test]
fn options_of_other_subcommands() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    testkit::each_seed("FOREIGN_OPTION_SEEDS", 0..80, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let mut words = vec!["svn"];
        for _ in 0..1 + random.below(4) {
            words.push(OPTIONS[random.below(OPTIONS.len())]);
        }
        for operand in [
            SUBCOMMANDS[random.below(SUBCOMMANDS.len())],
            ["", "a", "{URL}/nosuch/x"][random.below(3)],
        ] {
            if !operand.is_empty() {
                words.insert(1 + random.below(words.len()), operand);
            }
        }
        println!("seed {seed}: {words:?}");
        same(&twins, &words);
    });
}
