//! The history index: histories with it, without it, and those of `svnlook history` are equal.

use std::path::Path;
use std::sync::Arc;

use base::{Cancel, FsPath, Revnum};
use fsfs::admin::history_index::{BuildOptions, build, check, remove, status};
use fsfs::{Cache, Fs};

use testkit::disk::{CountedCalls, CrashDisk, DiskFault, FailingDisk, Loss};
use testkit::stream::{DumpStream, RecordKind};

use crate::commits::random::{TestRandom, TreePaths, step};
use crate::commits::script::{CommitStep, ours, theirs};
use crate::history::{history, random_history};
use crate::incumbent::Repository;

const DIRECTORY: &str = "sven-history-index";

/// The versions whose formats can be packed.
const PACKED: [&str; 3] = ["1.14", "1.8", "1.6"];

/// A filesystem with its cache, whose counters show whether the index was used.
struct Counted {
    fs: Fs,
    cache: Arc<Cache>,
}

fn open(db: &Path) -> Counted {
    let cache = Cache::new(16 << 20);
    Counted {
        fs: Fs::open(db, &cache).unwrap(),
        cache,
    }
}

/// Opens the same files without the index.
fn open_without_index(repository: &Repository) -> Fs {
    let plain = repository.dir.path().join("plain");
    _ = std::fs::remove_dir_all(&plain);
    std::fs::create_dir(&plain).unwrap();
    for entry in std::fs::read_dir(repository.db()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != DIRECTORY {
            std::os::unix::fs::symlink(entry.path(), plain.join(entry.file_name())).unwrap();
        }
    }
    open(&plain).fs
}

fn build_all(fs: &Fs) {
    build(fs, &BuildOptions::default(), &mut |_| {}).unwrap();
}

fn check_all(fs: &Fs) {
    let youngest = fs.youngest().unwrap();
    assert_eq!(check(fs, &Cancel::new(), &mut |_| {}).unwrap(), Some(youngest));
}

/// Compares the histories of all paths in some revisions with and without the index, and some of them with the
/// incumbent's.
fn compare(repository: &Repository, with: &Fs, random: &mut TestRandom, context: &str) {
    let without = open_without_index(repository);
    let youngest = with.youngest().unwrap().0;
    for rev in [youngest, random.below(youngest as usize + 1) as u64] {
        let (indexed, plain) = (
            with.root(Revnum(rev)).unwrap(),
            without.root(Revnum(rev)).unwrap(),
        );
        for path in crate::compare::read(&plain).keys() {
            let expected = history(&plain, path);
            assert_eq!(history(&indexed, path), expected, "{context}: {path}@{rev}");
            if random.below(25) == 0 {
                let theirs = repository.svnlook(&["history", "-r", &rev.to_string(), path]);
                assert_eq!(theirs, expected, "{context}: {path}@{rev}");
            }
        }
    }
}

/// Random steps for one commit, and the tree after it.
fn steps(random: &mut TestRandom, trees: &[TreePaths]) -> (Vec<CommitStep>, TreePaths) {
    let mut trees = trees.to_vec();
    let (mut steps, committed) = (Vec::new(), trees.len() as u64 - 1);
    for _ in 0..=random.below(3) {
        let (next, tree) = step(random, &trees);
        if matches!(&next, CommitStep::Cp(rev, ..) if *rev > committed) {
            continue;
        }
        steps.push(next);
        if steps.len() == 1 {
            trees.push(tree);
        } else if let Some(last) = trees.last_mut() {
            *last = tree;
        }
    }
    let tree = trees.last().unwrap().clone();
    if random.below(8) == 0 && !tree.contains_key("gone") {
        // A node-revision of a directory without a changed path.
        steps.push(CommitStep::Put("gone", b"gone".to_vec()));
        steps.push(CommitStep::Rm("gone"));
    }
    (steps, tree)
}

/// Commits by both sides, packs and builds, compared after every few commits.
fn run(version: &str, shard: u64, seed: u64) {
    println!("format of {version}, shards of {shard}, seed {seed}");
    let mut random = TestRandom(seed);
    let repository = Repository::create(version, shard, "");
    let mut counted = open(&repository.db());
    let mut trees = vec![TreePaths::new()];
    if random.below(2) == 0 {
        build_all(&counted.fs);
    }
    for at in 1..=60 {
        let context = format!("{version}, seed {seed}, r{at}");
        let (steps, tree) = steps(&mut random, &trees);
        trees.push(tree);
        match random.below(4) {
            0 if steps.len() == 1 => theirs(&repository, &steps),
            _ => drop(ours(&counted.fs, &steps).unwrap_or_else(|e| panic!("{context}: {steps:?}: {e:?}"))),
        }
        match random.below(24) {
            0 if PACKED.contains(&version) => repository.pack(),
            1 | 2 => build_all(&counted.fs),
            3 => counted = open(&repository.db()),
            4 if random.below(4) == 0 => remove(&counted.fs).unwrap(),
            _ => {}
        }
        if random.below(6) == 0 {
            compare(&repository, &counted.fs, &mut random, &context);
        }
    }
    build_all(&counted.fs);
    check_all(&counted.fs);
    let context = format!("{version}, seed {seed}, at the end");
    compare(&repository, &counted.fs, &mut random, &context);
    let counts = counted.cache.counts();
    assert!(counts.index_steps > 50, "{context}: {counts:?}");
    let status = status(&counted.fs).unwrap().unwrap();
    assert!(status.unused == 0 && status.segments > 0, "{context}: {status:?}");
}

#[test]
fn histories_with_and_without_it_are_equal() {
    let forms = [
        ("1.14", 7),
        ("1.14", 1000),
        ("1.8", 5),
        ("1.6", 5),
        ("1.5", 0),
        ("1.4", 0),
        ("1.3", 0),
    ];
    for seed in testkit::seeds("SVEN_INDEX_SEEDS", 1..3) {
        // Every other one, and the others with the next seed.
        let rotated = forms.iter().cycle().skip(seed as usize % 7).take(7);
        for &(version, shard) in testkit::sample(2, rotated) {
            run(version, shard, seed);
        }
    }
}

#[test]
fn loaded_histories_with_and_without_it_are_equal() {
    for seed in testkit::seeds("SVEN_INDEX_SEEDS", 1..2) {
        for (version, shard) in [("1.14", 8), ("1.3", 0), ("1.6", 8)] {
            let context = format!("{version}, loaded, seed {seed}");
            println!("{context}");
            let repository = Repository::create(version, shard, "");
            repository.load(&random_history(seed, 120));
            let counted = open(&repository.db());
            build_all(&counted.fs);
            check_all(&counted.fs);
            let mut random = TestRandom(seed);
            for _ in 0..3 {
                compare(&repository, &counted.fs, &mut random, &context);
            }
            if version != "1.3" {
                repository.pack();
            }
            check_all(&counted.fs);
            compare(&repository, &open(&repository.db()).fs, &mut random, &context);
            assert!(counted.cache.counts().index_steps > 50, "{context}");
        }
    }
}

/// A path that had two nodes with the same number of predecessors, both made in r2: a copy, and a file that came with
/// its directory later.
#[test]
fn a_replaced_node_of_the_same_revision_is_not_the_predecessor() {
    let mut stream = DumpStream::new("5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d4");
    stream.rev("r1").mkdirs(["A", "f"]).file("f/C", "1");
    stream
        .rev("r2")
        .edit("f/C", "2")
        .copy(RecordKind::File, "A/C", 1, "f/C");
    stream.rev("r3").replace_by_copy(RecordKind::Dir, "A", 2, "f");
    stream.rev("r4").edit("A/C", "4");
    let repository = Repository::create("1.14", 1000, "");
    repository.load(&stream.bytes());
    let counted = open(&repository.db());
    build_all(&counted.fs);
    let root = counted.fs.root(Revnum(4)).unwrap();
    let expected = repository.svnlook(&["history", "-r", "4", "A/C"]);
    assert_eq!(history(&root, "/A/C"), expected);
    assert!(counted.cache.counts().index_steps > 0);
}

/// A repository whose file changes in each revision.
fn busy(revisions: usize) -> (Repository, Counted) {
    let repository = Repository::create("1.14", 1000, "");
    let counted = open(&repository.db());
    for rev in 1..=revisions {
        let text = format!("text {rev}\n").into_bytes();
        let mut steps = vec![
            CommitStep::Put("dir/file", text.clone()),
            CommitStep::Put("other", text),
        ];
        if rev == 1 {
            steps.insert(0, CommitStep::Mkdir("dir"));
        }
        ours(&counted.fs, &steps).unwrap();
    }
    (repository, counted)
}

fn file_history(fs: &Fs) -> String {
    history(&fs.root(fs.youngest().unwrap()).unwrap(), "/dir/file")
}

#[test]
fn commits_extend_it() {
    let (_repository, counted) = busy(3);
    assert_eq!(status(&counted.fs).unwrap(), None);
    build_all(&counted.fs);
    for rev in 4..=200 {
        let step = CommitStep::Put("dir/file", format!("text {rev}").into_bytes());
        ours(&counted.fs, &[step]).unwrap();
        let status = status(&counted.fs).unwrap().unwrap();
        assert_eq!(status.last, Some(Revnum(rev)));
        assert!(status.segments < 5 && status.unused == 0, "{status:?}");
    }
    check_all(&counted.fs);
    let before = counted.cache.counts().index_steps;
    assert_eq!(file_history(&counted.fs).lines().count(), 202);
    assert!(counted.cache.counts().index_steps - before > 190);
}

#[test]
fn no_damage_changes_an_answer() {
    let (repository, counted) = busy(40);
    build_all(&counted.fs);
    let expected = file_history(&counted.fs);
    let file = repository.db().join(DIRECTORY).join("0-40");
    let good = std::fs::read(&file).unwrap();
    let mut refused = 0;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &bad).unwrap();
        let damaged = open(&repository.db());
        assert_eq!(file_history(&damaged.fs), expected, "byte {at}");
        refused += usize::from(damaged.cache.counts().index_steps == 0);
    }
    assert!(refused > 100, "only {refused} of {}", good.len());
    for length in 0..good.len() {
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &good[..length]).unwrap();
        let damaged = open(&repository.db());
        assert_eq!(file_history(&damaged.fs), expected, "{length} bytes");
    }
    let reported = check(&open(&repository.db()).fs, &Cancel::new(), &mut |_| {}).unwrap_err();
    assert!(reported.message().contains("sven index --rebuild"), "{reported}");
    build(
        &counted.fs,
        &BuildOptions {
            rebuild: true,
            ..BuildOptions::default()
        },
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), good);
    check_all(&counted.fs);
}

#[test]
fn it_is_not_used_for_other_revisions() {
    let (repository, counted) = busy(10);
    build_all(&counted.fs);
    let index = repository.db().join(DIRECTORY);
    let backup = repository.dir.path().join("backup");
    crate::incumbent::run(
        "cp",
        &["-a", repository.db().to_str().unwrap(), backup.to_str().unwrap()],
    );
    // The revisions after the tenth differ from those that the index is about.
    for rev in 11..=20 {
        ours(
            &counted.fs,
            &[CommitStep::Put("dir/file", format!("one {rev}").into_bytes())],
        )
        .unwrap();
    }
    assert_eq!(status(&counted.fs).unwrap().unwrap().last, Some(Revnum(20)));
    let kept = repository.dir.path().join("kept");
    std::fs::rename(&index, &kept).unwrap();
    std::fs::remove_dir_all(repository.db()).unwrap();
    std::fs::rename(&backup, repository.db()).unwrap();
    std::fs::remove_dir_all(&index).unwrap();
    let fresh = open(&repository.db());
    for rev in 11..=20 {
        let file = if rev % 2 == 0 { "dir/file" } else { "other" };
        ours(
            &fresh.fs,
            &[CommitStep::Put(file, format!("two {rev}").into_bytes())],
        )
        .unwrap();
    }
    let expected = file_history(&fresh.fs);
    std::fs::rename(&kept, &index).unwrap();
    for counted in [&fresh, &open(&repository.db()), &counted] {
        assert_eq!(file_history(&counted.fs), expected);
    }
    assert!(check(&fresh.fs, &Cancel::new(), &mut |_| {}).is_err());
    // The next commit begins again with the part that is of this repository.
    ours(&fresh.fs, &[CommitStep::Put("other", b"three".to_vec())]).unwrap();
    check_all(&fresh.fs);
    assert_eq!(file_history(&fresh.fs), expected);
    let root = fresh.fs.root(Revnum(21)).unwrap();
    let other = root.node(&FsPath::parse("/other").unwrap()).unwrap();
    assert_eq!(
        other.history().unwrap().prev(true).unwrap().unwrap().0,
        Revnum(21)
    );
}

const CRASH_LOSSES: [Loss; 5] = [
    Loss::Everything,
    Loss::Bytes,
    Loss::Names,
    Loss::Some(1),
    Loss::Some(2),
];

fn open_on(db: &Path, disk: impl fsfs::disk::Disk + 'static) -> Fs {
    Fs::open_on(db, &Cache::new(4 << 20), Arc::new(disk)).unwrap()
}

fn put_file(fs: &Fs, text: &str) {
    ours(fs, &[CommitStep::Put("dir/file", text.as_bytes().to_vec())]).unwrap();
}

/// After a power cut at any moment, histories are right, and the next commit repairs the index.
#[test]
fn power_cuts() {
    let (repository, counted) = busy(70);
    let db = repository.db();
    let disk = CrashDisk::recording(&db);
    let fs = open_on(&db, disk.clone());
    build_all(&fs);
    put_file(&fs, "71");
    put_file(&fs, "72");
    drop((fs, counted));
    let mut used = 0;
    let cuts = disk
        .boundaries()
        .into_iter()
        .flat_map(|moment| CRASH_LOSSES.map(|loss| (moment, loss)));
    for (moment, loss) in testkit::sample(2, cuts) {
        let context = format!("{loss:?} at {moment}");
        std::fs::remove_dir_all(&db).unwrap();
        disk.image(moment, loss, &db);
        let after = open(&db);
        let plain = open_without_index(&repository);
        assert_eq!(file_history(&after.fs), file_history(&plain), "{context}");
        used += u64::from(after.cache.counts().index_steps > 0);
        put_file(&after.fs, "again");
        if db.join(DIRECTORY).exists() {
            build_all(&after.fs);
            check_all(&after.fs);
        }
        assert_eq!(
            file_history(&after.fs),
            file_history(&open_without_index(&repository)),
            "{context}"
        );
    }
    assert!(used > 10, "the index was used after {used} cuts");
}

/// With each call of the disk failing once, a commit succeeds as it does without an index, and histories are right.
#[test]
fn a_failing_disk() {
    let (repository, counted) = busy(70);
    let db = repository.db();
    build_all(&counted.fs);
    let base = repository.dir.path().join("base");
    crate::incumbent::run("cp", &["-a", db.to_str().unwrap(), base.to_str().unwrap()]);
    let run = |disk: &FailingDisk| {
        std::fs::remove_dir_all(&db).unwrap();
        crate::incumbent::run("cp", &["-a", base.to_str().unwrap(), db.to_str().unwrap()]);
        disk.switch(false);
        let fs = open_on(&db, disk.clone());
        let mut txn = crate::commits::script::begin(&fs);
        crate::commits::script::apply(&fs, &mut txn, &[CommitStep::Put("dir/file", b"71".to_vec())]).unwrap();
        let before = fs.youngest().unwrap();
        disk.switch(true);
        let committed = txn.commit(&crate::commits::script::now);
        disk.switch(false);
        let context = format!("{committed:?}");
        let after = open(&db);
        let moved = after.fs.youngest().unwrap() > before;
        assert!(moved || committed.is_err(), "{context}");
        assert_eq!(
            file_history(&after.fs),
            file_history(&open_without_index(&repository)),
            "{context}"
        );
        build_all(&after.fs);
        check_all(&after.fs);
        committed.is_ok()
    };
    for counted in [CountedCalls::Changes, CountedCalls::Reads] {
        let counting = FailingDisk::counting(counted);
        assert!(run(&counting));
        let mut succeeded = 0;
        for at in 0..counting.calls() {
            succeeded += u64::from(run(&FailingDisk::failing(counted, at, DiskFault::Eio)));
        }
        assert!(succeeded > 3, "{succeeded} of {}", counting.calls());
    }
}

/// Building with each call failing once: an error, and what is there can be used and completed.
#[test]
fn building_on_a_failing_disk() {
    let (repository, counted) = busy(70);
    let db = repository.db();
    let expected = file_history(&counted.fs);
    let counting = FailingDisk::counting(CountedCalls::Changes);
    let run = |disk: &FailingDisk| {
        _ = std::fs::remove_dir_all(db.join(DIRECTORY));
        build(&open_on(&db, disk.clone()), &BuildOptions::default(), &mut |_| {}).is_ok()
    };
    assert!(run(&counting));
    for at in 0..counting.calls() {
        for fault in [DiskFault::Eio, DiskFault::Short, DiskFault::Dead] {
            run(&FailingDisk::failing(CountedCalls::Changes, at, fault));
            assert_eq!(file_history(&open(&db).fs), expected, "{fault:?} {at}");
            build_all(&counted.fs);
            check_all(&counted.fs);
        }
    }
    drop(repository);
}

#[test]
fn a_group_of_commits_extends_it() {
    let (_repository, counted) = busy(5);
    build_all(&counted.fs);
    let mut group = counted.fs.commit_group().unwrap();
    for rev in 6..=400 {
        let mut txn = group
            .begin_txn(fsfs::TxnOptions::default(), crate::commits::script::now())
            .unwrap();
        let mut writer = txn
            .apply_text(&crate::commits::script::path("dir/file"), None)
            .unwrap();
        writer.write(format!("{rev}").as_bytes()).unwrap();
        writer.finish(&mut txn).unwrap();
        group.commit(txn, &crate::commits::script::now).unwrap();
        if rev == 200 || rev == 400 {
            group.flush().unwrap();
            assert_eq!(status(&counted.fs).unwrap().unwrap().last, Some(Revnum(rev)));
        }
    }
    check_all(&counted.fs);
}

#[test]
fn a_cancelled_build_goes_on_where_it_was() {
    let (_repository, counted) = busy(300);
    let cancel = Cancel::new();
    let options = BuildOptions {
        cancel: cancel.clone(),
        jobs: 1,
        ..BuildOptions::default()
    };
    let stopped = build(&counted.fs, &options, &mut |_| cancel.cancel());
    assert_eq!(stopped.unwrap_err().code(), base::Code::CANCELLED);
    assert!(status(&counted.fs).unwrap().unwrap().last >= Some(Revnum(63)));
    build_all(&counted.fs);
    check_all(&counted.fs);
}
