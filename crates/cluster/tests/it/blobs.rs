//! Revision files: written to the database and the object store, read through the cache of a node.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{Cancel, Revnum};
use cluster::{Cluster, ClusterSettings};
use fsfs::disk::DiskFile;
use fsfs::shared::{Outcome, SharedFs};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;
use testkit::engines::{Engines, engines};
use testkit::flaky_proxy::FlakyProxy;

use crate::support::{TestCluster, objects, revision};

fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    ChaCha8Rng::seed_from_u64(seed).fill(&mut bytes[..]);
    bytes
}

fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut buf = vec![0; 100_000];
    loop {
        match file.read_at(&mut buf, out.len() as u64)? {
            0 => return Ok(out),
            count => out.extend_from_slice(&buf[..count]),
        }
    }
}

/// A node with its own cache and endpoint, which does not serve.
struct Reader {
    cluster: Cluster,
    fs: SharedFs,
    dir: TempDir,
}

fn reader(of: &TestCluster, change: impl FnOnce(&mut ClusterSettings)) -> Reader {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = ClusterSettings {
        directory: dir.path().to_owned(),
        ..of.settings.clone()
    };
    change(&mut settings);
    let cluster = Cluster::connect_alone(&settings).unwrap();
    let fs = cluster.shared_fs(&cluster.repository("r").unwrap());
    Reader { cluster, fs, dir }
}

impl Reader {
    fn revision(&self, rev: u64) -> io::Result<Vec<u8>> {
        read_all(&*self.fs.blobs.open_revision(Revnum(rev))?)
    }

    fn fetched(&self) -> u64 {
        self.cluster.metrics().block_misses.load(Ordering::SeqCst)
    }

    /// The files of the cache.
    fn cached(&self) -> Vec<PathBuf> {
        let dirs = fs::read_dir(self.dir.path().join("cache")).unwrap();
        let files = dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

fn publish(fs: &SharedFs, contents: &[Vec<u8>]) {
    for bytes in contents {
        let head = fs.heads.head(Duration::ZERO).unwrap();
        let next = revision(head.youngest.0 + 1, bytes.clone(), "log");
        assert_eq!(fs.heads.publish(&head, &[next]).unwrap(), Outcome::Done);
    }
}

const LENGTHS: [usize; 9] = [
    1,
    8 << 10,
    (8 << 10) + 1,
    64 << 10,
    (64 << 10) + 1,
    1 << 20,
    (1 << 20) + 1,
    5_000_000,
    20_000_000,
];

/// Bytes of a cache that holds all.
const BIG_CACHE: u64 = 1 << 30;

fn contents() -> Vec<Vec<u8>> {
    LENGTHS
        .iter()
        .map(|length| content(*length as u64, *length))
        .collect()
}

#[test]
fn revisions_of_all_lengths_are_read_by_other_nodes() {
    let base = TestCluster::new(engines());
    let node = base.node();
    publish(&node.fs, &contents());
    let other = reader(&base, |_| {});
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for round in 0..2 {
        for (at, expected) in contents().iter().enumerate() {
            let file = other.fs.blobs.open_revision(Revnum(at as u64 + 1)).unwrap();
            assert_eq!(file.len().unwrap(), expected.len() as u64);
            for _ in 0..20 {
                let offset = random.random_range(0..=expected.len());
                let mut buf = vec![0; random.random_range(1..100_000)];
                let count = file.read_at(&mut buf, offset as u64).unwrap();
                assert_eq!(count == 0, offset == expected.len());
                assert_eq!(
                    buf[..count],
                    expected[offset..offset + count],
                    "r{at} at {offset}"
                );
            }
            assert!(read_all(&*file).unwrap() == *expected, "r{at}");
            assert_eq!(file.read_at(&mut [0; 10], u64::MAX).unwrap(), 0);
        }
        if round == 0 {
            // 5 long files: blocks of 1 MiB, each once.
            assert_eq!(other.fetched(), 1 + 1 + 2 + 5 + 20);
        }
    }
    assert_eq!(other.fetched(), 1 + 1 + 2 + 5 + 20);
    for missing in [LENGTHS.len() as u64 + 1, u64::MAX] {
        let error = other.fs.blobs.open_revision(Revnum(missing)).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
    assert_eq!(
        other.fs.blobs.open_pack(0).err().unwrap().kind(),
        io::ErrorKind::NotFound
    );
    assert_eq!(
        other.fs.blobs.pack_manifest(0).err().unwrap().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn a_damaged_cut_or_wiped_cache_is_healed() {
    let base = TestCluster::new(engines());
    publish(&base.node().fs, &contents());
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let other = reader(&base, |_| {});
    for round in 0..6 {
        for (at, expected) in contents().iter().enumerate() {
            assert!(
                other.revision(at as u64 + 1).unwrap() == *expected,
                "round {round}, r{at}"
            );
        }
        for path in other.cached() {
            match random.random_range(0..4) {
                0 => fs::remove_file(&path).unwrap(),
                1 => {
                    let file = fs::File::options().write(true).open(&path).unwrap();
                    file.set_len(random.random_range(0..file.metadata().unwrap().len()))
                        .unwrap();
                }
                2 => {
                    let mut bytes = fs::read(&path).unwrap();
                    for _ in 0..100 {
                        let at = random.random_range(0..bytes.len());
                        bytes[at] ^= 0x20;
                    }
                    // In place: open files see it, too.
                    fs::write(&path, bytes).unwrap();
                }
                _ => {}
            }
        }
        if round == 3 {
            fs::remove_dir_all(other.dir.path().join("cache")).unwrap();
            fs::create_dir(other.dir.path().join("cache")).unwrap();
        }
    }
    assert!(other.cluster.metrics().damaged_blocks.load(Ordering::SeqCst) > 0);
}

#[test]
fn many_readers_fetch_a_block_once() {
    let base = TestCluster::new(engines());
    publish(&base.node().fs, &[content(3, 5_000_000)]);
    let other = reader(&base, |_| {});
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(other.revision(1).unwrap() == content(3, 5_000_000)));
        }
    });
    assert_eq!(other.fetched(), 5);
}

#[test]
fn a_full_disk_is_read_through() {
    let base = TestCluster::new(engines());
    publish(&base.node().fs, &contents());
    let other = reader(&base, |settings| settings.cache_bytes = 0);
    for (at, expected) in contents().iter().enumerate() {
        assert!(other.revision(at as u64 + 1).unwrap() == *expected, "r{at}");
    }
    assert_eq!(other.cached(), Vec::<PathBuf>::new());
}

#[test]
fn rows_that_are_known_stay_right_when_contents_move_and_objects_go() {
    let base = TestCluster::new(engines());
    let node = base.node();
    let texts: Vec<Vec<u8>> = (0..40).map(|seed| content(seed, 3000)).collect();
    publish(&node.fs, &texts);
    let (before, after) = (reader(&base, |_| {}), reader(&base, |_| {}));
    assert!(before.revision(2).unwrap() == texts[1]);
    // The node moves all but the youngest to the objects.
    let begun = Instant::now();
    while base.sql("SELECT count(*) FROM sven_revision WHERE content IS NOT NULL AND rev = 2") != "0" {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "contents are not moved"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    for reader in [&before, &after] {
        for (at, expected) in texts.iter().enumerate() {
            assert!(reader.revision(at as u64 + 1).unwrap() == *expected, "r{at}");
        }
    }
    // An object that is gone is lost if the row still names it. Otherwise the error makes the engine look for the revision once more.
    let third = reader(&base, |_| {});
    let file = third.fs.blobs.open_revision(Revnum(2)).unwrap();
    let instance = base.sql("SELECT instance FROM sven_repository");
    remove_objects(&engines().bucket_dir(), &[&instance, "/2-"]);
    let error = file.read_at(&mut [0; 10], 0).err().unwrap();
    let publication = base.sql("SELECT publication FROM sven_revision WHERE rev = 2");
    assert_eq!(
        error.to_string(),
        format!("The object '{instance}/r/000000/2-{publication}' is missing in the object store")
    );
    base.sql("UPDATE sven_revision SET publication = gen_random_uuid() WHERE rev = 2");
    let error = file.read_at(&mut [0; 10], 0).err().unwrap();
    assert_eq!(
        error.raw_os_error(),
        Some(rustix::io::Errno::STALE.raw_os_error())
    );
    // What is in the cache of a node stays readable.
    assert!(after.revision(2).unwrap() == texts[1]);
}

#[test]
fn damaged_objects_are_neither_served_nor_kept() {
    let base = TestCluster::new(engines());
    let texts = [content(1, 100_000), content(2, 4_500_000)];
    publish(&base.node().fs, &texts);
    let instance = base.sql("SELECT instance FROM sven_repository");
    let readers = [BIG_CACHE, 0].map(|bytes| reader(&base, |settings| settings.cache_bytes = bytes));
    for (rev, damaged_at) in [(1, 70_000), (2, 3_000_000)] {
        let expected = &texts[rev as usize - 1];
        let path = objects(&[&instance, &format!("/{rev}-")]).remove(0);
        let good = fs::read(&path).unwrap();
        // Written in place: the store sees the same file with the same length.
        let mut damaged = good.clone();
        damaged[damaged_at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        for reader in &readers {
            for _ in 0..2 {
                let error = reader.revision(rev).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                let text = error.to_string();
                assert!(
                    text.starts_with(&format!("The object '{instance}/r/000000/{rev}-"))
                        && text.ends_with("' is damaged in the object store"),
                    "{text}"
                );
            }
            // The other blocks are good.
            let file = reader.fs.blobs.open_revision(Revnum(rev)).unwrap();
            let mut buf = [0; 1000];
            if rev == 2 {
                file.read_at(&mut buf, 4_000_000).unwrap();
                assert_eq!(buf, expected[4_000_000..4_001_000]);
            }
        }
        // From a backup.
        fs::write(&path, &good).unwrap();
        for reader in &readers {
            assert!(reader.revision(rev).unwrap() == *expected, "r{rev}");
        }
    }
}

#[test]
fn what_was_cached_without_a_checksum_is_not_used_with_one() {
    let base = TestCluster::new(engines());
    let node = base.node();
    publish(&node.fs, &[content(1, 100_000)]);
    let instance = base.sql("SELECT instance FROM sven_repository");
    let path = objects(&[&instance, "/1-"]).remove(0);
    let good = fs::read(&path).unwrap();
    let mut damaged = good.clone();
    damaged[5] ^= 1;
    fs::write(&path, &damaged).unwrap();
    // As an earlier program writes it.
    base.sql("UPDATE sven_revision SET blocks = NULL");
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        reader(&base, |settings| {
            settings.directory = dir.path().to_owned();
        })
    };
    assert!(
        open().revision(1).unwrap() == damaged,
        "nothing tells that it is damaged"
    );
    fs::write(&path, &good).unwrap();
    assert!(open().revision(1).unwrap() == damaged, "from the cache");
    let scrubbed = node
        .cluster
        .scrub(None, None, &mut |_| {}, &Cancel::new())
        .unwrap();
    assert_eq!(scrubbed.damaged, []);
    assert!(open().revision(1).unwrap() == content(1, 100_000));
}

/// Removes the files below `dir` whose path contains all of `parts`.
fn remove_objects(dir: &Path, parts: &[&str]) {
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if parts.iter().all(|part| path.to_string_lossy().contains(part)) {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

/// Connections to the object store break all the time; responses of puts are lost.
#[test]
fn objects_are_written_and_read_over_connections_that_break() {
    for seed in testkit::seeds("BLOB_SEED", 0..1) {
        println!("BLOB_SEED={seed}");
        let engines = engines();
        let base = TestCluster::new(engines);
        let proxy = FlakyProxy::start(engines.objects_address(), seed, 400_000);
        let other = reader(&base, |settings| {
            settings.endpoint = Some(format!("http://127.0.0.1:{}", proxy.port()));
            settings.patience_ms = 20_000;
        });
        other.cluster.serve().unwrap();
        let texts: Vec<Vec<u8>> = (0..30)
            .map(|at| content(seed * 100 + at, 70_000 + 60_000 * (at % 7) as usize))
            .collect();
        publish(&other.fs, &texts);
        for (at, expected) in texts.iter().enumerate() {
            assert!(
                other.revision(at as u64 + 1).unwrap() == *expected,
                "seed {seed}, r{at}"
            );
        }
        let last = reader(&base, |_| {});
        for (at, expected) in texts.iter().enumerate() {
            assert!(
                last.revision(at as u64 + 1).unwrap() == *expected,
                "seed {seed}, r{at}"
            );
        }
        assert!(proxy.breaks() > 0);
    }
}

/// Uploads in parts, whose connections break in the middle or before the response.
#[test]
fn long_objects_are_written_over_connections_that_break() {
    let mut breaks = 0;
    for seed in testkit::seeds("UPLOAD_SEED", 0..1) {
        println!("UPLOAD_SEED={seed}");
        let engines = engines();
        let base = TestCluster::new(engines);
        let proxy = FlakyProxy::start(engines.objects_address(), seed, 12_000_000);
        let other = reader(&base, |settings| {
            settings.endpoint = Some(format!("http://127.0.0.1:{}", proxy.port()));
            settings.patience_ms = 20_000;
        });
        other.cluster.serve().unwrap();
        publish(&other.fs, &[content(seed, 40_000_000)]);
        breaks += proxy.breaks();
        assert!(
            reader(&base, |_| {}).revision(1).unwrap() == content(seed, 40_000_000),
            "seed {seed}"
        );
    }
    assert!(breaks > 0);
}

#[test]
fn a_store_that_is_down_is_an_error_and_comes_back() {
    let mut engines = Engines::start();
    let base = TestCluster::new_in(&engines);
    let first = reader(&base, |settings| settings.patience_ms = 500);
    first.cluster.serve().unwrap();
    publish(&first.fs, &[content(1, 200_000), content(2, 200_000)]);
    assert!(first.revision(1).unwrap() == content(1, 200_000));
    engines.stop_objects();
    let begun = Instant::now();
    assert!(first.revision(2).is_err());
    let head = first.fs.heads.head(Duration::ZERO).unwrap();
    assert!(
        first
            .fs
            .heads
            .publish(&head, &[revision(3, content(3, 200_000), "log")])
            .is_err()
    );
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // Cached and short revisions need no store.
    assert!(first.revision(1).unwrap() == content(1, 200_000));
    publish(&first.fs, &[content(3, 100)]);
    engines.start_objects();
    publish(&first.fs, &[content(4, 200_000)]);
    for rev in 1..=4 {
        let length = if rev == 3 { 100 } else { 200_000 };
        assert!(first.revision(rev).unwrap() == content(rev, length), "r{rev}");
    }
    // Without its bucket, no object is called missing.
    let bucket = engines.bucket_dir();
    let elsewhere = bucket.with_extension("elsewhere");
    fs::rename(&bucket, &elsewhere).unwrap();
    let second = reader(&base, |_| {});
    let error = second.revision(4).err().unwrap();
    assert!(error.to_string().contains("NoSuchBucket"), "{error}");
    fs::rename(&elsewhere, &bucket).unwrap();
    assert!(second.revision(4).unwrap() == content(4, 200_000));
}
