//! Flipped bytes, everywhere: never a panic, never an endless loop, and where the real tool's `verify` fails ours fails.
//!
//! A sample runs with the suite; `SVEN_CORRUPTION=N` flips about every N-th byte instead (1: each one, which takes hours).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use fsfs::{Cache, Fs};
use testkit::history::Random;
use testkit::repo::{Repo, Spec, When, build};
use testkit::{Output, Tool};

use crate::verify::Transcript;

/// All files below `db` that matter to readers, with their length.
fn files(repo: &Repo) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![repo.db()];
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
                found.push((path.clone(), fs::metadata(&path).map_or(0, |meta| meta.len())));
            }
        }
    }
    found.sort();
    found
}

/// What came of our verification: the numbers of the first failure; none if all is well.
fn ours(db: &Path, what: &str) -> Vec<i32> {
    let (done, wait) = mpsc::channel();
    let db = db.to_owned();
    let worker = std::thread::spawn(move || {
        let numbers = |e: &base::Error| e.links().map(|link| link.code().0).collect();
        let result: Vec<i32> = match Fs::open(&db, &Cache::new(1 << 20)) {
            Err(e) => numbers(&e),
            Ok(fs) => match fs.youngest() {
                Err(e) => numbers(&e),
                // `current` may promise anything: the run must not believe it.
                Ok(youngest) => {
                    let mut options = fsfs::admin::verify::Options::range(base::Revnum(0), youngest);
                    options.cache_budget = 4 << 20;
                    let mut transcript = Transcript::default();
                    match fsfs::admin::verify::run(&fs, &options, &mut transcript) {
                        Err(e) => numbers(&e),
                        Ok(()) => transcript
                            .failures
                            .first()
                            .map(|(_, e)| numbers(e))
                            .unwrap_or_default(),
                    }
                }
            },
        };
        drop(done.send(result));
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: verification does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            worker.join().expect(what);
            unreachable!("because a worker that says nothing has panicked")
        }
    }
}

fn theirs(repo: &Repo) -> Output {
    Tool::new("timeout")
        .args(["60", "svnadmin", "verify", "-q"])
        .arg(repo.path())
        .run()
}

fn flip(spec: &Spec, sample: usize, seed: u64) {
    let every: Option<u64> = std::env::var("SVEN_CORRUPTION").ok().and_then(|n| n.parse().ok());
    let repo = build(spec).copy();
    Tool::new("chmod").args(["-R", "u+w"]).arg(repo.path()).ok();
    assert_eq!(ours(&repo.db(), "untouched"), [0; 0]);
    let files = files(&repo);
    let total: u64 = files.iter().map(|(_, len)| len).sum();
    let count = every.map_or(sample, |every| (total / every.max(1)) as usize);
    let mut random = Random::new(seed);
    let (mut found, mut missed) = (0, Vec::new());
    for n in 0..count {
        // Half of the flips go to small files, which a sample by bytes would never hit.
        let (path, len) = &files[random.below(files.len())];
        if *len == 0 {
            continue;
        }
        let at = random.below(*len as usize);
        let good = fs::read(path).expect("because the copy is ours");
        let mut bad = good.clone();
        match n % 5 {
            0 => bad[at] ^= 1,
            1 => bad[at] = random.next() as u8,
            2 => bad[at] ^= 0x80,
            3 => bad[at] = b'0' + (bad[at].wrapping_add(1)) % 10,
            _ => bad.truncate(at),
        }
        if bad == good {
            continue;
        }
        let name = path
            .strip_prefix(repo.path())
            .unwrap_or(path)
            .display()
            .to_string();
        let what = format!("{} {name} at {at} of {len}, way {}", spec.name, n % 5);
        fs::write(path, &bad).expect("because the copy is ours");
        let ours = ours(&repo.db(), &what);
        let theirs = theirs(&repo);
        fs::write(path, &good).expect("because the copy is ours");
        found += usize::from(!ours.is_empty());
        if theirs.code != 0 && ours.is_empty() && !is_known(&name, &theirs) {
            missed.push(format!("{what}: {theirs:?}"));
        }
    }
    assert!(
        missed.is_empty(),
        "{} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
    assert!(found > count / 4, "only {found} of {count} flips were found");
}

/// What the real tool stumbles over and we do not, each with its reason.
fn is_known(name: &str, theirs: &Output) -> bool {
    match name {
        // Written to by nobody who reads: only a commit asks for the next transaction's number.
        "db/txn-current" => true,
        // The real tool opens the database read-write and checks its journal's and write-ahead settings too.
        "db/rep-cache.db" => theirs.err().contains("journal_mode"),
        // The number or word is there, only its line end is not; the real tool insists on that.
        "db/fs-type" | "db/min-unpacked-rev" => theirs.err().contains("End of file found"),
        // Format 6 turned into 7: the real tool misses the second line of `db/uuid`, which we do not need.
        "db/format" => theirs.err().contains("db/uuid': End of file found"),
        // Any UUID will do for a reader; the real tool wants 36 bytes and a line end.
        "db/uuid" => true,
        _ => false,
    }
}

#[test]
fn physical_repositories_survive_flipped_bytes() {
    flip(
        &Spec::small("1.8").shard(4).pack(When::Halfway).named("flip-f6"),
        150,
        1,
    );
    flip(&Spec::small("1.3").named("flip-f1"), 80, 2);
}

#[test]
fn logical_repositories_survive_flipped_bytes() {
    let spec = Spec::small("1.14")
        .shard(4)
        .pack(When::Halfway)
        .packed_revprops(1, true)
        .named("flip-f8");
    flip(&spec, 200, 3);
}
