//! Reading repositories of every format: each revision, node by node.

use std::io;
use std::path::Path;

use fsfs::disk::{Disk, DiskFile, FileMeta, RealDisk};

use crate::compare;
use crate::incumbent::Repository;
use crate::sample::sample;

/// Loads the sample into a new repository, packs after a part of it, and compares.
fn check(version: &str, shard_size: u64, conf: &str, packed: Packed) {
    let repository = Repository::create(version, shard_size, conf);
    repository.load(&sample().halves[0]);
    if packed != Packed::Not {
        repository.pack();
    }
    repository.load(&sample().halves[1]);
    if packed == Packed::All {
        repository.pack();
    }
    compare::all(&repository, &sample().contents);
}

#[derive(Clone, Copy, PartialEq)]
enum Packed {
    Not,
    Half,
    All,
}

const ZLIB: &str = "[deltification]\ncompression = zlib\n";
const PLAIN: &str = "[deltification]\ncompression = none\n";
const NO_DELTAS: &str =
    "[deltification]\nenable-dir-deltification = false\nenable-props-deltification = false\n";
/// Long delta chains, and no rep sharing.
const CHAINS: &str =
    "[deltification]\nmax-linear-deltification = 64\n[rep-sharing]\nenable-rep-sharing = false\n";
/// Index pages so small that items span several.
const SMALL_PAGES: &str = "[io]\nblock-size = 1\nl2p-page-size = 4\np2l-page-size = 1\n";

#[test]
fn revisions_read_as_committed() {
    compare::all(&sample().repository, &sample().contents);
}

#[test]
fn format_1() {
    check("1.3", 0, "", Packed::Not);
}

#[test]
fn format_2() {
    check("1.4", 0, "", Packed::Not);
}

#[test]
fn format_3() {
    check("1.5", 1000, "", Packed::Not);
    check("1.5", 7, "", Packed::Not);
    check("1.5", 0, "", Packed::Not);
}

#[test]
fn format_4() {
    check("1.6", 1000, "", Packed::Not);
    check("1.6", 7, "", Packed::Half);
    check("1.6", 7, NO_DELTAS, Packed::All);
}

#[test]
fn format_6() {
    check("1.8", 1000, "", Packed::Not);
    check("1.8", 7, PLAIN, Packed::Half);
    check("1.8", 5, "", Packed::All);
    check("1.8", 0, "", Packed::Not);
}

#[test]
fn format_7() {
    check("1.9", 1000, SMALL_PAGES, Packed::Not);
    check("1.9", 7, PLAIN, Packed::Half);
    check("1.9", 7, SMALL_PAGES, Packed::All);
    check("1.9", 1, "", Packed::All);
}

#[test]
fn format_8() {
    check("1.10", 7, "", Packed::Half);
    check("1.14", 7, ZLIB, Packed::All);
    check("1.14", 3, PLAIN, Packed::All);
    check("1.14", 50, CHAINS, Packed::Half);
    check("1.14", 19, CHAINS, Packed::All);
    check("1.14", 7, SMALL_PAGES, Packed::All);
}

/// Upgrading rewrites nothing: the revisions keep the syntax of their time.
#[test]
fn upgraded_repositories_are_readable() {
    for (version, shard_size) in [("1.3", 0), ("1.5", 7), ("1.6", 7), ("1.8", 7)] {
        let repository = Repository::create(version, shard_size, "");
        repository.load(&sample().halves[0]);
        if shard_size > 0 && version != "1.5" {
            repository.pack();
        }
        repository.upgrade();
        compare::open(&repository);
        repository.load(&sample().halves[1]);
        if shard_size > 0 {
            repository.pack();
        }
        compare::all(&repository, &sample().contents);
    }
}

/// Another process may pack while we read: files disappear, item numbers stay, offsets change.
#[test]
fn reads_while_another_process_packs() {
    for version in ["1.14", "1.8"] {
        let repository = Repository::create(version, 7, "");
        repository.load(&sample().halves[0]);
        let fs = compare::open(&repository);
        let before = compare::read(&fs.root(base::Revnum(3)).unwrap());
        repository.load(&sample().halves[1]);
        repository.pack();
        assert_eq!(compare::read(&fs.root(base::Revnum(3)).unwrap()), before);
        for (rev, contents) in sample().contents.iter().enumerate() {
            assert_eq!(
                compare::read(&fs.root(base::Revnum(rev as u64)).unwrap()),
                *contents,
                "r{rev}"
            );
        }
    }
}

/// On network mounts, reading a file that another machine has deleted fails with "stale": it is looked up again.
#[test]
fn reads_of_stale_files_are_repeated() {
    let repository = Repository::create("1.14", 7, "");
    repository.load(&sample().halves[0]);
    let disk = std::sync::Arc::new(StaleDisk::default());
    let fs = fsfs::Fs::open_on(&repository.db(), &fsfs::Cache::new(0), disk.clone()).unwrap();
    let rev = base::Revnum(9);
    let text = |path: &str| {
        let node = fs.root(rev)?.node(&base::FsPath::parse(path)?)?;
        node.reader()?.read_all()
    };
    let before = text("/branches/b1/big.txt").unwrap();
    for calls in 0..40 {
        disk.0.store(calls, std::sync::atomic::Ordering::Relaxed);
        assert!(
            text("/branches/b1/big.txt").unwrap() == before,
            "stale at call {calls}"
        );
    }
}

/// Fails with "stale" once, at the n-th read of an open file.
#[derive(Clone, Default)]
struct StaleDisk(std::sync::Arc<std::sync::atomic::AtomicI64>);

struct StaleFile(std::sync::Arc<dyn DiskFile>, StaleDisk);

impl Disk for StaleDisk {
    fn open(&self, path: &Path) -> io::Result<std::sync::Arc<dyn DiskFile>> {
        Ok(std::sync::Arc::new(StaleFile(RealDisk.open(path)?, self.clone())))
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read_small(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        RealDisk.list(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        RealDisk.metadata(path)
    }
}

impl DiskFile for StaleFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        const ESTALE: i32 = 116;
        match self.1.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Err(io::Error::from_raw_os_error(ESTALE)),
            _ => self.0.read_at(buf, offset),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}
