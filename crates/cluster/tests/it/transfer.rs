//! Repositories of files into a cluster and back.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::{Cancel, Code, Error, Revnum};
use cluster::transfer::{self, OwnChanges};
use cluster::{Cluster, ClusterSettings};
use fsfs::admin::verify::{self, VerifyObserver, VerifyOptions, VerifyProgress, VerifyWarning};
use fsfs::disk::RealDisk;
use fsfs::{Cache, Fs};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;
use testkit::engines::engines;
use testkit::repo::{Repo, Spec, When, build, matrix};
use testkit::{Tool, history};

use crate::support::TestCluster;

/// A cluster without repositories, and a node.
pub struct Fixture {
    pub base: TestCluster,
    pub cluster: Cluster,
    pub dir: TempDir,
}

pub fn fixture() -> Fixture {
    let base = TestCluster::new(engines());
    base.sql("DELETE FROM sven_repository");
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().join("node"),
        ..base.settings.clone()
    };
    Fixture {
        base,
        cluster: Cluster::connect(&settings).unwrap(),
        dir,
    }
}

impl Fixture {
    pub fn import(&self, repo: &Repo, name: &str) -> base::Result<Revnum> {
        transfer::import(
            &self.cluster,
            repo.path(),
            name,
            OwnChanges::Refuse,
            &mut |_| {},
            &Cancel::new(),
        )
    }

    pub fn export(&self, name: &str, to: &Path) -> base::Result<Revnum> {
        transfer::export(&self.cluster, name, to, &mut |_| {}, &Cancel::new())
    }

    /// Opens the repository at the node.
    pub fn open(&self, name: &str) -> Fs {
        open(&self.cluster, name, 16 << 20)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Opens a repository at a node, with a cache of so many bytes.
pub fn open(cluster: &Cluster, name: &str, cache: u64) -> Fs {
    cluster.prepare_directories().unwrap();
    let db = cluster.settings().repositories().join(name).join("db");
    assert!(cluster::is_node_dir(&db));
    let shared = cluster::open(&db).unwrap();
    Fs::open_shared(&db, &Cache::new(cache), Arc::new(RealDisk), shared).unwrap()
}

/// A run of verify that must find nothing.
pub struct NoFailures;

impl VerifyObserver for NoFailures {
    fn progress(&mut self, _: VerifyProgress) {}

    fn failed(&mut self, at: Option<Revnum>, error: &Error) -> ControlFlow<()> {
        panic!("{at:?}: {error:?}")
    }

    fn warn(&mut self, _: Revnum, _: &VerifyWarning) {}
}

fn output(program: &str, args: &[&str], repo: &Path) -> String {
    String::from_utf8_lossy(&Tool::new(program).args(args).arg(repo).ok().stdout).into_owned()
}

/// Checks that Subversion finds the same in two repositories, and that their revision files are the same.
pub fn assert_same(export: &Path, source: &Path, what: &str) {
    Tool::new("svnadmin").args(["verify", "-q"]).arg(export).ok();
    for (program, args) in [("svnadmin", vec!["dump", "-q"]), ("svnlook", vec!["uuid"])] {
        assert!(
            output(program, &args, export) == output(program, &args, source),
            "{what}: {program} {args:?} differs"
        );
    }
    // In the order of digests in a file, which may be any.
    let locks = |repo: &Path| {
        let text = output("svnadmin", &["lslocks"], repo);
        let mut locks: Vec<String> = text.split("\n\n").map(|lock| lock.trim().to_owned()).collect();
        locks.sort();
        locks
    };
    assert_eq!(locks(export), locks(source), "{what}");
    for kind in ["db/revs", "conf", "hooks"] {
        assert!(
            files(&export.join(kind)) == files(&source.join(kind)),
            "{what}: {kind} differs"
        );
    }
    for name in ["db/format", "db/uuid", "db/current", "db/fs-type"] {
        let read = |root: &Path| {
            let text = fs::read_to_string(root.join(name)).unwrap();
            // After an upgrade from the oldest formats the youngest revision is followed by what means nothing any more.
            match name {
                "db/current" => text.split_whitespace().next().unwrap_or_default().to_owned(),
                _ => text,
            }
        };
        assert_eq!(read(export), read(source), "{what}: {name}");
    }
}

/// The files below a directory.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => {
                    _ = found.insert(
                        path.strip_prefix(dir).unwrap().to_owned(),
                        fs::read(&path).unwrap(),
                    )
                }
            }
        }
    }
    found
}

pub fn commit(repo: &Repo, name: &str, text: &str) {
    let file = repo.path().with_extension("text");
    fs::write(&file, text).unwrap();
    Tool::new("svnmucc")
        .args(["-m", name, "-U", &repo.url(), "put"])
        .arg(&file)
        .arg(name)
        .ok();
}

#[test]
fn every_kind_of_repository_goes_in_and_comes_back() {
    let fixture = fixture();
    for spec in testkit::sample(2, matrix()) {
        let repo = build(&spec);
        let name = spec.name.as_str();
        if name == "f1" || name == "f2" {
            let refused = fixture.import(&repo, name).map_err(|e| e.code());
            assert_eq!(refused, Err(Code::FS_UNSUPPORTED_FORMAT));
            continue;
        }
        let youngest = fixture.import(&repo, name).unwrap();
        assert_eq!(youngest.0, repo.youngest());
        let fs = fixture.open(name);
        verify::run(&fs, &VerifyOptions::range(Revnum(0), youngest), &mut NoFailures).unwrap();
        let to = fixture.path(name);
        assert_eq!(fixture.export(name, &to).unwrap(), youngest);
        assert_same(&to, repo.path(), name);
        // Once more changes nothing.
        assert_eq!(fixture.import(&repo, name).unwrap(), youngest);
        assert_eq!(fixture.export(name, &to).unwrap(), youngest);
        assert_same(&to, repo.path(), name);
    }
}

#[test]
fn changes_of_the_source_reach_an_export() {
    for (spec, size) in [
        (Spec::small("1.14").shard(4), 4),
        (Spec::small("1.7").shard(4), 4),
        (Spec::small("1.5").shard(0), 0),
    ] {
        let fixture = fixture();
        let repo = build(&spec).copy();
        let to = fixture.path("export");
        fixture.import(&repo, "r").unwrap();
        fixture.export("r", &to).unwrap();
        for round in 0..3 {
            for count in 0..3 {
                commit(
                    &repo,
                    &format!("new-{round}-{count}"),
                    &"text ".repeat(1 + 20_000 * count),
                );
            }
            repo.set_revprop(2, "svn:log", format!("changed in round {round}").as_bytes());
            repo.set_revprop(repo.youngest() - 1, "x", b"y");
            let token = format!("opaquelocktoken:0000000{round}-fc90-46be-8d31-ae177d815b43");
            repo.lock(&format!("new-{round}-0"), "jrandom", "a comment", &token);
            if round == 1 && size > 0 {
                Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
            }
            fixture.import(&repo, "r").unwrap();
            let fs = fixture.open("r");
            let youngest = fs.youngest().unwrap();
            verify::run(&fs, &VerifyOptions::range(Revnum(0), youngest), &mut NoFailures).unwrap();
            fixture.export("r", &to).unwrap();
            assert_same(&to, repo.path(), &spec.name);
        }
        // Subversion goes on with it. The cluster does not overwrite that.
        commit(&Repo::at(&to), "own", "own");
        Tool::new("svnadmin").args(["verify", "-q"]).arg(&to).ok();
        let refused = fixture.export("r", &to).map_err(|e| e.code());
        assert_eq!(refused, Err(Code::FS_ALREADY_EXISTS));
    }
}

#[test]
fn commits_of_the_cluster_reach_an_export_and_are_not_imported_over() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(4).pack(When::After)).copy();
    let to = fixture.path("export");
    fixture.import(&repo, "r").unwrap();
    fixture.export("r", &to).unwrap();
    let fs = fixture.open("r");
    for number in 0..6 {
        let base = fs.youngest().unwrap();
        let mut txn = fs
            .begin_txn(base, fsfs::TxnOptions::default(), base::Date(0))
            .unwrap();
        let path = base::FsPath::parse(&format!("/cluster-{number}")).unwrap();
        txn.make_file(&path).unwrap();
        let mut writer = txn.apply_text(&path, None).unwrap();
        writer
            .write("line\n".repeat(1 + number * 30_000).as_bytes())
            .unwrap();
        writer.finish(&mut txn).unwrap();
        txn.commit(&|| base::Date(number as i64)).unwrap();
    }
    let youngest = fixture.export("r", &to).unwrap();
    assert_eq!(youngest.0, repo.youngest() + 6);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&to).ok();
    let refused = fixture.import(&repo, "r").map_err(|e| e.code());
    assert_eq!(refused, Err(Code::FS_ALREADY_EXISTS));
    // It can be the beginning of another one.
    let exported = Repo::at(&to);
    commit(&exported, "own", "own");
    fixture.import(&exported, "again").unwrap();
    let back = fixture.path("back");
    fixture.export("again", &back).unwrap();
    assert_same(&back, &to, "again");
}

/// Interrupts imports and exports at random revisions. The source is committed to, packed and changed in between.
#[test]
fn interrupted_imports_and_exports_are_continued() {
    for seed in testkit::seeds("TRANSFER_SEED", 0..4) {
        println!("TRANSFER_SEED={seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let fixture = fixture();
        let repo = build(&Spec::new("1.14").with(history::small()).shard(3)).copy();
        let to = fixture.path("export");
        for round in 0..4 {
            commit(
                &repo,
                &format!("r{round}"),
                &"x".repeat(random.random_range(0..200_000)),
            );
            if random.random() {
                repo.set_revprop(
                    random.random_range(0..repo.youngest()),
                    "svn:log",
                    format!("round {round}").as_bytes(),
                );
            }
            if random.random_ratio(1, 3) {
                Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
            }
            for is_import in [true, false] {
                for _ in 0..3 {
                    let cancel = Cancel::new();
                    let left = random.random_range(0..4);
                    let mut count = 0;
                    let mut done = |_| {
                        count += 1;
                        if count > left {
                            cancel.cancel();
                        }
                    };
                    let outcome = match is_import {
                        true => transfer::import(
                            &fixture.cluster,
                            repo.path(),
                            "r",
                            OwnChanges::Refuse,
                            &mut done,
                            &cancel,
                        ),
                        false => transfer::export(&fixture.cluster, "r", &to, &mut done, &cancel),
                    };
                    let code = outcome.map_err(|e| e.code());
                    assert!(code.is_ok() || code == Err(Code::CANCELLED), "{code:?}");
                }
                match is_import {
                    true => fixture.import(&repo, "r").unwrap(),
                    false => fixture.export("r", &to).unwrap(),
                };
            }
            assert_same(&to, repo.path(), &format!("seed {seed}, round {round}"));
        }
    }
}

/// An import that was stopped between an object and its row makes no row: the object may be gone. A grace time of 0 is over at once.
#[test]
fn an_import_that_comes_too_late_names_no_object() {
    for packs in [false, true] {
        let fixture = fixture();
        let repo = build(&Spec::new("1.14").with(history::small()).shard(3)).copy();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let text: String = (0..200_000).map(|_| random.random_range('a'..='z')).collect();
        commit(&repo, "long", &text);
        let late = ClusterSettings {
            directory: fixture.dir.path().join("late"),
            gc_grace_ms: 0,
            ..fixture.base.settings.clone()
        };
        if packs {
            Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
        }
        let late = Cluster::connect(&late).unwrap();
        let refused = transfer::import(
            &late,
            repo.path(),
            "r",
            OwnChanges::Refuse,
            &mut |_| {},
            &Cancel::new(),
        )
        .unwrap_err();
        assert!(refused.message().contains("start it again"), "{refused}");
        let named = "SELECT count(*) FROM sven_revision WHERE content IS NULL AND length > 0";
        assert_eq!(fixture.base.sql(named), "0");
        assert_eq!(fixture.base.sql("SELECT count(*) FROM sven_pack"), "0");
        fixture.import(&repo, "r").unwrap();
        let to = fixture.path("export");
        fixture.export("r", &to).unwrap();
        assert_same(&to, repo.path(), "after the second import");
    }
}

/// Imports a repository that is committed to, changed and packed at the same time.
#[test]
fn a_source_in_use_is_imported() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(5)).copy();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..20 {
                commit(
                    &repo,
                    &format!("used-{round}"),
                    &"text ".repeat(1000 * (round % 5)),
                );
                repo.set_revprop(round as u64, "svn:log", format!("round {round}").as_bytes());
                if round % 6 == 5 {
                    Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
                }
            }
            has_ended.store(true, Ordering::SeqCst);
        });
        while !has_ended.load(Ordering::SeqCst) {
            let youngest = fixture.import(&repo, "r").unwrap();
            let fs = fixture.open("r");
            verify::run(&fs, &VerifyOptions::range(Revnum(0), youngest), &mut NoFailures).unwrap();
        }
    });
    fixture.import(&repo, "r").unwrap();
    let to = fixture.path("export");
    fixture.export("r", &to).unwrap();
    assert_same(&to, repo.path(), "after use");
}

#[test]
fn other_repositories_and_directories_are_refused() {
    let fixture = fixture();
    let (one, two) = (Repo::create("1.14"), Repo::create("1.14"));
    fixture.import(&one, "r").unwrap();
    assert_eq!(
        fixture.import(&two, "r").map_err(|e| e.code()),
        Err(Code::FS_ALREADY_EXISTS)
    );
    for bad in ["", "a/b", ".hidden", "..", "a\nb"] {
        assert_eq!(
            fixture.import(&one, bad).map_err(|e| e.code()),
            Err(Code::BAD_FILENAME),
            "{bad:?}"
        );
    }
    let to = fixture.path("full");
    fs::create_dir(&to).unwrap();
    fs::write(to.join("file"), "x").unwrap();
    assert_eq!(
        fixture.export("r", &to).map_err(|e| e.code()),
        Err(Code::DIR_NOT_EMPTY)
    );
    assert_eq!(
        fixture.export("r", two.path()).map_err(|e| e.code()),
        Err(Code::DIR_NOT_EMPTY)
    );
    assert_eq!(
        fixture
            .export("missing", &fixture.path("x"))
            .map_err(|e| e.code()),
        Err(Code::FS_NOT_FOUND)
    );
}

#[test]
fn directories_of_nodes_come_and_go_with_repositories() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14")).copy();
    fs::write(repo.path().join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    fixture.import(&repo, "r").unwrap();
    fixture.import(&build(&Spec::small("1.8")), "s").unwrap();
    let root = fixture.cluster.settings().repositories();
    fixture.cluster.prepare_directories().unwrap();
    let before = files(&root.join("r"));
    assert_eq!(before[Path::new("hooks/pre-commit")], b"#!/bin/sh\n");
    assert_eq!(files(&repo.path().join("conf")), files(&root.join("r/conf")));
    // Subversion does not take it for a repository of its own.
    assert_ne!(
        Tool::new("svnadmin").arg("verify").arg(root.join("r")).run().code,
        0
    );
    fixture.cluster.prepare_directories().unwrap();
    assert_eq!(files(&root.join("r")), before);
    fixture.cluster.drop_repository("s").unwrap();
    fixture.cluster.prepare_directories().unwrap();
    assert!(!root.join("s").exists());
    // Another repository of the same name.
    fixture.cluster.drop_repository("r").unwrap();
    fixture.import(&Repo::create("1.14"), "r").unwrap();
    assert_eq!(fixture.open("r").youngest().unwrap(), Revnum(0));
    // A new epoch takes the directory over.
    let fs = fixture.open("r");
    let txn = fs
        .begin_txn(Revnum(0), fsfs::TxnOptions::default(), base::Date(0))
        .unwrap();
    let first = txn.name().to_owned();
    let epoch = fixture.cluster.serve().unwrap();
    assert_eq!(files(&root.join("r/db/transactions")).len(), 0);
    let txn = fixture
        .open("r")
        .begin_txn(Revnum(0), fsfs::TxnOptions::default(), base::Date(0))
        .unwrap();
    let number = u64::from_str_radix(txn.name().split_once('-').unwrap().1, 36).unwrap();
    assert_eq!(number >> 32, epoch, "{first} and {}", txn.name());
}
