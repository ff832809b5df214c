//! `svnadmin verify` of damaged repositories, compared with the incumbent: it reports all damage that the incumbent
//! reports, never panics or hangs, and the first error almost always has the same number.
//!
//! The default run is short. `DAMAGE_SEEDS=1000..9000 TMPDIR=/dev/shm cargo test -p sven --test cmd damaged --
//! --nocapture` runs these seeds, one damage each, and prints all differences by kind.
//!
//! The ordinary run is short. `DAMAGE_SEEDS=1000..9000 TMPDIR=/dev/shm cargo test -p sven --test cmd damaged -- --nocapture` tries
//! these seeds, one damage each, and shows what differs in other ways, by kind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Output, Side, Tool};

use crate::random::{one_of, short_or_all};

#[test]
fn damaged_repositories_fail_verification_as_with_the_incumbent() {
    let scratch = testkit::scratch();
    let repositories = TemplateRepositories::new(scratch.path());
    let mut counts: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut runs, mut refused) = (0, 0);
    for seed in testkit::seeds("DAMAGE_SEEDS", short_or_all(0..27, 0..80)) {
        let Some(case) = repositories.compare_seed(seed) else {
            continue;
        };
        runs += 1;
        refused += usize::from(case.theirs.code != 0);
        let Some((is_wrong, kind)) = case.difference() else {
            continue;
        };
        if is_wrong {
            println!("{kind}\n{case:?}");
            wrong.push(format!("{kind}\n{case:?}"));
        }
        let entry = counts.entry(kind).or_insert_with(|| (0, format!("{case:?}")));
        entry.0 += 1;
    }
    println!("{runs} runs, {refused} refused by the incumbent");
    for (kind, (count, example)) in &counts {
        println!("== {count} times {kind}\n{example}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Undamaged repositories of several formats.
struct TemplateRepositories {
    folder: PathBuf,
    names: Vec<String>,
}

impl TemplateRepositories {
    fn new(folder: &Path) -> Self {
        let stream = history().bytes();
        let mut names = Vec::new();
        for version in ["1.6", "1.8", "1.9", "1.14"] {
            let [name, packed_name] = ["", "-packed"].map(|suffix| format!("{version}{suffix}"));
            let [repo, packed] = [&name, &packed_name].map(|name| folder.join(name));
            let create = Tool::new("svnadmin").args(["create", "--compatible-version", version]);
            create.arg(&repo).ok();
            let format = repo.join("db/format");
            let text = fs::read_to_string(&format).expect("because it was just made");
            fs::remove_file(&format).expect("because it was just made");
            fs::write(&format, text.replace("sharded 1000", "sharded 3")).expect("because it was just made");
            let load = Tool::new("svnadmin").args(["load", "-q", "--no-flush-to-disk"]);
            load.arg(&repo).stdin(stream.clone()).ok();
            Tool::new("cp").arg("-r").arg(&repo).arg(&packed).ok();
            Tool::new("svnadmin").args(["pack", "-q"]).arg(&packed).ok();
            names.extend([name, packed_name]);
        }
        TemplateRepositories {
            folder: folder.to_owned(),
            names,
        }
    }

    /// Damages a copy of a repository and verifies it with both programs. `None` if the damage changes nothing.
    fn compare_seed(&self, seed: u64) -> Option<DamagedRepository> {
        let mut random = Random::new(seed);
        random.next();
        let name = &self.names[random.below(self.names.len())];
        let repo = self.folder.join("damaged");
        Tool::new("cp")
            .arg("-r")
            .arg(self.folder.join(name))
            .arg(&repo)
            .ok();
        let damage = damage(&mut random, &repo.join("db"));
        let options = one_of(
            &mut random,
            &[
                &[][..],
                &["-q"],
                &["--keep-going"],
                &["--keep-going", "-q"],
                &["--keep-going", "-r", "2:5"],
                &["-r", "3"],
                &["--metadata-only"],
                &["--check-normalization", "--keep-going"],
            ],
        );
        let run = |side: Side| {
            // With some damage Subversion does not end.
            let tool = Tool::new("timeout").args(["-s", "KILL", "30"]);
            let tool = match side {
                Side::Theirs => tool.arg("svnadmin"),
                Side::Ours => tool.arg(testkit::tool::tool_link("svnadmin")),
            };
            tool.arg("verify").args(options).arg(&repo).run()
        };
        let case = damage.map(|damage| DamagedRepository {
            what: format!("DAMAGE_SEEDS={seed} {name} {options:?}: {damage}"),
            theirs: run(Side::Theirs),
            ours: run(Side::Ours),
        });
        fs::remove_dir_all(&repo).expect("because it is ours");
        case
    }
}

/// A damaged repository and the results of both programs.
struct DamagedRepository {
    what: String,
    theirs: Output,
    ours: Output,
}

impl DamagedRepository {
    /// Returns the difference, and whether it is a fault of Sven.
    fn difference(&self) -> Option<(bool, String)> {
        let (theirs, ours) = (&self.theirs, &self.ours);
        let numbers = |output: &Output| format!("{:?}", output.error_codes());
        if !(0..128).contains(&ours.code) || ours.err().contains("panicked") {
            return Some((true, "ours died".to_owned()));
        }
        let died = !(0..128).contains(&theirs.code);
        match (theirs.code == 0, ours.code == 0) {
            (true, true) => return None,
            (true, false) => return Some((false, format!("ours alone refuses {}", numbers(ours)))),
            (false, true) => return Some((true, format!("theirs alone refuses {}", numbers(theirs)))),
            (false, false) if died => return Some((false, "theirs died".to_owned())),
            _ => {}
        }
        let first = |output: &Output| output.error_codes().first().copied();
        if first(theirs) != first(ours) {
            return Some((
                false,
                format!("first number: {} {}", numbers(theirs), numbers(ours)),
            ));
        }
        if numbers(theirs) != numbers(ours) {
            return Some((false, format!("numbers: {} {}", numbers(theirs), numbers(ours))));
        }
        let (theirs, ours) = (theirs.err(), ours.err());
        let mut pairs = theirs.lines().zip(ours.lines());
        let (theirs, ours) = pairs.find(|(theirs, ours)| theirs != ours)?;
        Some((
            false,
            format!("words: {} | {}", without_values(theirs), without_values(ours)),
        ))
    }
}

/// Returns a line without numbers and quoted texts, so that equal differences count as one kind.
fn without_values(line: &str) -> String {
    let quoted = line.split('\'').enumerate().map(|(at, part)| match at % 2 {
        0 => part,
        _ => "…",
    });
    let line = quoted.collect::<Vec<_>>().join("'");
    let words = line.split(' ').map(|word| match word.starts_with('E') {
        true => word.to_owned(),
        false => word.replace(|c: char| c.is_ascii_digit(), "0"),
    });
    words.collect::<Vec<_>>().join(" ")
}

impl std::fmt::Debug for DamagedRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "theirs {}: {}", self.theirs.code, self.theirs.err())?;
        writeln!(f, "ours {}: {}", self.ours.code, self.ours.err())
    }
}

/// Changes one file below a directory. Returns a description; `None` if the file is unchanged.
fn damage(random: &mut Random, db: &Path) -> Option<String> {
    let mut files = Vec::new();
    collect(db, &mut files);
    files.retain(|file| {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        !UNREAD.contains(&name)
    });
    files.sort();
    // Revision files are chosen more often than other files.
    let of_revisions: Vec<PathBuf> = files
        .iter()
        .filter(|file| file.starts_with(db.join("revs")))
        .cloned()
        .collect();
    let chosen = if random.below(3) > 0 {
        &of_revisions
    } else {
        &files
    };
    let file = &chosen[random.below(chosen.len())];
    let before = fs::read(file).expect("because it is ours");
    let mut bytes = before.clone();
    let done = change(random, &mut bytes);
    if bytes == before {
        return None;
    }
    fs::remove_file(file).expect("because it is ours");
    fs::write(file, bytes).expect("because it is ours");
    let name = file.strip_prefix(db).expect("because it is below").display();
    Some(format!("{name}: {done}"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("because it is ours") {
        let path = entry.expect("because it is ours").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

fn change(random: &mut Random, bytes: &mut Vec<u8>) -> String {
    let at = random.below(bytes.len().max(1));
    let kind = random.below(12);
    if bytes.is_empty() {
        bytes.push(b'x');
        return "x in an empty file".to_owned();
    }
    match kind {
        0 | 1 => {
            let old = std::mem::replace(&mut bytes[at], random.below(256) as u8);
            format!(
                "byte {at} from {} to {}",
                old.escape_ascii(),
                bytes[at].escape_ascii()
            )
        }
        2 | 3 => {
            let found = bytes[at..].iter().position(u8::is_ascii_digit).unwrap_or(0);
            bytes[at + found] = b'0' + random.below(10) as u8;
            format!("digit {} to {}", at + found, bytes[at + found].escape_ascii())
        }
        4 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        5 => {
            let byte = one_of(random, b"\n 0x/\xff-");
            bytes.insert(at, byte);
            format!("{} inserted at {at}", byte.escape_ascii())
        }
        6 => {
            bytes.remove(at);
            format!("byte {at} removed")
        }
        7..9 => change_line(random, bytes, at),
        _ => change_word(random, bytes, at),
    }
}

fn change_line(random: &mut Random, bytes: &mut Vec<u8>, at: usize) -> String {
    let start = bytes[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |found| found + 1);
    let end = bytes[at..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |found| at + found + 1);
    let line = bytes[start..end].to_vec();
    let what = match random.below(3) {
        0 => {
            bytes.drain(start..end);
            "removed"
        }
        1 => {
            bytes.splice(start..start, line.iter().copied());
            "doubled"
        }
        _ => {
            bytes[start..end].fill(b'x');
            "overwritten"
        }
    };
    format!(
        "line {what} at {start}: {}",
        line[..line.len().min(80)].escape_ascii()
    )
}

/// Replaces a keyword of the format by another one.
fn change_word(random: &mut Random, bytes: &mut Vec<u8>, at: usize) -> String {
    let (from, to) = WORDS[random.below(WORDS.len())];
    let found = bytes[at..]
        .windows(from.len())
        .position(|piece| piece == from)
        .map(|found| at + found);
    let found = found.or_else(|| bytes.windows(from.len()).position(|piece| piece == from));
    if let Some(found) = found {
        bytes.splice(found..found + from.len(), to.iter().copied());
    }
    format!("{} at {found:?} to {}", from.escape_ascii(), to.escape_ascii())
}

/// Returns a few revisions with all kinds of changes.
fn history() -> DumpStream {
    let mut stream = DumpStream::new("11520c07-9fae-4785-8122-b3cc0b4316f4");
    let long: String = (0..60).map(|line| format!("line {line} of a text\n")).collect();
    let props: &[(&str, &[u8])] = &[("svn:mergeinfo", b"/b:1-2"), ("p", b"value")];
    stream.rev("one").mkdirs(["trunk", "trunk/d", "b"]);
    stream.add(
        RecordKind::File,
        "trunk/f",
        Content::both(&[("p", b"q")], long.as_str()),
    );
    stream.add(RecordKind::File, "trunk/d/g", Content::text("short\n"));
    stream.rev("two").change(
        RecordKind::File,
        "trunk/f",
        Content::text(long.replace("7", "seven").as_str()),
    );
    stream.change(RecordKind::Dir, "trunk/d", Content::props(props));
    stream.rev("three").copy(RecordKind::Dir, "b/c", 2, "trunk");
    stream.change(RecordKind::File, "b/c/f", Content::text("another\n"));
    stream.rev("four").delete("trunk/d/g");
    stream.add(RecordKind::File, "trunk/same", Content::text("short\n"));
    stream
        .rev("five")
        .change(RecordKind::File, "trunk/f", Content::props(&[]));
    stream.rev("six").mkdirs(["trunk/ä", "trunk/z"]);
    stream.rev("seven").change(
        RecordKind::File,
        "trunk/f",
        Content::text(long.replace("1", "one").as_str()),
    );
    stream
}

/// Files that `verify` does not read, and the database, whose damage SQLite detects.
const UNREAD: &[&str] = &[
    "rep-cache.db",
    "fsfs.conf",
    "txn-current",
    "txn-current-lock",
    "write-lock",
    "pack-lock",
];

/// Keywords of the format and their replacements.
const WORDS: &[(&[u8], &[u8])] = &[
    (b"file", b"dir"),
    (b"file", b"fild"),
    (b"dir", b"file"),
    (b"add", b"modify"),
    (b"add", b"delete"),
    (b"modify", b"add"),
    (b"modify", b"delete"),
    (b"modify", b"replace"),
    (b"delete", b"add"),
    (b"delete", b"modify"),
    (b"true", b"false"),
    (b"false", b"true"),
    (b"/trunk", b"/trunl"),
    (b"/f\n", b"/\xff\n"),
    (b"/f", b"/h"),
    (b"cpath: /", b"cpath: "),
    (b"DELTA", b"DELTX"),
    (b"DELTA", b"PLAIN"),
    (b"PLAIN", b"DELTA"),
    (b"ENDREP", b"ENDREX"),
    (b"pred: ", b"prex: "),
    (b"count: ", b"count: 1"),
    (b"text: ", b"text: 1"),
    (b"props: ", b"prop: "),
    (b"copyfrom: ", b"copyfrom: 9"),
    (b"copyroot: 0", b"copyroot: 1"),
    (b"id: ", b"ix: "),
    (b"type: file", b"type: dir"),
    (b"type: dir", b"type: file"),
    (b"minfo-cnt: 1", b"minfo-cnt: 2"),
    (b"minfo-here: y", b"minfo-here: n"),
    (b"svn:log", b"svn:lob"),
    (b"svn:date", b"svn:datx"),
    (b"Z\n", b"\n"),
    (b"END\n", b"ENX\n"),
    (b"K ", b"K 1"),
    (b"V ", b"V 1"),
    (b" 0 0", b" 1 0"),
    (b"-0", b"-1"),
    (b".r1", b".r2"),
    (b"_", b"-"),
];
