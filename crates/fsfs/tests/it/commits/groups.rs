//! Groups of commits that become durable together.

use std::path::Path;
use std::sync::Arc;

use base::Revnum;
use fsfs::{Cache, Fs, TxnOptions};
use testkit::disk::{CallDecision, DiskCall, WatchedDisk, Watcher};

use super::script::CommitStep::{Cp, Mkdir, Propset, Put};
use super::script::{CommitStep, apply, copy_of, now, ours, verify};
use crate::compare;
use crate::incumbent::Repository;

fn steps() -> Vec<CommitStep> {
    let mut steps = vec![Mkdir("a"), Put("a/f", b"one\n".to_vec())];
    for number in 0..20u8 {
        let name: &'static str = format!("a/f{number}").leak();
        steps.push(Put(name, format!("text {number}\n").into_bytes()));
        steps.push(Put("a/f", format!("text {}\n", number / 2).into_bytes()));
        steps.push(Propset("a", "p", format!("value {number}").leak()));
    }
    steps.push(Cp(7, "a", "c"));
    steps
}

/// A load and `rmtxns` at the same time.
#[test]
fn removing_a_transaction_leaves_the_directories_of_a_group_alone() {
    let repository = Repository::create("1.14", 7, "");
    let (fs, other) = (compare::open(&repository), compare::open(&repository));
    let mut batch = fs.commit_group().unwrap();
    let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
    apply(batch.fs(), &mut txn, &[Mkdir("a")]).unwrap();
    batch.commit(txn, &now).unwrap();
    let txn = other.begin_txn(Revnum(0), TxnOptions::default(), now()).unwrap();
    txn.abort().unwrap();
    // The next transaction of the group gets the directory of the first, with the file in it.
    let names = std::fs::read_dir(repository.db().join("transactions")).unwrap();
    let kept: Vec<_> = names.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read_dir(&kept[0]).unwrap().count(), 1);
    batch.flush().unwrap();
    drop(batch);
    assert_eq!(
        std::fs::read_dir(repository.db().join("transactions"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn groups_make_the_same_revisions_and_are_visible_when_flushed() {
    for (version, shard) in [("1.4", 0), ("1.8", 7), ("1.14", 7), ("fsx", 7)] {
        let grouped = Repository::create(version, shard, "");
        let single = copy_of(&grouped);
        let (fs, other, one) = (
            compare::open(&grouped),
            compare::open(&grouped),
            compare::open(&single),
        );
        let mut batch = fs.commit_group().unwrap();
        let steps = steps();
        let mut flushed = Revnum(0);
        for (at, op) in steps.iter().enumerate() {
            let op = std::slice::from_ref(op);
            let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
            apply(batch.fs(), &mut txn, op).unwrap();
            let committed = batch.commit(txn, &now).unwrap();
            assert_eq!(committed.rev, Revnum(at as u64 + 1), "{version}");
            // The revision is visible only through the group.
            assert!(batch.fs().root(committed.rev).is_ok());
            assert_eq!(fs.youngest().unwrap(), flushed);
            assert_eq!(other.youngest().unwrap(), flushed);
            assert!(other.root(committed.rev).is_err());
            // The incumbent does not shorten a file of revision properties that is there when it commits to FSX.
            assert_eq!(highest_number(&grouped.db()), flushed.0, "{version}");
            if at % 20 == 19 {
                flushed = batch.flush().unwrap();
                assert_eq!(flushed, committed.rev);
                assert_eq!(other.youngest().unwrap(), flushed);
                other.root(flushed).unwrap();
            }
            ours(&one, op).unwrap();
        }
        // Revisions that were not flushed are lost.
        drop(batch);
        verify(&grouped);
        assert_eq!(compare::open(&grouped).youngest().unwrap(), flushed);
        assert!(fs.list_txns().unwrap().is_empty());
        let file = |repository: &Repository, rev: u64| std::fs::read(repository.rev_file(rev)).ok();
        for rev in 1..=flushed.0 {
            assert!(file(&grouped, rev) == file(&single, rev), "{version} r{rev}");
        }
        assert_eq!(file(&grouped, flushed.0 + 1), None);
        // Other commits continue, and groups continue after them.
        grouped.mucc(&["mkdir", "theirs"]);
        let mut batch = fs.commit_group().unwrap();
        let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
        apply(batch.fs(), &mut txn, &[Mkdir("again")]).unwrap();
        batch.commit(txn, &now).unwrap();
        assert_eq!(batch.flush().unwrap(), Revnum(flushed.0 + 2));
        verify(&grouped);
    }
}

/// Returns the highest number of a file of a revision or of revision properties.
fn highest_number(db: &Path) -> u64 {
    let mut highest = 0;
    let mut directories = vec![db.join("revs"), db.join("revprops")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
                continue;
            }
            let name = entry.file_name().into_string().unwrap();
            highest = highest.max(name.trim_start_matches(['r', 'p']).parse().unwrap());
        }
    }
    highest
}

/// A disk on which `db/revs` and `db/revprops` are on other file systems than `db`.
struct SeveralFileSystems;

impl Watcher for SeveralFileSystems {
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        let below = |path: &Path, name: &str| path.components().any(|part| part.as_os_str() == name);
        match call {
            DiskCall::Rename(from, to)
                if ["revs", "revprops"]
                    .iter()
                    .any(|name| below(from, name) != below(to, name)) =>
            {
                CallDecision::Fail(std::io::ErrorKind::CrossesDevices.into())
            }
            _ => CallDecision::Proceed,
        }
    }
}

#[test]
fn the_directories_of_a_filesystem_are_on_several_file_systems() {
    for (version, shard) in [("1.4", 0), ("1.8", 3), ("1.14", 3), ("fsx", 3)] {
        let [grouped, single] = [(); 2].map(|()| Repository::create(version, shard, ""));
        let disk = Arc::new(WatchedDisk::new(SeveralFileSystems));
        let cache = Cache::new(1 << 20);
        let fs = Fs::open_on(&grouped.db(), &cache, disk.clone()).unwrap();
        let mut batch = fs.commit_group().unwrap();
        let one = Fs::open_on(&single.db(), &cache, disk).unwrap();
        let steps = steps();
        for op in steps.chunks(1) {
            let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
            apply(batch.fs(), &mut txn, op).unwrap();
            batch.commit(txn, &now).unwrap();
            ours(&one, op).unwrap();
        }
        batch.flush().unwrap();
        for repository in [&grouped, &single] {
            verify(repository);
            let youngest = compare::open(repository).youngest().unwrap();
            assert_eq!(youngest, Revnum(steps.len() as u64), "{version}");
            let names = std::fs::read_dir(repository.db()).unwrap();
            let is_left = |name: String| name.starts_with("svn-");
            assert!(
                !names
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .any(is_left)
            );
        }
    }
}

/// Commits before a refused transaction can still be flushed, and nothing of the refused one is left.
#[test]
fn a_refused_commit_keeps_the_commits_before_it() {
    for version in ["1.4", "1.14"] {
        let grouped = Repository::create(version, 7, "");
        let fs = compare::open(&grouped);
        let mut batch = fs.commit_group().unwrap();
        for op in [Mkdir("a"), Mkdir("b")] {
            let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
            apply(batch.fs(), &mut txn, &[op]).unwrap();
            batch.commit(txn, &now).unwrap();
        }
        // The commit finds the conflict of the two copies.
        let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
        let twice = [Cp(2, "a", "c"), Cp(2, "a", "c")];
        apply(batch.fs(), &mut txn, &twice).unwrap();
        assert!(batch.commit(txn, &now).is_err());
        assert!(batch.begin_txn(TxnOptions::default(), now()).is_err());
        assert_eq!(batch.flush().unwrap(), Revnum(2));
        drop(batch);
        verify(&grouped);
        let names = std::fs::read_dir(grouped.db()).unwrap();
        let is_aside = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("svn-group-");
        assert!(
            !names
                .map(|entry| entry.unwrap().file_name())
                .any(|name| is_aside(&name))
        );
        assert!(!grouped.db().join("revprops/0/3").exists());
        grouped.mucc(&["mkdir", "theirs"]);
        assert_eq!(fs.youngest().unwrap(), Revnum(3));
    }
}

/// The next transaction of a group takes over the directory of the last one only if nothing else is in it, and a flush leaves none.
#[test]
fn directories_of_transactions_are_taken_over_clean() {
    for version in ["1.4", "1.14"] {
        let grouped = Repository::create(version, 7, "");
        let fs = compare::open(&grouped);
        let mut batch = fs.commit_group().unwrap();
        let names = |dir: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(dir).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let dir = grouped.db().join("transactions");
        let small = [Mkdir("small")];
        let large: Vec<CommitStep> = (0..12u8)
            .map(|number| Put(format!("f{number}").leak(), vec![number; 3]))
            .collect();
        let mut own = None;
        for (at, steps) in [&small[..], &large, &[Mkdir("b")], &[Mkdir("c")]]
            .into_iter()
            .enumerate()
        {
            let options = TxnOptions {
                max_in_memory: 2,
                ..TxnOptions::default()
            };
            let mut txn = batch.begin_txn(options, now()).unwrap();
            let path = dir.join(format!("{}.txn", txn.name()));
            let begun = names(&path);
            assert_eq!(own.get_or_insert_with(|| begun.clone()), &begun, "{version} {at}");
            assert_eq!(fs.list_txns().unwrap(), [txn.name()]);
            apply(batch.fs(), &mut txn, steps).unwrap();
            assert_eq!(names(&path).len() > begun.len(), at == 1, "the large one spills");
            batch.commit(txn, &now).unwrap();
            assert!(fs.list_txns().unwrap().is_empty());
        }
        batch.flush().unwrap();
        assert!(names(&dir).is_empty(), "{version}");
        // One that is not committed stays.
        let txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
        assert_eq!(names(&dir).len(), 1);
        drop(txn);
        drop(batch);
        assert_eq!(fs.list_txns().unwrap().len(), 1);
        verify(&grouped);
    }
}

/// Other processes add rows to the rep-cache as soon as a group is flushed, though the group looks contents up in it.
#[test]
fn a_flushed_group_leaves_the_rep_cache_to_others() {
    let grouped = Repository::create("1.14", 7, "");
    grouped.mucc(&["mkdir", "theirs"]);
    let fs = compare::open(&grouped);
    let mut batch = fs.commit_group().unwrap();
    for round in 0..3u8 {
        for number in 0..3u8 {
            let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
            let text = vec![round * 3 + number; 2000];
            apply(
                batch.fs(),
                &mut txn,
                &[Put(format!("f{round}{number}").leak(), text)],
            )
            .unwrap();
            batch.commit(txn, &now).unwrap();
        }
        batch.flush().unwrap();
        let begun = std::time::Instant::now();
        grouped.mucc(&["propset", "p", &round.to_string(), "theirs"]);
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(8),
            "waited for a lock"
        );
    }
    verify(&grouped);
}
