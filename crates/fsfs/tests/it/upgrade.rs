//! Upgrading and recovering, compared with the real tool on a copy.

use std::path::Path;

use base::{Cancel, Code, Revnum};
use fsfs::admin::upgrade::UpgradeEvent;
use fsfs::admin::{recover, upgrade};
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build, matrix};
use testkit::stream::DumpStream;

use crate::files::{assert_same, files};

fn admin(command: &str, repo: &Repo) -> testkit::Output {
    Tool::new("svnadmin").arg(command).arg(repo.path()).run()
}

fn dump(repo: &Repo) -> Vec<u8> {
    let out = Tool::new("svnadmin").args(["dump", "-q"]).arg(repo.path()).ok();
    out.stdout
}

/// The two files that differ between the tools: in comments, and in a random ID.
fn remove_own(db: &Path) {
    std::fs::remove_file(db.join("fsfs.conf")).unwrap();
    let uuid = std::fs::read_to_string(db.join("uuid")).unwrap();
    let (uuid, instance) = uuid.trim_end().split_once('\n').unwrap();
    assert_eq!(instance.len(), 36);
    std::fs::write(db.join("uuid"), uuid).unwrap();
}

fn check_upgrade(spec: &Spec) -> Vec<UpgradeEvent> {
    let (ours, theirs) = (build(spec).copy(), build(spec).copy());
    let content = dump(&ours);
    let mut events = Vec::new();
    upgrade::run(&ours.db(), &mut |event| events.push(event)).unwrap();
    let printed: String = events
        .iter()
        .map(|event| match event {
            UpgradeEvent::PackedRevprops(shard) => format!("Packed revision properties in shard {shard}\n"),
            UpgradeEvent::Format(format) => format!("Bumped repository format to {format}\n"),
            UpgradeEvent::RemovedRevprops(shard) => {
                format!("Removed non-packed revision properties in shard {shard}\n")
            }
        })
        .collect();
    let their_words = admin("upgrade", &theirs).expect_ok().out();
    assert!(
        their_words.contains(&format!("time...\n{printed}\n")),
        "{}: {printed}\n{their_words}",
        spec.name
    );
    admin("verify", &ours).expect_ok();
    assert_eq!(dump(&ours), content, "{}", spec.name);
    if !events.is_empty() {
        remove_own(&ours.db());
        remove_own(&theirs.db());
        for file in ["rep-cache.db", "rep-cache.db-journal", "pack-lock"] {
            for repo in [&ours, &theirs] {
                _ = std::fs::remove_file(repo.db().join(file));
            }
        }
        assert_same(&ours.db(), &theirs.db(), &spec.name);
    }
    events
}

#[test]
fn upgrades_equal_the_incumbents() {
    for spec in testkit::sample(2, matrix()) {
        let newest = Fs::open(&build(&spec).db(), &Cache::new(1 << 16))
            .unwrap()
            .info()
            .unwrap()
            .format
            == 8;
        let events = check_upgrade(&spec);
        assert_eq!(events.is_empty(), newest, "{}", spec.name);
    }
}

#[test]
fn revision_properties_of_packed_shards_are_packed_in_larger_files() {
    let mut stream = DumpStream::new("11111111-2222-4333-8444-555555555555");
    for rev in 0..100 {
        stream.rev(&format!("{rev} {}", "long ".repeat(250)));
    }
    let spec = Spec::new("1.7")
        .shard(100)
        .pack(When::After)
        .with(stream)
        .named("f4-large-revprops");
    let events = check_upgrade(&spec);
    assert_eq!(
        events,
        [
            UpgradeEvent::PackedRevprops(0),
            UpgradeEvent::Format(8),
            UpgradeEvent::RemovedRevprops(0)
        ]
    );
}

#[test]
fn recover_writes_the_incumbents_current() {
    for spec in [
        Spec::new("1.3"),
        Spec::new("1.4"),
        Spec::small("1.5").shard(0),
        Spec::small("1.7").shard(4).pack(When::After),
        Spec::small("1.14").shard(3).pack(When::Halfway),
    ] {
        for damage in [None, Some(&b"1 1 1\n"[..]), Some(b"garbage"), Some(b"")] {
            let (ours, theirs) = (build(&spec).copy(), build(&spec).copy());
            for repo in [&ours, &theirs] {
                let current = repo.db().join("current");
                match damage {
                    Some(text) => std::fs::write(&current, text).unwrap(),
                    None => std::fs::remove_file(&current).unwrap(),
                }
            }
            let youngest = recover::run(&ours.db(), &Cancel::new()).unwrap();
            let printed = admin("recover", &theirs);
            let what = format!("{} {damage:?}", spec.name);
            if printed.code == 0 {
                assert!(
                    printed.out().ends_with(&format!("revision is {youngest}.\n")),
                    "{what}: {printed:?}"
                );
                let current = |repo: &Repo| files(&repo.db())["current"].clone();
                let (ours, theirs) = (current(&ours), current(&theirs));
                assert_eq!(
                    String::from_utf8_lossy(&ours.1),
                    String::from_utf8_lossy(&theirs.1),
                    "{what}"
                );
                assert_eq!(ours.0, theirs.0, "{what}");
            }
            admin("verify", &ours).expect_ok();
        }
    }
}

#[test]
fn recover_reports_a_missing_revision() {
    let repo = build(&Spec::small("1.14")).copy();
    let run = || recover::run(&repo.db(), &Cancel::new());
    std::fs::remove_file(repo.db().join("revs/0/11")).unwrap();
    let error = run().unwrap_err();
    let theirs = admin("recover", &repo);
    assert_eq!(error.code(), Code::FS_CORRUPT);
    assert_eq!(format!("svnadmin: {error}"), theirs.err().trim_end());
    std::fs::write(repo.db().join("current"), "10\n").unwrap();
    std::fs::remove_file(repo.db().join("revprops/0/10")).unwrap();
    let error = run().unwrap_err();
    let theirs = admin("recover", &repo);
    assert_eq!(error.code(), Code::FS_CORRUPT);
    assert_eq!(format!("svnadmin: {error}"), theirs.err().trim_end());
}

#[test]
fn recover_removes_rows_of_missing_revisions() {
    let repo = build(&Spec::small("1.14")).copy();
    std::fs::write(repo.db().join("current"), "8\n").unwrap();
    for rev in 9..=11 {
        std::fs::remove_file(repo.db().join(format!("revs/0/{rev}"))).unwrap();
    }
    let out = admin("verify", &repo);
    assert_ne!(out.code, 0, "rows beyond the youngest revision: {out:?}");
    assert_eq!(recover::run(&repo.db(), &Cancel::new()).unwrap(), Revnum(8));
    admin("verify", &repo).expect_ok();
}

#[test]
fn set_uuid_sets_a_given_or_a_random_uuid() {
    for (version, lines) in [("1.8", 1), ("1.14", 2)] {
        let repo = Repo::create(version);
        let open = || Fs::open(&repo.db(), &Cache::new(1 << 16)).unwrap();
        let fs = open();
        let (before, mode) = (fs.uuid(), files(&repo.db())["uuid"].0);
        fs.set_uuid(None).unwrap();
        assert_ne!(open().uuid(), before);
        fs.set_uuid(Some("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee")).unwrap();
        let (now_mode, text) = files(&repo.db())["uuid"].clone();
        let text = String::from_utf8(text).unwrap();
        assert_eq!((now_mode, text.lines().count()), (mode, lines));
        let theirs = Tool::new("svnlook").arg("uuid").arg(repo.path()).ok().out();
        assert_eq!(theirs, "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee\n");
        assert!(fs.set_uuid(Some("a\nb")).is_err());
    }
}

#[test]
fn commits_to_a_frozen_filesystem_wait() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap();
    std::thread::scope(|scope| {
        let committed = fs
            .freeze(|| {
                let commit = scope.spawn(|| {
                    Tool::new("svn")
                        .args(["mkdir", "-q", "-m", "x"])
                        .arg(format!("{}/frozen", repo.url()))
                        .ok()
                });
                std::thread::sleep(std::time::Duration::from_millis(300));
                assert!(!commit.is_finished());
                assert_eq!(fs.youngest().unwrap(), Revnum(11));
                Ok(commit)
            })
            .unwrap();
        committed.join().unwrap();
        assert_eq!(fs.youngest().unwrap(), Revnum(12));
    });
}
