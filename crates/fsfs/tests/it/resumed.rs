//! Operations that are interrupted and continued. A first copy is that of an uninterrupted run, whatever the interruption left; a
//! verification reports what an uninterrupted one reports.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::{Cancel, Code, Error, Result, Revnum};
use fsfs::admin::hotcopy::{self, HotcopyOptions};
use fsfs::admin::pack;
use fsfs::admin::verify::{
    self, VerifyObserver, VerifyOptions, VerifyPosition, VerifyProgress, VerifyWarning,
};
use fsfs::disk::{Disk, RealDisk};
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::disk::{CountedCalls, CrashDisk, DiskFault, FailingDisk, Loss};
use testkit::repo::{Repo, Spec, When, build};

use crate::files::files;
use crate::verify::Transcript;

/// Copies with a checkpoint after each job.
fn copy(from: &Repo, to: &Path, disk: Arc<dyn Disk>) -> Result<()> {
    let options = HotcopyOptions {
        incremental: true,
        checkpoint_interval: Duration::ZERO,
    };
    let source = Fs::open_on(&from.db(), &Cache::new(1 << 20), disk)?;
    hotcopy::run(&source, to, options, &mut |_| {}, &Cancel::new())
}

fn real() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// The files of a copy, without its instance ID, the database, whose bytes SQLite chooses, and a lock file that a copy gets when it
/// is brought up to date.
fn content(db: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = files(db);
    assert!(all.remove("rep-cache.db").is_some());
    all.remove("pack-lock");
    all.get_mut("uuid").expect("there is one").1.truncate(37);
    all
}

fn check(copy: &Path, expected: &BTreeMap<String, (u32, Vec<u8>)>, what: &str) {
    let found = content(copy);
    let names = |all: &BTreeMap<String, _>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(expected), "{what}");
    for (name, value) in expected {
        assert!(found[name] == *value, "{what}: {name} differs");
    }
}

/// The real tool accepts the copy in `root`, which lacks everything but `db`.
fn verified(source: &Repo, root: &Path) {
    for name in ["format", "conf", "hooks", "locks"] {
        let (from, to) = (source.path().join(name), root.join(name));
        Tool::new("cp").arg("-a").arg(from).arg(to).ok();
    }
    Tool::new("svnadmin").args(["verify", "-q"]).arg(root).ok();
    Tool::new("svnadmin")
        .args(["build-repcache", "-q"])
        .arg(root)
        .ok();
}

fn specs() -> [Spec; 4] {
    [
        Spec::small("1.14").shard(4).named("unpacked"),
        Spec::small("1.14").shard(4).pack(When::Halfway).named("packed"),
        Spec::small("1.8").shard(4).pack(When::Halfway).named("physical"),
        Spec::small("1.6").shard(0).named("linear"),
    ]
}

/// Changes the source between two runs: a property of an old revision, a revision, a packed shard.
fn change(source: &Repo, what: &str) {
    let fs = Fs::open(&source.db(), &Cache::new(1 << 20)).expect("opens");
    for rev in [1, 5].map(Revnum) {
        let value = vec![b'x'; 700 + what.len()];
        fs.change_revprop(rev, what, None, Some(&value)).expect("changes");
    }
    let url = format!("{}/{what}", source.url());
    Tool::new("svn").args(["mkdir", "-q", "-m", what]).arg(url).ok();
    pack::run(&fs, &mut |_| {}, &Cancel::new()).expect("packs");
}

/// Writes the image of a power cut. Files to which the copy has set no time have one from before a change of the source.
fn image(disk: &CrashDisk, moment: usize, loss: Loss, copied: SystemTime, root: &Path) {
    disk.image(moment, loss, root);
    for name in files(root).into_keys().filter(|name| !name.ends_with('/')) {
        let file = File::open(root.join(name)).expect("opens");
        let modified = file.metadata().and_then(|meta| meta.modified());
        if modified.expect("has a time") > copied {
            file.set_modified(copied).expect("sets the time");
        }
    }
}

/// Calls `check` with the image of each loss at some moments: all of the last ones, and about `count` before.
fn each_image(disk: &CrashDisk, count: usize, copied: SystemTime, mut check: impl FnMut(&Path, &str)) {
    let boundaries = disk.boundaries();
    let step = boundaries.len().div_ceil(count);
    let (last, folder) = (boundaries.len().saturating_sub(4), testkit::scratch());
    for (at, moment) in boundaries.iter().enumerate() {
        if at % step != 0 && at < last {
            continue;
        }
        let losses = [
            Loss::Nothing,
            Loss::Everything,
            Loss::Zeros,
            Loss::Names,
            Loss::Some(*moment as u64),
        ];
        // Two of them, in turn.
        for loss in [losses[at % 5], losses[(at + 2) % 5]] {
            let root = folder.path().join("image");
            image(disk, *moment, loss, copied, &root);
            check(&root, &format!("power cut at {moment}, lost {loss:?}"));
            std::fs::remove_dir_all(&root).expect("removes");
        }
    }
}

#[test]
fn a_copy_continues_after_a_power_cut() {
    for spec in specs() {
        let source = build(&spec).copy();
        let folder = testkit::scratch();
        let crash = CrashDisk::recording(folder.path());
        copy(&source, &folder.path().join("db"), Arc::new(crash.clone())).expect("copies");
        let copied = SystemTime::now();
        if spec.name != "linear" {
            change(&source, "later");
        }
        let reference = folder.path().join("reference");
        copy(&source, &reference, real()).expect("copies");
        let expected = content(&reference);
        let mut images = 0;
        each_image(&crash, 40, copied, |root, what| {
            let what = format!("{}: {what}", spec.name);
            copy(&source, &root.join("db"), real()).unwrap_or_else(|e| panic!("{what}: {e}"));
            check(&root.join("db"), &expected, &what);
            if images % 16 == 0 {
                verified(&source, root);
            }
            images += 1;
        });
        assert!(images > 20, "{images} images");
    }
}

#[test]
fn a_continued_copy_continues_after_another_power_cut() {
    for spec in specs().into_iter().take(3) {
        let source = build(&spec).copy();
        let folder = testkit::scratch();
        let first = CrashDisk::recording(folder.path());
        copy(&source, &folder.path().join("db"), Arc::new(first.clone())).expect("copies");
        let copied = SystemTime::now();
        change(&source, "later");
        // The first run ends in the middle, and after all revisions.
        let (half, root) = (first.boundaries().len() / 2, folder.path().join("half"));
        for moment in [first.boundaries()[half], first.moment() - 8] {
            image(&first, moment, Loss::Zeros, copied, &root);
            let second = CrashDisk::recording(&root);
            copy(&source, &root.join("db"), Arc::new(second.clone())).expect("continues");
            let expected = content(&root.join("db"));
            assert!(expected["min-unpacked-rev"].1 != b"0\n", "{}", spec.name);
            each_image(&second, 12, SystemTime::now(), |root, what| {
                let what = format!("{} from {moment}: {what}", spec.name);
                copy(&source, &root.join("db"), real()).unwrap_or_else(|e| panic!("{what}: {e}"));
                check(&root.join("db"), &expected, &what);
            });
            std::fs::remove_dir_all(&root).expect("removes");
        }
    }
}

/// What a reader finds in a filesystem: its youngest revision, the properties of each, and that all of them are readable.
fn readable(db: &Path, what: &str) -> Vec<Vec<u8>> {
    let fs = Fs::open(db, &Cache::new(1 << 20)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let youngest = fs.youngest().unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut transcript = Transcript::default();
    let verified = verify::run(
        &fs,
        &VerifyOptions::range(Revnum::ZERO, youngest),
        &mut transcript,
    );
    verified.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(
        transcript.failures.is_empty(),
        "{what}: {:?}",
        transcript.failures
    );
    let lists = (0..=youngest.0).map(|rev| {
        let list = fs.revprops(Revnum(rev));
        let list = list.unwrap_or_else(|e| panic!("{what}: r{rev}: {e}"));
        assert!(list.get("svn:date").is_some(), "{what}: r{rev}");
        list.get("later").map(<[u8]>::to_vec).unwrap_or_default()
    });
    lists.collect()
}

/// A copy, and a source that has changed since: properties of old revisions, new revisions, and with `packs` packed shards. A second
/// copy to the same destination is recorded.
fn changed_since(spec: &Spec, packs: bool, folder: &Path) -> (Repo, CrashDisk) {
    let (source, db) = (build(spec).copy(), folder.join("db"));
    copy(&source, &db, real()).expect("copies");
    let fs = Fs::open(&source.db(), &Cache::new(1 << 20)).expect("opens");
    for rev in [1, 5].map(Revnum) {
        fs.change_revprop(rev, "later", None, Some(&[b'x'; 700]))
            .expect("changes");
    }
    for name in ["new", "newer"] {
        let url = format!("{}/{name}", source.url());
        Tool::new("svn").args(["mkdir", "-q", "-m", name]).arg(url).ok();
    }
    if packs {
        pack::run(&fs, &mut |_| {}, &Cancel::new()).expect("packs");
    }
    let crash = CrashDisk::recording(folder);
    copy(&source, &db, Arc::new(crash.clone())).expect("copies");
    (source, crash)
}

#[test]
fn a_power_cut_leaves_the_destination_of_an_incremental_copy_whole() {
    let unpacked = Spec::small("1.14").shard(4).named("unpacked");
    let packed = Spec::small("1.14").shard(4).pack(When::Halfway).named("packed");
    for (at, (spec, packs)) in [(&unpacked, false), (&packed, false), (&unpacked, true)]
        .into_iter()
        .enumerate()
    {
        let folder = testkit::scratch();
        let (source, crash) = changed_since(spec, packs, folder.path());
        let expected = content(&folder.path().join("db"));
        let after = readable(&folder.path().join("db"), "the end");
        let youngest = after.len();
        let losses = |moment: usize| {
            let losses = [
                Loss::Nothing,
                Loss::Bytes,
                Loss::Zeros,
                Loss::Everything,
                Loss::Names,
            ];
            losses.into_iter().chain([Loss::Some(moment as u64)])
        };
        let cuts = (0..=crash.moment()).flat_map(|moment| losses(moment).map(move |loss| (moment, loss)));
        let mut images = 0;
        for (moment, loss) in testkit::sample_from(at, 17, cuts) {
            let what = format!("{} {packs}: power cut at {moment}, lost {loss:?}", spec.name);
            let root = folder.path().join("image");
            crash.image(moment, loss, &root);
            let lists = readable(&root.join("db"), &what);
            assert!(
                [youngest, youngest - 2].contains(&lists.len()),
                "{what}: {}",
                lists.len()
            );
            let is_old_or_new = |(list, new): (&Vec<u8>, &Vec<u8>)| list == new || list.is_empty();
            assert!(lists.iter().zip(&after).all(is_old_or_new), "{what}");
            copy(&source, &root.join("db"), real()).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(readable(&root.join("db"), &what), after, "{what}");
            // Files of packed shards that were not removed yet, and temporary ones, may stay.
            let found = content(&root.join("db"));
            for (name, value) in &expected {
                assert!(found.get(name) == Some(value), "{what}: {name} differs");
            }
            std::fs::remove_dir_all(&root).expect("removes");
            images += 1;
        }
        assert!(images > 10, "{images} images");
    }
}

#[test]
fn a_copy_continues_after_failures() {
    let source = build(&Spec::small("1.14").shard(4).pack(When::Halfway).named("packed"));
    let folder = testkit::scratch();
    let reference = folder.path().join("reference");
    copy(&source, &reference, real()).expect("copies");
    let expected = content(&reference);
    for fault in [DiskFault::Eio, DiskFault::Short, DiskFault::Dead] {
        let mut at = 0;
        loop {
            let failing = FailingDisk::failing(CountedCalls::Changes, at, fault);
            let (db, what) = (folder.path().join("db"), format!("{fault:?} at {at}"));
            let done = copy(&source, &db, Arc::new(failing.clone()));
            // A file of another process that was killed.
            if db.join("revs").exists() {
                std::fs::write(db.join("revs/svn-1234-5"), "part").expect("writes");
            }
            if done.is_err() {
                copy(&source, &db, real()).unwrap_or_else(|e| panic!("{what}: {e}"));
                check(&db, &expected, &what);
            }
            std::fs::remove_dir_all(&db).expect("removes");
            if failing.calls() <= at {
                done.expect("nothing failed");
                break;
            }
            at += 1 + at / 8;
        }
    }
}

#[test]
fn durable_revisions_are_not_copied_again() {
    let source = build(&Spec::small("1.14").shard(4).named("unpacked"));
    let folder = testkit::scratch();
    let crash = CrashDisk::recording(folder.path());
    copy(&source, &folder.path().join("db"), Arc::new(crash.clone())).expect("copies");
    let root = folder.path().join("image");
    // Before `current` is written everything is durable.
    crash.image(crash.moment() - 12, Loss::Everything, &root);
    let db = root.join("db");
    assert!(!db.join("format").exists());
    let second = CrashDisk::recording(&root);
    copy(&source, &db, Arc::new(second.clone())).expect("continues");
    let changes = second.describe(second.moment());
    assert!(
        !changes.contains("revs/") && !changes.contains("revprops/"),
        "{changes}"
    );
}

#[test]
fn a_copy_of_another_source_is_refused() {
    let source = build(&Spec::small("1.14").shard(4).named("unpacked"));
    let other = source.copy();
    let folder = testkit::scratch();
    let db = folder.path().join("db");
    let fs = Fs::open(&source.db(), &Cache::new(1 << 20)).expect("opens");
    hotcopy::begin(&fs, &db).expect("begins");
    let refused = copy(&other, &db, real()).expect_err("another source");
    assert_eq!(refused.code(), Code::INCORRECT_PARAMS);
    assert!(
        refused.message().contains("interrupted copy of another"),
        "{refused}"
    );
    // A damaged checkpoint makes nothing durable.
    std::fs::write(db.join("hotcopy-checkpoint"), "K 6\nsou").expect("writes");
    copy(&source, &db, real()).expect("copies");
    assert!(!db.join("hotcopy-checkpoint").exists());
}

/// Records what an observer has received at each position.
#[derive(Default)]
struct Positions {
    transcript: Transcript,
    reached: Vec<(VerifyPosition, String, usize)>,
}

impl VerifyObserver for Positions {
    fn progress(&mut self, progress: VerifyProgress) {
        self.transcript.progress(progress);
    }

    fn failed(&mut self, at: Option<Revnum>, error: &Error) -> ControlFlow<()> {
        self.transcript.failed(at, error)
    }

    fn warn(&mut self, revision: Revnum, warning: &VerifyWarning) {
        self.transcript.warn(revision, warning);
    }

    fn reached(&mut self, position: VerifyPosition) {
        let failures = self.transcript.failures.len();
        self.reached
            .push((position, self.transcript.out.clone(), failures));
    }
}

#[test]
fn a_verification_continues_at_every_position() {
    for spec in specs() {
        let repo = build(&spec).copy();
        // Damage in the text of a revision, which both kinds of addressing report.
        let path = match repo.db().join("revs/2/9").exists() {
            true => repo.db().join("revs/2/9"),
            false => repo.db().join("revs/9"),
        };
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[20] ^= 1;
        std::fs::remove_file(&path).expect("removes");
        std::fs::write(&path, bytes).expect("writes");
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        let run = |from: Option<VerifyPosition>| {
            let options = VerifyOptions {
                from,
                ..VerifyOptions::range(Revnum(1), fs.youngest().expect("reads"))
            };
            let mut observer = Positions::default();
            observer.transcript.keep_going = true;
            verify::run(&fs, &options, &mut observer).expect("runs");
            observer
        };
        let whole = run(None);
        let failures = |positions: &Positions| {
            let failures = positions.transcript.failures.iter();
            failures
                .map(|(rev, e)| format!("{rev:?} {e}"))
                .collect::<Vec<_>>()
        };
        assert!(!whole.transcript.failures.is_empty(), "{}", spec.name);
        assert!(whole.reached.len() > 10, "{}", spec.name);
        for (position, out, failed) in &whole.reached {
            let rest = run(Some(*position));
            let what = format!("{} at {position:?}", spec.name);
            assert_eq!(
                format!("{out}{}", rest.transcript.out),
                whole.transcript.out,
                "{what}"
            );
            assert_eq!(failures(&rest), failures(&whole)[*failed..], "{what}");
        }
    }
}
