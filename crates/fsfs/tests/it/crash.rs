//! Failing disks and power cuts while a repository is administered: the real tool verifies what is left, and nothing that was
//! there, or was acknowledged, is missing.

use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Date, FsPath, Result, Revnum};
use fsfs::admin::{hotcopy, pack, recover, upgrade};
use fsfs::disk::Disk;
use fsfs::{Cache, Fs, LockRequest, LockTarget};
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build};

use crate::frail::{Frail, lay_out};

fn open(db: &Path, disk: &Frail) -> Result<Fs> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Fs::open_on(db, &Cache::new(1 << 20), disk)
}

fn verified(repo: &Path, what: &str) {
    let out = Tool::new("svnadmin").args(["verify", "-q"]).arg(repo).run();
    assert_eq!(out.code, 0, "{what}: {out:?}");
}

/// Everything in the repository, properties included.
fn dump(repo: &Path) -> Vec<u8> {
    Tool::new("svnadmin").args(["dump", "-q"]).arg(repo).ok().stdout
}

/// Does `work` on copies of the repository, failing at one change after the other and with the power cut between all; `check` looks
/// at what is left and is told whether the work was acknowledged.
fn torment(spec: &Spec, work: impl Fn(&Path, &Frail) -> Result<()>, check: impl Fn(&Path, bool, &str)) {
    let built = build(spec);
    let mut fail_at = 0;
    for dies in [false, true] {
        fail_at = 1;
        loop {
            let repo = built.copy();
            let disk = Frail::failing(fail_at, dies);
            let done = work(&repo.db(), &disk);
            let what = format!("{}: call {fail_at} failed, dies {dies}: {done:?}", spec.name);
            check(repo.path(), done.is_ok(), &what);
            if disk.calls() < fail_at {
                done.unwrap();
                break;
            }
            // What broke off can be done again.
            work(&repo.db(), &Frail::failing(u64::MAX, false))
                .unwrap_or_else(|e| panic!("{what}, again: {e}"));
            check(repo.path(), true, &what);
            // The first calls and the last ones one by one, those between in growing steps.
            fail_at += 1 + fail_at / 12;
        }
    }
    assert!(fail_at > 3, "{}: nothing was written", spec.name);
    let repo = built.copy();
    let disk = Frail::cut(repo.path());
    work(&repo.db(), &disk).unwrap();
    let folder = testkit::scratch();
    let images = disk.images();
    // Enough to see each kind of moment, not so many that it takes for ever.
    let step = images.len().div_ceil(60).max(1);
    for (number, image) in images.iter().enumerate().step_by(step) {
        let at = folder.path().join(number.to_string());
        lay_out(image, &at);
        check(&at, false, &format!("{}: power cut {number}", spec.name));
        std::fs::remove_dir_all(&at).unwrap();
    }
    for (number, image) in disk.images_now().iter().enumerate() {
        let at = folder.path().join(format!("last-{number}"));
        lay_out(image, &at);
        check(&at, true, &format!("{}: power cut after all", spec.name));
    }
}

#[test]
fn packing() {
    for spec in [
        Spec::small("1.7").shard(6).named("f4"),
        Spec::small("1.14").shard(4).pack(When::Halfway).named("f8"),
    ] {
        let before = dump(build(&spec).path());
        torment(
            &spec,
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
        torment(
            &spec,
            |db, disk| {
                let fs = open(db, disk)?;
                fs.change_revprop(Revnum(6), "svn:log", None, Some(long.as_bytes()))
                    .map(drop)
            },
            |repo, done, what| {
                verified(repo, what);
                let fs = Fs::open(&repo.join("db"), &Cache::new(1 << 16)).unwrap();
                let log = fs.revprops(Revnum(6)).unwrap()["svn:log"].clone();
                let is_new = log == long.as_bytes();
                assert!(is_new || !done, "{what}: {}", String::from_utf8_lossy(&log));
                for rev in (0..=11).map(Revnum) {
                    assert!(fs.revprops(rev).unwrap().contains_key("svn:date"), "{what}");
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
    torment(
        &spec,
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
        torment(
            &spec,
            |db, disk| upgrade::run_on(db, Arc::new(disk.clone()), &mut |_| {}),
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
    torment(
        &spec,
        |db, disk| recover::run_on(db, Arc::new(disk.clone()), &Cancel::new()).map(drop),
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
    let copy = |db: &Path, disk: &Frail| {
        let options = hotcopy::Options { incremental: true };
        hotcopy::run(
            &open(&source.db(), disk)?,
            db,
            options,
            &mut |_| {},
            &Cancel::new(),
        )
    };
    torment(&spec, copy, |repo, done, what| {
        verified(repo, what);
        let now = dump(repo);
        assert!(now == after || (now == before && !done), "{what}");
    });
    // And into nothing.
    torment(
        &spec,
        |db, disk| {
            if db.join("format").exists() && disk.calls() == 0 {
                std::fs::remove_dir_all(db).unwrap();
                // What a power cut leaves must not be what was there before.
                disk.forget(db);
            }
            copy(db, disk)
        },
        |repo, done, what| {
            if done || repo.join("db/format").exists() {
                verified(repo, what);
                assert!(dump(repo) == after, "{what}");
            }
        },
    );
}
