//! Flipped bytes in every file: no panic and no endless loop, and where the incumbent's `verify` fails ours fails
//! too, at the same place and with the same error number.
//!
//! The suite tries a sample; `SVEN_CORRUPTION=N` damages every N-th byte of every file instead and prints a table of
//! the differences (best with `--release`, `TMPDIR` in memory and `--nocapture --test-threads=1`; a minute for a
//! thousand bytes).

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use base::Revnum;
use fsfs::admin::verify::{self, VerifyOptions};
use fsfs::{Cache, Fs};
use testkit::history::Random;
use testkit::repo::{Repo, Spec, When, build};
use testkit::{Output, Tool};

use crate::verify::Transcript;

/// One damaged byte.
struct Damage {
    /// Relative to the repository.
    file: String,
    at: usize,
    way: ByteDamage,
}

/// How a byte is damaged.
#[derive(Clone, Copy, Debug)]
enum ByteDamage {
    LowBit,
    Noise(u8),
    HighBit,
    AnotherDigit,
    CutOff,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VerifyResult {
    place: FailurePlace,
    /// The error numbers of the first failure; empty if there is none.
    codes: Vec<i32>,
    text: String,
}

/// The place to which a failure was attributed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FailurePlace {
    /// The verification did not begin, or found no failure.
    Nowhere,
    Metadata,
    Revision(u64),
}

/// The comparison of the two verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Comparison {
    Same,
    /// Both fail at the same place, with different error numbers.
    OtherCode,
    /// Both fail.
    OtherPlace,
    /// Only ours fails.
    Stricter,
    /// Only theirs fails.
    Missed,
}

/// All files below `db` that readers use, with their length.
fn files(repo: &Repo) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![repo.db()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("because the copy is ours") {
            let path = entry.expect("because the copy is ours").path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !name.ends_with("lock") && !name.ends_with("journal") && name != "fsfs.conf" {
                let file = path.strip_prefix(repo.path()).unwrap_or(&path);
                let len = fs::metadata(&path).map_or(0, |meta| meta.len());
                found.push((file.display().to_string(), len as usize));
            }
        }
    }
    found.sort();
    found
}

impl Damage {
    fn of(&self, good: &[u8]) -> Vec<u8> {
        let mut bad = good.to_vec();
        match self.way {
            ByteDamage::LowBit => bad[self.at] ^= 1,
            ByteDamage::Noise(byte) => bad[self.at] = byte,
            ByteDamage::HighBit => bad[self.at] ^= 0x80,
            ByteDamage::AnotherDigit => bad[self.at] = b'0' + (bad[self.at].wrapping_add(1)) % 10,
            ByteDamage::CutOff => bad.truncate(self.at),
        }
        bad
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}, {:?}", self.file, self.at, self.way)
    }
}

impl VerifyResult {
    const FINE: VerifyResult = VerifyResult {
        place: FailurePlace::Nowhere,
        codes: Vec::new(),
        text: String::new(),
    };

    fn of(place: FailurePlace, e: &base::Error) -> VerifyResult {
        let codes = e.links().map(|link| link.code().0).collect();
        let text = e.to_string();
        VerifyResult { place, codes, text }
    }

    fn is_success(&self) -> bool {
        self.codes.is_empty()
    }
}

impl fmt::Display for VerifyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.codes.first() {
            None => write!(f, "fine"),
            Some(code) => write!(f, "E{code:06}"),
        }
    }
}

/// Our verdict.
fn ours(db: &Path, what: &str) -> VerifyResult {
    let (done, wait) = mpsc::channel();
    let db = db.to_owned();
    let worker = std::thread::spawn(move || drop(done.send(verify(&db).unwrap_or_else(|verdict| verdict))));
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: verification does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            worker.join().expect(what);
            unreachable!("because a worker that says nothing has panicked")
        }
    }
}

fn verify(db: &Path) -> Result<VerifyResult, VerifyResult> {
    let early = |e: base::Error| VerifyResult::of(FailurePlace::Nowhere, &e);
    let fs = Fs::open(db, &Cache::new(1 << 20)).map_err(early)?;
    // A damaged `current` may contain any number: the check must not depend on it.
    let mut options = VerifyOptions::range(Revnum(0), fs.youngest().map_err(early)?);
    options.cache_budget = 4 << 20;
    let mut transcript = Transcript::default();
    verify::run(&fs, &options, &mut transcript).map_err(early)?;
    Ok(match transcript.failures.first() {
        None => VerifyResult::FINE,
        Some((None, e)) => VerifyResult::of(FailurePlace::Metadata, e),
        Some((Some(rev), e)) => VerifyResult::of(FailurePlace::Revision(rev.0), e),
    })
}

/// The incumbent's verdict.
fn theirs(repo: &Repo) -> (VerifyResult, Output) {
    let out = Tool::new("timeout")
        .args(["60", "svnadmin", "verify", "-q"])
        .arg(repo.path())
        .run();
    let err = out.err();
    let place = err
        .lines()
        .find_map(|line| line.strip_prefix("* Error verifying "));
    let place = match place {
        None => FailurePlace::Nowhere,
        Some("repository metadata.") => FailurePlace::Metadata,
        Some(revision) => {
            let digits: String = revision.chars().filter(char::is_ascii_digit).collect();
            FailurePlace::Revision(digits.parse().expect("because it says which"))
        }
    };
    let mut codes = out.error_codes();
    if codes.is_empty() && out.code != 0 {
        codes.push(-1);
    }
    let text = err;
    (VerifyResult { place, codes, text }, out)
}

fn compare(theirs: &VerifyResult, ours: &VerifyResult) -> Comparison {
    match (theirs.is_success(), ours.is_success()) {
        (true, true) => Comparison::Same,
        (true, false) => Comparison::Stricter,
        (false, true) => Comparison::Missed,
        _ if theirs.place != ours.place => Comparison::OtherPlace,
        _ if theirs.codes[0] != ours.codes[0] => Comparison::OtherCode,
        _ => Comparison::Same,
    }
}

/// The damages to try: a sample, or every n-th byte of every file.
fn damages(repo: &Repo, sample: usize, seed: u64) -> Vec<Damage> {
    let every = std::env::var("SVEN_CORRUPTION").ok();
    let every: Option<usize> = every.map(|n| n.parse().expect("SVEN_CORRUPTION is a number"));
    let mut random = Random::new(seed);
    let files = files(repo);
    let mut places = Vec::new();
    match every {
        Some(every) => {
            for (file, len) in &files {
                let first = random.below(every.max(1));
                places.extend((first..*len).step_by(every.max(1)).map(|at| (file, at)));
            }
        }
        None => {
            for _ in 0..sample {
                // Every file is equally likely: a sample of all bytes would hardly ever hit small files.
                let (file, len) = &files[random.below(files.len())];
                if *len > 0 {
                    places.push((file, random.below(*len)));
                }
            }
        }
    }
    let damage = |(n, (file, at)): (usize, (&String, usize))| Damage {
        file: file.clone(),
        at,
        way: match n % 5 {
            0 => ByteDamage::LowBit,
            1 => ByteDamage::Noise(random.next() as u8),
            2 => ByteDamage::HighBit,
            3 => ByteDamage::AnotherDigit,
            _ => ByteDamage::CutOff,
        },
    };
    places.into_iter().enumerate().map(damage).collect()
}

/// A kind of difference, for the table: comparison, kind of file, the incumbent's result and ours.
type DisagreementKind = (Comparison, &'static str, String, String);

fn flip(spec: &Spec, sample: usize, seed: u64) {
    let made = build(spec);
    let damages = damages(&made, sample, seed);
    let next = AtomicUsize::new(0);
    let kinds: Mutex<BTreeMap<DisagreementKind, Vec<String>>> = Mutex::default();
    let (found, both) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let repo = made.copy();
                Tool::new("chmod").args(["-R", "u+w"]).arg(repo.path()).ok();
                assert_eq!(ours(&repo.db(), "untouched"), VerifyResult::FINE);
                while let Some(damage) = damages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let path = repo.path().join(&damage.file);
                    let good = fs::read(&path).expect("because the copy is ours");
                    let bad = damage.of(&good);
                    if bad == good {
                        continue;
                    }
                    let what = format!("{} {damage} of {}", spec.name, good.len());
                    fs::write(&path, &bad).expect("because the copy is ours");
                    let ours = ours(&repo.db(), &what);
                    let (theirs, output) = theirs(&repo);
                    fs::write(&path, &good).expect("because the copy is ours");
                    found.fetch_add(usize::from(!ours.is_success()), Ordering::Relaxed);
                    both.fetch_add(
                        usize::from(!ours.is_success() && !theirs.is_success()),
                        Ordering::Relaxed,
                    );
                    let mut comparison = compare(&theirs, &ours);
                    if comparison == Comparison::Missed && is_known(&damage.file, &output) {
                        comparison = Comparison::Same;
                    }
                    if comparison != Comparison::Same {
                        let kind = (
                            comparison,
                            kind_of(&damage.file),
                            theirs.to_string(),
                            ours.to_string(),
                        );
                        let example = format!("{what}: {theirs:?} / {ours:?}");
                        kinds
                            .lock()
                            .expect("no panic")
                            .entry(kind)
                            .or_default()
                            .push(example);
                    }
                }
            });
        }
    });
    let kinds = kinds.into_inner().expect("no panic");
    for ((comparison, file, theirs, ours), examples) in &kinds {
        println!(
            "{} {comparison:?} {file}: {theirs} / {ours}: {} times\n    {}",
            spec.name,
            examples.len(),
            examples[..examples.len().min(3)].join("\n    ")
        );
    }
    let (found, both) = (found.into_inner(), both.into_inner());
    let of = |wanted: Comparison| {
        let kinds = kinds.iter().filter(|(kind, _)| kind.0 == wanted);
        kinds.map(|(_, examples)| examples.len()).sum::<usize>()
    };
    let (codes, places) = (of(Comparison::OtherCode), of(Comparison::OtherPlace));
    println!(
        "{}: {} damages, {found} found by us, {both} by both, {codes} with another number, {places} in another place",
        spec.name,
        damages.len()
    );
    assert!(
        codes * 6 < both && places * 20 < both,
        "{codes} and {places} of {both} differ"
    );
    assert!(
        found > damages.len() / 4,
        "only {found} of {} damages were found",
        damages.len()
    );
    let missed: Vec<_> = kinds
        .iter()
        .filter(|(kind, _)| kind.0 == Comparison::Missed)
        .collect();
    assert!(missed.is_empty(), "missed: {missed:#?}");
}

/// The kind of a file, by its name.
fn kind_of(file: &str) -> &'static str {
    let name = file.strip_prefix("db/").unwrap_or(file);
    let last = name.rsplit('/').next().unwrap_or_default();
    match name.split('/').next() {
        Some("revs") if last == "manifest" => "manifest",
        Some("revs") if last == "pack" => "pack",
        Some("revs") => "revision",
        Some("revprops") if last == "manifest" => "revprops manifest",
        Some("revprops") if name.contains(".pack/") => "revprops pack",
        Some("revprops") => "revprops",
        Some("rep-cache.db") => "rep-cache.db",
        Some("current") => "current",
        Some("format") => "format",
        Some("uuid") => "uuid",
        Some("fs-type") => "fs-type",
        Some("min-unpacked-rev") => "min-unpacked-rev",
        Some("txn-current") => "txn-current",
        _ => "other",
    }
}

/// The reason why a failure of the incumbent is not one of ours, if it is known.
fn is_known(name: &str, theirs: &Output) -> bool {
    match name {
        // Readers do not need it: only a commit reads the next transaction's number.
        "db/txn-current" => true,
        // The real tool opens the database read-write and checks its journal settings too.
        "db/rep-cache.db" => theirs.err().contains("journal_mode"),
        // Only the line end after the number or word is missing; the real tool requires it.
        "db/fs-type" | "db/min-unpacked-rev" => theirs.err().contains("End of file found"),
        // Format 6 turned into 7: the real tool misses the second line of `db/uuid`, which we do not need.
        "db/format" => theirs.err().contains("db/uuid': End of file found"),
        // Readers accept any UUID; the real tool requires 36 bytes and a line end.
        "db/uuid" => true,
        _ => false,
    }
}

#[test]
fn flipped_bytes_with_physical_addressing() {
    flip(
        &Spec::small("1.8").shard(4).pack(When::Halfway).named("flip-f6"),
        150,
        1,
    );
    flip(&Spec::small("1.3").named("flip-f1"), 80, 2);
}

#[test]
fn flipped_bytes_with_logical_addressing() {
    let spec = Spec::small("1.14")
        .shard(4)
        .pack(When::Halfway)
        .packed_revprops(1, true)
        .named("flip-f8");
    flip(&spec, 200, 3);
}
