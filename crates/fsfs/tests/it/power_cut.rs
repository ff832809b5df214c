//! Power cuts at every moment at which something becomes durable: acknowledged revisions exist and are complete, and
//! the repository accepts commits.

use std::path::Path;
use std::sync::Arc;

use base::{Date, FsPath, Revnum};
use fsfs::admin::verify;
use fsfs::disk::UnsyncedDisk;
use fsfs::{Cache, CreateOptions, Fs, Txn, TxnOptions};
use testkit::disk::{CountedCalls, CrashDisk, DiskFault, FailingDisk, Loss};
use testkit::{Repo, Tool};

use crate::verify::Transcript;

const LOSSES: [Loss; 5] = [
    Loss::Everything,
    Loss::Bytes,
    Loss::Names,
    Loss::Some(1),
    Loss::Some(2),
];

fn open(db: &Path) -> Fs {
    Fs::open_on(db, &Cache::new(4 << 20), Arc::new(UnsyncedDisk)).unwrap()
}

fn path(text: &str) -> FsPath {
    FsPath::parse(text).unwrap()
}

fn now() -> Date {
    Date(1_700_000_000_000_000)
}

/// Text that does not compress to nothing.
fn text(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * at / 7 + seed * 31) as u8).collect()
}

fn put(txn: &mut Txn, file: &str, text: &[u8]) -> base::Result<()> {
    let mut writer = txn.apply_text(&path(file), None)?;
    writer.write(text)?;
    writer.finish(txn).map(drop)
}

/// The changes of the revisions after 0: a text of two windows, directories, property lists, a text that occurs
/// again.
fn change(txn: &mut Txn, rev: u64) -> base::Result<()> {
    if rev == 1 {
        txn.make_dir(&path("/dir"))?;
        txn.make_file(&path("/dir/long"))?;
    }
    put(txn, "/dir/long", &text(rev as usize, 110_000 + rev as usize))?;
    let file = format!("/file{rev}");
    txn.make_file(&path(&file))?;
    put(txn, &file, b"the same in each")?;
    txn.change_prop(&path("/dir"), "rev", Some(rev.to_string().as_bytes()))
}

fn commit(fs: &Fs, rev: u64) -> base::Result<Revnum> {
    let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), now())?;
    change(&mut txn, rev)?;
    Ok(txn.commit(&now)?.rev)
}

/// A repository with shards of two revisions.
fn repository(version: &str) -> Repo {
    let repo = Repo::create(version);
    let path = repo.db().join("format");
    let format = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, format.replace("sharded 1000", "sharded 2")).unwrap();
    repo
}

/// Verifies all revisions and their properties.
fn verify(fs: &Fs) -> Revnum {
    let youngest = fs.youngest().unwrap();
    let mut transcript = Transcript::default();
    verify::run(
        fs,
        &verify::VerifyOptions::range(Revnum(0), youngest),
        &mut transcript,
    )
    .unwrap();
    assert!(transcript.failures.is_empty(), "{:?}", transcript.failures);
    for rev in 0..=youngest.0 {
        assert!(
            fs.revprops(Revnum(rev)).unwrap().get("svn:date").is_some(),
            "r{rev}"
        );
    }
    youngest
}

/// Cuts the power at every boundary; `acknowledged` gives the youngest acknowledged revision by moment.
fn cut_everywhere(repo: &Repo, disk: &CrashDisk, acknowledged: &[(usize, u64)]) {
    let mut images = 0;
    let cuts = disk
        .boundaries()
        .into_iter()
        .flat_map(|moment| LOSSES.map(|loss| (moment, loss)));
    for (moment, loss) in testkit::sample(2, cuts) {
        let db = repo.db();
        std::fs::remove_dir_all(&db).unwrap();
        disk.image(moment, loss, &db);
        let acknowledged_rev = acknowledged.iter().rev().find(|(at, _)| *at <= moment);
        let acknowledged_rev = acknowledged_rev.map_or(0, |(_, rev)| *rev);
        let context = || format!("{loss:?} at {moment}:\n{}", disk.describe(moment));
        let fs = open(&db);
        let youngest = verify(&fs);
        assert!(
            youngest.0 >= acknowledged_rev,
            "r{acknowledged_rev} is lost, youngest r{youngest}; {}",
            context()
        );
        for txn in fs.list_txns().unwrap() {
            fs.purge_txn(&txn)
                .unwrap_or_else(|e| panic!("{e}; {}", context()));
        }
        assert!(fs.list_txns().unwrap().is_empty());
        let next = youngest.0 + 1;
        let rev = commit(&fs, next).unwrap_or_else(|e| panic!("{e}; {}", context()));
        assert_eq!(rev.0, next);
        verify(&fs);
        images += 1;
        if images % 31 == 0 {
            Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
        }
    }
    assert!(images > 25, "only {images} images");
}

#[test]
fn commits() {
    for version in ["1.14", "1.4"] {
        let repo = repository(version);
        let disk = CrashDisk::recording(&repo.db());
        let fs = Fs::open_on(&repo.db(), &Cache::new(4 << 20), Arc::new(disk.clone())).unwrap();
        let mut acknowledged = Vec::new();
        for rev in 1..=3 {
            commit(&fs, rev).unwrap();
            acknowledged.push((disk.moment(), rev));
        }
        drop(fs);
        cut_everywhere(&repo, &disk, &acknowledged);
    }
}

#[test]
fn groups() {
    let repo = repository("1.14");
    let disk = CrashDisk::recording(&repo.db());
    let fs = Fs::open_on(&repo.db(), &Cache::new(4 << 20), Arc::new(disk.clone())).unwrap();
    let mut acknowledged = Vec::new();
    let mut batch = fs.commit_group().unwrap();
    for rev in 1..=6 {
        let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
        change(&mut txn, rev).unwrap();
        batch.commit(txn, &now).unwrap();
        if rev % 3 == 0 {
            let flushed = batch.flush().unwrap();
            acknowledged.push((disk.moment(), flushed.0));
        }
    }
    drop((batch, fs));
    cut_everywhere(&repo, &disk, &acknowledged);
}

/// After a power cut during creation, the filesystem is complete or does not exist.
#[test]
fn creation() {
    let repo = Repo::create("1.14");
    std::fs::remove_dir_all(repo.db()).unwrap();
    let disk = CrashDisk::recording(repo.path());
    fsfs::create(
        &repo.db(),
        &CreateOptions::default(),
        now(),
        Arc::new(disk.clone()),
    )
    .unwrap();
    let done = disk.moment();
    let boundaries = disk.boundaries();
    for moment in boundaries {
        for loss in LOSSES {
            let scratch = testkit::scratch();
            let image = scratch.path().join("repo");
            disk.image(moment, loss, &image);
            let db = image.join("db");
            let is_there = db.join("format").exists()
                && std::fs::read(db.join("format")).unwrap().ends_with(b"logical\n");
            if is_there && loss != Loss::Bytes {
                assert_eq!(verify(&open(&db)), Revnum(0));
            }
            // The name `db` itself is made durable by the creator of the repository.
            if moment == done && loss == Loss::Bytes {
                assert_eq!(verify(&open(&db)), Revnum(0));
            }
        }
    }
}

/// Creation with each call of the disk failing once: there is no filesystem, or a complete one.
#[test]
fn creation_on_a_failing_disk() {
    let run = |disk: FailingDisk| {
        let scratch = testkit::scratch();
        let db = scratch.path().join("db");
        let made = fsfs::create(&db, &CreateOptions::default(), now(), Arc::new(disk.clone()));
        let format = std::fs::read(db.join("format")).unwrap_or_default();
        if made.is_ok() || format.ends_with(b"logical\n") {
            assert_eq!(verify(&open(&db)), Revnum(0));
        }
        (made.is_ok(), disk.calls())
    };
    let (made, calls) = run(FailingDisk::counting(CountedCalls::Changes));
    assert!(made && calls > 40, "{calls}");
    for at in 0..calls {
        for fault in [DiskFault::Short, DiskFault::Dead] {
            let (made, _) = run(FailingDisk::failing(CountedCalls::Changes, at, fault));
            assert!(!made, "{fault:?} {at}");
        }
    }
}

/// Writing texts with each call of the disk failing once: the transaction can still be used.
#[test]
fn texts_on_a_failing_disk() {
    let repo = repository("1.14");
    commit(&open(&repo.db()), 1).unwrap();
    let run = |disk: &FailingDisk| -> u64 {
        disk.switch(false);
        let fs = Fs::open_on(&repo.db(), &Cache::new(4 << 20), Arc::new(disk.clone())).unwrap();
        let mut txn = fs.begin_txn(Revnum(1), TxnOptions::default(), now()).unwrap();
        txn.make_file(&path("/short")).unwrap();
        disk.switch(true);
        let mut failures = 0;
        for (file, text) in [
            ("/dir/long", text(9, 2_500_000)),
            ("/short", text(8, 1000)),
            ("/file1", text(7, 90_000)),
        ] {
            if put(&mut txn, file, &text).is_err() {
                failures += 1;
                // The text can be written again.
                put(&mut txn, file, &text).unwrap();
            }
        }
        disk.switch(false);
        txn.commit(&now).unwrap();
        drop(txn);
        failures
    };
    let base = repo.copy();
    for counted in [CountedCalls::Changes, CountedCalls::Reads] {
        restore(&base, &repo);
        let counting = FailingDisk::counting(counted);
        assert_eq!(run(&counting), 0);
        let calls = counting.calls();
        assert!(calls > 5, "{calls}");
        for fault in [DiskFault::Eio, DiskFault::Short] {
            for at in testkit::sample(2, 0..calls) {
                restore(&base, &repo);
                let failures = run(&FailingDisk::failing(counted, at, fault));
                assert!(failures <= 1, "{fault:?} {at}");
                let fs = open(&repo.db());
                assert_eq!(verify(&fs), Revnum(2));
                let node = |file: &str| fs.root(Revnum(2)).unwrap().node(&path(file)).unwrap();
                assert_eq!(
                    node("/dir/long").reader().unwrap().read_all().unwrap(),
                    text(9, 2_500_000)
                );
                assert_eq!(
                    node("/file1").reader().unwrap().read_all().unwrap(),
                    text(7, 90_000)
                );
            }
        }
    }
}

fn restore(from: &Repo, to: &Repo) {
    std::fs::remove_dir_all(to.path()).unwrap();
    Tool::new("cp").arg("-a").arg(from.path()).arg(to.path()).ok();
}
