//! Revision files with higher numbers than `current`: after a crash, and after an administrator has lost or restored
//! a file.
//!
//! In every state and after every command, no bytes of a complete revision may be lost: they are in their file, or in
//! a renamed file, or the revision can still be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::{Cancel, Code, Revnum};
use fsfs::admin::{hotcopy, pack, recover, upgrade};
use fsfs::{Cache, Fs, TxnOptions};

use crate::commits::random::TestRandom;
use crate::commits::script::CommitStep::{Mkdir, Put};
use crate::commits::script::{apply, copy_of, now, ours, verify};
use crate::compare::{self, Contents};
use crate::incumbent::{Repository, arg, run};

/// A repository with `count` revisions, each with a file of its own.
fn build(version: &str, shard_size: u64, count: usize) -> Repository {
    let repository = Repository::create(version, shard_size, "");
    let fs = compare::open(&repository);
    for rev in 1..=count {
        let name: &'static str = format!("f{rev}").leak();
        let text = format!("text of {rev}\n").repeat(rev);
        ours(&fs, &[Put(name, text.into_bytes()), Put("all", vec![b'a'; rev])]).unwrap();
    }
    repository
}

fn set_current(repository: &Repository, rev: u64) {
    // In formats 1 and 2 `current` also contains counters.
    let path = repository.db().join("current");
    let text = std::fs::read_to_string(&path).unwrap();
    let rest: Vec<_> = text.trim_end().splitn(2, ' ').skip(1).collect();
    let text = [
        vec![rev.to_string()],
        rest.iter().map(|s| (*s).to_owned()).collect(),
    ]
    .concat();
    std::fs::write(&path, text.join(" ") + "\n").unwrap();
}

/// Names of files in `db` that were renamed to keep them.
fn set_aside(repository: &Repository) -> Vec<String> {
    let names = std::fs::read_dir(repository.db()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("svn-stray-")).collect();
    names.sort();
    names
}

/// Every file with revisions or revision properties, by name.
fn files(db: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![db.to_owned()];
    while let Some(dir) = left.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_commit_below_whole_revisions_is_refused() {
    for (version, shard_size) in [("1.3", 0), ("1.4", 0), ("1.6", 3), ("1.14", 3)] {
        for current in [2, 5, 6] {
            let repository = build(version, shard_size, 7);
            set_current(&repository, current);
            let before = files(&repository.db().join("revs"));
            let fs = compare::open(&repository);
            let what = format!("{version}, {shard_size}, r{current}");
            for attempt in 0..2 {
                let refused = ours(&fs, &[Mkdir("new")]).unwrap_err();
                assert_eq!(refused.code(), Code::FS_CORRUPT, "{what} {attempt}: {refused}");
                assert!(refused.message().contains("svnadmin recover"), "{refused}");
            }
            let mut batch = fs.commit_group().unwrap();
            let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
            apply(batch.fs(), &mut txn, &[Mkdir("new")]).unwrap();
            assert!(batch.commit(txn, &now).is_err(), "{what}");
            drop(batch);
            assert_eq!(files(&repository.db().join("revs")), before, "{what}");
            // What the message advises.
            assert_eq!(recover::run(&repository.db(), &Cancel::new()).unwrap(), Revnum(7));
            for txn in fs.list_txns().unwrap() {
                fs.purge_txn(&txn).unwrap();
            }
            let committed = ours(&compare::open(&repository), &[Mkdir("new")]).unwrap();
            assert_eq!(
                (committed.rev, committed.set_aside.len()),
                (Revnum(8), 0),
                "{what}"
            );
            verify(&repository);
        }
    }
}

#[test]
fn a_revision_that_is_not_whole_is_renamed() {
    for (version, shard_size) in [("1.3", 0), ("1.6", 3), ("1.14", 3)] {
        for cut in [None, Some(0), Some(40)] {
            let repository = build(version, shard_size, 5);
            let fs = compare::open(&repository);
            let (file, list) = (
                rev_file(&repository, shard_size, 5),
                revprops(&repository, shard_size, 5),
            );
            set_current(&repository, 4);
            match cut {
                None => std::fs::remove_file(&list).unwrap(),
                Some(length) => {
                    let text = std::fs::read(&file).unwrap();
                    std::fs::remove_file(&file).unwrap();
                    std::fs::write(&file, &text[..length]).unwrap();
                }
            }
            let stray = std::fs::read(&file).unwrap();
            let what = format!("{version} {cut:?}");
            let committed = ours(&compare::open(&repository), &[Mkdir("new")]).unwrap();
            assert_eq!(committed.rev, Revnum(5), "{what}");
            let names = set_aside(&repository);
            assert_eq!(names.len(), 1 + usize::from(cut.is_some()), "{what}: {names:?}");
            assert_eq!(committed.set_aside.len(), names.len(), "{what}");
            assert_eq!(names[0], "svn-stray-r5-0", "{what}");
            let renamed = std::fs::read(repository.db().join(&names[0])).unwrap();
            assert_eq!(renamed, stray, "{what}");
            verify(&repository);
            run("svnadmin", &["recover", arg(&repository.path())]);
            assert_eq!(
                compare::open(&repository).youngest().unwrap(),
                Revnum(5),
                "{what}"
            );
            drop(fs);
        }
    }
}

/// A copy that was killed has left a revision in part, and later ones without those between.
#[test]
fn recover_stops_at_the_first_gap() {
    for (version, shard_size, gap) in [("1.6", 0, false), ("1.14", 4, false), ("1.14", 4, true)] {
        let repository = build(version, shard_size, 12);
        set_current(&repository, 3);
        let path = rev_file(&repository, shard_size, 6);
        let text = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        if !gap {
            std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        }
        assert_eq!(recover::run(&repository.db(), &Cancel::new()).unwrap(), Revnum(5));
        let fs = compare::open(&repository);
        // The later ones would follow the revision that is committed now.
        assert_eq!(ours(&fs, &[Mkdir("d")]).unwrap_err().code(), Code::FS_CORRUPT);
        for rev in 7..=12 {
            std::fs::remove_file(rev_file(&repository, shard_size, rev)).unwrap();
        }
        assert_eq!(ours(&fs, &[Mkdir("d")]).unwrap().rev, Revnum(6));
        verify(&repository);
    }
}

#[test]
fn packs_beyond_current_are_not_committed_over() {
    for version in ["1.6", "1.14"] {
        for (current, min_unpacked) in [(1, 6), (3, 6), (2, 3), (2, 0)] {
            let repository = build(version, 3, 7);
            repository.pack();
            set_current(&repository, current);
            let path = repository.db().join("min-unpacked-rev");
            std::fs::write(&path, format!("{min_unpacked}\n")).unwrap();
            let before = files(&repository.db().join("revs"));
            let what = format!("{version}, current {current}, min-unpacked-rev {min_unpacked}");
            let fs = compare::open(&repository);
            let commit = || {
                let mut txn = fs.begin_txn(Revnum(current), TxnOptions::default(), now())?;
                apply(&fs, &mut txn, &[Mkdir("new")])?;
                txn.commit(&now).map(drop)
            };
            assert!(commit().is_err(), "{what}");
            assert_eq!(files(&repository.db().join("revs")), before, "{what}");
        }
    }
}

#[test]
fn packing_with_a_lost_min_unpacked_rev_keeps_the_packs() {
    for version in ["1.6", "1.14"] {
        let repository = build(version, 3, 7);
        repository.pack();
        let before = files(&repository.db());
        std::fs::write(repository.db().join("min-unpacked-rev"), "0\n").unwrap();
        let fs = compare::open(&repository);
        assert!(pack::run(&fs, &mut |_| {}, &Cancel::new()).is_err(), "{version}");
        std::fs::write(repository.db().join("min-unpacked-rev"), "6\n").unwrap();
        assert_eq!(files(&repository.db()), before, "{version}");
        verify(&repository);
    }
}

#[test]
fn hotcopy_does_not_overwrite_revisions_that_the_source_lacks() {
    let source = build("1.14", 3, 3);
    let backup = copy_of(&source);
    ours(&compare::open(&backup), &[Mkdir("acknowledged")]).unwrap();
    ours(&compare::open(&source), &[Mkdir("instead")]).unwrap();
    ours(&compare::open(&source), &[Mkdir("more")]).unwrap();
    let before = files(&backup.db());
    let options = hotcopy::HotcopyOptions {
        incremental: true,
        ..Default::default()
    };
    let copy = || {
        let fs = compare::open(&source);
        hotcopy::run(&fs, &backup.db(), options, &mut |_| {}, &Cancel::new())
    };
    assert_eq!(copy().unwrap_err().code(), Code::UNSUPPORTED_FEATURE);
    let same = |left: &BTreeMap<PathBuf, Vec<u8>>| {
        left.iter()
            .filter(|(path, _)| !path.ends_with("write-lock"))
            .all(|(path, text)| before.get(path) == Some(text))
    };
    assert!(same(&files(&backup.db())));
    // Without `current` the revisions cannot be compared, and the file is renamed.
    set_current(&backup, 3);
    let lost = std::fs::read(rev_file(&backup, 3, 4)).unwrap();
    copy().unwrap();
    verify(&backup);
    assert_eq!(set_aside(&backup), ["svn-stray-r4-0", "svn-stray-revprops-r4-0"]);
    assert_eq!(std::fs::read(backup.db().join("svn-stray-r4-0")).unwrap(), lost);
    // The same again, with equal files.
    copy().unwrap();
    assert_eq!(set_aside(&backup).len(), 2);
}

fn rev_file(repository: &Repository, shard_size: u64, rev: u64) -> PathBuf {
    named(repository, "revs", shard_size, rev)
}

fn revprops(repository: &Repository, shard_size: u64, rev: u64) -> PathBuf {
    named(repository, "revprops", shard_size, rev)
}

fn named(repository: &Repository, kind: &str, shard_size: u64, rev: u64) -> PathBuf {
    let dir = repository.db().join(kind);
    let is_sharded =
        std::fs::read_to_string(repository.db().join("format")).is_ok_and(|text| text.contains("sharded"));
    match is_sharded {
        true => dir.join((rev / shard_size).to_string()).join(rev.to_string()),
        false => dir.join(rev.to_string()),
    }
}

/// The contents of each revision of a repository before it was damaged.
struct UndamagedRepository {
    repository: Repository,
    shard_size: u64,
    contents: Vec<Contents>,
}

impl UndamagedRepository {
    fn new(version: &str, shard_size: u64, packed: bool) -> UndamagedRepository {
        let repository = build(version, shard_size, 7);
        if packed {
            repository.pack();
        }
        let fs = compare::open(&repository);
        let read = |rev| compare::read(&fs.root(Revnum(rev)).unwrap());
        UndamagedRepository {
            contents: (0..=7).map(read).collect(),
            repository,
            shard_size,
        }
    }

    /// True if a revision can be read, with its properties.
    fn can_read(&self, db: &Path, rev: u64) -> bool {
        let read = || {
            let fs = Fs::open(db, &Cache::new(1 << 20)).ok()?;
            fs.revprops(Revnum(rev)).ok()?;
            let root = fs.root(Revnum(rev)).ok()?;
            let contents =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare::read(&root))).ok()?;
            Some(contents == self.contents[usize::try_from(rev).ok()?])
        };
        read() == Some(true)
    }

    /// The revisions to which a file of `db` belongs.
    fn revisions_of(&self, path: &Path) -> Vec<u64> {
        let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let shard = |shard: &str| -> Vec<u64> {
            let shard: u64 = shard.parse().unwrap();
            (shard * self.shard_size..(shard + 1) * self.shard_size).collect()
        };
        match parts[..] {
            ["revs" | "revprops", dir, _] if dir.ends_with(".pack") => shard(dir.trim_end_matches(".pack")),
            ["revs" | "revprops", .., name] => name.parse().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Deletes or replaces files of revisions, as an administrator may do by mistake.
fn damage(random: &mut TestRandom, whole: &UndamagedRepository, repository: &Repository) -> Vec<String> {
    let db = repository.db();
    let mut done = Vec::new();
    for _ in 0..=random.below(3) {
        let rev = random.below(9) as u64;
        let size = whole.shard_size;
        let what = match random.below(8) {
            0..3 => {
                let current = random.below(8) as u64;
                set_current(repository, current);
                format!("current {current}")
            }
            3 if db.join("min-unpacked-rev").exists() && size > 0 => {
                let rev = random.below(4) as u64 * size;
                std::fs::write(db.join("min-unpacked-rev"), format!("{rev}\n")).unwrap();
                format!("min-unpacked-rev {rev}")
            }
            4 => {
                _ = std::fs::remove_file(revprops(repository, size, rev));
                format!("no revprops of {rev}")
            }
            5 => {
                let path = rev_file(repository, size, rev);
                if let Ok(text) = std::fs::read(&path) {
                    std::fs::remove_file(&path).unwrap();
                    std::fs::write(&path, &text[..random.below(text.len())]).unwrap();
                }
                format!("half of {rev}")
            }
            6 => {
                let (from, to) = (rev_file(repository, size, rev), rev_file(repository, size, 8));
                if from != to && to.parent().is_some_and(Path::exists) && !to.exists() {
                    _ = std::fs::copy(&from, &to);
                    _ = std::fs::copy(revprops(repository, size, rev), revprops(repository, size, 8));
                }
                format!("{rev} as 8")
            }
            _ => {
                _ = std::fs::remove_file(rev_file(repository, size, rev));
                format!("no {rev}")
            }
        };
        done.push(what);
    }
    done
}

/// Runs a command on the repository; its result does not matter.
fn command(random: &mut TestRandom, whole: &UndamagedRepository, repository: &Repository) -> &'static str {
    let db = repository.db();
    let open = || Fs::open(&db, &Cache::new(1 << 20));
    let add = |fs: &Fs| -> base::Result<()> {
        let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), now())?;
        apply(fs, &mut txn, &[Mkdir("new")])?;
        txn.commit(&now).map(drop)
    };
    match random.below(6) {
        0 | 1 => {
            _ = open().and_then(|fs| add(&fs).and_then(|()| add(&fs)));
            "commit"
        }
        2 => {
            _ = open().and_then(|fs| {
                let mut batch = fs.commit_group()?;
                for name in ["new", "more"] {
                    let mut txn = batch.begin_txn(TxnOptions::default(), now())?;
                    apply(batch.fs(), &mut txn, &[Mkdir(name)])?;
                    batch.commit(txn, &now)?;
                }
                batch.flush()
            });
            "load"
        }
        3 => {
            _ = open().and_then(|fs| pack::run(&fs, &mut |_| {}, &Cancel::new()));
            "pack"
        }
        4 => {
            _ = recover::run(&db, &Cancel::new());
            _ = upgrade::run(&db, &mut |_| {});
            "recover, upgrade"
        }
        _ => {
            let source = copy_of(&whole.repository);
            set_current(&source, 7);
            let fs = compare::open(&source);
            ours(&fs, &[Mkdir("other")]).unwrap();
            if random.below(2) == 0 {
                _ = pack::run(&fs, &mut |_| {}, &Cancel::new());
            }
            let options = hotcopy::HotcopyOptions {
                incremental: true,
                ..Default::default()
            };
            _ = hotcopy::run(&fs, &db, options, &mut |_| {}, &Cancel::new());
            "hotcopy"
        }
    }
}

#[test]
fn no_command_destroys_a_whole_revision() {
    let count = number("SVEN_STRAYS", 60);
    let seed = number("SVEN_STRAYS_SEED", 1);
    let wholes = [
        UndamagedRepository::new("1.3", 0, false),
        UndamagedRepository::new("1.6", 3, true),
        UndamagedRepository::new("1.8", 2, true),
        UndamagedRepository::new("1.14", 3, false),
        UndamagedRepository::new("1.14", 3, true),
    ];
    for seed in seed..seed + count {
        let mut random = TestRandom(seed);
        let whole = &wholes[random.below(wholes.len())];
        let repository = copy_of(&whole.repository);
        let mut steps = damage(&mut random, whole, &repository);
        let before = files(&repository.db());
        let damaged = copy_of(&repository);
        set_current(&damaged, 7);
        let relative = |path: &Path| path.strip_prefix(repository.db()).unwrap().to_owned();
        // Only revisions that can be read without their index or other revisions count as complete.
        let original = files(&whole.repository.db());
        let is_intact = |path: &Path, text: &[u8]| {
            original
                .get(&whole.repository.db().join(relative(path)))
                .is_some_and(|there| there == text)
        };
        for _ in 0..=random.below(2) {
            steps.push(command(&mut random, whole, &repository).to_owned());
        }
        let after = files(&repository.db());
        let texts: std::collections::HashSet<&[u8]> = after.values().map(Vec::as_slice).collect();
        for (path, text) in before.iter().filter(|(path, text)| is_intact(path, text)) {
            let revs = whole.revisions_of(&relative(path));
            let is_lost = !texts.contains(text.as_slice());
            // Revision properties without a revision file are a leftover.
            let has_revision = |rev| had(&before, &repository, whole, rev);
            if is_lost && !revs.is_empty() {
                let gone: Vec<u64> = revs
                    .into_iter()
                    .filter(|&rev| has_revision(rev) && !whole.can_read(&repository.db(), rev))
                    // A packed revision with deltas against a damaged one cannot be read either.
                    .filter(|&rev| {
                        whole.can_read(&damaged.db(), rev) || !is_packed(&after, &repository, whole, rev)
                    })
                    .collect();
                assert!(
                    gone.is_empty(),
                    "seed {seed}: {} has vanished, with {gone:?}: {steps:?}",
                    relative(path).display()
                );
            }
        }
    }
}

/// True if there is a pack for a revision.
fn is_packed(
    after: &BTreeMap<PathBuf, Vec<u8>>,
    repository: &Repository,
    whole: &UndamagedRepository,
    rev: u64,
) -> bool {
    let shard = rev.checked_div(whole.shard_size);
    shard.is_some_and(|shard| after.contains_key(&repository.db().join(format!("revs/{shard}.pack/pack"))))
}

/// True if the damaged repository had the revision's bytes, in a file of its own or in a pack.
fn had(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    repository: &Repository,
    whole: &UndamagedRepository,
    rev: u64,
) -> bool {
    let is_original = |path: &Path| {
        let there = path.strip_prefix(repository.db()).unwrap();
        let original = std::fs::read(whole.repository.db().join(there));
        original.is_ok_and(|text| before.get(path) == Some(&text))
    };
    let unpacked = rev_file(repository, whole.shard_size, rev);
    let pack = |shard: u64| repository.db().join(format!("revs/{shard}.pack/pack"));
    is_original(&unpacked)
        || rev
            .checked_div(whole.shard_size)
            .is_some_and(|shard| is_original(&pack(shard)))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
