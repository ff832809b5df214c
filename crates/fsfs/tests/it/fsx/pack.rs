//! Packing FSX: what Subversion 1.14 reads of it, and goes on with; packs that are not larger than its own.

use std::path::Path;

use base::Cancel;
use fsfs::admin::pack::{self, PackEvent};
use testkit::history::{Random, noise};
use testkit::repo::{Repo, Spec, build};
use testkit::stream::RecordKind::File;
use testkit::stream::{Content, DumpStream};
use testkit::{Tool, branch_history, history, random_history};

use super::compare;
use super::expected::{self, Expected};
use super::repository::{FsxRepository, Settings, open, verify};

/// Packs with this crate.
pub fn pack(repo: &Path) -> Vec<PackEvent> {
    let mut events = Vec::new();
    let fs = open(&repo.join("db")).unwrap();
    pack::run(&fs, &mut |event| events.push(event), &Cancel::new()).unwrap();
    events
}

fn theirs(command: &str, repo: &Path) -> Vec<u8> {
    Tool::new("svnadmin")
        .args([command, "-q"])
        .arg(repo)
        .under("timeout", &["-s", "KILL", "120"])
        .ok()
        .stdout
}

/// Checks what the incumbent's tools read.
pub fn check_their_reading(repo: &Path, expected: &Expected) {
    theirs("verify", repo);
    let dumped = Expected::of_dump(&theirs("dump", repo));
    assert!(dumped.trees == expected.trees, "trees");
    assert!(dumped.revprops == expected.revprops, "revision properties");
}

/// The bytes of all packed shards.
fn packed_bytes(repo: &Repo) -> u64 {
    let mut sum = 0;
    for dir in std::fs::read_dir(repo.db().join("revs")).unwrap() {
        let dir = dir.unwrap().path();
        if dir.extension().is_some_and(|extension| extension == "pack") {
            let files = std::fs::read_dir(dir).unwrap();
            sum += files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .sum::<u64>();
        }
    }
    sum
}

fn check_sizes(spec: &Spec) {
    let (ours, twin) = (build(spec).copy(), build(spec).copy());
    let events = pack(ours.path());
    theirs("pack", twin.path());
    let shards = (ours.youngest() + 1) / u64::from(spec.shard.unwrap());
    let expected: Vec<_> = (0..shards)
        .flat_map(|shard| [PackEvent::Start(shard), PackEvent::End(shard)])
        .collect();
    assert_eq!(events, expected);
    let min_unpacked = |repo: &Repo| std::fs::read(repo.db().join("min-unpacked-rev")).unwrap();
    assert_eq!(min_unpacked(&ours), min_unpacked(&twin));
    theirs("verify", ours.path());
    verify(&open(&ours.db()).unwrap()).unwrap();
    let what = format!("{} in shards of {:?}", spec.name, spec.shard);
    assert!(
        theirs("dump", ours.path()) == theirs("dump", twin.path()),
        "{what}"
    );
    let (size, their_size) = (packed_bytes(&ours), packed_bytes(&twin));
    println!("{what}: {size} bytes, 1.14: {their_size}");
    assert!(size <= their_size, "{what}: {size} bytes, 1.14: {their_size}");
    assert!(pack(ours.path()).is_empty(), "nothing is left to pack");
}

#[test]
fn packs_are_read_by_the_incumbent_and_not_larger_than_its_own() {
    let mut specs: Vec<Spec> = [1, 7, 50]
        .map(|shard| Spec::fsx().shard(shard).busy().named("fsx"))
        .into();
    for (seed, shard) in [(1, 2), (2, 4), (3, 100)] {
        let branches = branch_history::history(seed, 120).stream;
        specs.push(Spec::fsx().with(branches).shard(shard).named("fsx-branches"));
        let random = random_history::history(seed, 120, true).stream;
        specs.push(Spec::fsx().with(random).shard(shard).named("fsx-random"));
    }
    for spec in testkit::sample(3, specs) {
        check_sizes(&spec);
    }
}

/// The packs of 1.14 that cannot be made, or that it cannot read: see `known_faults`.
#[test]
fn packs_avoid_the_faults_of_the_incumbent() {
    let mut random = Random::new(3);
    let mut stream = DumpStream::new("7b0c2f0a-9d35-4c5e-8f5e-6f0a3c1d2e4b");
    stream.rev("Many characters").mkdirs(["a"]);
    for _ in 0..400 {
        let name: String = (0..230)
            .map(|_| char::from(b'a' + random.below(26) as u8))
            .collect();
        stream.file(&format!("a/{name}"), "x");
    }
    let mut path = "b".to_owned();
    stream.mkdirs([path.as_str()]);
    for level in 0..75 {
        path = format!("{path}/{level}{}", "x".repeat(228));
        stream.mkdirs([path.as_str()]);
    }
    stream.rev("Below").file(&format!("{path}/file"), "x");
    // For a property list of this length, 1.14 does not pack the shard.
    let long = noise(8, 17_000_000);
    stream
        .rev("Long properties")
        .change(File, &format!("{path}/file"), Content::props(&[("long", &long)]));
    stream.rev("Many changes").mkdirs(["d"]);
    for at in 0..1500 {
        stream.file(
            &format!("d/a name that makes the list of changed paths long, number {at}"),
            "x",
        );
    }
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(5), &stream.bytes());
    pack(repository.path());
    compare::all(&repository, &expected, false);
    check_their_reading(repository.path(), &expected);
    let log = ["log", "-v", "--xml", "-r", "0:HEAD", &repository.repo().url()];
    let log = Tool::new("svn").args(log).ok().out();
    assert_eq!(expected::changes(&log, expected.trees.len()), expected.changes);
}

/// A damaged item is not packed as if it were right: its shard stays as it is.
#[test]
fn damaged_items_are_not_packed() {
    for (file, from, to) in [
        ("r1", &b"count: 0"[..], &b"count: 2"[..]),
        ("r1", b"add-file true", b"add-file trup"),
        ("r1", b"file 'gamma'", b"file 'gammb'"),
        ("p3", b"svn:log", b"svn:lof"),
        ("r3", b"P2L-INDEX", b"P2L-INDEY"),
    ] {
        let repository = FsxRepository::load(&Settings::shard(4), &history::small().bytes());
        let path = repository.db().join("revs/0").join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(from.len()).position(|window| window == from);
        let at = at.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(from)));
        bytes[at..at + to.len()].copy_from_slice(to);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let fs = repository.open();
        let packed = pack::run(&fs, &mut |_| {}, &Cancel::new());
        let e = packed.expect_err(file);
        println!("{file}: {e}");
        assert!(path.exists() && fs.info().unwrap().min_unpacked_rev.0 == 0);
    }
}
