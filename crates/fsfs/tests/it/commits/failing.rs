//! A disk whose n-th call fails, for every n during a commit: afterwards the youngest revision is the old one or the
//! new one, and complete.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use base::{Code, Revnum};
use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta, RealDisk};
use fsfs::{Cache, Fs};
use testkit::disk::{CallDecision, DiskCall, WatchedDisk, Watcher};

use super::script::CommitStep::{Cp, Mkdir, Propset, Put};
use super::script::{CommitStep, apply, begin, copy_of, now, ours, verify};
use crate::incumbent::Repository;

/// The real disk, of which one call fails.
#[derive(Clone)]
struct CountdownDisk(Arc<FailurePlan>);

struct FailurePlan {
    /// The number of calls before the failing one; negative after it.
    left: AtomicI64,
    /// Whether all later calls fail too.
    for_good: AtomicBool,
}

impl CountdownDisk {
    fn step(&self) -> io::Result<()> {
        let left = self.0.left.fetch_sub(1, Ordering::SeqCst);
        if left == 0 || left < 0 && self.0.for_good.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(28));
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.0.left.load(Ordering::SeqCst) < 0
    }

    fn fail_after(&self, calls: i64, for_good: bool) {
        self.0.for_good.store(for_good, Ordering::SeqCst);
        self.0.left.store(calls, Ordering::SeqCst);
    }

    fn never_fail(&self) {
        self.fail_after(i64::MAX, false);
    }
}

struct CountdownFile<T: ?Sized>(CountdownDisk, Box<T>);
struct CountdownSharedFile(CountdownDisk, Arc<dyn DiskFile>);

impl DiskFile for CountdownSharedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.step()?;
        self.1.read_at(buf, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.step()?;
        self.1.len()
    }
}

impl DiskFile for CountdownFile<dyn DiskWriter> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.step()?;
        self.1.read_at(buf, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.step()?;
        self.1.len()
    }
}

impl DiskWriter for CountdownFile<dyn DiskWriter> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(e) = self.0.step() {
            // As on a full disk, a part is written.
            self.1.append(&bytes[..bytes.len() / 2])?;
            return Err(e);
        }
        self.1.append(bytes)
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.step()?;
        self.1.truncate(length)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.step()?;
        self.1.sync()
    }
}

impl Disk for CountdownDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?;
        Ok(Arc::new(CountdownSharedFile(self.clone(), RealDisk.open(path)?)))
    }
    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.step()?;
        RealDisk.read_small(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.step()?;
        RealDisk.list(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        self.step()?;
        RealDisk.metadata(path)
    }
    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        self.step()?;
        Ok(Box::new(CountdownFile(self.clone(), RealDisk.write(path, how)?)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename_new(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.create_dir(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_dir(path)
    }
    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.copy_permissions(like, path)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.set_read_only(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.sync_dir(path)
    }
    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        let (disk, volume) = (self.clone(), RealDisk.open_volume(path)?);
        Ok(Box::new(move || {
            disk.step()?;
            volume.sync()
        }))
    }
    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.step()?;
        RealDisk.lock(path, wait)
    }
}

fn edits() -> Vec<CommitStep> {
    vec![
        Put("a/f", b"changed\n".to_vec()),
        Put("a/new", b"new\n".to_vec()),
        Cp(0, "a", "c"),
        Propset("c/f", "p", "v"),
        Mkdir("c/d"),
    ]
}

/// The next revision is the first of a shard, so that creating the shard can fail too.
fn start(version: &str) -> Repository {
    let repository = Repository::create(version, 3, "");
    let fs = crate::compare::open(&repository);
    ours(&fs, &[Mkdir("a"), Put("a/f", b"one\n".to_vec())]).unwrap();
    ours(&fs, &[Put("a/g", b"two\n".to_vec())]).unwrap();
    repository
}

fn open(repository: &Repository) -> (Fs, CountdownDisk) {
    let disk = CountdownDisk(Arc::new(FailurePlan {
        left: AtomicI64::new(i64::MAX),
        for_good: AtomicBool::new(false),
    }));
    let fs = Fs::open_on(&repository.db(), &Cache::new(16 << 20), Arc::new(disk.clone())).unwrap();
    (fs, disk)
}

fn fail_everywhere(version: &str, for_good: bool) {
    let template = start(version);
    let (mut refused, mut committed_again) = (0, 0);
    for call in 0.. {
        let repository = copy_of(&template);
        let (fs, disk) = open(&repository);
        let mut txn = begin(&fs);
        let name = txn.name().to_owned();
        apply(&fs, &mut txn, &edits()).unwrap();
        disk.fail_after(call, for_good);
        let result = txn.commit(&now);
        let has_failed = disk.has_failed();
        disk.never_fail();
        let at = format!("{version} call {call} for good: {for_good}: {result:?}");
        // In every case: the old youngest revision or the new one, and no damage.
        let youngest = fs.youngest().unwrap();
        assert!(youngest == Revnum(2) || youngest == Revnum(3), "{at}");
        assert!(result.is_err() || youngest == Revnum(3), "{at}");
        verify(&repository);
        if result.is_err() && youngest == Revnum(2) {
            assert_eq!(fs.list_txns().unwrap(), std::slice::from_ref(&name), "{at}");
            match txn.commit(&now) {
                Ok(committed) => {
                    assert_eq!(committed.rev, Revnum(3), "{at}");
                    committed_again += 1;
                }
                Err(e) => {
                    assert_eq!(e.code(), Code::FS_TRANSACTION_DEAD, "{at}");
                    fs.purge_txn(&name).unwrap();
                    refused += 1;
                }
            }
        }
        drop(txn);
        for stale in fs.list_txns().unwrap() {
            fs.purge_txn(&stale).unwrap();
        }
        assert!(fs.list_txns().unwrap().is_empty(), "{at}");
        // Other commits, the incumbent's and ours, continue and are not affected.
        let next = fs.youngest().unwrap().next();
        assert_eq!(
            ours(&fs, &[Put("a/after", b"after\n".to_vec())]).unwrap().rev,
            next,
            "{at}"
        );
        verify(&repository);
        if !has_failed {
            break;
        }
    }
    assert!(refused > 0 && committed_again > 5, "{refused} {committed_again}");
}

#[test]
fn one_failed_call_in_format_8() {
    fail_everywhere("1.14", false);
}

#[test]
fn permanent_failure_in_format_8() {
    fail_everywhere("1.14", true);
}

#[test]
fn one_failed_call_in_fsx() {
    fail_everywhere("fsx", false);
}

#[test]
fn permanent_failure_in_fsx() {
    fail_everywhere("fsx", true);
}

#[test]
fn permanent_failure_in_format_4() {
    fail_everywhere("1.7", true);
}

#[test]
fn one_failed_call_in_format_2() {
    fail_everywhere("1.4", false);
}

/// Returns the files of the transaction with this name.
fn txn_files(repository: &Repository, name: &str) -> BTreeMap<OsString, Vec<u8>> {
    let dir = repository.db().join(format!("transactions/{name}.txn"));
    let files = std::fs::read_dir(dir).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name(), std::fs::read(entry.path()).unwrap())
    });
    files.collect()
}

/// After each failure, which may leave a part of what is appended, the second attempt writes what is missing.
#[test]
fn a_transaction_is_written_in_the_second_attempt() {
    for version in ["1.4", "1.14", "fsx"] {
        let template = start(version);
        let write = |disk_fails_after: i64| {
            let repository = copy_of(&template);
            let (fs, disk) = open(&repository);
            let mut txn = begin(&fs);
            let name = txn.name().to_owned();
            apply(&fs, &mut txn, &[Put("a/f", b"first\n".to_vec())]).unwrap();
            txn.write_to_disk().unwrap();
            apply(&fs, &mut txn, &edits()).unwrap();
            disk.fail_after(disk_fails_after, false);
            let written = txn.write_to_disk();
            let has_failed = disk.has_failed();
            disk.never_fail();
            txn.write_to_disk().unwrap();
            let mut files = txn_files(&repository, &name);
            // Lists of directories are written as a whole then, without the names that were replaced.
            files.retain(|name, _| !name.to_string_lossy().ends_with(".children"));
            txn.close_unwritten();
            let mut again = open(&repository).0.open_txn(&name).unwrap();
            assert_eq!(again.commit(&now).unwrap().rev, Revnum(3));
            verify(&repository);
            let revision = std::fs::read(repository.rev_file(3)).unwrap();
            (files, revision, has_failed, written.is_err())
        };
        let (files, revision, ..) = write(i64::MAX);
        let mut failures = 0;
        for call in 0.. {
            let (written, committed, has_failed, is_refused) = write(call);
            for (name, text) in &files {
                assert_eq!(written.get(name), Some(text), "{version} call {call} {name:?}");
            }
            assert!(
                written.len() == files.len() && committed == revision,
                "{version} call {call}"
            );
            failures += usize::from(is_refused);
            if !has_failed {
                break;
            }
        }
        assert!(failures > 10, "{version} {failures}");
    }
}

/// The system reports once that it has lost data, and a second flush would succeed without them.
#[test]
fn a_transaction_whose_texts_cannot_be_made_durable_is_not_committed_again() {
    for version in ["1.4", "1.14", "fsx"] {
        let repository = start(version);
        let disk = WatchedDisk::new(FirstSyncFails::default());
        let fs = Fs::open_on(&repository.db(), &Cache::new(16 << 20), Arc::new(disk)).unwrap();
        let mut txn = begin(&fs);
        let name = txn.name().to_owned();
        apply(&fs, &mut txn, &edits()).unwrap();
        let error = txn.commit(&now).unwrap_err();
        assert_eq!(error.code().0, 5, "{version} {error}");
        let error = txn.commit(&now).unwrap_err();
        assert_eq!(error.code(), Code::FS_TRANSACTION_DEAD, "{version} {error}");
        assert_eq!(fs.youngest().unwrap(), Revnum(2));
        txn.abort().unwrap();
        assert!(!fs.list_txns().unwrap().contains(&name));
        verify(&repository);
    }
}

/// The first flush of a proto-revision file fails.
#[derive(Default)]
struct FirstSyncFails(AtomicBool);

impl Watcher for FirstSyncFails {
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        match call {
            DiskCall::Sync(path, _)
                if path.to_string_lossy().ends_with("rev") && !self.0.swap(true, Ordering::SeqCst) =>
            {
                CallDecision::Fail(io::Error::from_raw_os_error(5))
            }
            _ => CallDecision::Proceed,
        }
    }
}

#[test]
fn failures_while_most_of_the_transaction_is_spilled() {
    for version in ["1.14", "fsx"] {
        fail_while_spilled(version);
    }
}

fn fail_while_spilled(version: &str) {
    let template = start(version);
    let edit = |disk_fails_after: i64| {
        let repository = copy_of(&template);
        let (fs, disk) = open(&repository);
        let mut txn = super::spill::begin(&fs, 2);
        disk.fail_after(disk_fails_after, false);
        let applied = apply(&fs, &mut txn, &edits());
        let has_failed = disk.has_failed();
        disk.never_fail();
        let made = match applied {
            Ok(()) => {
                assert_eq!(txn.commit(&now).unwrap().rev, Revnum(3));
                Some(std::fs::read(repository.rev_file(3)).unwrap())
            }
            Err(_) => {
                txn.abort().unwrap();
                None
            }
        };
        verify(&repository);
        (made, has_failed)
    };
    let (whole, _) = edit(i64::MAX);
    let mut unharmed = 0;
    for call in 0.. {
        let (made, has_failed) = edit(call);
        if made.is_some() {
            assert_eq!(made, whole, "call {call}");
            unharmed += 1;
        }
        if !has_failed {
            break;
        }
    }
    // Nodes that cannot be spilled stay in memory.
    assert!(unharmed > 3, "{unharmed}");
}
