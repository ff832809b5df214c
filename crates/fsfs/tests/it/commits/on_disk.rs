//! Transactions on disk: the incumbent reads and commits ours, and we read and commit those of the incumbent.

use std::os::unix::fs::PermissionsExt as _;

use base::Revnum;

use super::script::CommitStep::{Cp, Mkdir, Propset, Put, Rm};
use super::script::{CommitStep, apply, begin, copy_of, now, ours, path, verify};
use crate::compare;
use crate::incumbent::{Repository, arg, run};

const VERSIONS: [&str; 8] = ["1.3", "1.4", "1.5", "1.6", "1.8", "1.9", "1.14", "fsx"];

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn start() -> Vec<CommitStep> {
    vec![
        Mkdir("a"),
        Mkdir("a/d"),
        Put("a/f", text("one\n")),
        Put("a/big", crate::sample::noise(1, 250_000)),
        Put("a/d/g", text("two\n")),
        Propset("a/f", "p", "v"),
        Propset("a/d", "svn:mergeinfo", "/x:1"),
    ]
}

fn edits() -> Vec<CommitStep> {
    vec![
        Cp(1, "a", "c"),
        Put("c/big", crate::sample::noise(2, 120_000)),
        Rm("c/d/g"),
        Put("c/new", text("one\n")),
        Mkdir("c/e"),
        Propset("c/e", "q", "w"),
        Propset("a/f", "p", "x"),
        Put("a/f", crate::sample::noise(2, 120_000)),
        Propset("", "svn:mergeinfo", "/y:1"),
        Mkdir("gone"),
        Put("gone/f", text("never seen\n")),
        Rm("gone"),
        Rm("a/big"),
    ]
}

#[test]
fn the_incumbent_reads_our_transactions() {
    for version in VERSIONS {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        ours(&fs, &start()).unwrap();
        let mut txn = begin(&fs);
        let name = txn.name().to_owned();
        let edits = edits();
        // Written to disk more than once: later changes are appended to the files.
        for part in edits.chunks(3) {
            apply(&fs, &mut txn, part).unwrap();
            txn.write_to_disk().unwrap();
            assert_eq!(
                compare::ids(&txn.root().unwrap()),
                repository.svnlook(&["tree", "--show-ids", "--full-paths", "-t", &name]),
                "{version}"
            );
        }
        let in_memory = compare::read(&txn.root().unwrap());
        let fresh = compare::open(&repository);
        assert_eq!(
            compare::read(&fresh.txn_root(&name).unwrap()),
            in_memory,
            "{version}"
        );
        assert_eq!(
            fresh.txn_root(&name).unwrap().changed_paths().unwrap(),
            txn.root().unwrap().changed_paths().unwrap()
        );
        assert_eq!(
            run("svnlook", &["cat", "-t", &name, arg(&repository.path()), "a/f"]),
            crate::sample::noise(2, 120_000)
        );
        assert_eq!(repository.svnlook(&["log", "-t", &name]), "change\n");
        // A dropped transaction stays on disk. Another handle opens it unchanged and commits it.
        drop(txn);
        assert_eq!(fresh.list_txns().unwrap(), std::slice::from_ref(&name));
        let mut txn = fresh.open_txn(&name).unwrap();
        assert_eq!(compare::read(&txn.root().unwrap()), in_memory);
        apply(&fresh, &mut txn, &[Put("c/e/late", text("late\n")), Rm("c/new")]).unwrap();
        assert_eq!(txn.commit(&now).unwrap().rev, Revnum(2));
        verify(&repository);
        assert_eq!(repository.svnlook(&["cat", "c/e/late"]), "late\n");
    }
}

#[test]
fn the_incumbent_removes_our_transactions() {
    for version in VERSIONS {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        ours(&fs, &start()).unwrap();
        let mut early = begin(&fs);
        apply(&fs, &mut early, &[Put("a/f", text("x\n"))]).unwrap();
        let mut late = begin(&fs);
        apply(&fs, &mut late, &edits()).unwrap();
        let names = [early.name().to_owned(), late.name().to_owned()];
        // A killed process leaves a transaction without our changes: they were never written to disk.
        std::mem::forget(early);
        drop(late);
        let listed = String::from_utf8(run("svnadmin", &["lstxns", arg(&repository.path())])).unwrap();
        let mut listed: Vec<_> = listed.lines().collect();
        listed.sort_unstable();
        assert_eq!(listed, names, "{version}");
        run(
            "svnadmin",
            &["rmtxns", "-q", arg(&repository.path()), &names[0], &names[1]],
        );
        assert!(
            compare::open(&repository).list_txns().unwrap().is_empty(),
            "{version}"
        );
        let protorevs = repository.db().join("txn-protorevs");
        if protorevs.exists() {
            let left: Vec<_> = std::fs::read_dir(protorevs).unwrap().collect();
            assert!(left.is_empty(), "{version} {left:?}");
        }
    }
}

/// The incumbent's pre-commit hook replaces its transaction by ours, and the incumbent commits it.
#[test]
fn the_incumbent_commits_our_transactions() {
    for version in VERSIONS {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        ours(&fs, &start()).unwrap();
        let copy = copy_of(&repository);
        let mut txn = begin(&fs);
        apply(&fs, &mut txn, &edits()).unwrap();
        let expected = compare::read(&txn.root().unwrap());
        let name = txn.name().to_owned();
        drop(txn);
        let (ours, theirs) = (repository.db(), copy.db());
        let script = format!(
            "#!/bin/sh\nset -e\ntest \"$2\" = {name}\nrm {theirs}/transactions/{name}.txn/*\n\
             cp {ours}/transactions/{name}.txn/* {theirs}/transactions/{name}.txn/\n\
             if test -d {theirs}/txn-protorevs; then cp {ours}/txn-protorevs/* {theirs}/txn-protorevs/; fi\n",
            ours = ours.display(),
            theirs = theirs.display()
        );
        let hook = copy.path().join("hooks/pre-commit");
        std::fs::write(&hook, script).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        copy.mucc(&["mkdir", "placeholder"]);
        verify(&copy);
        let fs = compare::open(&copy);
        assert_eq!(compare::read(&fs.root(Revnum(2)).unwrap()), expected, "{version}");
    }
}

#[test]
fn we_commit_the_incumbents_transactions() {
    for version in VERSIONS {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        ours(&fs, &start()).unwrap();
        // The incumbent's commit is killed in its pre-commit hook.
        let hook = repository.path().join("hooks/pre-commit");
        std::fs::write(&hook, "#!/bin/sh\nkill -9 $PPID\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        let big = repository.file("big", &crate::sample::noise(2, 120_000));
        let url = repository.url();
        let actions = [
            "cp",
            "1",
            "a",
            "c",
            "put",
            &big,
            "c/big",
            "rm",
            "c/d/g",
            "mkdir",
            "c/e",
            "propset",
            "q",
            "w",
            "c/e",
            "put",
            &big,
            "a/f",
            "rm",
            "a/big",
            "propset",
            "svn:mergeinfo",
            "/y:1",
            "a",
        ];
        let mut command = std::process::Command::new("svnmucc");
        command
            .args(["--non-interactive", "-U", &url, "-m", "killed"])
            .args(actions);
        assert!(!command.output().unwrap().status.success());
        let names = fs.list_txns().unwrap();
        let mut txn = fs.open_txn(&names[0]).unwrap();
        apply(
            &fs,
            &mut txn,
            &[Put("c/late", text("late\n")), Put("c/e/f", text("one\n"))],
        )
        .unwrap();
        let expected = compare::read(&txn.root().unwrap());
        assert_eq!(txn.commit(&now).unwrap().rev, Revnum(2), "{version}");
        verify(&repository);
        let again = compare::open(&repository);
        assert_eq!(
            compare::read(&again.root(Revnum(2)).unwrap()),
            expected,
            "{version}"
        );
        assert_eq!(repository.svnlook(&["log"]), "killed\n");
        assert_eq!(
            run("svnlook", &["cat", arg(&repository.path()), "c/big"]),
            crate::sample::noise(2, 120_000)
        );
        assert!(
            again
                .root(Revnum(2))
                .unwrap()
                .try_node(&path("c/late"))
                .unwrap()
                .is_some()
        );
    }
}

/// Damaged files of transactions.
#[test]
fn a_directory_within_itself_is_refused() {
    let repository = Repository::create("1.14", 1000, "");
    let fs = compare::open(&repository);
    let mut txn = begin(&fs);
    apply(&fs, &mut txn, &[Mkdir("d"), Mkdir("d/e")]).unwrap();
    let (name, id) = (
        txn.name().to_owned(),
        txn.root().unwrap().node(&path("d")).unwrap().id().to_string(),
    );
    drop(txn);
    let node = id.split(".t").next().unwrap();
    let file = repository
        .db()
        .join(format!("transactions/{name}.txn/node.{node}.children"));
    let value = format!("dir {id}");
    let record = format!("K 4\nself\nV {}\n{value}\n", value.len());
    let mut children = std::fs::read(&file).unwrap();
    children.extend_from_slice(record.as_bytes());
    std::fs::write(&file, children).unwrap();
    let mut txn = fs.open_txn(&name).unwrap();
    assert_eq!(txn.commit(&now).unwrap_err().code(), base::Code::FS_CORRUPT);
    txn.abort().unwrap();
    assert_eq!(fs.youngest().unwrap(), Revnum(0));
}
