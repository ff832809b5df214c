//! Random mergeinfo through `svnadmin load`: parsing, merging, renumbering and printing, each value compared with the
//! incumbent.
//!
//! One stream has many values, because `--bypass-prop-validation` keeps invalid ones unchanged. The default run is
//! short; `MERGEINFO_SEEDS=100..1000 cargo test -p sven --test cmd random_mergeinfo` runs these seeds, 200 values
//! each.
//!
//! One stream holds many values, because unparsable ones are left as they are with `--bypass-prop-validation`. The ordinary run
//! is short; `MERGEINFO_SEEDS=100..1000 cargo test -p sven --test cmd random_mergeinfo` tries these seeds, 200 values each.

use std::collections::BTreeMap;
use std::path::Path;

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, Tool};

use crate::random::one_of;

#[test]
fn random_mergeinfo_loads_as_with_the_incumbent() {
    for seed in testkit::seeds("MERGEINFO_SEEDS", 0..6) {
        compare_seed(seed);
    }
}

/// A fault that this generator found.
#[test]
fn adjacent_ranges_of_different_inheritability_are_not_merged() {
    let case = MergeinfoLoad {
        before: 0,
        numbers: vec![1, 2, 3],
        parent_dir: false,
    };
    let values = [
        "/b:1*,2",
        "/b:1,2*",
        "/b:1*,2\n/c:1",
        "/a:1\r/b:1",
        "/c\r:1",
        "/a:1\r\0\n",
    ]
    .map(str::to_owned);
    let theirs = case.load(Side::Theirs, &values).expect("because nothing is odd");
    let ours = case.load(Side::Ours, &values).expect("because nothing is odd");
    assert_eq!(theirs, ours);
    assert_eq!(ours[0], b"/b:1*,2");
}

/// A stream and the repository that it is loaded into.
#[derive(Debug)]
struct MergeinfoLoad {
    /// The number of revisions in the repository before the load.
    before: u64,
    /// The numbers of the stream's revisions.
    numbers: Vec<u64>,
    /// True with `--parent-dir`; the directory is one more revision.
    parent_dir: bool,
}

fn compare_seed(seed: u64) {
    let mut random = Random::new(seed);
    random.next();
    let case = MergeinfoLoad::random(&mut random);
    let highest = *case.last() as usize + 2;
    let values: Vec<String> = (0..VALUES).map(|_| value(&mut random, highest)).collect();
    let ours = case.load(Side::Ours, &values);
    let ours = ours.unwrap_or_else(|error| panic!("MERGEINFO_SEEDS={seed} {case:?}: {error}"));
    // Subversion crashes on ranges that it has reversed itself.
    let Ok(theirs) = case.load(Side::Theirs, &values) else {
        assert!(
            !case.is_plain(u64::MAX),
            "MERGEINFO_SEEDS={seed} {case:?}: theirs failed"
        );
        return;
    };
    for (at, value) in values.iter().enumerate() {
        let (theirs, ours) = (text(&theirs[at]), text(&ours[at]));
        let excused =
            !case.is_plain(largest(value)) && (theirs == *value || lost_or_reversed(&theirs, &ours));
        assert!(
            theirs == ours || excused,
            "MERGEINFO_SEEDS={seed} {case:?} {value:?}\ntheirs {theirs:?}\nours   {ours:?}"
        );
    }
}

impl MergeinfoLoad {
    fn random(random: &mut Random) -> MergeinfoLoad {
        let mut numbers = vec![one_of(random, &[1, 1, 1, 2, 3, 5, 8])];
        let gaps = random.below(3) == 0;
        for _ in 0..1 + random.below(7) {
            let step = if gaps { one_of(random, &[1, 1, 1, 2, 3]) } else { 1 };
            numbers.push(numbers[numbers.len() - 1] + step);
        }
        MergeinfoLoad {
            before: one_of(random, &[0, 0, 1, 2, 3, 5, 9]),
            numbers,
            parent_dir: random.below(4) == 0,
        }
    }

    fn last(&self) -> &u64 {
        self.numbers.last().expect("because there are some")
    }

    /// True if the incumbent renumbers values with this largest number without reversing ranges: there is no gap, and
    /// either the numbers do not change or the value does not include its own revision.
    fn is_plain(&self, largest: u64) -> bool {
        let first = self.numbers[0];
        let shifted = self.before + u64::from(self.parent_dir) + 1 != first;
        let gaps = self.last() - first + 1 != self.numbers.len() as u64;
        !gaps && (!shifted || largest < *self.last())
    }

    /// Returns the stored values, or the error output if the load fails.
    fn load(&self, side: Side, values: &[String]) -> Result<Vec<Vec<u8>>, String> {
        let scratch = testkit::scratch();
        let repo = scratch.path().join("r");
        Tool::new("svnadmin").arg("create").arg(&repo).ok();
        let base: Vec<u64> = (1..=self.before).collect();
        let mut options = vec!["-q", "--no-flush-to-disk"];
        load_with(Side::Theirs, &repo, &options, stream(&base, &[])).expect("because nothing is odd");
        if self.parent_dir {
            let url = format!("file://{}/p", repo.display());
            Tool::new("svn").args(["mkdir", "-q", "-m", "p", &url]).ok();
            options.extend(["--parent-dir", "p"]);
        }
        options.push("--bypass-prop-validation");
        load_with(side, &repo, &options, stream(&self.numbers, values))?;
        let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(&repo).ok().stdout;
        let stored = stored(&dump);
        let folder = if self.parent_dir { "p/" } else { "" };
        let of = |at: usize| stored.get(&format!("{folder}n{at}")).cloned();
        Ok((0..values.len()).map(|at| of(at).unwrap_or_default()).collect())
    }
}

fn load_with(side: Side, repo: &Path, options: &[&str], stream: Vec<u8>) -> Result<(), String> {
    let load = side.tool("svnadmin").arg("load").args(options).arg(repo);
    let output = load.stdin(stream).run();
    match output.code {
        0 => Ok(()),
        _ => Err(output.err()),
    }
}

/// Returns a stream of empty revisions with these numbers; the last one adds a directory for each value.
fn stream(numbers: &[u64], values: &[String]) -> Vec<u8> {
    let mut bytes = b"SVN-fs-dump-format-version: 2\n\n".to_vec();
    for number in numbers {
        bytes.extend(
            format!(
                "Revision-number: {number}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
            )
            .bytes(),
        );
    }
    let mut nodes = DumpStream::new("");
    let empty = nodes.rev_with(&[]).bytes().len();
    for (at, value) in values.iter().enumerate() {
        let props: &[(&str, &[u8])] = &[("svn:mergeinfo", value.as_bytes())];
        nodes.add(RecordKind::Dir, &format!("n{at}"), Content::props(props));
    }
    bytes.extend_from_slice(&nodes.bytes()[empty..]);
    bytes
}

/// Returns the mergeinfo in a dump, by path.
fn stored(dump: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let (mut path, mut at) = (String::new(), 0);
    while at < dump.len() {
        let end = at
            + dump[at..]
                .iter()
                .position(|b| *b == b'\n')
                .unwrap_or(dump.len() - at);
        let line = &dump[at..end];
        at = end + 1;
        if let Some(name) = line.strip_prefix(b"Node-path: ") {
            path = text(name);
        } else if line == b"svn:mergeinfo" {
            let rest = text(&dump[at..(at + 20).min(dump.len())]);
            let length = rest.strip_prefix("V ").and_then(|rest| rest.lines().next());
            let length: usize = length
                .and_then(|n| n.parse().ok())
                .expect("because a value follows");
            at += format!("V {length}\n").len();
            found.insert(path.clone(), dump[at..at + length].to_vec());
            at += length + 1;
        }
    }
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a random value: mostly valid, sometimes with overlaps, unusual paths or misplaced characters.
pub fn value(random: &mut Random, highest: usize) -> String {
    let mut lines = Vec::new();
    for _ in 0..one_of(random, &[1, 1, 1, 2, 3]) {
        let source = one_of(random, SOURCES);
        lines.push(format!("{source}:{}", ranges(random, highest)));
    }
    let mut value = lines.join("\n");
    if random.below(12) == 0 {
        value.push('\n');
    }
    if random.below(6) == 0 {
        for _ in 0..1 + random.below(2) {
            let at = random.below(value.chars().count() + 1);
            let at = value.char_indices().nth(at).map_or(value.len(), |(at, _)| at);
            let end = value[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            let end = if random.below(2) == 0 { at } else { end };
            value.replace_range(at..end, one_of(random, MISPLACED));
        }
    }
    value
}

fn ranges(random: &mut Random, highest: usize) -> String {
    let mut ranges = Vec::new();
    let mut last = 0;
    for _ in 0..1 + random.below(5) {
        let step = if random.below(3) > 0 { 2 } else { highest };
        let first = last + 1 + random.below(step);
        last = first + one_of(random, &[0, 0, 0, 1, 2, 4]);
        let star = if random.below(3) == 0 { "*" } else { "" };
        ranges.push(match last > first {
            true => format!("{first}-{last}{star}"),
            false => format!("{first}{star}"),
        });
    }
    if random.below(7) == 0 {
        let at = random.below(ranges.len());
        ranges.swap(0, at);
    }
    if random.below(10) == 0 {
        ranges.push(ranges[random.below(ranges.len())].clone());
    }
    ranges.join(",")
}

/// Returns the largest number in a value.
fn largest(value: &str) -> u64 {
    let numbers = value.split(|c: char| !c.is_ascii_digit());
    let parsed = numbers
        .filter(|n| !n.is_empty())
        .map(|n| n.parse().unwrap_or(u64::MAX));
    parsed.max().unwrap_or(0)
}

/// True if Subversion's value has a reversed range, or only lacks ranges of Sven's value.
pub fn lost_or_reversed(theirs: &str, ours: &str) -> bool {
    let ranges = |text: &str| -> Vec<(String, u64, u64)> {
        let lines = text.lines().filter_map(|line| line.rsplit_once(':'));
        lines
            .flat_map(|(source, ranges)| {
                ranges.split(',').map(move |range| {
                    let range = range.trim_end_matches('*');
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    let number = |n: &str| n.parse().unwrap_or(u64::MAX);
                    (source.to_owned(), number(first), number(last))
                })
            })
            .collect()
    };
    let (theirs, ours) = (ranges(theirs), ranges(ours));
    let covered = |(source, first, last): &(String, u64, u64)| {
        let mut next = *first;
        while next <= *last {
            let mut of_source = ours.iter().filter(|(other, ..)| other == source);
            match of_source.find(|(_, first, last)| (*first..=*last).contains(&next)) {
                Some((.., last)) => next = last.saturating_add(1),
                None => return false,
            }
        }
        true
    };
    theirs.iter().any(|(_, first, last)| first > last) || theirs.iter().all(covered)
}

/// The number of values of a seed.
const VALUES: usize = 200;
/// Merge sources, some of them equal.
const SOURCES: &[&str] = &[
    "/a", "/a", "/b", "/a/b", "a", "//a", "/c:d", "/", "/a/", "/x y", "/a.b", "/a/../c", "/ä",
];
/// Misplaced characters; an empty text removes a character.
const MISPLACED: &[&str] = &[
    "",
    "",
    "0",
    "1",
    "-",
    "*",
    ",",
    ":",
    "/",
    " ",
    "\n",
    "\t",
    "\r",
    "\r\n",
    "x",
    ".",
    "..",
    "\x0b",
    "\0",
    "99999999999",
    "2147483647",
    "2147483648",
    "4294967295",
];
