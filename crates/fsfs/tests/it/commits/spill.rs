//! Transactions that spill nearly everything make the same revisions, byte for byte, as those that hold everything in memory.

use base::{NodeKind, Revnum};
use fsfs::{Fs, Txn, TxnOptions};

use super::random::{TestRandom, TreePaths, step};
use super::script::{CommitStep, apply, copy_of, now, path, verify};
use crate::compare;
use crate::incumbent::Repository;

/// Begins a transaction that keeps at most `max_in_memory` nodes and changes in memory.
pub(super) fn begin(fs: &Fs, max_in_memory: usize) -> Txn {
    let options = TxnOptions {
        max_in_memory,
        ..TxnOptions::default()
    };
    let mut txn = fs.begin_txn(fs.youngest().unwrap(), options, now()).unwrap();
    txn.set_prop("svn:log", Some(b"change")).unwrap();
    txn
}

/// The files of a transaction that contain its tree. (The list of changes may have one more line for a node.)
fn files(repository: &Repository, txn: &Txn) -> Vec<(String, String)> {
    let dir = repository
        .db()
        .join("transactions")
        .join(format!("{}.txn", txn.name()));
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| {
            // Directories may be written in one piece or in several.
            let name = entry.file_name().into_string().unwrap();
            name.starts_with("node.") && !name.ends_with(".children")
        })
        .map(|entry| {
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    files.sort();
    files
}

/// Looks up a path of the tree or one near it, because a look-up starts from the previous one.
fn look_up(random: &mut TestRandom, txn: &Txn, tree: &TreePaths) {
    let paths: Vec<_> = tree.keys().collect();
    let Some(near) = paths.get(random.below(paths.len())) else {
        return;
    };
    let text = match random.below(4) {
        0 => format!("{near}/none/below"),
        1 => format!("{near}1"),
        2 => near.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned(),
        _ => (*near).clone(),
    };
    let found = txn.root().unwrap().kind(&path(&text)).unwrap();
    let expected = match tree.get(&text) {
        _ if text.is_empty() => NodeKind::Dir,
        Some(true) => NodeKind::Dir,
        Some(false) => NodeKind::File,
        None => NodeKind::None,
    };
    assert_eq!(found, expected, "{text}");
    let node = txn.root().unwrap().try_node(&path(&text)).unwrap();
    assert_eq!(
        node.map_or(NodeKind::None, |node| node.kind()),
        expected,
        "{text}"
    );
}

fn revision(repository: &Repository, rev: usize) -> Vec<u8> {
    std::fs::read(repository.rev_file(rev as u64)).unwrap()
}

fn run(version: &str, seed: u8, commits: usize) {
    let a = Repository::create(version, 1000, "");
    let b = copy_of(&a);
    let (sparse, full) = (compare::open(&a), compare::open(&b));
    let mut random = TestRandom(u64::from(seed));
    let mut trees = vec![TreePaths::new()];
    for rev in 1..=commits {
        let most = 1 + random.below(6);
        let (mut little, mut all) = (begin(&sparse, most), begin(&full, usize::MAX));
        let mut now_there = trees[rev - 1].clone();
        let mut done = Vec::new();
        while done.len() < 40 {
            trees.push(now_there.clone());
            let (op, then) = step(&mut random, &trees);
            trees.pop();
            if matches!(&op, CommitStep::Cp(from, ..) if *from >= rev as u64) {
                continue;
            }
            if seed % 2 == 1 {
                // A transaction that was just opened has no previous look-up.
                let name = all.name().to_owned();
                drop(all);
                all = full.open_txn(&name).unwrap();
            }
            for (fs, txn) in [(&sparse, &mut little), (&full, &mut all)] {
                apply(fs, txn, std::slice::from_ref(&op))
                    .unwrap_or_else(|e| panic!("{version} seed {seed} r{rev} {done:?} {op:?}: {e:?}"));
            }
            done.push(op);
            now_there = then;
            for _ in 0..random.below(4) {
                look_up(&mut random, &little, &now_there);
            }
            match random.below(12) {
                0 => {
                    little.write_to_disk().unwrap();
                    all.write_to_disk().unwrap();
                    let (mine, other) = (files(&a, &little), files(&b, &all));
                    assert_eq!(mine, other, "{version} seed {seed} r{rev} {done:?}");
                }
                1 => {
                    let changes = |txn: &Txn| txn.root().unwrap().changed_paths().unwrap();
                    let (mine, other) = (changes(&little), changes(&all));
                    assert_eq!(mine, other, "{version} seed {seed} r{rev} {done:?}");
                }
                2 if random.below(3) == 0 => {
                    let names = [&little, &all].map(|txn| txn.name().to_owned());
                    drop((little, all));
                    little = sparse.open_txn(&names[0]).unwrap();
                    all = full.open_txn(&names[1]).unwrap();
                }
                _ => {}
            }
        }
        assert_eq!(little.commit(&now).unwrap().rev, Revnum(rev as u64));
        assert_eq!(all.commit(&now).unwrap().rev, Revnum(rev as u64));
        let (mine, other) = (revision(&a, rev), revision(&b, rev));
        assert!(
            mine == other,
            "{version} seed {seed} r{rev} {done:?}:\n{}\n---\n{}",
            String::from_utf8_lossy(&mine),
            String::from_utf8_lossy(&other)
        );
        trees.push(now_there);
    }
    verify(&a);
}

#[test]
fn spilled_transactions_make_equal_revisions() {
    for seed in 0..8 + 4 * super::random::seeds() {
        run(
            ["1.14", "1.8", "1.4", "fsx"][usize::from(seed % 4)],
            100u8.wrapping_add(seed),
            8,
        );
    }
}
