//! Packing of shards in a cluster: the packs of FSFS, by one node at a time, without harm to readers.

use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Cancel, Code, FsPath, Revnum};
use cluster::{Cluster, ClusterSettings, jobs, transfer};
use fsfs::Fs;
use fsfs::admin::pack::PackEvent;
use fsfs::admin::verify::{self, VerifyOptions};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build};

use crate::support::wait_until;
use crate::transfer::{Fixture, NoFailures, assert_same, commit, files, fixture, open};

/// Text that does not get much shorter by compression.
fn noise(seed: u64, length: usize) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..length)
        .map(|_| char::from(random.random_range(b' '..b'~')))
        .collect()
}

/// A repository with shards of 3 revisions, whose revisions are longer than those that stay in the database.
fn long_revisions(count: u64) -> Repo {
    let repo = Repo::create("1.14");
    let format = repo.db().join("format");
    std::fs::remove_file(&format).unwrap();
    std::fs::write(&format, "8\nlayout sharded 3\naddressing logical\n").unwrap();
    for number in 1..=count {
        commit(&repo, &format!("f{number}"), &noise(number, 150_000));
    }
    repo
}

/// Another node of the cluster, which keeps no blocks on its disk.
fn other_node(fixture: &Fixture) -> (Cluster, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().to_owned(),
        cache_bytes: 0,
        ..fixture.base.settings.clone()
    };
    (Cluster::connect(&settings).unwrap(), dir)
}

fn pack(fs: &Fs) -> base::Result<Vec<PackEvent>> {
    let mut events = Vec::new();
    jobs::pack(fs, &mut |event| events.push(event), &Cancel::new())?;
    Ok(events)
}

fn verify(fs: &Fs) {
    let youngest = fs.youngest().unwrap();
    verify::run(fs, &VerifyOptions::range(Revnum(0), youngest), &mut NoFailures).unwrap();
}

fn svnadmin_pack(repo: &Path) {
    Tool::new("svnadmin").args(["pack", "-q"]).arg(repo).ok();
}

#[test]
fn packs_and_exports_are_those_of_packing_on_disk() {
    let fixture = fixture();
    for spec in [
        Spec::small("1.7").shard(4).named("f4"),
        Spec::small("1.8").shard(5).packed_revprops(1, false).named("f6"),
        Spec::small("1.9").shard(7).named("f7"),
        Spec::small("1.14").shard(4).pack(When::Halfway).named("f8"),
        Spec::small("1.14")
            .shard(3)
            .packed_revprops(1, true)
            .named("f8-compressed"),
        Spec::small("1.8")
            .shard(5)
            .upgrade(When::Before)
            .named("f8-physical"),
    ] {
        let (name, repo) = (spec.name.as_str(), build(&spec).copy());
        fixture.import(&repo, name).unwrap();
        // An export that is older than the packs is brought up to date.
        let to = fixture.path(name);
        fixture.export(name, &to).unwrap();
        let fs = fixture.open(name);
        let before = fs.info().unwrap().min_unpacked_rev.0;
        let events = pack(&fs).unwrap();
        let size = fs.info().unwrap().shard_size;
        let shards = before / size..(fs.youngest().unwrap().0 + 1) / size;
        let expected: Vec<_> = shards
            .flat_map(|shard| [PackEvent::Start(shard), PackEvent::End(shard)])
            .collect();
        assert!(!expected.is_empty(), "{name}");
        assert_eq!(events, expected, "{name}");
        let lacking = "SELECT count(*) FROM sven_pack \
             WHERE octet_length(blocks) IS DISTINCT FROM 4 * ((length + 1048575) / 1048576)";
        assert_eq!(
            fixture.base.sql(lacking),
            "0",
            "packs have checksums of their blocks"
        );
        assert!(pack(&fs).unwrap().is_empty(), "{name}: nothing is left to pack");
        verify(&fs);
        svnadmin_pack(repo.path());
        let fresh = fixture.path(&format!("{name}-fresh"));
        fixture.export(name, &fresh).unwrap();
        fixture.export(name, &to).unwrap();
        for export in [&fresh, &to] {
            assert_same(export, repo.path(), name);
            let min_unpacked = |repo: &Path| std::fs::read(repo.join("db/min-unpacked-rev")).unwrap();
            assert_eq!(min_unpacked(export), min_unpacked(repo.path()), "{name}");
            if name != "f8-compressed" {
                // The bytes of compressed lists depend on the library.
                let lists = |repo: &Path| files(&repo.join("db/revprops"));
                assert!(lists(export) == lists(repo.path()), "{name}: revprops differ");
            }
        }
        let checked = fixture.cluster.compare_objects(0, &Cancel::new()).unwrap();
        assert_eq!(checked.damaged, Vec::<String>::new(), "{name}");
        // The revisions of the packed shards have no objects any more.
        fixture.cluster.collect_garbage(0, false, &Cancel::new()).unwrap();
        verify(&fixture.open(name));
    }
}

#[test]
fn readers_go_on_when_the_objects_of_packed_revisions_are_gone() {
    let fixture = fixture();
    let repo = long_revisions(10);
    fixture.import(&repo, "r").unwrap();
    let (other, _dir) = other_node(&fixture);
    let read = |fs: &Fs, number: u64| {
        let root = fs.root(Revnum(number)).unwrap();
        let path = FsPath::parse(&format!("/f{number}")).unwrap();
        root.node(&path).unwrap().reader().unwrap().read_all().unwrap()
    };
    // Handles that know all revisions, and have no, few, or all files open.
    let (unused, small, large) = (
        open(&other, "r", 1 << 20),
        open(&other, "r", 1 << 10),
        open(&other, "r", 64 << 20),
    );
    assert!(read(&unused, 10) == noise(10, 150_000).as_bytes());
    for number in 1..=10 {
        for fs in [&small, &large] {
            assert!(read(fs, number) == noise(number, 150_000).as_bytes());
        }
    }
    // A reader in the middle of a file.
    let root = large.root(Revnum(4)).unwrap();
    let node = root.node(&FsPath::parse("/f4").unwrap()).unwrap();
    let mut half_read = open(&other, "r", 1 << 10)
        .root(Revnum(4))
        .unwrap()
        .node(&FsPath::parse("/f4").unwrap())
        .unwrap()
        .reader()
        .unwrap();
    let mut begin = vec![0; 1000];
    let begin_length = half_read.read(&mut begin).unwrap();
    pack(&fixture.open("r")).unwrap();
    let removed = fixture.cluster.collect_garbage(0, false, &Cancel::new()).unwrap();
    assert_eq!((removed.removed, removed.waiting), (8, 0));
    let rest = half_read.read_all().unwrap();
    assert!([&begin[..begin_length], &rest].concat() == noise(4, 150_000).as_bytes());
    assert!(node.reader().unwrap().read_all().unwrap() == noise(4, 150_000).as_bytes());
    for number in (1..=10).rev() {
        for fs in [&unused, &small, &large] {
            assert!(
                read(fs, number) == noise(number, 150_000).as_bytes(),
                "r{number} differs"
            );
        }
    }
}

#[test]
fn nodes_that_pack_at_the_same_time_pack_each_shard_once() {
    let fixture = fixture();
    fixture.import(&long_revisions(13), "r").unwrap();
    let (other, _dir) = other_node(&fixture);
    let ends = AtomicU64::new(0);
    let handles = [&fixture.cluster, &other].map(|cluster| open(cluster, "r", 1 << 20));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            for fs in &handles {
                let ends = &ends;
                scope.spawn(move || {
                    let events = pack(fs).unwrap();
                    let packed = events.iter().filter(|event| matches!(event, PackEvent::End(_)));
                    ends.fetch_add(packed.count() as u64, Ordering::SeqCst);
                });
            }
        }
    });
    assert_eq!(ends.load(Ordering::SeqCst), 4);
    let instance = fixture.base.sql("SELECT instance FROM sven_repository");
    let packs = crate::support::objects(&[&instance, "/p/"]);
    assert_eq!(packs.len(), 4, "{packs:?}");
    verify(&fixture.open("r"));
}

/// Runs whose lease ends, or is another one's, while they pack.
#[test]
fn a_run_that_has_lost_its_lease_changes_nothing() {
    for lost in [
        "UPDATE sven_job SET lease_until = clock_timestamp() - interval '1 second'",
        "UPDATE sven_job SET holder = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'",
        "INSERT INTO sven_node (epoch, name, url, program, lease_until, is_dead) VALUES (77, '', '', '', now(), true); \
         UPDATE sven_job SET epoch = 77",
    ] {
        let fixture = fixture();
        fixture.import(&long_revisions(7), "r").unwrap();
        let fs = fixture.open("r");
        let mut notify = |event| {
            if event == PackEvent::Start(1) {
                fixture.base.sql(lost);
            }
        };
        let refused = jobs::pack(&fs, &mut notify, &Cancel::new()).map_err(|e| e.code());
        assert_eq!(refused, Err(Code::FS_GENERAL), "{lost}");
        assert_eq!(fixture.base.sql("SELECT min_unpacked FROM sven_repository"), "3");
        assert_eq!(fixture.base.sql("SELECT count(*) FROM sven_pack"), "1");
        verify(&fixture.open("r"));
        // The job of another run is waited for.
        fixture
            .base
            .sql("UPDATE sven_job SET lease_until = clock_timestamp() + interval '300 ms' WHERE epoch IS DISTINCT FROM 77");
        assert_eq!(
            pack(&fs).unwrap(),
            [PackEvent::Start(1), PackEvent::End(1)],
            "{lost}"
        );
        verify(&fixture.open("r"));
    }
}

#[test]
fn a_serving_node_packs_and_another_goes_on() {
    let fixture = fixture();
    fixture.import(&long_revisions(7), "r").unwrap();
    // A node has died while it was packing.
    fixture.base.sql(
        "INSERT INTO sven_node (epoch, name, url, program, lease_until, is_dead) VALUES (77, '', '', '', now(), true); \
         INSERT INTO sven_job (kind, repository, holder, epoch, lease_until) \
         SELECT 'pack', id, gen_random_uuid(), 77, clock_timestamp() + interval '1 hour' FROM sven_repository",
    );
    fixture.cluster.serve().unwrap();
    wait_until("the shards are packed", || {
        fixture.base.sql("SELECT min_unpacked FROM sven_repository") == "6"
    });
    verify(&fixture.open("r"));
    wait_until("the job is done", || {
        fixture
            .base
            .sql("SELECT count(*) FROM sven_job WHERE kind = 'pack' AND finished IS NOT NULL")
            == "1"
    });
    let jobs = fixture.cluster.jobs().unwrap();
    let job = jobs.iter().find(|job| job.kind == "pack").unwrap();
    assert_eq!(job.repository.as_deref(), Some("r"));
    assert_eq!(job.epoch, fixture.cluster.epoch());
}

#[test]
fn exports_and_imports_go_on_when_shards_are_packed() {
    let fixture = fixture();
    let repo = long_revisions(7);
    fixture.import(&repo, "r").unwrap();
    let to = fixture.path("export");
    let mut is_packed = false;
    let mut done = |rev: Revnum| {
        if rev == Revnum(1) && !is_packed {
            is_packed = true;
            pack(&fixture.open("r")).unwrap();
            fixture.cluster.collect_garbage(0, false, &Cancel::new()).unwrap();
        }
    };
    let (other, _dir) = other_node(&fixture);
    let youngest = transfer::export(&other, "r", &to, &mut done, &Cancel::new()).unwrap();
    assert_eq!(youngest, Revnum(7));
    assert!(is_packed);
    let packed = repo.copy();
    svnadmin_pack(packed.path());
    assert_same(&to, packed.path(), "packed during the export");
    // The source is not packed; the cluster stays so.
    commit(&repo, "f8", &noise(8, 150_000));
    commit(&repo, "f9", "short");
    assert_eq!(fixture.import(&repo, "r").unwrap(), Revnum(9));
    assert_eq!(fixture.base.sql("SELECT min_unpacked FROM sven_repository"), "6");
    verify(&fixture.open("r"));
    pack(&fixture.open("r")).unwrap();
    svnadmin_pack(repo.path());
    assert_eq!(fixture.import(&repo, "r").unwrap(), Revnum(9));
    verify(&fixture.open("r"));
    fixture.export("r", &to).unwrap();
    assert_same(&to, repo.path(), "packed on both sides");
}

#[test]
fn a_new_uuid_reaches_all_nodes() {
    let fixture = fixture();
    let repo = long_revisions(1);
    fixture.import(&repo, "r").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().to_owned(),
        lease_ms: 600,
        ..fixture.base.settings.clone()
    };
    let other = Cluster::connect(&settings).unwrap();
    other.serve().unwrap();
    let uuid_at = |cluster: &Cluster| open(cluster, "r", 1 << 20).uuid();
    let before = uuid_at(&fixture.cluster);
    assert_eq!(uuid_at(&other), before);
    let info = fixture.cluster.repository("r").unwrap();
    open(&fixture.cluster, "r", 1 << 20).set_uuid(None).unwrap();
    let after = uuid_at(&fixture.cluster);
    assert_ne!(after, before);
    wait_until("the other node has it", || uuid_at(&other) == after);
    let text = fixture.cluster.repository("r").unwrap().uuid;
    assert_eq!(text.lines().count(), 2, "the instance ID is new, too");
    assert_ne!(text.lines().nth(1), info.uuid.lines().nth(1));
}

/// The object of a pack whose run was stopped may be gone. A grace time of 0 is over at once.
#[test]
fn a_pack_that_comes_too_late_takes_no_place() {
    let fixture = fixture();
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    fixture.import(&repo, "r").unwrap();
    let late = ClusterSettings {
        directory: fixture.dir.path().join("late"),
        gc_grace_ms: 0,
        ..fixture.base.settings.clone()
    };
    let late = Cluster::connect(&late).unwrap();
    let fs = open(&late, "r", 1 << 20);
    let refused = pack(&fs).unwrap_err();
    assert!(refused.message().contains("'gc-grace'"), "{refused:?}");
    assert_eq!(fixture.base.sql("SELECT count(*) FROM sven_pack"), "0");
    verify(&fs);
}
