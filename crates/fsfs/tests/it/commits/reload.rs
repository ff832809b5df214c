//! Transactions that another process, such as a hook, changes while this one has them open.

use base::Revnum;
use fsfs::{Fs, Txn};

use super::random::{TestRandom, TreePaths, step};
use super::script::CommitStep::{Cp, Mkdir, Propset, Put, Rm};
use super::script::{CommitStep, apply, begin, copy_of, now, ours, verify};
use crate::compare;
use crate::incumbent::Repository;

/// Changes a transaction like another process: with another handle and another cache.
fn elsewhere(repository: &Repository, name: &str, work: impl FnOnce(&Fs, &mut Txn)) {
    let fs = compare::open(repository);
    let mut txn = fs.open_txn(name).unwrap();
    work(&fs, &mut txn);
    txn.write_to_disk().unwrap();
    txn.close_unwritten();
}

/// Writes the transaction to disk, calls `work` to change it, and reads it again.
fn change_on_disk(repository: &Repository, txn: &mut Txn, work: impl FnOnce(&Fs, &mut Txn)) {
    txn.write_to_disk().unwrap();
    let before = txn.fingerprint().unwrap();
    elsewhere(repository, txn.name(), work);
    txn.reload(&before).unwrap();
}

fn start(version: &str) -> Repository {
    let repository = Repository::create(version, 3, "");
    let fs = compare::open(&repository);
    ours(
        &fs,
        &[
            Mkdir("a"),
            Put("a/f", b"one\n".to_vec()),
            Put("g", b"two\n".to_vec()),
        ],
    )
    .unwrap();
    repository
}

#[test]
fn a_reloaded_transaction_has_the_hooks_tree_and_properties() {
    for version in ["1.3", "1.6", "1.14", "fsx"] {
        let (repository, at_once) = (start(version), start(version));
        let first = [
            Put("a/f", b"client\n".to_vec()),
            Mkdir("b"),
            Put("b/x", b"x\n".to_vec()),
        ];
        let hook = [
            Put("a/f", crate::sample::noise(1, 150_000)),
            Rm("b/x"),
            Put("b/y", b"y\n".to_vec()),
            Cp(1, "a", "c"),
            Propset("g", "p", "v"),
        ];
        let last = [Put("b/y", b"y again\n".to_vec()), Put("z", b"z\n".to_vec())];
        let fs = compare::open(&repository);
        let mut txn = begin(&fs);
        apply(&fs, &mut txn, &first).unwrap();
        change_on_disk(&repository, &mut txn, |fs, txn| {
            apply(fs, txn, &hook).unwrap();
            txn.set_prop("svn:log", Some(b"the hook's")).unwrap();
        });
        apply(&fs, &mut txn, &last).unwrap();
        change_on_disk(&repository, &mut txn, |_, txn| {
            txn.set_prop("more", Some(b"x")).unwrap()
        });
        assert_eq!(txn.commit(&now).unwrap().rev, Revnum(2));
        drop(txn);
        let all = [&first[..], &hook, &last].concat();
        ours(&compare::open(&at_once), &all).unwrap();
        let read = |repository| compare::read(&compare::open(repository).root(Revnum(2)).unwrap());
        assert_eq!(read(&repository), read(&at_once), "{version}");
        let props = fs.revprops(Revnum(2)).unwrap();
        assert_eq!(props.get("svn:log"), Some(&b"the hook's"[..]), "{version}");
        assert_eq!(props.get("more"), Some(&b"x"[..]), "{version}");
        verify(&repository);
    }
}

#[test]
fn a_transaction_that_was_removed_is_not_found() {
    let repository = start("1.14");
    let fs = compare::open(&repository);
    let mut txn = begin(&fs);
    apply(&fs, &mut txn, &[Mkdir("b")]).unwrap();
    txn.write_to_disk().unwrap();
    let before = txn.fingerprint().unwrap();
    compare::open(&repository).purge_txn(txn.name()).unwrap();
    let gone = txn.reload(&before).unwrap_err();
    let said = gone.message();
    assert!(said.ends_with("/props': No such file or directory"), "{said}");
    assert_eq!(gone.links().count(), 4, "{gone:?}");
    assert!(txn.commit(&now).is_err());
    drop(txn);
    assert!(fs.list_txns().unwrap().is_empty());
    ours(&fs, &[Mkdir("b")]).unwrap();
    verify(&repository);
}

/// Two processes that edit one transaction in turn give the same result as one process.
#[test]
fn two_processes_edit_a_transaction_in_turns() {
    for seed in 0..number("SVEN_RELOADS", 12) {
        let mut random = TestRandom(seed);
        let version = ["1.3", "1.6", "1.8", "1.14", "fsx"][random.below(5)];
        let (repository, at_once) = (
            Repository::create(version, 3, ""),
            Repository::create(version, 3, ""),
        );
        let mut trees = vec![TreePaths::new()];
        let fs = compare::open(&repository);
        for _ in 0..4 {
            let mut txn = begin(&fs);
            let mut ops: Vec<CommitStep> = Vec::new();
            let mut tree = trees.last().unwrap().clone();
            for _ in 0..1 + random.below(8) {
                let known = [&trees[..], &[tree.clone()]].concat();
                let (op, after) = step(&mut random, &known);
                // Sources of copies are committed revisions.
                if matches!(op, Cp(rev, ..) if rev as usize >= trees.len()) {
                    continue;
                }
                tree = after;
                match random.below(2) {
                    0 => apply(&fs, &mut txn, std::slice::from_ref(&op)).unwrap(),
                    _ => change_on_disk(&repository, &mut txn, |fs, txn| {
                        apply(fs, txn, std::slice::from_ref(&op)).unwrap();
                    }),
                }
                ops.push(op);
            }
            txn.commit(&now).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            ours(&compare::open(&at_once), &ops).unwrap();
            trees.push(tree);
        }
        let youngest = fs.youngest().unwrap();
        for rev in 0..=youngest.0 {
            let read = |repository| compare::read(&compare::open(repository).root(Revnum(rev)).unwrap());
            assert_eq!(read(&repository), read(&at_once), "seed {seed}, r{rev}");
        }
        verify(&copy_of(&repository));
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
