//! Transactions that are merged with revisions committed after they began.

use base::{Code, Revnum};

use super::script::CommitStep::{self, Cp, Mkdir, Propdel, Propset, Put, Rm};
use super::script::{apply, begin, ours, verify};
use crate::compare;
use crate::incumbent::Repository;

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// The steps of the transaction, the steps that are committed before it, and the path of the conflict.
fn cases() -> Vec<(Vec<CommitStep>, Vec<CommitStep>, Option<&'static str>)> {
    vec![
        // First, because copied nodes get other IDs when they are changed.
        (
            vec![Propset("a", "p", "v")],
            vec![Put("a/f", text("same names, same lines"))],
            None,
        ),
        // Different files, in one directory and in several.
        (vec![Put("a/f", text("x"))], vec![Put("a/g", text("y"))], None),
        (vec![Put("a/f", text("x"))], vec![Put("b/f", text("y"))], None),
        (vec![Mkdir("a/new")], vec![Mkdir("a/other")], None),
        (vec![Rm("a/f")], vec![Rm("a/g")], None),
        (vec![Cp(0, "a", "c")], vec![Put("a/f", text("y"))], None),
        (vec![Put("a/d/f", text("x"))], vec![Propset("b", "p", "v")], None),
        (
            vec![Propset("a", "svn:mergeinfo", "/b:1")],
            vec![Propset("b", "svn:mergeinfo", "/a:1")],
            None,
        ),
        (
            vec![Propset("a/d", "svn:mergeinfo", "/b:1"), Put("a/f", text("x"))],
            vec![Propset("a/g", "svn:mergeinfo", "/b:1"), Propdel("b", "none")],
            None,
        ),
        // Both changed the same node.
        (
            vec![Put("a/f", text("x"))],
            vec![Put("a/f", text("y"))],
            Some("/a/f"),
        ),
        (vec![Put("a/f", text("x"))], vec![Rm("a/f")], Some("/a/f")),
        (vec![Rm("a/f")], vec![Put("a/f", text("y"))], Some("/a/f")),
        (vec![Put("a/d/f", text("x"))], vec![Rm("a/d")], Some("/a/d")),
        (vec![Mkdir("a/new")], vec![Mkdir("a/new")], Some("/a/new")),
        (
            vec![Put("a/new", text("x"))],
            vec![Mkdir("a/new")],
            Some("/a/new"),
        ),
        (
            vec![Put("a/f", text("x"))],
            vec![Propset("a", "p", "v")],
            Some("/a"),
        ),
        (vec![Propset("a", "p", "v")], vec![Mkdir("a/new")], Some("/a")),
        (
            vec![Put("a/d/f", text("x"))],
            vec![Rm("a/d"), Cp(1, "a/d", "a/d")],
            Some("/a/d"),
        ),
    ]
}

#[test]
fn transactions_merge_or_conflict_as_with_the_incumbent() {
    for version in ["1.4", "1.8", "1.14", "fsx"] {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        let start = [
            Mkdir("a"),
            Mkdir("a/d"),
            Mkdir("b"),
            Put("a/f", text("one\n")),
            Put("a/g", text("two\n")),
            Put("a/d/f", text("three\n")),
            Put("b/f", text("four\n")),
        ];
        ours(&fs, &start).unwrap();
        for (mine, theirs, conflict) in cases() {
            let mut txn = begin(&fs);
            apply(&fs, &mut txn, &mine).unwrap();
            let meanwhile = ours(&fs, &theirs).unwrap().rev;
            let before = compare::ids(&txn.root().unwrap());
            match (txn.commit(&super::script::now), conflict) {
                (Ok(committed), None) => {
                    assert_eq!(committed.rev, meanwhile.next(), "{mine:?} {theirs:?}");
                    let changed = fs.root(committed.rev).unwrap().changed_paths().unwrap();
                    assert_eq!(changed.len(), mine.len());
                }
                (Err(e), Some(path)) => {
                    assert_eq!(e.code(), Code::FS_CONFLICT);
                    assert_eq!(e.message(), format!("Conflict at '{path}'"));
                    // The transaction is unchanged, and can be removed.
                    assert_eq!(compare::ids(&txn.root().unwrap()), before);
                    txn.abort().unwrap();
                }
                (result, _) => panic!("{mine:?} {theirs:?}: {result:?}"),
            }
            // Remove the nodes again.
            let mut txn = begin(&fs);
            for node in ["a", "b", "c"] {
                if txn
                    .root()
                    .unwrap()
                    .try_node(&super::script::path(node))
                    .unwrap()
                    .is_some()
                {
                    txn.delete(&super::script::path(node)).unwrap();
                }
            }
            apply(&fs, &mut txn, &[Cp(1, "a", "a"), Cp(1, "b", "b")]).unwrap();
            txn.commit(&super::script::now).unwrap();
        }
        verify(&repository);
        assert_eq!(fs.list_txns().unwrap(), Vec::<String>::new());
    }
}

/// Commits of the incumbent race with ours in one repository.
#[test]
fn a_transaction_merges_with_many_commits_of_the_incumbent() {
    let repository = Repository::create("1.14", 1000, "");
    let fs = compare::open(&repository);
    let mut txn = begin(&fs);
    apply(&fs, &mut txn, &[Mkdir("ours"), Put("ours/f", text("f\n"))]).unwrap();
    for name in ["t1", "t2", "t3"] {
        repository.mucc(&["mkdir", name]);
    }
    let committed = txn.commit(&super::script::now).unwrap();
    assert_eq!(committed.rev, Revnum(4));
    verify(&repository);
}
