//! `svndumpfilter`, compared with the incumbent: a table of cases, and random streams with random options.
//!
//! The random streams are wild ones ([`wild`]), dumps of random histories, and mutated streams as in
//! [`streams`](crate::streams). `DUMPFILTER_SEEDS=1000..21000 cargo test -p sven --test cmd dumpfilter` runs these seeds, one
//! stream each, and counts the differences by kind before it fails.

mod cases;
mod normal;
mod wild;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use testkit::history::Random;
use testkit::{Output, Side, Tool, branch_history, random_history};

use crate::random::{one_of, short_or_all};
use crate::streams::mutation::mutated;

#[test]
fn random_streams_are_filtered_as_with_the_incumbent() {
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for seed in testkit::seeds("DUMPFILTER_SEEDS", short_or_all(0..85, 0..250)) {
        count += 1;
        if let Some((kind, report)) = compare_seed(seed) {
            println!("{kind}\n{report}");
            differences.entry(kind).or_default().push(report);
        }
    }
    let counts: Vec<String> = differences
        .iter()
        .map(|(kind, all)| format!("{} times {kind}", all.len()))
        .collect();
    let examples: String = differences
        .values()
        .filter_map(|all| all.first())
        .cloned()
        .collect();
    println!("{count} cases");
    assert!(differences.is_empty(), "{}\n{examples}", counts.join("\n"));
}

/// Runs the filter of one side.
fn run(side: Side, words: &[String], input: &[u8], targets: Option<&std::path::Path>) -> Output {
    let mut tool = side.tool("svndumpfilter").args(words);
    if let Some(path) = targets {
        tool = tool.arg("--targets").arg(path);
    }
    tool.stdin(input).run()
}

/// Compares one random case. Returns the kind of a difference and a report.
fn compare_seed(seed: u64) -> Option<(String, String)> {
    let mut random = Random::new(seed);
    random.next();
    let input = input(&mut random);
    let mut words = options(&mut random);
    let (operands, lines) = prefixes(&mut random);
    words.extend(operands);
    let folder = testkit::scratch();
    let targets = lines.map(|lines| {
        let path = folder.path().join("targets");
        std::fs::write(&path, lines).expect("because the folder is ours");
        path
    });
    let theirs = run(Side::Theirs, &words, &input, targets.as_deref());
    let ours = run(Side::Ours, &words, &input, targets.as_deref());
    let kind = normal::difference(&theirs, &ours, &input)?;
    let report = format!(
        "DUMPFILTER_SEEDS={seed} {words:?}\ninput: {}\n{}",
        input[..input.len().min(4000)].escape_ascii(),
        normal::shown(&theirs, &ours)
    );
    Some((kind, report))
}

fn input(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0..=3 => wild::stream(random),
        4 => {
            let history = random_history::history(random.next(), 12, true).stream;
            let first = one_of(random, &[0, 0, 0, 1, 3, 6]);
            history.part(first, one_of(random, &[12, 12, 10, 7]))
        }
        5 => branch_history::history(random.next(), 12).stream.bytes(),
        6 => one_of(random, dumps().as_slice()).to_vec(),
        _ => mutated(random).bytes,
    }
}

/// Returns dumps that the incumbent made of random histories: whole, partial, incremental, with deltas.
fn dumps() -> &'static Vec<&'static [u8]> {
    static DUMPS: OnceLock<Vec<&'static [u8]>> = OnceLock::new();
    DUMPS.get_or_init(|| {
        let mut dumps: Vec<&'static [u8]> = Vec::new();
        for (at, history) in [
            random_history::history(11, 20, true).stream,
            branch_history::history(12, 20).stream,
            testkit::history::small(),
        ]
        .into_iter()
        .enumerate()
        {
            let spec = testkit::Spec::new("1.14")
                .with(history)
                .named(&format!("dumpfilter-{at}"));
            let repo = testkit::build(&spec);
            for line in [
                "",
                "--deltas",
                "-r 3:9",
                "-r 4:11 --incremental --deltas",
                "--exclude /A",
            ] {
                let dump = Tool::new("svnadmin")
                    .args(["dump", "-q"])
                    .arg(repo.path())
                    .args(line.split_ascii_whitespace())
                    .ok();
                dumps.push(dump.stdout.leak());
            }
        }
        dumps
    })
}

fn options(random: &mut Random) -> Vec<String> {
    let mut words = vec![one_of(random, &["include", "exclude", "exclude"])];
    words.extend_from_slice(one_of(
        random,
        &[
            &[][..],
            &["--drop-empty-revs"],
            &["--drop-all-empty-revs"],
            &["--drop-empty-revs", "--renumber-revs"],
            &["--drop-all-empty-revs", "--renumber-revs"],
            &["--renumber-revs"],
        ],
    ));
    for (option, one_in) in [
        ("--skip-missing-merge-sources", 2),
        ("--preserve-revprops", 4),
        ("--pattern", 5),
        ("--quiet", 8),
    ] {
        if random.below(one_in) == 0 {
            words.push(option);
        }
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Returns prefixes for the command line and for a file.
fn prefixes(random: &mut Random) -> (Vec<String>, Option<Vec<u8>>) {
    let prefix = |random: &mut Random| match random.below(12) {
        0 => one_of(
            random,
            &[
                "/", "*", "a*", "/*/b", "[ab]", "?", "/tr*/*", ".", "nosuch", "//a/",
            ],
        )
        .to_owned(),
        1..=4 => one_of(
            random,
            &[
                "trunk", "branches", "A", "/A/D", "b/f", "trunk/d", "/A/B/", "b", "A/mu",
            ],
        )
        .to_owned(),
        _ => wild::path(random),
    };
    let operands = (0..random.below(4)).map(|_| prefix(random)).collect::<Vec<_>>();
    let has_file = operands.is_empty() || random.below(6) == 0;
    let lines = has_file.then(|| {
        let mut text = String::new();
        for _ in 0..=random.below(3) {
            text.push_str(one_of(random, &["", "", " ", "\t", "\n"]));
            text.push_str(&prefix(random));
            text.push_str(one_of(random, &["\n", "\n", " \n", "\r\n", ""]));
        }
        text.into_bytes()
    });
    (operands, lines)
}
