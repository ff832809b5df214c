//! Many commits at the same time.

use std::collections::BTreeSet;
use std::sync::Barrier;

use base::Revnum;

use super::script::CommitStep::{Mkdir, Propset, Put};
use super::script::{apply, begin, now, ours, path, verify};
use crate::compare;
use crate::incumbent::Repository;

#[test]
fn two_hundred_commits_to_distinct_paths() {
    let repository = Repository::create("1.14", 1000, "");
    let shared = compare::open(&repository);
    ours(&shared, &[Mkdir("t")]).unwrap();
    let barrier = Barrier::new(200);
    let revs: BTreeSet<Revnum> = std::thread::scope(|scope| {
        let commit = |number: usize| {
            // Some share a handle, as connections to one server do; others have their own.
            let fs = match number % 4 {
                0 => compare::open(&repository),
                _ => shared.clone(),
            };
            barrier.wait();
            let mut txn = begin(&fs);
            let name = format!("t/f{number}");
            txn.make_file(&path(&name)).unwrap();
            let mut writer = txn.apply_text(&path(&name), None).unwrap();
            writer.write(name.as_bytes()).unwrap();
            writer.finish(&mut txn).unwrap();
            let committed = txn.commit(&now).unwrap();
            assert!(committed.post_commit_error.is_none(), "{committed:?}");
            committed.rev
        };
        let threads: Vec<_> = (0..200)
            .map(|number| scope.spawn(move || commit(number)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(revs, (2..=201).map(Revnum).collect());
    verify(&repository);
    assert_eq!(repository.svnlook(&["tree", "-N", "t"]).lines().count(), 201);
    assert!(shared.list_txns().unwrap().is_empty());
}

/// Our threads and processes of the incumbent commit to one repository.
#[test]
fn concurrent_commits_with_the_incumbent() {
    let repository = Repository::create("1.14", 5, "");
    let fs = compare::open(&repository);
    std::thread::scope(|scope| {
        for side in 0..2 {
            let (fs, repository) = (&fs, &repository);
            scope.spawn(move || {
                for number in 0..12 {
                    let name: &'static str = format!("n{side}-{number}").leak();
                    match side {
                        0 => drop(ours(fs, &[Mkdir(name), Propset(name, "p", "v")]).unwrap()),
                        _ => repository.mucc(&["mkdir", name]),
                    }
                }
            });
        }
    });
    assert_eq!(fs.youngest().unwrap(), Revnum(24));
    verify(&repository);
}

/// Rep sharing with another transaction that is committed first.
#[test]
fn two_concurrent_transactions_of_one_process_share_texts() {
    let repository = Repository::create("1.8", 4, "");
    let fs = compare::open(&repository);
    let (mut a, mut b) = (begin(&fs), begin(&fs));
    for round in 0..5 {
        for (txn, side) in [(&mut a, "a"), (&mut b, "b")] {
            let name: &'static str = format!("{side}{round}").leak();
            apply(&fs, txn, &[Put(name, b"the same text in both\n".to_vec())]).unwrap();
            assert_eq!(
                txn.root().unwrap().root_node().unwrap().entries().unwrap().len(),
                round + 1
            );
        }
    }
    assert_eq!(b.commit(&now).unwrap().rev, Revnum(1));
    assert_eq!(a.commit(&now).unwrap().rev, Revnum(2));
    verify(&repository);
}
