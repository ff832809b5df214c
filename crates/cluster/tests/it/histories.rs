//! Copies between repositories of files and the cluster whose histories have parted, and copies that were stopped.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base::{Cancel, Code, Revnum};
use cluster::jobs;
use cluster::transfer::{self, OwnChanges};
use fsfs::disk::RealDisk;
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::repo::{Repo, Spec, build};

use crate::transfer::{Fixture, assert_same, commit, fixture};

fn pack(repo: &Path) {
    Tool::new("svnadmin").args(["pack", "-q"]).arg(repo).ok();
}

/// A repository with shards of 3 revisions, and another one with the same beginning that went on otherwise.
fn parted() -> (Repo, Repo) {
    let one = build(&Spec::small("1.14").shard(3)).copy();
    let other = one.copy();
    for number in 0..4 {
        commit(&one, &format!("f{number}"), "one");
        commit(&other, &format!("f{number}"), "other");
    }
    (one, other)
}

#[test]
fn a_restored_source_is_not_mixed_with_what_is_there() {
    for packs in [[false, false], [true, false], [false, true], [true, true]] {
        for is_interrupted in [false, true] {
            let fixture = fixture();
            let (one, other) = parted();
            if packs[0] {
                pack(one.path());
            }
            let cancel = Cancel::new();
            let last = one.youngest();
            let mut done = |rev: Revnum| {
                if is_interrupted && rev.0 == last {
                    cancel.cancel();
                }
            };
            let first = transfer::import(
                &fixture.cluster,
                one.path(),
                "r",
                OwnChanges::Refuse,
                &mut done,
                &cancel,
            );
            assert_eq!(first.is_err(), is_interrupted, "{first:?}");
            if packs[1] {
                pack(other.path());
            }
            let refused = fixture.import(&other, "r").unwrap_err();
            assert_eq!(refused.code(), Code::FS_ALREADY_EXISTS, "{packs:?}: {refused:?}");
            // It goes on with the one that it began with.
            commit(&one, "more", "more");
            fixture.import(&one, "r").unwrap();
            let to = fixture.path("export");
            fixture.export("r", &to).unwrap();
            assert_same(&to, one.path(), "after a refused import");
        }
    }
}

/// Commits a file to the cluster.
fn commit_to_cluster(fs: &Fs, name: &str) {
    let base = fs.youngest().unwrap();
    let mut txn = fs
        .begin_txn(base, fsfs::TxnOptions::default(), base::Date(0))
        .unwrap();
    let path = base::FsPath::parse(&format!("/{name}")).unwrap();
    txn.make_file(&path).unwrap();
    txn.commit(&|| base::Date(0)).unwrap();
}

#[test]
fn an_export_with_a_revision_of_its_own_is_refused_after_a_pack_too() {
    for packs_export in [false, true] {
        let fixture = fixture();
        let repo = build(&Spec::small("1.14").shard(3)).copy();
        let to = fixture.path("export");
        fixture.import(&repo, "r").unwrap();
        fixture.export("r", &to).unwrap();
        commit(&Repo::at(&to), "own", "own");
        if packs_export {
            pack(&to);
        }
        let fs = fixture.open("r");
        for number in 0..4 {
            commit_to_cluster(&fs, &format!("c{number}"));
        }
        jobs::pack(&fs, &mut |_| {}, &Cancel::new()).unwrap();
        let refused = fixture.export("r", &to).map_err(|e| e.code());
        assert_eq!(refused, Err(Code::FS_ALREADY_EXISTS), "packed: {packs_export}");
        let listed = Tool::new("svnlook").arg("tree").arg(&to).ok().stdout;
        assert!(String::from_utf8_lossy(&listed).contains("own"));
    }
}

/// The files of a filesystem in the order in which an export makes them, before the first revision.
const FIRST_FILES: [&str; 9] = [
    "sven-export",
    "min-unpacked-rev",
    "fs-type",
    "uuid",
    "fsfs.conf",
    "write-lock",
    "txn-current",
    "txn-current-lock",
    "format",
];

#[test]
fn an_export_that_was_stopped_at_its_first_files_is_completed() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(3)).copy();
    fixture.import(&repo, "r").unwrap();
    let complete = fixture.path("complete");
    fixture.export("r", &complete).unwrap();
    for count in 0..=FIRST_FILES.len() {
        let to = fixture.path(&format!("stopped-{count}"));
        let db = to.join("db");
        fs::create_dir_all(&db).unwrap();
        for name in &FIRST_FILES[..count] {
            let mut bytes = fs::read(complete.join("db").join(name)).unwrap();
            match *name {
                // The instance alone.
                "sven-export" => bytes.truncate(37),
                "min-unpacked-rev" => bytes = b"0\n".to_vec(),
                _ => {}
            }
            fs::write(db.join(name), bytes).unwrap();
        }
        if count == FIRST_FILES.len() {
            fs::set_permissions(db.join("format"), fs::Permissions::from_mode(0o444)).unwrap();
        }
        // A file that was being written.
        fs::write(db.join("svn-AbCdEf"), "half").unwrap();
        fixture.export("r", &to).unwrap();
        assert_same(&to, repo.path(), &format!("stopped after {count} files"));
        assert_eq!(shared_contents(&to), shared_contents(&complete));
        commit(&Repo::at(&to), "goes on", "with it");
    }
    // A directory with anything else stays as it is.
    let other = fixture.path("other");
    fs::create_dir_all(other.join("db")).unwrap();
    fs::write(other.join("db/svn.txt"), "mine").unwrap();
    assert_eq!(
        fixture.export("r", &other).map_err(|e| e.code()),
        Err(Code::DIR_NOT_EMPTY)
    );
}

/// The number of contents that later commits to a repository may share.
fn shared_contents(repo: &Path) -> usize {
    let fs = Fs::open_on(
        &repo.join("db"),
        &Cache::new(1 << 20),
        std::sync::Arc::new(RealDisk),
    )
    .unwrap();
    let mut count = 0;
    fsfs::admin::rep_cache::rows(&fs, Revnum(0), fs.youngest().unwrap(), &mut |_| {
        count += 1;
        Ok(())
    })
    .unwrap();
    count
}

fn stopped_export(fixture: &Fixture, to: &Path, after: u64) {
    let cancel = Cancel::new();
    let mut done = |rev: Revnum| {
        if rev.0 >= after {
            cancel.cancel();
        }
    };
    let outcome = transfer::export(&fixture.cluster, "r", to, &mut done, &cancel);
    assert_eq!(outcome.map_err(|e| e.code()), Err(Code::CANCELLED));
}

#[test]
fn the_contents_of_a_stopped_export_are_shared_by_later_commits() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(3)).copy();
    fixture.import(&repo, "r").unwrap();
    let to = fixture.path("export");
    // Before its end, and in its last step: all revisions are there, and no row.
    stopped_export(&fixture, &to, 2);
    stopped_export(&fixture, &to, repo.youngest());
    fixture.export("r", &to).unwrap();
    let first = shared_contents(&to);
    assert_eq!(first, shared_contents(repo.path()));
    assert!(first > 0);
    // Likewise when a complete export is brought up to date.
    for number in 0..3 {
        commit(&repo, &format!("new{number}"), &format!("text {number}"));
    }
    fixture.import(&repo, "r").unwrap();
    stopped_export(&fixture, &to, repo.youngest());
    fixture.export("r", &to).unwrap();
    assert_eq!(shared_contents(&to), shared_contents(repo.path()));
    assert_same(&to, repo.path(), "stopped exports");
}

fn revision_file(repo: &Repo, rev: u64) -> std::path::PathBuf {
    repo.db().join(format!("revs/{}/{rev}", rev / 3))
}

/// Makes a file writable and replaces its bytes.
fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_revision_is_copied_as_it_is_and_an_empty_one_is_refused() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(3)).copy();
    commit(&repo, "intact", "text");
    let rev = repo.youngest() - 1;
    damage(&revision_file(&repo, rev), |bytes| bytes[0] ^= 0xff);
    damage(&revision_file(&repo, rev - 1), |bytes| {
        bytes.truncate(bytes.len() - 20);
    });
    fixture.import(&repo, "r").unwrap();
    let to = fixture.path("export");
    fixture.export("r", &to).unwrap();
    for rev in [rev, rev - 1] {
        let bytes = |repo: &Repo| fs::read(revision_file(repo, rev)).unwrap();
        assert_eq!(bytes(&Repo::at(&to)), bytes(&repo));
    }
    Tool::new("svnlook")
        .args(["cat", "-r", &repo.youngest().to_string()])
        .arg(&to)
        .arg("intact")
        .ok();
    damage(&revision_file(&repo, rev), Vec::clear);
    let refused = fixture.import(&repo, "empty").unwrap_err();
    assert_eq!(refused.code(), Code::FS_CORRUPT, "{refused:?}");
}

#[test]
fn changes_that_were_made_in_the_cluster_are_not_imported_over() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(3)).copy();
    fixture.import(&repo, "r").unwrap();
    // Changes of the source alone, many times.
    for number in 0..3 {
        repo.set_revprop(1, "svn:log", format!("source {number}").as_bytes());
        fixture.import(&repo, "r").unwrap();
    }
    let fs = fixture.open("r");
    let log = |text: &str| {
        let mut props = fs.revprops(Revnum(1)).unwrap().to_props();
        props.insert("svn:log".to_owned(), text.as_bytes().to_vec());
        fs.set_revprops(Revnum(1), &props).unwrap();
    };
    let assert_refused = || {
        let refused = fixture.import(&repo, "r").unwrap_err();
        assert_eq!(refused.code(), Code::FS_ALREADY_EXISTS, "{refused:?}");
    };
    log("cluster");
    assert_refused();
    assert_eq!(
        fs.revprops(Revnum(1)).unwrap().get("svn:log"),
        Some(&b"cluster"[..])
    );
    let overwrite = || {
        transfer::import(
            &fixture.cluster,
            repo.path(),
            "r",
            OwnChanges::Overwrite,
            &mut |_| {},
            &Cancel::new(),
        )
    };
    overwrite().unwrap();
    fixture.import(&repo, "r").unwrap();
    let lock = base::Lock {
        path: base::FsPath::parse("/iota").unwrap(),
        token: "opaquelocktoken:1".to_owned(),
        owner: "jane".to_owned(),
        comment: None,
        is_dav_comment: false,
        created: base::Date(5),
        expires: None,
    };
    fs.replace_locks(std::slice::from_ref(&lock)).unwrap();
    assert_refused();
    assert_eq!(fs.lock(&lock.path).unwrap(), Some(lock));
    overwrite().unwrap();
    let to = fixture.path("export");
    fixture.export("r", &to).unwrap();
    assert_same(&to, repo.path(), "overwritten");
    fixture.import(&repo, "r").unwrap();
}
