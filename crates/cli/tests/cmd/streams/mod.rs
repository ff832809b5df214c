//! MutatedStream dump streams through `svnadmin load` and `load-revprops`, compared with the incumbent: the same exit code
//! and error, and the same dump of the loaded revisions, including those before an error.
//!
//! The default run is short. `STREAMS_SEEDS=1000..9000 TMPDIR=/dev/shm cargo test -p sven --test cmd mutated_streams`
//! runs these seeds, one stream each, and counts the differences by kind before it fails.
//!
//! The ordinary run is short. `STREAMS_SEEDS=1000..9000 TMPDIR=/dev/shm cargo test -p sven --test cmd mutated_streams` tries these
//! seeds, one stream each, and counts what differs by kind before it fails.

pub mod mutation;
pub mod record;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::history::Random;
use testkit::{Output, Side, Tool, normalize};

use crate::random::{one_of, short_or_all};
use mutation::mutated;

#[test]
fn mutated_streams_load_as_with_the_incumbent() {
    let bench = StreamRepositories::new();
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seed in testkit::seeds("STREAMS_SEEDS", short_or_all(0..34, 0..100)) {
        if let Some((kind, report)) = bench.compare_seed(seed) {
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
    assert!(differences.is_empty(), "{}\n{examples}", counts.join("\n"));
}

/// A node record that was changed to a revision record and has a text. The revision before it is complete.
#[test]
fn a_revision_record_with_a_text_keeps_the_revisions_before_it() {
    let bench = StreamRepositories::new();
    for seed in [117_870, 117_986] {
        assert_eq!(bench.compare_seed(seed), None);
    }
}

/// The repositories that streams are loaded into.
struct StreamRepositories {
    scratch: tempfile::TempDir,
}

/// A stream and the options of its load.
struct StreamLoad {
    command: &'static str,
    options: Vec<&'static str>,
    template: &'static str,
    stream: Vec<u8>,
}

/// The result of one side.
struct LoadResult {
    code: i32,
    stdout: String,
    stderr: String,
    dump: Vec<u8>,
}

impl StreamRepositories {
    fn new() -> Self {
        let scratch = testkit::scratch();
        let bench = StreamRepositories { scratch };
        let empty = bench.path("empty");
        Tool::new("svnadmin").arg("create").arg(&empty).ok();
        let hook = empty.join("hooks/pre-commit");
        let text =
            "#!/bin/sh\nexec 2>&-\nsvnlook changed -t \"$2\" \"$1\" | grep -q refuse && exit 1\nexit 0\n";
        fs::write(&hook, text).expect("because it is ours");
        Tool::new("chmod").arg("755").arg(&hook).ok();
        copy(&empty, &bench.path("used"));
        let url = format!("file://{}/p", bench.path("used").display());
        Tool::new("svn").args(["mkdir", "-q", "-m", "p", &url]).ok();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Loads a random stream with random options on both sides. Returns the kind of a difference and a report.
    fn compare_seed(&self, seed: u64) -> Option<(String, String)> {
        let mut random = Random::new(seed);
        random.next();
        let stream = mutated(&mut random);
        let (command, options, template) = options(&mut random);
        let case = StreamLoad {
            command,
            options,
            template,
            stream: stream.bytes,
        };
        let (theirs, ours) = (self.load(Side::Theirs, &case), self.load(Side::Ours, &case));
        let kind = difference(&theirs, &ours, &case)?;
        let report = format!(
            "STREAMS_SEEDS={seed} {command} {:?} {:?}\n{}",
            case.options,
            stream.changes,
            shown(&theirs, &ours)
        );
        Some((kind, report))
    }

    fn load(&self, side: Side, case: &StreamLoad) -> LoadResult {
        let repo = self.path("loaded");
        copy(&self.path(case.template), &repo);
        let tool = side.tool("svnadmin").arg(case.command).args(&case.options);
        let output = tool.arg(&repo).stdin(&*case.stream).run();
        let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(&repo).run();
        fs::remove_dir_all(&repo).expect("because it is ours");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(&*repo.to_string_lossy(), "REPO");
            normalize::mask_uuids(&mask_transactions(&text))
        };
        LoadResult {
            code: output.code,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            dump: masked_dump(&dump, case.options.contains(&"--ignore-dates")),
        }
    }
}

/// Returns the command, its options, and the repository.
fn options(random: &mut Random) -> (&'static str, Vec<&'static str>, &'static str) {
    let mut options = Vec::new();
    let is_load = random.below(8) > 0;
    let mut add = |random: &mut Random, one_in: usize, choices: &[&[&'static str]]| {
        if random.below(one_in) == 0 {
            options.extend_from_slice(one_of(random, choices));
            return true;
        }
        false
    };
    add(random, 4, &[&["--bypass-prop-validation"]]);
    add(random, 8, &[&["--normalize-props"]]);
    add(random, 10, &[&["--force-uuid"]]);
    add(random, 6, &[&["-q"]]);
    let ranges: &[&[&str]] = &[
        &["-r", "1"],
        &["-r", "1:2"],
        &["-r", "2:3"],
        &["-r", "2:9"],
        &["-r", "0"],
        &["-r", "0:1"],
        &["-r", "3"],
    ];
    add(random, 8, ranges);
    if !is_load {
        return ("load-revprops", options, one_of(random, &["empty", "used"]));
    }
    add(random, 10, &[&["--ignore-uuid"]]);
    add(random, 10, &[&["--ignore-dates"]]);
    add(random, 10, &[&["--use-pre-commit-hook"]]);
    let parents: &[&[&str]] = &[
        &["--parent-dir", "p"],
        &["--parent-dir", "p"],
        &["--parent-dir", "/p"],
        &["--parent-dir", "nosuch"],
    ];
    let template = if add(random, 6, parents) { "used" } else { "empty" };
    options.push("--no-flush-to-disk");
    ("load", options, template)
}

/// Returns the kind of a difference that is not known.
fn difference(theirs: &LoadResult, ours: &LoadResult, case: &StreamLoad) -> Option<String> {
    let first = |text: &str| {
        text.lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(80)
            .collect::<String>()
    };
    if ours.code == -1 || ours.stderr.contains("panicked") {
        return Some(format!("ours died: {}", first(&ours.stderr)));
    }
    // Sven must reject streams on which Subversion crashes.
    if theirs.code == -1 {
        return (ours.code != 1).then(|| format!("theirs died, ours exits {}", ours.code));
    }
    if is_known(theirs, ours, case) {
        return None;
    }
    let of_errors = || format!("{} | {}", first(&theirs.stderr), first(&ours.stderr));
    if theirs.code != ours.code {
        return Some(format!("exit {} and {}: {}", theirs.code, ours.code, of_errors()));
    }
    if theirs.stderr != ours.stderr {
        return Some(format!("stderr: {}", of_errors()));
    }
    if theirs.dump != ours.dump {
        return Some(format!("dump: {}", of_errors()));
    }
    (theirs.stdout != ours.stdout).then(|| "stdout".to_owned())
}

/// True for differences that `docs/KNOWN-DIFFERENCES.md` lists.
fn is_known(theirs: &LoadResult, ours: &LoadResult, case: &StreamLoad) -> bool {
    let is_refused = ours.code == 1;
    // An invalid revision number.
    let number = is_refused && ours.stderr.contains("Could not convert '");
    // A property whose name is not UTF-8.
    let name = is_refused
        && ours.stderr.contains("Dumpstream data appears to be malformed")
        && case.stream.contains(&0xff);
    // Subversion has set some properties of a revision before it rejects another one.
    let zero_alone = |side: &LoadResult| !side.dump.windows(18).any(|piece| piece == b"Revision-number: 1");
    let is_partial = case.command == "load-revprops" || (zero_alone(theirs) && zero_alone(ours));
    let half = is_refused && is_partial && theirs.stderr == ours.stderr;
    // A text of a revision.
    let text = is_refused
        && theirs.code == 1
        && case.command == "load-revprops"
        && ours.stderr.contains("Dumpstream data appears to be malformed");
    number || name || half || text
}

fn shown(theirs: &LoadResult, ours: &LoadResult) -> String {
    let mut text = String::new();
    for (name, side) in [("theirs", theirs), ("ours", ours)] {
        text.push_str(&format!(
            "{name} exit {}: {}{}",
            side.code, side.stderr, side.stdout
        ));
    }
    if theirs.dump != ours.dump {
        let equal = theirs
            .dump
            .iter()
            .zip(&ours.dump)
            .take_while(|(a, b)| a == b)
            .count();
        for (name, dump) in [("theirs", &theirs.dump), ("ours", &ours.dump)] {
            let piece = &dump[equal.saturating_sub(80)..(equal + 80).min(dump.len())];
            text.push_str(&format!(
                "{name} dump, {} bytes: {}\n",
                dump.len(),
                piece.escape_ascii()
            ));
        }
    }
    text
}

/// Copies a directory with its files.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("because it is ours");
    for entry in fs::read_dir(from).expect("because it is ours") {
        let entry = entry.expect("because it is ours");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("because it is ours").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), &to).expect("because it is ours")),
        }
    }
}

/// Replaces the names of transactions, which depend on the number of failed ones.
fn mask_transactions(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('\'').enumerate() {
        let is_name = at % 2 == 1
            && part.split_once('-').is_some_and(|(base, number)| {
                base.parse::<u64>().is_ok() && number.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
        if at > 0 {
            out.push('\'');
        }
        out.push_str(if is_name { "TXN" } else { part });
    }
    out
}

/// Returns the dump without dates that are the time of the test.
fn masked_dump(dump: &Output, all_dates: bool) -> Vec<u8> {
    if dump.code != 0 {
        return dump.stderr.clone();
    }
    let mut out = dump.stdout.clone();
    for (at, line) in lines(&dump.stdout) {
        let is_date = line.len() == 27 && line.ends_with(b"Z") && line.starts_with(b"20");
        if is_date && (all_dates || !line.starts_with(b"2020-01")) {
            out[at..at + line.len()].fill(b'x');
        }
    }
    out
}

/// Lines with their offsets.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    bytes.split(|byte| *byte == b'\n').map(move |line| {
        let start = at;
        at += line.len() + 1;
        (start, line)
    })
}
