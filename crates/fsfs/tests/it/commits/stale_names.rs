//! Commits on a network file system whose client still shows old names: `current` as it was before another machine's
//! commit, and no file of the new revision.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Code, Revnum};
use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta, RealDisk};
use fsfs::{Cache, Fs};

use super::script::CommitStep::{Mkdir, Put};
use super::script::{apply, begin, now, ours, verify};
use crate::incumbent::Repository;

/// A disk that shows revision 1 as the youngest one, without its properties. The file of revision 2 is hidden until a
/// file is created in the same directory.
#[derive(Clone, Default)]
struct StaleNames {
    is_stale: Arc<AtomicBool>,
    shows_revision: Arc<AtomicBool>,
    /// Whether refreshing the names shows the current state.
    refreshes: Arc<AtomicBool>,
}

impl StaleNames {
    fn hides(&self, path: &Path) -> bool {
        let is_shown = self.shows_revision.load(Ordering::Relaxed);
        self.is_stale.load(Ordering::Relaxed) && !is_shown && path.ends_with("revs/0/2")
    }

    /// The old contents of a file.
    fn old(&self, path: &Path) -> Option<&'static [u8]> {
        if !self.is_stale.load(Ordering::Relaxed) {
            return None;
        }
        match path {
            path if path.ends_with("db/current") => Some(b"1\n"),
            path if path.ends_with("revprops/0/1") => Some(b"END\n"),
            _ => None,
        }
    }
}

impl Disk for StaleNames {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.hides(path) {
            true => Err(io::Error::from_raw_os_error(ENOENT)),
            false => RealDisk.open(path),
        }
    }
    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.old(path) {
            Some(old) => Ok(old.to_vec()),
            None => RealDisk.read_small(path),
        }
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        RealDisk.list(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        match self.hides(path) {
            true => Err(io::Error::from_raw_os_error(ENOENT)),
            false => RealDisk.metadata(path),
        }
    }
    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        if path.parent().is_some_and(|dir| dir.ends_with("revs/0")) {
            self.shows_revision.store(true, Ordering::Relaxed);
        }
        RealDisk.write(path, how)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename_new(from, to)
    }
    fn refresh_names(&self, _: &Path) -> io::Result<()> {
        if self.refreshes.load(Ordering::Relaxed) {
            self.is_stale.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }
    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        RealDisk.copy_permissions(like, path)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        RealDisk.set_read_only(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }
    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        RealDisk.open_volume(path)
    }
    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        RealDisk.lock(path, wait)
    }
}

/// Commits revision 1, opens the filesystem on a stale disk, and commits revision 2 without that disk.
fn start(version: &str) -> (Repository, Fs, StaleNames) {
    let repository = Repository::create(version, 3, "");
    let elsewhere = crate::compare::open(&repository);
    ours(&elsewhere, &[Mkdir("a")]).unwrap();
    let disk = StaleNames::default();
    let fs = Fs::open_on(&repository.db(), &Cache::new(16 << 20), Arc::new(disk.clone())).unwrap();
    disk.is_stale.store(true, Ordering::Relaxed);
    ours(&elsewhere, &[Put("acknowledged", b"text\n".to_vec())]).unwrap();
    (repository, fs, disk)
}

fn check(repository: &Repository, youngest: u64) {
    let fs = crate::compare::open(repository);
    assert_eq!(fs.youngest().unwrap(), Revnum(youngest));
    let root = fs.root(Revnum(2)).unwrap();
    assert!(root.node(&base::FsPath::parse("/acknowledged").unwrap()).is_ok());
    verify(repository);
}

#[test]
fn a_commit_does_not_reuse_a_revision_number() {
    for version in ["1.14", "1.8", "1.6"] {
        let (repository, fs, disk) = start(version);
        let mut txn = begin(&fs);
        apply(&fs, &mut txn, &[Put("a/f", b"one\n".to_vec())]).unwrap();
        let refused = txn.commit(&now).expect_err("because revision 2 exists");
        assert_eq!(refused.code(), Code::FS_TXN_OUT_OF_DATE, "{refused:?}");
        check(&repository, 2);
        // The transaction is complete.
        disk.is_stale.store(false, Ordering::Relaxed);
        assert_eq!(txn.commit(&now).unwrap().rev, Revnum(3));
        check(&repository, 3);
    }
}

#[test]
fn names_are_refreshed_under_the_lock() {
    let (repository, fs, disk) = start("1.14");
    disk.refreshes.store(true, Ordering::Relaxed);
    assert_eq!(ours(&fs, &[Mkdir("b")]).unwrap().rev, Revnum(3));
    check(&repository, 3);
    // Our change of a property keeps another machine's change.
    let elsewhere = crate::compare::open(&repository);
    elsewhere
        .change_revprop(Revnum(1), "theirs", None, Some(b"x"))
        .unwrap();
    disk.is_stale.store(true, Ordering::Relaxed);
    fs.change_revprop(Revnum(1), "ours", None, Some(b"y")).unwrap();
    // A reader that has seen a revision does not return to an older one.
    assert_eq!(fs.youngest().unwrap(), Revnum(3));
    disk.is_stale.store(true, Ordering::Relaxed);
    assert_eq!(fs.youngest().unwrap(), Revnum(3));
    let list = crate::compare::open(&repository).revprops(Revnum(1)).unwrap();
    assert_eq!(
        (list.get("theirs"), list.get("ours")),
        (Some(&b"x"[..]), Some(&b"y"[..]))
    );
}

#[test]
fn a_group_does_not_reuse_a_revision_number() {
    let (repository, fs, disk) = start("1.14");
    let mut batch = fs.commit_group().unwrap();
    let mut txn = batch
        .begin_txn(fsfs::TxnOptions::default(), base::Date(0))
        .unwrap();
    apply(batch.fs(), &mut txn, &[Put("a/f", b"one\n".to_vec())]).unwrap();
    let refused = batch.commit(txn, &now).expect_err("because revision 2 exists");
    assert_eq!(refused.code(), Code::FS_TXN_OUT_OF_DATE, "{refused:?}");
    drop(batch);
    disk.is_stale.store(false, Ordering::Relaxed);
    check(&repository, 2);
    ours(&fs, &[Mkdir("b")]).unwrap();
    check(&repository, 3);
}

/// The operating system's error number for a file that does not exist.
const ENOENT: i32 = 2;
