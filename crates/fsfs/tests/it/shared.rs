//! Filesystems that several machines share, over storage in memory: the same revisions as in files, and nothing is lost or seen
//! twice when machines change them side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Code, Depth, FsPath, Props, Revnum};
use fsfs::admin::pack;
use fsfs::{CreateOptions, Fs, LockAccess, LockRequest, LockTarget, TxnOptions};
use testkit::shared_memory::{MemoryNode, MemoryStorage};
use testkit::{Tool, scratch};

use crate::commits::random::{TestRandom, TreePaths, step};
use crate::commits::script::{CommitStep, apply, begin, now, ours, path};

/// Sharded and small, so that a history has several shards.
fn options(format: u32) -> CreateOptions {
    CreateOptions {
        format,
        shard_size: Some(4),
        conf: Some(b"[deltification]\ncompression-level = 1\n".to_vec()),
        ..CreateOptions::default()
    }
}

fn db(node: &MemoryNode) -> std::path::PathBuf {
    node.dir.path().join("db")
}

/// Writes the shared data as a repository, which the real tool verifies. Returns its directory. No transaction of the machine has
/// left anything.
fn verified_export(storage: &MemoryStorage, node: &MemoryNode) -> tempfile::TempDir {
    for kind in ["transactions", "txn-protorevs"] {
        assert_eq!(
            names(&db(node).join(kind)),
            Vec::<std::ffi::OsString>::new(),
            "{kind}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let (repository, to) = (dir.path().join("r"), dir.path().join("r/db"));
    Tool::new("svnadmin").arg("create").arg(&repository).ok();
    for name in ["revs", "revprops"] {
        std::fs::remove_dir_all(to.join(name)).unwrap();
    }
    for name in ["format", "uuid", "fsfs.conf"] {
        std::fs::copy(db(node).join(name), to.join(name)).unwrap();
    }
    storage.export(&to);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&repository).ok();
    dir
}

#[test]
fn revisions_are_those_of_a_filesystem_of_files() {
    for format in [4, 6, 7, 8] {
        let dir = scratch();
        let files = dir.path().join("db");
        let uuid = "6f3a4cf4-0b7c-4b8e-9d8e-d2c3a5d2a001".to_owned();
        let options = CreateOptions {
            uuid: Some(uuid),
            ..options(format)
        };
        fsfs::create(&files, &options, now(), Arc::new(fsfs::disk::RealDisk)).unwrap();
        let plain = Fs::open(&files, &fsfs::Cache::new(1 << 20)).unwrap();
        let (storage, node) = MemoryStorage::create(&options);
        let mut random = TestRandom(u64::from(format));
        let mut trees = vec![TreePaths::new()];
        for at in 1..=40 {
            let (op, tree) = step(&mut random, &trees);
            trees.push(tree);
            for fs in [&plain, &node.fs] {
                let committed = ours(fs, std::slice::from_ref(&op)).unwrap();
                assert_eq!(committed.rev, Revnum(at), "format {format}: {op:?}");
            }
        }
        let exported = verified_export(&storage, &node);
        for at in 1..=40 {
            for kind in ["revs", "revprops"] {
                let name = format!("{kind}/{}/{at}", at / 4);
                let read = |db: &std::path::Path| std::fs::read(db.join(&name)).unwrap();
                assert!(
                    read(&files) == read(&exported.path().join("r/db")),
                    "format {format}: {name} differs"
                );
            }
        }
        assert!(
            !db(&node).join("revs").exists(),
            "no revision is in the directory of the machine"
        );
        assert_eq!(node.fs.list_txns().unwrap(), Vec::<String>::new());
    }
}

/// The sorted names in a directory.
fn names(dir: &std::path::Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn packs_are_those_of_a_filesystem_of_files() {
    for format in [4, 6, 7, 8] {
        let dir = scratch();
        let files = dir.path().join("db");
        let options = CreateOptions {
            uuid: Some("6f3a4cf4-0b7c-4b8e-9d8e-d2c3a5d2a001".to_owned()),
            ..options(format)
        };
        fsfs::create(&files, &options, now(), Arc::new(fsfs::disk::RealDisk)).unwrap();
        let plain = Fs::open(&files, &fsfs::Cache::new(1 << 20)).unwrap();
        let (_storage, node) = MemoryStorage::create(&options);
        let mut random = TestRandom(u64::from(format));
        let mut trees = vec![TreePaths::new()];
        for _ in 1..=13 {
            let (op, tree) = step(&mut random, &trees);
            trees.push(tree);
            for fs in [&plain, &node.fs] {
                ours(fs, std::slice::from_ref(&op)).unwrap();
            }
        }
        assert_eq!(pack::complete_shards(&node.fs).unwrap(), 0..3);
        let list = |rev: u64| std::fs::read(files.join(format!("revprops/{}/{rev}", rev / 4))).unwrap();
        let lists: Vec<Vec<u8>> = (0..12).map(list).collect();
        let cancel = base::Cancel::new();
        pack::run(&plain, &mut |_| {}, &cancel).unwrap();
        for shard in 0..3 {
            let to = scratch();
            let written = pack::write_shard(&node.fs, shard, to.path(), &cancel).unwrap();
            assert_eq!(written.pack, to.path().join("pack"));
            assert_eq!(written.manifest.is_some(), format < 7);
            let expected = files.join("revs").join(format!("{shard}.pack"));
            assert_eq!(names(to.path()), names(&expected), "format {format}");
            for name in names(to.path()) {
                let read = |dir: &std::path::Path| std::fs::read(dir.join(&name)).unwrap();
                assert!(
                    read(to.path()) == read(&expected),
                    "format {format}, shard {shard}: {name:?} differs"
                );
            }
            if format < 6 {
                continue;
            }
            // The list of revision 0 is never packed.
            let first = (shard * 4).max(1);
            let lists = &lists[first as usize..(shard as usize + 1) * 4];
            let props = pack::packed_revprops(&files, Revnum(first), lists).unwrap();
            let expected = files.join("revprops").join(format!("{shard}.pack"));
            assert_eq!(props.len(), names(&expected).len());
            for (name, bytes) in props {
                assert!(
                    std::fs::read(expected.join(&name)).unwrap() == bytes,
                    "format {format}: {name}"
                );
            }
        }
    }
}

#[test]
fn a_commit_that_another_machine_outdates_is_merged_and_made_again() {
    let (storage, first) = MemoryStorage::create(&options(8));
    let second = storage.node(&first);
    ours(&first.fs, &[CommitStep::Mkdir("a"), CommitStep::Mkdir("b")]).unwrap();
    // The second machine has not looked since it was opened.
    let mut txn = begin(&second.fs);
    apply(&second.fs, &mut txn, &[CommitStep::Put("b/f", b"one\n".to_vec())]).unwrap();
    let mut conflicting = begin(&second.fs);
    apply(
        &second.fs,
        &mut conflicting,
        &[CommitStep::Put("a/f", b"x\n".to_vec())],
    )
    .unwrap();
    ours(&first.fs, &[CommitStep::Put("a/f", b"two\n".to_vec())]).unwrap();
    assert_eq!(txn.commit(&now).unwrap().rev, Revnum(3));
    let root = first.fs.root(first.fs.youngest().unwrap()).unwrap();
    for (file, text) in [("/a/f", "two\n"), ("/b/f", "one\n")] {
        let node = root.node(&path(file)).unwrap();
        assert_eq!(node.reader().unwrap().read_all().unwrap(), text.as_bytes());
    }
    let e = conflicting.commit(&now).unwrap_err();
    assert_eq!(e.code(), Code::FS_CONFLICT);
    // Outdated more often than a commit tries before it keeps the others out.
    storage.outdate(7);
    assert_eq!(ours(&first.fs, &[CommitStep::Mkdir("c")]).unwrap().rev, Revnum(4));
    verified_export(&storage, &first);
}

#[test]
fn long_revisions_are_uploaded_while_others_are_committed() {
    let (storage, node) = MemoryStorage::create(&options(8));
    ours(&node.fs, &[CommitStep::Mkdir("a"), CommitStep::Mkdir("b")]).unwrap();
    let mut txn = begin(&node.fs);
    let text = testkit::history::noise(1, 200 << 10);
    apply(&node.fs, &mut txn, &[CommitStep::Put("b/long", text)]).unwrap();
    // The first two uploads are outdated by commits of the same machine, which do not wait for them.
    let (fs, mut turn) = (node.fs.clone(), 0);
    storage.while_uploading(move || {
        turn += 1;
        if turn > 2 {
            return;
        }
        let (fs, (done, is_done)) = (fs.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            let name: &'static str = format!("a/f{turn}").leak();
            done.send(ours(&fs, &[CommitStep::Put(name, b"short\n".to_vec())]))
        });
        let committed = is_done.recv_timeout(std::time::Duration::from_secs(60));
        committed.expect("a commit that does not wait").unwrap();
    });
    assert_eq!(txn.commit(&now).unwrap().rev, Revnum(4));
    assert_eq!(storage.uploads(), 3);
    // Outdated by other machines, again and again.
    let mut txn = begin(&node.fs);
    apply(
        &node.fs,
        &mut txn,
        &[CommitStep::Put("b/longer", testkit::history::noise(2, 200 << 10))],
    )
    .unwrap();
    storage.outdate(7);
    assert_eq!(txn.commit(&now).unwrap().rev, Revnum(5));
    verified_export(&storage, &node);
}

#[test]
fn a_failed_publication_leaves_the_transaction() {
    let (storage, node) = MemoryStorage::create(&options(8));
    let mut txn = begin(&node.fs);
    apply(&node.fs, &mut txn, &[CommitStep::Put("f", b"text\n".to_vec())]).unwrap();
    storage.fail(1);
    assert_eq!(txn.commit(&now).unwrap_err().code(), Code::FS_GENERAL);
    assert_eq!(node.fs.list_txns().unwrap().len(), 1);
    assert_eq!(txn.commit(&now).unwrap().rev, Revnum(1));
    assert_eq!(node.fs.list_txns().unwrap().len(), 0);
    verified_export(&storage, &node);
}

#[test]
fn many_machines_commit_side_by_side() {
    let (storage, first) = MemoryStorage::create(&options(8));
    let dirs: Vec<CommitStep> = ["d0", "d1", "d2"].map(CommitStep::Mkdir).into();
    ours(&first.fs, &dirs).unwrap();
    let nodes: Vec<MemoryNode> = (0..3).map(|_| storage.node(&first)).collect();
    let acknowledged = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate() {
            for thread in 0..2 {
                let acknowledged = &acknowledged;
                scope.spawn(move || {
                    for turn in 0..15 {
                        let file: &'static str = format!("d{number}/{thread}-{turn}").leak();
                        let text = format!("{number} {thread} {turn}\n").into_bytes();
                        let before = acknowledged.load(Ordering::SeqCst);
                        let committed = ours(&node.fs, &[CommitStep::Put(file, text.clone())]).unwrap();
                        assert!(committed.rev.0 > before, "an acknowledged revision is older");
                        acknowledged.fetch_max(committed.rev.0, Ordering::SeqCst);
                        let root = node.fs.root(committed.rev).unwrap();
                        let read = root.node(&path(file)).unwrap().reader().unwrap().read_all();
                        assert_eq!(read.unwrap(), text);
                    }
                });
            }
        }
    });
    assert_eq!(first.fs.youngest().unwrap(), Revnum(91));
    verified_export(&storage, &first);
}

#[test]
fn groups_of_commits_are_published_together() {
    let (storage, first) = MemoryStorage::create(&options(8));
    let second = storage.node(&first);
    let mut group = first.fs.commit_group().unwrap();
    let mut last = Revnum(0);
    for turn in 0..10 {
        let mut txn = group.begin_txn(TxnOptions::default(), now()).unwrap();
        let (dir, file) = (format!("d{turn}"), format!("d{turn}/f"));
        let steps = [
            CommitStep::Mkdir(dir.leak()),
            CommitStep::Put(file.leak(), b"the same text in each\n".repeat(20)),
        ];
        apply(group.fs(), &mut txn, &steps).unwrap();
        last = group.commit(txn, &now).unwrap().rev;
        assert_eq!(
            group.fs().revprops(last).unwrap().to_props()["svn:date"],
            now().to_string().as_bytes()
        );
        if turn == 5 {
            assert_eq!(second.fs.youngest().unwrap(), Revnum(0));
            assert_eq!(group.flush().unwrap(), last);
            assert_eq!(second.fs.youngest().unwrap(), last);
        }
    }
    // Not flushed: discarded.
    drop(group);
    assert_eq!(second.fs.youngest().unwrap(), Revnum(6));
    assert_eq!(last, Revnum(10));
    assert_eq!(
        ours(&second.fs, &[CommitStep::Mkdir("x")]).unwrap().rev,
        Revnum(7)
    );
    let mut group = first.fs.commit_group().unwrap();
    let mut txn = group.begin_txn(TxnOptions::default(), now()).unwrap();
    apply(group.fs(), &mut txn, &[CommitStep::Mkdir("y")]).unwrap();
    assert_eq!(group.commit(txn, &now).unwrap().rev, Revnum(8));
    assert_eq!(group.flush().unwrap(), Revnum(8));
    let leftovers: Vec<_> = std::fs::read_dir(db(&first))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("svn-group"))
        .collect();
    assert_eq!(leftovers, Vec::<std::ffi::OsString>::new());
    verified_export(&storage, &second);
}

#[test]
fn revision_properties_are_changed_on_what_is_there() {
    let (storage, first) = MemoryStorage::create(&options(8));
    let second = storage.node(&first);
    let rev = ours(&first.fs, &[CommitStep::Mkdir("a")]).unwrap().rev;
    std::thread::scope(|scope| {
        for (number, node) in [&first, &second].into_iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..50 {
                    let name = format!("p{number}-{turn}");
                    node.fs.change_revprop(rev, &name, None, Some(b"v")).unwrap();
                }
            });
        }
    });
    assert_eq!(first.fs.revprops(rev).unwrap().to_props().len(), 103);
    storage.outdate(3);
    let old = second
        .fs
        .change_revprop(rev, "p0-0", Some(Some(b"v")), Some(b"w"))
        .unwrap();
    assert_eq!(old.as_deref(), Some(&b"v"[..]));
    let e = first
        .fs
        .change_revprop(rev, "p0-0", Some(Some(b"v")), None)
        .unwrap_err();
    assert_eq!(e.code(), Code::FS_PROP_BASEVALUE_MISMATCH);
    first
        .fs
        .set_revprops(rev, &Props::from([("x".to_owned(), b"y".to_vec())]))
        .unwrap();
    assert_eq!(
        second.fs.revprop_lists(&[Revnum(0), rev])[1]
            .as_ref()
            .unwrap()
            .to_props()
            .len(),
        1
    );
    let e = second.fs.change_revprop(Revnum(9), "x", None, None).unwrap_err();
    assert_eq!(e.code(), Code::FS_NO_SUCH_REVISION);
}

#[test]
fn locks_are_the_same_on_all_machines() {
    let (storage, first) = MemoryStorage::create(&options(8));
    let second = storage.node(&first);
    ours(
        &first.fs,
        &[
            CommitStep::Put("f", b"1\n".to_vec()),
            CommitStep::Put("g", b"1\n".to_vec()),
        ],
    )
    .unwrap();
    let request = |owner| LockRequest {
        owner,
        comment: None,
        is_dav_comment: false,
        expires: None,
        steal: false,
        now: now(),
    };
    let target = |file: &str| LockTarget {
        path: FsPath::canonicalize(file).unwrap(),
        token: None,
        rev: Some(Revnum(1)),
    };
    storage.outdate(2);
    // The second machine learns of revision 1 by looking again.
    let made = second
        .fs
        .lock_paths(&[target("f"), target("x")], &request("jane"))
        .unwrap();
    let token = made[0].1.as_ref().unwrap().token.clone();
    assert_eq!(made[1].1.as_ref().unwrap_err().code(), Code::FS_OUT_OF_DATE);
    let refused = first.fs.lock_paths(&[target("f")], &request("joe")).unwrap();
    assert_eq!(
        refused[0].1.as_ref().unwrap_err().code(),
        Code::FS_PATH_ALREADY_LOCKED
    );
    assert_eq!(first.fs.locks(&path("/"), Depth::Infinity).unwrap().len(), 1);
    assert_eq!(first.fs.locks(&path("/g"), Depth::Infinity).unwrap().len(), 0);

    let commit = |fs: &Fs, access: LockAccess| {
        let options = TxnOptions {
            check_locks: true,
            ..TxnOptions::default()
        };
        let mut txn = fs.begin_txn(fs.youngest().unwrap(), options, now()).unwrap();
        txn.set_lock_access(access);
        let mut writer = txn.apply_text(&path("f"), None)?;
        writer.write(b"2\n")?;
        writer.finish(&mut txn)?;
        txn.commit(&now)
    };
    let joe = LockAccess {
        user: Some("joe".to_owned()),
        ..LockAccess::default()
    };
    assert_eq!(
        commit(&first.fs, joe).unwrap_err().code(),
        Code::FS_LOCK_OWNER_MISMATCH
    );
    let jane = LockAccess {
        user: Some("jane".to_owned()),
        tokens: [token.clone()].into(),
        ignores_locks: false,
    };
    assert_eq!(commit(&first.fs, jane).unwrap().rev, Revnum(2));
    let removed = first
        .fs
        .unlock_paths(
            &[(path("f"), Some(token)), (path("g"), None)],
            Some("jane"),
            false,
        )
        .unwrap();
    assert!(removed[0].1.is_ok());
    assert_eq!(removed[1].1.as_ref().unwrap_err().code(), Code::FS_NO_SUCH_LOCK);
    assert_eq!(second.fs.lock(&path("f")).unwrap(), None);
}

#[test]
fn verification_reads_shared_and_prepared_revisions() {
    let (_storage, node) = MemoryStorage::create(&CreateOptions {
        conf: Some(b"[debug]\nverify-before-commit = true\n".to_vec()),
        ..options(8)
    });
    let mut random = TestRandom(3);
    let mut trees = vec![TreePaths::new()];
    for _ in 0..12 {
        let (op, tree) = step(&mut random, &trees);
        trees.push(tree);
        ours(&node.fs, &[op]).unwrap();
    }
    let options = fsfs::admin::verify::VerifyOptions::range(Revnum(0), Revnum(12));
    let mut observer = crate::verify::Transcript::default();
    fsfs::admin::verify::run(&node.fs, &options, &mut observer).unwrap();
    assert!(observer.failures.is_empty(), "{:?}", observer.failures);
    assert!(observer.out.contains("* Verifying repository metadata ...\n"));
}

#[test]
fn verification_finds_damaged_rows_for_rep_sharing() {
    for format in [4, 6, 8] {
        let (storage, node) = MemoryStorage::create(&options(format));
        let mut random = TestRandom(11);
        let mut trees = vec![TreePaths::new()];
        let last = 40;
        for _ in 0..last {
            let (op, tree) = step(&mut random, &trees);
            trees.push(tree);
            ours(&node.fs, &[op]).unwrap();
        }
        let mut rows = Vec::new();
        storage.change_reps(|row| rows.push(*row));
        assert!(rows.len() > 6, "several answers: {}", rows.len());
        let verify = |start: u64| {
            let options = fsfs::admin::verify::VerifyOptions::range(Revnum(start), Revnum(last));
            let mut observer = crate::verify::Transcript::default();
            fsfs::admin::verify::run(&node.fs, &options, &mut observer).unwrap();
            observer.failures.into_iter().next()
        };
        assert!(verify(0).is_none());
        for row in &rows {
            // One row at a time, wherever it is in the answers.
            let place_of = |item: u64, rev: Revnum| {
                storage.change_reps(|other| {
                    if other.sha1 == row.sha1 {
                        (other.item, other.rev) = (item, rev);
                    }
                });
            };
            place_of(row.item + 100_000, row.rev);
            let (at, error) = verify(0).expect("an item that is not there");
            assert_eq!(at, None, "{error:?}");
            assert!(verify(row.rev.0).is_some());
            if row.rev.0 < last {
                assert!(verify(row.rev.0 + 1).is_none(), "the row is before the range");
            }
            place_of(row.item, Revnum(last + 9));
            let (_, error) = verify(0).expect("a revision that is not there");
            assert_eq!(error.code(), Code::FS_NO_SUCH_REVISION);
            place_of(row.item, row.rev);
        }
        assert!(verify(0).is_none());
    }
}

#[test]
fn a_changed_uuid_is_sent_to_the_other_machines() {
    for format in [4, 8] {
        let (storage, node) = MemoryStorage::create(&options(format));
        node.fs
            .set_uuid(Some("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"))
            .unwrap();
        let written = std::fs::read_to_string(db(&node).join("uuid")).unwrap();
        assert_eq!(written, storage.sent_uuid());
        let ids: Vec<&str> = written.lines().collect();
        assert_eq!(ids[0], "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee");
        assert_eq!(
            ids.len(),
            if format < 7 { 1 } else { 2 },
            "the instance ID, where there is one"
        );
        assert!(node.fs.set_uuid(Some("a\nb")).is_err());
        storage.fail(1);
        assert!(node.fs.set_uuid(None).is_err());
        assert_eq!(std::fs::read_to_string(db(&node).join("uuid")).unwrap(), written);
    }
}

#[test]
fn what_works_on_files_is_refused() {
    let (_storage, node) = MemoryStorage::create(&options(8));
    let refused = |result: base::Result<()>| {
        assert_eq!(result.unwrap_err().code(), Code::UNSUPPORTED_FEATURE);
    };
    let cancel = base::Cancel::new();
    refused(pack::run(&node.fs, &mut |_| {}, &cancel));
    refused(node.fs.freeze(|| Ok(())));
    let e = Fs::open(&db(&node), &fsfs::Cache::new(1 << 20)).err().unwrap();
    assert_eq!(e.code(), Code::FS_UNKNOWN_FS_TYPE);
    let e = fsfs::admin::recover::run(&db(&node), &cancel).unwrap_err();
    assert_eq!(e.code(), Code::FS_UNKNOWN_FS_TYPE);
    let e = fsfs::admin::upgrade::run(&db(&node), &mut |_| {}).unwrap_err();
    assert_eq!(e.code(), Code::FS_UNKNOWN_FS_TYPE);
}
