//! Damaged files: an error, never a panic, a loop or a wrong content.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Result, Revnum};
use fsfs::{Cache, Fs, Node};
use testkit::disk::{CountedCalls, DiskFault, FailingDisk};
use testkit::history::{self, Random};
use testkit::{Tool, each_seed, scratch};

use super::repository::{self, FsxRepository, Settings, open};

fn read_all(db: &Path) -> Result<u64> {
    read_all_of(&open(db)?)
}

/// Reads everything. Returns a number that depends on it.
fn read_all_of(fs: &Fs) -> Result<u64> {
    let mut sum = 0;
    for rev in 0..=fs.youngest()?.0 {
        let root = fs.root(Revnum(rev))?;
        sum += fs.revprops(Revnum(rev))?.iter().count() as u64 + root.changed_paths()?.len() as u64;
        let mut nodes: Vec<Node> = vec![root.root_node()?];
        while let Some(node) = nodes.pop() {
            sum += node.props()?.len() as u64;
            if node.kind() == base::NodeKind::File {
                sum += node.reader()?.read_all()?.len() as u64;
                continue;
            }
            for entry in node.entries()?.iter() {
                nodes.push(node.child_of(entry)?);
            }
            if nodes.len() > 10_000 {
                return Err(base::Error::new(Code::FS_CORRUPT, "a tree without end"));
            }
        }
    }
    Ok(sum)
}

fn verify(db: &Path) -> Result<()> {
    repository::verify(&open(db)?)
}

fn files_below(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
    files.sort();
}

#[test]
fn random_damage_is_an_error_or_changes_nothing_that_is_checked() {
    let repositories = [false, true].map(|packed| {
        let repository = FsxRepository::load(&Settings::shard(3), &history::small().bytes());
        if packed {
            repository.pack();
        }
        verify(&repository.db()).unwrap();
        let whole = read_all(&repository.db()).unwrap();
        (repository, whole)
    });
    each_seed("FSX_SEEDS", 0..60, |seed| {
        let mut random = Random::new(seed);
        let (repository, whole) = &repositories[random.below(2)];
        let copy = repository.repo().copy();
        let mut files = Vec::new();
        files_below(&copy.db().join("revs"), &mut files);
        let file = &files[random.below(files.len())];
        let mut bytes = fs::read(file).unwrap();
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len())),
            _ => {
                for _ in 0..=random.below(3) {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
            }
        }
        let before = fs::read(file).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(file, &bytes).unwrap();
        // Before the footer of a revision file, every byte counts.
        let footer = match file.file_name().unwrap().to_str().unwrap() {
            name if name.starts_with('r') || name == "pack" => 1 + usize::from(before[before.len() - 1]),
            _ => 0,
        };
        let end = before.len() - footer;
        if bytes.get(..end) != Some(&before[..end]) {
            assert!(verify(&copy.db()).is_err(), "{}", file.display());
        }
        if let Ok(sum) = read_all(&copy.db()) {
            assert_eq!(sum, *whole, "{}", file.display());
        }
    });
}

#[test]
fn a_read_that_fails_is_an_error() {
    let repository = FsxRepository::load(&Settings::shard(3), &history::small().bytes());
    for packed in [false, true] {
        if packed {
            repository.pack();
        }
        let read = |disk: &FailingDisk| {
            read_all_of(&Fs::open_on(
                &repository.db(),
                &Cache::new(16 << 20),
                Arc::new(disk.clone()),
            )?)
        };
        let counting = FailingDisk::counting(CountedCalls::Reads);
        let whole = read(&counting).unwrap();
        for at in (0..counting.calls()).step_by(5) {
            for fault in [DiskFault::Eio, DiskFault::Dead] {
                match read(&FailingDisk::failing(CountedCalls::Reads, at, fault)) {
                    // A file that other processes replace is read again.
                    Ok(sum) => assert!(sum == whole && fault == DiskFault::Eio, "{at} {fault:?}"),
                    Err(e) => assert!(e.has(Code(5)), "{at} {fault:?}: {e}"),
                }
            }
        }
    }
}

#[test]
fn other_filesystems_are_refused() {
    let folder = scratch();
    let missing = open(folder.path()).err().unwrap();
    assert_eq!(missing.code(), Code::FS_UNKNOWN_FS_TYPE);
    let repository = FsxRepository::create(&Settings::shard(7));
    let set = |name: &str, text: &str| {
        let path = repository.db().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(path, text).unwrap();
        open(&repository.db())
            .map(|fs| fs.youngest())
            .err()
            .map(|e| e.code())
    };
    assert_eq!(set("format", "2\nlayout sharded 7\n"), None);
    assert_eq!(
        set("format", "1\nlayout sharded 7\n"),
        Some(Code::FS_UNSUPPORTED_FORMAT)
    );
    assert_eq!(
        set("format", "2\nlayout linear\n"),
        Some(Code::BAD_VERSION_FILE_FORMAT)
    );
    assert_eq!(set("format", "2\nlayout sharded 7\n"), None);
    // Format 2 of FSFS has no shards.
    assert_eq!(set("fs-type", "fsfs\n"), Some(Code::BAD_VERSION_FILE_FORMAT));
    assert_eq!(set("fs-type", "fsy\n"), Some(Code::FS_UNKNOWN_FS_TYPE));
}

/// Damage with the same error, number and text, as `svnadmin dump` has: file, bytes, their replacement.
const SAME_ERRORS: [(&str, &[u8], &[u8]); 16] = [
    ("revs/1/r3", b"type: file", b"type: filx"),
    ("revs/1/r3", b"L2P-INDEX", b"L2P-INDEY"),
    ("revs/1/r3", b"P2L-INDEX", b"P2L-INDEY"),
    ("revs/1/p3", b"svn:log", b"svn:lof"),
    ("revs/0/r1", b"DELTA\nSVN", b"DELTX\nSVN"),
    ("revs/0/r1", b"gamma\0", b"gamm\0\0"),
    ("revs/0/r1", b"add-dir", b"adx-dir"),
    ("revs/1.pack/manifest", b"\x02", b"\x03"),
    ("revs/1.pack/pack", b"L2P-INDEX", b"L2P-INDEY"),
    ("revs/1.pack/pack", b"P2L-INDEX", b"P2L-INDEY"),
    ("revs/1.pack/pack", b"/A/mu", b"/A/mv"),
    ("current", b"1", b"x"),
    ("format", b"2", b"1"),
    ("format", b"2", b"3"),
    ("format", b"sharded", b"shardex"),
    ("uuid", b"\n", b"x"),
];

#[test]
fn errors_are_those_of_svnadmin() {
    let repositories = [false, true].map(|packed| {
        let repository = FsxRepository::load(&Settings::shard(3), &history::small().bytes());
        if packed {
            repository.pack();
        }
        repository
    });
    for (file, from, to) in SAME_ERRORS {
        let copy = repositories[usize::from(file.contains(".pack"))].repo().copy();
        let path = copy.db().join(file);
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes
            .windows(from.len())
            .position(|window| window == from)
            .unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&path, &bytes).unwrap();
        let e = read_all(&copy.db()).unwrap_err();
        let link = |link: &base::Link| format!("svnadmin: {}: {}\n", link.code(), link.text());
        let ours: String = e.links().map(link).collect();
        let theirs = Tool::new("svnadmin").args(["dump", "-q"]).arg(copy.path()).run();
        assert_eq!(ours, theirs.err(), "{file} {}", String::from_utf8_lossy(to));
    }
}
