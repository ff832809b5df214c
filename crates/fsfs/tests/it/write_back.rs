//! A write fails after the program has made it, when the system stores it, and another process receives the error. The next flush
//! must fail nevertheless.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, path::Path};

use base::{Cancel, Date, FsPath, Result, Revnum};
use fsfs::admin::hotcopy::{self, HotcopyOptions};
use fsfs::disk::{Disk, RealDisk};
use fsfs::{Cache, Fs, TxnOptions};
use testkit::Tool;
use testkit::disk::{CallDecision, DiskCall, WatchedDisk, Watcher};
use testkit::repo::{Repo, Spec, build};

use crate::files::files;

/// Every write fails later. As on Linux, the error reaches the descriptors that were open at the write.
#[derive(Default)]
struct FailingWriteBack {
    is_open: AtomicBool,
    has_failed: AtomicBool,
}

impl Watcher for FailingWriteBack {
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        match call {
            DiskCall::OpenVolume(_) => {
                self.is_open.store(true, Ordering::SeqCst);
                self.has_failed.store(false, Ordering::SeqCst);
            }
            DiskCall::Append(..) if self.is_open.load(Ordering::SeqCst) => {
                self.has_failed.store(true, Ordering::SeqCst);
            }
            DiskCall::SyncAll(_) if self.has_failed.swap(false, Ordering::SeqCst) => {
                return CallDecision::Fail(io::Error::from_raw_os_error(5));
            }
            _ => {}
        }
        CallDecision::Proceed
    }
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(WatchedDisk::new(FailingWriteBack::default()))
}

fn copy(from: &Repo, to: &Path, disk: Arc<dyn Disk>) -> Result<()> {
    let options = HotcopyOptions {
        incremental: true,
        ..HotcopyOptions::default()
    };
    let source = Fs::open_on(&from.db(), &Cache::new(1 << 20), disk)?;
    hotcopy::run(&source, to, options, &mut |_| {}, &Cancel::new())
}

#[test]
fn a_group_is_lost_if_its_text_was_not_stored() {
    let repo = build(&Spec::small("1.14").named("write-back")).copy();
    let youngest = Revnum(repo.youngest());
    let fs = Fs::open_on(&repo.db(), &Cache::new(1 << 20), disk()).expect("opens");
    let mut group = fs.commit_group().expect("begins");
    let now = Date(1_700_000_000_000_000);
    let mut txn = group.begin_txn(TxnOptions::default(), now).expect("begins");
    txn.make_dir(&FsPath::parse("/new").expect("is a path"))
        .expect("makes");
    group.commit(txn, &|| now).expect("commits");
    let failed = group.flush().expect_err("the write failed");
    assert!(failed.to_string().contains("Can't flush filesystem"), "{failed}");
    drop(group);
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    assert_eq!(fs.youngest().expect("reads"), youngest);
}

/// The files that were not stored have no names afterwards, so that the next copy writes them again.
#[test]
fn an_incremental_copy_does_not_rely_on_files_that_were_not_stored() {
    let source = build(&Spec::small("1.14").named("write-back")).copy();
    let folder = testkit::scratch();
    let db = folder.path().join("db");
    let real: Arc<dyn Disk> = Arc::new(RealDisk);
    copy(&source, &db, real.clone()).expect("copies");
    let url = format!("{}/new", source.url());
    Tool::new("svn").args(["mkdir", "-q", "-m", "new"]).arg(url).ok();
    let new = source.youngest().to_string();
    copy(&source, &db, disk()).expect_err("a write failed");
    let has_new = || files(&db).keys().any(|name| name.ends_with(&format!("/{new}")));
    assert!(!has_new(), "{:?}", files(&db).keys());
    copy(&source, &db, real).expect("copies");
    assert!(has_new());
}

#[test]
fn a_copy_fails_if_its_files_were_not_stored() {
    let source = build(&Spec::small("1.14").named("write-back")).copy();
    let folder = testkit::scratch();
    let db = folder.path().join("db");
    let failed = copy(&source, &db, disk()).expect_err("a write failed");
    assert!(failed.to_string().contains("Can't flush filesystem"), "{failed}");
    assert!(!db.join("format").exists());
}
