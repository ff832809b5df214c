//! Copies of filesystems, compared with those that the real tool makes.

use std::collections::BTreeMap;
use std::path::Path;

use base::{Cancel, Code, Revnum};
use fsfs::admin::hotcopy::{self, CopiedRevisions, HotcopyOptions};
use fsfs::admin::pack;
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build, matrix};

use crate::files::files;

fn open(db: &Path) -> Fs {
    Fs::open(db, &Cache::new(1 << 20)).unwrap()
}

/// Copies into the repository at `to`; returns the progress messages as the real tool prints them.
fn copy(from: &Repo, to: &Path, incremental: bool) -> base::Result<String> {
    let mut progress = String::new();
    hotcopy::run(
        &open(&from.db()),
        &to.join("db"),
        HotcopyOptions {
            incremental,
            ..Default::default()
        },
        &mut |CopiedRevisions { start, end }| {
            progress.push_str(&match start == end {
                true => format!("* Copied revision {start}.\n"),
                false => format!("* Copied revisions from {start} to {end}.\n"),
            });
        },
        &Cancel::new(),
    )?;
    Ok(progress)
}

fn theirs(from: &Repo, to: &Path, incremental: bool) -> testkit::Output {
    let mut tool = Tool::new("svnadmin").arg("hotcopy").arg(from.path()).arg(to);
    if incremental {
        tool = tool.arg("--incremental");
    }
    tool.run()
}

/// Creates a repository without `db`.
fn without_db(of: &Repo, at: &Path) {
    std::fs::create_dir(at).unwrap();
    for name in ["format", "conf", "hooks", "locks"] {
        Tool::new("cp")
            .arg("-a")
            .arg(of.path().join(name))
            .arg(at.join(name))
            .ok();
    }
}

/// The files of a copy, without random contents and those of SQLite.
fn content(db: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = files(db);
    all.retain(|name, _| !name.starts_with("rep-cache.db") && name != "pack-lock");
    let uuid = all.get_mut("uuid").unwrap();
    uuid.1.truncate(37);
    all
}

fn check(ours: &Path, theirs: &Path, what: &str) {
    let (ours, theirs) = (content(&ours.join("db")), content(&theirs.join("db")));
    let names = |all: &BTreeMap<String, _>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{what}");
    for (name, value) in &theirs {
        assert!(
            ours[name] == *value,
            "{what}: {name} differs: {:o} and {:o}",
            ours[name].0,
            value.0
        );
    }
}

fn verify(path: &Path) {
    Tool::new("svnadmin").args(["verify", "-q"]).arg(path).ok();
}

fn rows(db: &Path) -> String {
    let verified = Tool::new("svnadmin")
        .args(["build-repcache", "-q"])
        .arg(db.parent().unwrap())
        .run();
    format!("{}", verified.code)
}

#[test]
fn hotcopies_equal_the_incumbents() {
    for spec in testkit::sample(2, matrix()) {
        let repo = build(&spec).copy();
        let folder = testkit::scratch();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("theirs"));
        without_db(&repo, &ours);
        let progress = copy(&repo, &ours, false).unwrap();
        let their_words = theirs(&repo, &other, false).expect_ok().out();
        assert_eq!(progress, their_words, "{}", spec.name);
        check(&ours, &other, &spec.name);
        verify(&ours);
        assert_eq!(rows(&ours.join("db")), rows(&other.join("db")));
        // First without new revisions, then with some.
        assert_eq!(copy(&repo, &ours, true).unwrap(), "", "{}", spec.name);
        let fs = open(&repo.db());
        for rev in [0, 3, repo.youngest()].map(Revnum) {
            fs.change_revprop(rev, "late", None, Some(&[b'x'; 700])).unwrap();
        }
        assert_eq!(
            copy(&repo, &ours, true).unwrap(),
            theirs(&repo, &other, true).expect_ok().out(),
            "{}",
            spec.name
        );
        verify(&ours);
        for rev in [0, 3, repo.youngest()].map(Revnum) {
            assert_eq!(
                open(&ours.join("db")).revprops(rev).unwrap().get("late").unwrap(),
                [b'x'; 700],
                "{}",
                spec.name
            );
        }
    }
}

#[test]
fn incremental_copies_follow_commits_locks_and_packs() {
    for (version, shard) in [("1.7", 4), ("1.8", 4), ("1.14", 4)] {
        let spec = Spec::small(version).shard(shard);
        let repo = build(&spec).copy();
        let folder = testkit::scratch();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("theirs"));
        without_db(&repo, &ours);
        copy(&repo, &ours, true).unwrap();
        theirs(&repo, &other, true).expect_ok();
        let commit = |name: &str| {
            Tool::new("svn")
                .args(["mkdir", "-q", "-m", name])
                .arg(format!("{}/{name}", repo.url()))
                .ok();
        };
        for step in ["one", "two", "three"] {
            commit(step);
            match step {
                "one" => repo.lock(
                    "/iota",
                    "alice",
                    "mine",
                    "opaquelocktoken:00000000-1111-4222-8333-000000000001",
                ),
                "two" => pack::run(&open(&repo.db()), &mut |_| {}, &Cancel::new()).unwrap(),
                _ => drop(
                    Tool::new("svnadmin")
                        .arg("rmlocks")
                        .arg(repo.path())
                        .arg("/iota")
                        .ok(),
                ),
            }
            let progress = copy(&repo, &ours, true).unwrap();
            let their_words = theirs(&repo, &other, true).expect_ok().out();
            let what = format!("{version} {step}");
            assert_eq!(progress, their_words, "{what}");
            check(&ours, &other, &what);
            verify(&ours);
        }
        // The copy accepts commits.
        Tool::new("svn")
            .args(["mkdir", "-q", "-m", "on the copy"])
            .arg(format!("file://{}/copied", ours.display()))
            .ok();
        verify(&ours);
    }
}

/// A property list was written before the copy was made, and got its name after that.
#[test]
fn a_property_that_changes_during_the_copy_is_in_the_next_one() {
    let source = build(&Spec::small("1.14").shard(4).named("unpacked")).copy();
    let folder = testkit::scratch();
    let db = folder.path().join("db");
    copy(&source, folder.path(), true).expect("copies");
    let list = |db: &Path, rev: u64| db.join(format!("revprops/0/{rev}"));
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let set_time = |path: &Path, time| {
        let file = std::fs::File::open(path).expect("opens");
        file.set_modified(time).expect("sets the time");
    };
    // Subversion's copies have the time of the copying, and Sven's that of the source.
    set_time(&list(&db, 1), std::time::SystemTime::now());
    let fs = open(&source.db());
    for rev in [1, 2] {
        let old = std::fs::metadata(list(&source.db(), rev)).expect("exists").len();
        let message = fs.revprops(Revnum(rev)).expect("reads");
        let message = vec![b'x'; message.get("svn:log").expect("has a message").len()];
        fs.change_revprop(Revnum(rev), "svn:log", None, Some(&message))
            .expect("changes");
        let changed = list(&source.db(), rev);
        assert_eq!(std::fs::metadata(&changed).expect("exists").len(), old);
        set_time(&changed, earlier);
    }
    assert!(!copy(&source, folder.path(), true).expect("copies").is_empty());
    for rev in [1, 2] {
        let read = |db: &Path| std::fs::read(list(db, rev)).expect("reads");
        assert_eq!(read(&source.db()), read(&db), "r{rev}");
    }
    assert_eq!(copy(&source, folder.path(), true).expect("copies"), "");
}

#[test]
fn invalid_destinations_have_the_incumbents_errors() {
    let repo = build(&Spec::small("1.14").shard(4).pack(When::Halfway)).copy();
    let folder = testkit::scratch();
    let at = |name: &str| folder.path().join(name);
    let refused = |from: &Repo, to: &Path, code: Code| {
        let error = copy(from, to, true).unwrap_err();
        let theirs = theirs(from, to, true);
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(format!("svnadmin: {error}"), theirs.err().trim_end());
    };
    let fresh = |name: &str| {
        without_db(&repo, &at(name));
        copy(&repo, &at(name), false).unwrap();
        at(name).join("db")
    };
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, text).unwrap();
    };
    let db = fresh("older");
    write(db.join("format"), "7\nlayout sharded 4\naddressing logical\n");
    refused(&repo, &at("older"), Code::UNSUPPORTED_FEATURE);
    let db = fresh("sharded");
    write(db.join("format"), "8\nlayout sharded 5\naddressing logical\n");
    refused(&repo, &at("sharded"), Code::UNSUPPORTED_FEATURE);
    let db = fresh("younger");
    write(db.join("current"), "12\n");
    refused(&repo, &at("younger"), Code::UNSUPPORTED_FEATURE);
    let db = fresh("packed");
    write(db.join("min-unpacked-rev"), "8\n");
    refused(&repo, &at("packed"), Code::UNSUPPORTED_FEATURE);
    let db = fresh("other");
    write(
        db.join("uuid"),
        "11111111-2222-4333-8444-999999999999\n11111111-2222-4333-8444-999999999990\n",
    );
    refused(&repo, &at("other"), Code::RA_UUID_MISMATCH);
    fresh("there");
    assert!(copy(&repo, &at("there"), false).is_err());
    let cancel = Cancel::new();
    cancel.cancel();
    without_db(&repo, &at("cancelled"));
    let db = at("cancelled").join("db");
    let cancelled = hotcopy::run(
        &open(&repo.db()),
        &db,
        HotcopyOptions::default(),
        &mut |_| {},
        &cancel,
    );
    assert_eq!(cancelled.unwrap_err().code(), Code::CANCELLED);
    assert!(!db.join("format").exists());
    copy(&repo, &at("cancelled"), false).unwrap();
    verify(&at("cancelled"));
}

/// A source that was restored from a backup and went on: the copy may hold the only copy of what was lost.
#[test]
fn a_copy_of_another_history_is_refused() {
    for compatible in ["1.4", "1.8", "1.14"] {
        let repo = build(&Spec::small(compatible).named("parted")).copy();
        let folder = testkit::scratch();
        let to = folder.path().join("copy");
        without_db(&repo, &to);
        let restored = repo.copy();
        let put = |repo: &Repo, texts: [&str; 2]| {
            for text in texts {
                let file = folder.path().join("text");
                std::fs::write(&file, text).unwrap();
                let at = format!("{}/same-file", repo.url());
                Tool::new("svnmucc")
                    .args(["-m", "one log message", "-U", &repo.url(), "put"])
                    .arg(&file)
                    .arg(&at)
                    .ok();
            }
        };
        // As long, at the same path; and at last the same text.
        put(&repo, ["one", "end"]);
        copy(&repo, &to, false).unwrap();
        put(&restored, ["two", "end"]);
        let refused = copy(&restored, &to, true).unwrap_err();
        assert_eq!(
            refused.code(),
            Code::UNSUPPORTED_FEATURE,
            "{compatible}: {refused}"
        );
        // Changed properties of a revision are no other history.
        repo.set_revprop(repo.youngest(), "svn:date", b"2001-02-03T04:05:06.000000Z");
        put(&repo, ["goes", "on"]);
        copy(&repo, &to, true).unwrap();
    }
}

#[test]
fn a_repository_in_use_is_copied_completely() {
    let repo = build(&Spec::new("1.14").shard(3)).copy();
    let folder = testkit::scratch();
    let ours = folder.path().join("ours");
    without_db(&repo, &ours);
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| {
            for number in 0..8 {
                Tool::new("svn")
                    .args(["mkdir", "-q", "-m", "x"])
                    .arg(format!("{}/busy{number}", repo.url()))
                    .ok();
                repo.set_revprop(number + 1, "svn:log", &[b'y'; 9000]);
            }
        });
        let packs = scope.spawn(|| Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok());
        let mut turns = 0;
        while turns < 3 || !commits.is_finished() || !packs.is_finished() {
            copy(&repo, &ours, true).unwrap();
            verify(&ours);
            turns += 1;
        }
    });
    copy(&repo, &ours, true).unwrap();
    let dump = |path: &Path| Tool::new("svnadmin").args(["dump", "-q"]).arg(path).ok().stdout;
    assert!(dump(&ours) == dump(repo.path()));
}
