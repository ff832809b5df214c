//! Locks between writers: within the process, between processes, and the order of acquisition.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::{Code, Date, FsPath, Revnum};
use fsfs::{Cache, Fs, TxnOptions};
use testkit::{Repo, Tool};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

/// True if another process can take the lock now.
fn is_free(repo: &Repo, name: &str) -> bool {
    let out = Tool::new("flock")
        .arg("-n")
        .arg(repo.db().join(name))
        .arg("true")
        .run();
    out.code == 0
}

#[test]
fn locks_exclude_other_processes_and_are_released() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    let lock = fs.write_lock().unwrap();
    assert_eq!((lock.youngest(), lock.min_unpacked_rev()), (Revnum(0), Revnum(0)));
    assert!(!is_free(&repo, "write-lock"));
    // Both kinds of file lock are held, because other builds of Subversion use one or the other.
    let ours = format!(" {} ", std::process::id());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    for kind in ["FLOCK", "POSIX"] {
        assert!(
            locks
                .lines()
                .any(|line| line.contains(kind) && line.contains(&ours)),
            "{kind}"
        );
    }
    drop(lock);
    assert!(is_free(&repo, "write-lock"));
    assert!(!repo.db().join("pack-lock").exists());
    let all = fs.all_locks().unwrap();
    assert_eq!(all.write().youngest(), Revnum(0));
    for name in ["txn-current-lock", "pack-lock", "write-lock"] {
        assert!(!is_free(&repo, name), "{name}");
    }
    drop(all);
    for name in ["txn-current-lock", "pack-lock", "write-lock"] {
        assert!(is_free(&repo, name), "{name}");
    }
}

#[test]
fn old_formats_pack_under_the_write_lock() {
    for version in ["1.3", "1.7"] {
        let repo = Repo::create(version);
        let fs = open(&repo);
        let pack = fs.pack_lock().unwrap();
        assert!(!is_free(&repo, "write-lock"));
        // The lock is already held: acquiring it again does not wait, and releasing it does not free it.
        drop(pack.write_lock().unwrap());
        assert!(!is_free(&repo, "write-lock"));
        drop(pack);
        assert!(is_free(&repo, "write-lock"));
        drop(fs.all_locks().unwrap());
        assert!(is_free(&repo, "write-lock"));
    }
}

/// Two handles of one repository use one queue, and locks are granted in the order of the requests.
#[test]
fn threads_get_the_lock_in_order() {
    let repo = Repo::create("1.14");
    let (fs, other) = (open(&repo), open(&repo));
    let order = Mutex::new(Vec::new());
    let is_taken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let first = fs.write_lock().unwrap();
        for number in 0..8 {
            let (order, is_taken) = (&order, &is_taken);
            let fs = if number % 2 == 0 { &fs } else { &other };
            scope.spawn(move || {
                let _lock = fs.write_lock().unwrap();
                assert!(!is_taken.swap(true, Ordering::SeqCst));
                order.lock().unwrap().push(number);
                is_taken.store(false, Ordering::SeqCst);
            });
            // Time for the thread to enter the queue.
            std::thread::sleep(Duration::from_millis(60));
        }
        assert!(order.lock().unwrap().is_empty());
        drop(first);
    });
    assert_eq!(order.into_inner().unwrap(), (0..8).collect::<Vec<_>>());
}

#[test]
fn a_concurrent_upgrade_is_noticed() {
    let repo = Repo::create("1.4");
    let fs = open(&repo);
    Tool::new("svnadmin").arg("upgrade").arg(repo.path()).ok();
    let error = fs.write_lock().err().unwrap();
    assert_eq!(error.code(), Code::FS_UNSUPPORTED_FORMAT);
    // From format 4 on a handle that was opened before the upgrade may still write.
    let repo = Repo::create("1.8");
    let fs = open(&repo);
    Tool::new("svnadmin").arg("upgrade").arg(repo.path()).ok();
    let mut txn = fs.begin_txn(Revnum(0), TxnOptions::default(), Date(0)).unwrap();
    txn.make_dir(&FsPath::parse("/dir").unwrap()).unwrap();
    txn.commit(&|| Date(0)).unwrap();
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}
