//! Packing: the same files as the incumbent makes, also while the incumbent or readers use the repository.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Cancel, Code, Revnum};
use fsfs::admin::pack::{self, PackEvent};
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::disk::{CallDecision, DiskCall, WatchedDisk, Watcher};
use testkit::repo::{Repo, Spec, When, build};

use crate::files::{assert_same, files};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

fn pack(repo: &Repo) -> Vec<PackEvent> {
    let mut events = Vec::new();
    pack::run(&open(repo), &mut |event| events.push(event), &Cancel::new()).unwrap();
    events
}

fn theirs(command: &str, repo: &Repo) -> String {
    Tool::new("svnadmin")
        .args([command, "-q"])
        .arg(repo.path())
        .ok()
        .out()
}

/// Repositories with something to pack.
fn packable() -> Vec<Spec> {
    let new = Spec::new;
    let with = |spec: Spec, conf: &str| Spec {
        conf: conf.to_owned(),
        ..spec
    };
    vec![
        new("1.7").shard(7).named("f4"),
        new("1.8").shard(5).pack(When::Halfway).packed_revprops(1, false).busy().named("f6-half-packed"),
        new("1.9").shard(7).named("f7"),
        new("1.14").shard(1).named("f8-single"),
        new("1.14").shard(4).pack(When::Halfway).busy().named("f8-half-packed"),
        new("1.14").shard(16).compression("zlib-9").named("f8-zlib"),
        new("1.14").shard(3).compression("none").named("f8-uncompressed"),
        new("1.8").shard(5).upgrade(When::Before).named("f8-physical"),
        new("1.7").shard(4).upgrade(When::After).named("f4-to-f8"),
        with(
            new("1.14").shard(50),
            "[deltification]\nmax-linear-deltification = 2\n[io]\nblock-size = 1\nl2p-page-size = 8\np2l-page-size = 1\n",
        )
        .named("f8-tiny-pages"),
        with(new("1.14").shard(20), "[deltification]\nmax-linear-deltification = 0\n").named("f8-no-linear"),
    ]
}

#[test]
fn packs_equal_the_incumbents_byte_for_byte() {
    for spec in testkit::sample(2, packable()) {
        let (ours, theirs_repo) = (build(&spec).copy(), build(&spec).copy());
        let packed = open(&ours).info().unwrap().min_unpacked_rev.0;
        let events = pack(&ours);
        theirs("pack", &theirs_repo);
        for part in ["revs", "revprops"] {
            assert_same(&ours.db().join(part), &theirs_repo.db().join(part), &spec.name);
        }
        let min_unpacked = |repo: &Repo| std::fs::read(repo.db().join("min-unpacked-rev")).unwrap();
        assert_eq!(min_unpacked(&ours), min_unpacked(&theirs_repo), "{}", spec.name);
        let info = open(&ours).info().unwrap();
        let shards = packed / info.shard_size..info.min_unpacked_rev.0 / info.shard_size;
        let expected: Vec<_> = shards
            .flat_map(|shard| [PackEvent::Start(shard), PackEvent::End(shard)])
            .collect();
        assert!(!expected.is_empty(), "{}", spec.name);
        assert_eq!(events, expected, "{}", spec.name);
        theirs("verify", &ours);
        assert!(pack(&ours).is_empty(), "{}: nothing is left to pack", spec.name);
    }
}

/// Shards with more items than the limit: down to ranges of one revision.
#[test]
fn large_shards_are_packed_range_by_range() {
    let dump = |repo: &Repo| {
        Tool::new("svnadmin")
            .args(["dump", "-q"])
            .arg(repo.path())
            .ok()
            .stdout
    };
    for spec in [Spec::new("1.14").shard(20), Spec::fsx().shard(20)] {
        let built = build(&spec);
        let before = dump(&built);
        for max_items in [1, 10, 60, 200] {
            let repo = built.copy();
            pack::run_with_max_items(&open(&repo), max_items, &mut |_| {}, &Cancel::new()).unwrap();
            theirs("verify", &repo);
            assert!(dump(&repo) == before, "{max_items}");
        }
    }
}

#[test]
fn the_incumbent_reads_compressed_revision_properties() {
    let spec = Spec::new("1.14").shard(10).packed_revprops(2, true);
    let (ours, other) = (build(&spec).copy(), build(&spec).copy());
    let before = theirs("dump-revprops", &ours);
    pack(&ours);
    theirs("pack", &other);
    assert_eq!(theirs("dump-revprops", &ours), before);
    let names = |repo: &Repo| files(&repo.db().join("revprops")).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&other));
    theirs("verify", &ours);
}

/// A text that was written and then deleted within one transaction has no reference. The incumbent drops it when
/// packing; we keep it, because packing must not discard stored data.
#[test]
fn unreferenced_texts_are_packed() {
    let ours = Repo::create("1.14");
    let format = ours.db().join("format");
    std::fs::remove_file(&format).unwrap();
    std::fs::write(&format, "8\nlayout sharded 4\naddressing logical\n").unwrap();
    for turn in 1..=7 {
        // In this stream a file is added with a text and deleted in the same revision.
        let text = format!("orphan {turn}\n{}", testkit::history::lines(turn, 30));
        let mut dump = format!(
            "SVN-fs-dump-format-version: 2\n\nRevision-number: {turn}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n\
             Node-path: f{turn}\nNode-kind: file\nNode-action: add\nText-content-length: {0}\nContent-length: {0}\n\n{text}\n\n",
            text.len()
        );
        dump.push_str(&format!("Node-path: f{turn}\nNode-action: delete\n\n\nNode-path: d{turn}\nNode-kind: dir\nNode-action: add\n\n\n"));
        ours.load(dump.into_bytes());
    }
    let theirs_repo = ours.copy();
    assert_eq!(pack(&ours).len(), 4);
    theirs("pack", &theirs_repo);
    theirs("verify", &ours);
    let size = |repo: &Repo| {
        std::fs::metadata(repo.db().join("revs/0.pack/pack"))
            .unwrap()
            .len()
    };
    assert!(size(&ours) > size(&theirs_repo) + 1000);
    let texts = |repo: &Repo| {
        let list = Tool::new("svnfsfs")
            .args(["dump-index", "-r", "1"])
            .arg(repo.path())
            .ok()
            .out();
        list.matches("frep").count()
    };
    assert_eq!((texts(&ours), texts(&theirs_repo)), (3, 0));
}

#[test]
fn unpackable_repositories_are_reported_or_unchanged() {
    let repo = build(&Spec::small("1.5").shard(4)).copy();
    let error = pack::run(&open(&repo), &mut |_| {}, &Cancel::new()).unwrap_err();
    let theirs = Tool::new("svnadmin").arg("pack").arg(repo.path()).run();
    assert_eq!(error.code(), Code::UNSUPPORTED_FEATURE);
    assert_eq!(format!("svnadmin: {error}"), theirs.err().trim_end());
    for spec in [
        Spec::small("1.4").upgrade(When::Halfway),
        Spec::small("1.14").shard(100),
    ] {
        assert!(pack(&build(&spec).copy()).is_empty());
    }
    let cancel = Cancel::new();
    cancel.cancel();
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    let error = pack::run(&open(&repo), &mut |_| {}, &cancel).unwrap_err();
    assert_eq!(error.code(), Code::CANCELLED);
}

#[test]
fn files_of_an_interrupted_pack_are_replaced() {
    for (spec, parts) in [
        (Spec::new("1.14"), &["revs", "revprops"][..]),
        (Spec::fsx(), &["revs"]),
    ] {
        let spec = spec.shard(10).pack(When::Halfway);
        let (ours, clean) = (build(&spec).copy(), build(&spec).copy());
        let shard = open(&ours).info().unwrap().min_unpacked_rev.0 / 10;
        for part in parts {
            let dir = ours.db().join(part).join(format!("{shard}.pack"));
            std::fs::create_dir(&dir).unwrap();
            for name in ["pack", "manifest", "index.l2p", "30.0"] {
                std::fs::write(dir.join(name), "half").unwrap();
            }
        }
        if parts.contains(&"revprops") {
            let old = ours.db().join("revprops").join((shard - 1).to_string());
            std::fs::create_dir(&old).unwrap();
            std::fs::write(old.join("5"), "END\n").unwrap();
        }
        pack(&ours);
        pack(&clean);
        for part in parts {
            assert_same(&ours.db().join(part), &clean.db().join(part), part);
        }
        theirs("verify", &ours);
    }
}

/// A disk with room for one pack beside the files of its shard: none can be written while an earlier one is not valid.
struct RoomForOnePack {
    db: PathBuf,
    shard_size: u64,
    /// No room for the first pack either, once it is complete.
    is_full: bool,
}

impl Watcher for RoomForOnePack {
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        let DiskCall::Append(path, ..) = call else {
            return CallDecision::Proceed;
        };
        let full = || CallDecision::Fail(std::io::Error::from_raw_os_error(28));
        let names: Vec<_> = path
            .iter()
            .rev()
            .take(2)
            .filter_map(|name| name.to_str())
            .collect();
        match names[..] {
            ["min-unpacked-rev", _] | [_, "db"] if self.is_full => full(),
            ["pack", dir] => {
                let text = std::fs::read_to_string(self.db.join("min-unpacked-rev")).unwrap();
                let next = text.trim().parse::<u64>().unwrap() / self.shard_size;
                match dir == format!("{next}.pack") {
                    true => CallDecision::Proceed,
                    false => full(),
                }
            }
            _ => CallDecision::Proceed,
        }
    }
}

#[test]
fn a_disk_with_room_for_one_pack_is_enough() {
    for spec in [Spec::new("1.14"), Spec::new("1.8"), Spec::fsx()] {
        let spec = spec.shard(4);
        let (ours, clean) = (build(&spec).copy(), build(&spec).copy());
        let run = |is_full| {
            let room = RoomForOnePack {
                db: ours.db(),
                shard_size: 4,
                is_full,
            };
            let fs = Fs::open_on(&ours.db(), &Cache::new(1 << 20), Arc::new(WatchedDisk::new(room))).unwrap();
            let mut events = Vec::new();
            let outcome = pack::run(&fs, &mut |event| events.push(event), &Cancel::new());
            (outcome.map_err(|e| e.code().0), events)
        };
        let packs = || {
            // FSX has no revprops.
            let parts = ["revs", "revprops"].map(|part| std::fs::read_dir(ours.db().join(part)));
            let names = parts
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.unwrap().file_name());
            names
                .filter(|name| name.to_string_lossy().ends_with(".pack"))
                .count()
        };
        assert_eq!(run(true), (Err(28), vec![PackEvent::Start(0)]));
        assert_eq!(packs(), 0, "nothing is left on a full disk");
        assert_eq!(run(false), (Ok(()), pack(&clean)));
        for part in ["revs", "revprops"]
            .into_iter()
            .filter(|part| ours.db().join(part).exists())
        {
            assert_same(&ours.db().join(part), &clean.db().join(part), part);
        }
        theirs("verify", &ours);
    }
}

#[test]
fn readers_continue_during_a_pack() {
    check_readers(&Spec::new("1.14").shard(4), true);
    // In FSX, the incumbent reads contents and indexes at the wrong places beside its own pack, more often than not.
    check_readers(&Spec::fsx().shard(4), false);
}

fn check_readers(spec: &Spec, is_read_by_both: bool) {
    let repo = build(spec).copy();
    let (youngest, stop) = (Revnum(repo.youngest()), Cancel::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // One handle with a tiny cache for the whole time, and a new handle for each pass.
                let kept = Fs::open(&repo.db(), &Cache::new(1 << 16)).unwrap();
                while !stop.is_cancelled() {
                    for fs in [&kept, &open(&repo)] {
                        for rev in (0..=youngest.0).rev().map(Revnum) {
                            let root = fs.root(rev).unwrap();
                            let entries = root.node(&base::FsPath::root()).unwrap().entries().unwrap();
                            for entry in entries.iter() {
                                root.root_node()
                                    .and_then(|node| node.child_of(entry)?.props())
                                    .unwrap();
                            }
                            root.changed_paths().unwrap();
                            fs.revprops(rev).unwrap();
                        }
                    }
                }
            });
        }
        let reading = scope.spawn(|| {
            while is_read_by_both && !stop.is_cancelled() {
                let verified = Tool::new("svnadmin")
                    .args(["verify", "-q"])
                    .arg(repo.path())
                    .run();
                // The incumbent's verify also has this error, seldom, beside its own pack: it looks an item up in the pack and
                // then in the index of the unpacked file.
                if !verified
                    .err()
                    .contains("E160058: p2l index entry not found for PHYS")
                {
                    verified.expect_ok();
                }
            }
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        pack(&repo);
        stop.cancel();
        reading.join().unwrap();
    });
    theirs("verify", &repo);
}

/// Both pack one repository at the same time, while revision properties are changed: each shard is packed by one of
/// them.
#[test]
fn concurrent_packing_with_the_incumbent() {
    for spec in [Spec::new("1.14"), Spec::fsx()] {
        pack_concurrently(&build(&spec.shard(2)).copy());
    }
}

fn pack_concurrently(repo: &Repo) {
    std::thread::scope(|scope| {
        let their_pack = scope.spawn(|| theirs("pack", repo));
        let changes = scope.spawn(|| {
            let fs = open(repo);
            for rev in (0..repo.youngest()).map(Revnum) {
                fs.change_revprop(rev, "beside", None, Some(b"yes")).unwrap();
            }
        });
        pack(repo);
        their_pack.join().unwrap();
        changes.join().unwrap();
    });
    theirs("verify", repo);
    let fs = open(repo);
    for rev in (0..repo.youngest()).map(Revnum) {
        assert_eq!(fs.revprops(rev).unwrap().get("beside").unwrap(), b"yes");
    }
}
