//! Trees of open transactions.

use std::os::unix::fs::PermissionsExt as _;

use base::FsPath;
use fsfs::{Cache, Fs};

use crate::compare;
use crate::incumbent::{Repository, run};

/// A repository, a copy of it while a commit is in its pre-commit hook, and the name of that transaction.
fn repositories_during_a_commit(version: &str) -> (Repository, Repository, String) {
    let repository = Repository::create(version, 1000, "");
    let hello = repository.file("hello", b"Hello, world!\n");
    let big = repository.file("big", &crate::sample::noise(1, 250_000));
    repository.mucc(&[
        "mkdir", "a", "mkdir", "a/b", "put", &hello, "a/f", "put", &big, "a/big", "put", &hello, "a/b/g",
    ]);
    repository.mucc(&["propset", "p", "v", "a/f"]);
    let copy = Repository {
        dir: tempfile::tempdir().unwrap(),
    };
    let hook = repository.path().join("hooks/pre-commit");
    std::fs::write(
        &hook,
        format!("#!/bin/sh\ncp -r \"$1\" {}\n", copy.path().display()),
    )
    .unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let other = repository.file("other", &crate::sample::noise(2, 120_000));
    repository.mucc(&[
        "cp", "2", "a", "c", "put", &other, "c/big", "rm", "c/b/g", "put", &hello, "c/new", "mkdir", "c/d",
        "propset", "q", "w", "c/d", "propset", "p", "x", "a/f", "put", &other, "a/f", "rm", "a/big",
    ]);
    let txns = String::from_utf8(run("svnadmin", &["lstxns", copy.path().to_str().unwrap()])).unwrap();
    (repository, copy, txns.trim().to_owned())
}

#[test]
fn transactions_of_every_format() {
    for version in ["1.3", "1.4", "1.5", "1.6", "1.8", "1.9", "1.14"] {
        let (after, during, txn) = repositories_during_a_commit(version);
        let fs = compare::open(&during);
        let root = fs.txn_root(&txn).unwrap();
        assert_eq!((root.txn_name(), root.revision()), (Some(&*txn), None));
        assert_eq!(
            compare::ids(&root),
            during.svnlook(&["tree", "--show-ids", "--full-paths", "-t", &txn])
        );
        // The tree is that of the revision as which the transaction was committed.
        let committed = compare::open(&after);
        let committed = committed.root(committed.youngest().unwrap()).unwrap();
        assert_eq!(compare::read(&root), compare::read(&committed), "{version}");
        let (ours, theirs) = (root.changed_paths().unwrap(), committed.changed_paths().unwrap());
        assert_eq!(ours, theirs, "{version}");
    }
}

#[test]
fn the_error_of_a_missing_path_has_the_transaction() {
    let (_after, during, txn) = repositories_during_a_commit("1.14");
    let fs = Fs::open(&during.db(), &Cache::new(0)).unwrap();
    let root = fs.txn_root(&txn).unwrap();
    let Err(e) = root.node(&FsPath::parse("/a/big").unwrap()) else {
        panic!("it was deleted")
    };
    assert_eq!(
        e.message(),
        format!("File not found: transaction '{txn}', path '/a/big'")
    );
    let copied = root.node(&FsPath::parse("/c/f").unwrap()).unwrap();
    assert_eq!(copied.created_rev(), Some(base::Revnum(2)));
    assert_eq!(copied.created_path().as_str(), "/a/f");
}

/// The root of a transaction has the revision of its base until something is changed, wherever that is.
#[test]
fn the_root_has_a_revision_until_something_is_changed() {
    type Change = fn(&mut fsfs::Txn, &FsPath);
    let changes: [(&str, Change); 5] = [
        ("/iota", |txn, path| txn.delete(path).unwrap()),
        ("/A/mu", |txn, path| txn.delete(path).unwrap()),
        ("/new", |txn, path| txn.make_dir(path).unwrap()),
        ("/A/mu", |txn, path| {
            txn.change_prop(path, "name", Some(b"value")).unwrap();
        }),
        ("/", |txn, path| {
            txn.change_prop(path, "name", Some(b"value")).unwrap();
        }),
    ];
    let repo = testkit::build(&testkit::Spec::small("1.14")).copy();
    let fs = Fs::open(&repo.db(), &Cache::new(0)).unwrap();
    let created_rev = |txn: &fsfs::Txn| txn.root().unwrap().node(&FsPath::root()).unwrap().created_rev();
    for (path, change) in changes {
        let base = fs.youngest().unwrap();
        let mut txn = fs
            .begin_txn(base, fsfs::TxnOptions::default(), base::Date(0))
            .unwrap();
        assert_eq!(created_rev(&txn), Some(base));
        change(&mut txn, &FsPath::parse(path).unwrap());
        assert_eq!(created_rev(&txn), None, "{path}");
        txn.abort().unwrap();
    }
}
