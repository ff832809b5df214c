//! Failing disks and power cuts during operations of an administrator: the real tool verifies the remaining files,
//! and nothing that existed before, or was acknowledged, is missing.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use base::checksum::Sha1;
use base::{Cancel, Date, FsPath, Result, Revnum};
use fsfs::admin::{hotcopy, pack, recover, upgrade};
use fsfs::disk::{Disk, RealDisk};
use fsfs::{Cache, Fs, LockRequest, LockTarget};
use testkit::disk::{CountedCalls, CrashDisk, DiskFault, FailingDisk, Loss};
use testkit::repo::{Repo, Spec, When, build};
use testkit::{Tool, history};

fn open(db: &Path, disk: &Arc<dyn Disk>) -> Result<Fs> {
    Fs::open_on(db, &Cache::new(1 << 20), disk.clone())
}

fn verified(repo: &Path, what: &str) {
    // Of a damaged filesystem of FSX, the tool's verification has no end.
    let verify = Tool::new("svnadmin").args(["verify", "-q"]).arg(repo);
    let out = verify.under("timeout", &["-s", "KILL", "60"]).run();
    assert_eq!(out.code, 0, "{what}: {out:?}");
}

/// The contents of the repository, including properties.
fn dump(repo: &Path) -> Vec<u8> {
    Tool::new("svnadmin").args(["dump", "-q"]).arg(repo).ok().stdout
}

/// All directories of a repository, and all files with their contents; random parts of temporary files' names are
/// masked.
fn state(repo: &Path) -> Sha1 {
    let (mut left, mut files, mut dirs) = (vec![repo.to_owned()], Vec::new(), Vec::new());
    while let Some(dir) = left.pop() {
        dirs.push(dir.clone());
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    let mut files: Vec<_> = files
        .iter()
        .map(|path| {
            let name = path.strip_prefix(repo).unwrap().to_string_lossy().into_owned();
            let name = match name.rsplit_once("/svn-") {
                Some((dir, _)) => format!("{dir}/svn-"),
                None => name,
            };
            (name, Sha1::of(&std::fs::read(path).unwrap()))
        })
        .collect();
    files.sort();
    dirs.sort();
    let dirs: Vec<_> = dirs.iter().map(|dir| dir.strip_prefix(repo)).collect();
    Sha1::of(format!("{dirs:?}{files:?}").as_bytes())
}

/// Runs `work` on copies of the repository: with each call failing once, and with a power cut at every moment at
/// which something becomes durable. `check` gets the remaining files, and whether the work was acknowledged.
fn check_interruptions(
    repo: &Repo,
    name: &str,
    work: impl Fn(&Path, &Arc<dyn Disk>) -> Result<()>,
    check: impl Fn(&Path, bool, &str),
) {
    // Many failures leave the same state: the real tools check each state once.
    let seen = RefCell::new(HashSet::new());
    let check = |path: &Path, done: bool, what: &str| {
        if seen.borrow_mut().insert((done, state(path))) {
            check(path, done, what);
        }
    };
    for fault in [DiskFault::Eio, DiskFault::Short, DiskFault::Dead] {
        let mut at = 0;
        loop {
            let copy = repo.copy();
            let failing = FailingDisk::failing(CountedCalls::Changes, at, fault);
            let disk: Arc<dyn Disk> = Arc::new(failing.clone());
            let done = work(&copy.db(), &disk);
            let what = format!("{name}: change {at} fails ({fault:?}): {done:?}");
            check(copy.path(), done.is_ok(), &what);
            if failing.calls() <= at {
                done.unwrap();
                assert!(at > 3, "{name}: nothing was written");
                break;
            }
            // Interrupted work can be repeated.
            let real: Arc<dyn Disk> = Arc::new(RealDisk);
            work(&copy.db(), &real).unwrap_or_else(|e| panic!("{what}, again: {e}"));
            check(copy.path(), true, &what);
            // Every one of the first calls, the others in growing steps.
            at += 1 + at / if testkit::runs_all_cases() { 10 } else { 4 };
        }
    }
    let copy = repo.copy();
    let crash = CrashDisk::recording(copy.path());
    let disk: Arc<dyn Disk> = Arc::new(crash.clone());
    work(&copy.db(), &disk).unwrap();
    let folder = testkit::scratch();
    let (end, boundaries) = (crash.moment(), crash.boundaries());
    let step = boundaries
        .len()
        .div_ceil(if testkit::runs_all_cases() { 40 } else { 20 });
    let some = boundaries
        .iter()
        .step_by(step)
        .copied()
        .filter(|&moment| moment < end);
    for moment in some.chain([end]) {
        let losses = [
            Loss::Everything,
            Loss::Bytes,
            Loss::Names,
            Loss::Some(moment as u64),
        ];
        // All losses at the end, and every other one at each moment before it.
        let (first, step) = if moment == end { (0, 1) } else { (moment % 2, 2) };
        for loss in losses.iter().skip(first).step_by(step) {
            let image = folder.path().join("image");
            crash.image(moment, *loss, &image);
            let what = format!("{name}: power cut at {moment} of {end}, lost {loss:?}");
            check(&image, moment == end, &what);
            std::fs::remove_dir_all(&image).unwrap();
        }
    }
}

#[test]
fn packing() {
    for spec in [
        Spec::small("1.7").shard(6).named("f4"),
        Spec::small("1.14").shard(4).pack(When::Halfway).named("f8"),
        Spec::fsx()
            .with(history::small())
            .shard(4)
            .pack(When::Halfway)
            .named("fsx"),
    ] {
        let before = dump(build(&spec).path());
        check_interruptions(
            &build(&spec),
            &spec.name,
            |db, disk| pack::run(&open(db, disk)?, &mut |_| {}, &Cancel::new()),
            |repo, done, what| {
                verified(repo, what);
                assert!(dump(repo) == before, "{what}");
                let packed = std::fs::read_to_string(repo.join("db/min-unpacked-rev")).unwrap();
                assert!(!done || packed == "12\n", "{what}: {packed}");
            },
        );
    }
}

#[test]
fn changing_revision_properties() {
    for spec in [
        Spec::small("1.3").named("f1"),
        Spec::small("1.14")
            .shard(12)
            .pack(When::After)
            .packed_revprops(1, false)
            .named("f8-packed"),
    ] {
        let long = "long ".repeat(150);
        check_interruptions(
            &build(&spec),
            &spec.name,
            |db, disk| {
                let fs = open(db, disk)?;
                fs.change_revprop(Revnum(6), "svn:log", None, Some(long.as_bytes()))
                    .map(drop)
            },
            |repo, done, what| {
                verified(repo, what);
                let fs = Fs::open(&repo.join("db"), &Cache::new(1 << 16)).unwrap();
                let log = fs.revprops(Revnum(6)).unwrap().get("svn:log").unwrap().to_vec();
                let is_new = log == long.as_bytes();
                assert!(is_new || !done, "{what}: {}", String::from_utf8_lossy(&log));
                for rev in (0..=11).map(Revnum) {
                    assert!(fs.revprops(rev).unwrap().get("svn:date").is_some(), "{what}");
                }
            },
        );
    }
}

#[test]
fn locking_and_unlocking() {
    let spec = Spec::small("1.14").named("locks");
    let path = |text: &str| FsPath::parse(text).unwrap();
    let request = LockRequest {
        owner: "alice",
        comment: None,
        is_dav_comment: false,
        expires: None,
        steal: true,
        now: Date(0),
    };
    let token = "opaquelocktoken:00000000-1111-4222-8333-000000000001";
    check_interruptions(
        &build(&spec),
        &spec.name,
        |db, disk| {
            let targets = ["/A/D/gamma", "/A/mu"].map(|at| LockTarget {
                path: path(at),
                token: Some(token.to_owned()),
                rev: None,
            });
            let fs = open(db, disk)?;
            fs.lock_paths(&targets, &request)?;
            fs.unlock_paths(&[(path("/A/mu"), None)], None, true)?.remove(0).1
        },
        |repo, done, what| {
            verified(repo, what);
            let listed = Tool::new("svnadmin").arg("lslocks").arg(repo).run();
            assert_eq!(listed.code, 0, "{what}: {listed:?}");
            let listed = listed.out();
            let holds = |path: &str| listed.contains(&format!("Path: {path}\n"));
            assert!(
                !done || (holds("/A/D/gamma") && !holds("/A/mu")),
                "{what}: {listed}"
            );
            let below = Tool::new("svnadmin")
                .arg("lslocks")
                .arg(repo)
                .arg("/A/D")
                .ok()
                .out();
            assert!(!done || below.contains(token), "{what}: {below}");
        },
    );
}

#[test]
fn upgrading() {
    for spec in [
        Spec::small("1.3").named("f1"),
        Spec::small("1.7")
            .shard(4)
            .pack(When::Halfway)
            .named("f4-half-packed"),
    ] {
        let before = dump(build(&spec).path());
        check_interruptions(
            &build(&spec),
            &spec.name,
            |db, disk| upgrade::run_on(db, disk.clone(), &mut |_| {}),
            |repo, done, what| {
                verified(repo, what);
                assert!(dump(repo) == before, "{what}");
                let format = std::fs::read_to_string(repo.join("db/format")).unwrap();
                assert!(!done || format.starts_with("8\n"), "{what}: {format}");
            },
        );
    }
}

#[test]
fn recovering() {
    let spec = Spec::small("1.3").named("f1");
    let before = dump(build(&spec).path());
    check_interruptions(
        &build(&spec),
        &spec.name,
        |db, disk| recover::run_on(db, disk.clone(), &Cancel::new()).map(drop),
        |repo, _, what| {
            verified(repo, what);
            assert!(dump(repo) == before, "{what}");
        },
    );
}

/// The repository is the destination; the source has two more revisions, and is packed.
#[test]
fn copying() {
    let spec = Spec::small("1.14").shard(4).named("copied");
    let source: Repo = build(&spec).copy();
    for name in ["one", "two"] {
        let url = format!("{}/{name}", source.url());
        Tool::new("svn").args(["mkdir", "-q", "-m", name]).arg(url).ok();
    }
    Tool::new("svnadmin").args(["pack", "-q"]).arg(source.path()).ok();
    let (before, after) = (dump(build(&spec).path()), dump(source.path()));
    let copy = |db: &Path, disk: &Arc<dyn Disk>| {
        let options = hotcopy::HotcopyOptions {
            incremental: true,
            ..Default::default()
        };
        hotcopy::run(
            &open(&source.db(), disk)?,
            db,
            options,
            &mut |_| {},
            &Cancel::new(),
        )
    };
    check_interruptions(&build(&spec), "more", copy, |repo, done, what| {
        verified(repo, what);
        let now = dump(repo);
        assert!(now == after || (now == before && !done), "{what}");
    });
    // Copy to a destination without `db`.
    let empty = build(&spec).copy();
    std::fs::remove_dir_all(empty.db()).unwrap();
    check_interruptions(&empty, "all", copy, |repo, done, what| {
        if done || repo.join("db/format").exists() {
            verified(repo, what);
            assert!(dump(repo) == after, "{what}");
        }
    });
}
