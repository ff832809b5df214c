//! Transactions that are edited step by step, also when another process edits them at the same time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, FsPath, Props};
use repos::Repository;
use repos::hooks::Hooks;
use repos::transaction::{PutText, Transaction, TransactionEnd, TransactionStart};
use testkit::tool::Tool;

use crate::commit::pair::{clock, open};

struct OpenTransaction {
    transaction: Transaction,
    repo: Repository,
    root: tempfile::TempDir,
}

impl OpenTransaction {
    fn new() -> OpenTransaction {
        let root = testkit::scratch();
        let path = root.path().join("repo");
        Tool::new("svnadmin").arg("create").arg(&path).ok();
        let repo = open(&path);
        let hooks = Hooks::of(&repo, Arc::default());
        let beginning = TransactionStart {
            revprops: Props::new(),
            author: None,
            capabilities: &[],
            hooks: &hooks,
        };
        let transaction = Transaction::begin(&repo, beginning, &clock()).expect("begun");
        OpenTransaction {
            transaction,
            repo,
            root,
        }
    }

    fn make(&mut self, name: &str) {
        let path = FsPath::parse(name).expect("canonical");
        self.transaction.make_dir(&path).expect("made");
    }

    fn folder(&self) -> PathBuf {
        let name = format!("{}.txn", self.transaction.name());
        self.root.path().join("repo/db/transactions").join(name)
    }

    /// Changes the tree as another server process does.
    fn change_tree(&self) {
        let log = self.folder().join("changes");
        let mut log = std::fs::OpenOptions::new().append(true).open(log).expect("a log");
        log.write_all(b"_9.0.t0-0 add-dir false false false /other\n\n")
            .expect("room");
    }

    /// Returns whether this process has a file of new texts open that belongs to the transaction.
    fn has_descriptor(&self) -> bool {
        let name = format!("{}.rev", self.transaction.name());
        let file = self.root.path().join("repo/db/txn-protorevs").join(name);
        let all = std::fs::read_dir("/proc/self/fd").expect("a directory");
        let mut targets = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.any(|target| target == file)
    }

    fn put(&mut self, name: &str, text: &[u8]) {
        let path = FsPath::parse(name).expect("canonical");
        let put = PutText {
            path: &path,
            base_md5: None,
            result_md5: None,
            is_delta: false,
        };
        let mut upload = self.transaction.put(&put).expect("begun");
        upload.write(text).expect("room");
        upload.finish(&mut self.transaction).expect("whole");
    }

    fn is_locked(&self) -> bool {
        let name = format!("{}.rev-lock", self.transaction.name());
        let lock = self.root.path().join("repo/db/txn-protorevs").join(name);
        let flock = Tool::new("flock").args(["-n", "-F"]).arg(&lock).arg("true").run();
        flock.code != 0
    }
}

fn listed(repo: &Path, name: &str) -> bool {
    let list = Tool::new("svnadmin").arg("lstxns").arg(repo).ok();
    list.out().contains(name)
}

#[test]
fn a_transaction_becomes_final_in_two_steps() {
    let mut open = OpenTransaction::new();
    open.make("/a");
    assert!(open.transaction.is_dirty());
    open.transaction.write_stepwise().expect("written");
    assert!(
        open.transaction.is_dirty(),
        "a change that was under way may come yet"
    );
    open.make("/b");
    open.transaction.write_stepwise().expect("written again");
    open.transaction.write_stepwise().expect("the same");
    assert!(!open.transaction.is_dirty());
    let name = open.transaction.name().to_owned();
    open.transaction.leave();
    let again = Transaction::open(&open.repo, &name).expect("whole");
    let kind = again
        .kind(&FsPath::parse("/b").expect("canonical"))
        .expect("readable");
    assert_eq!(kind, base::NodeKind::Dir);
}

#[test]
fn concurrent_changes_by_two_processes_are_detected() {
    for settled in 0..2 {
        let mut open = OpenTransaction::new();
        open.make("/a");
        for _ in 0..settled {
            open.transaction
                .write_stepwise()
                .expect("nobody else has changed it");
        }
        open.change_tree();
        let error = open
            .transaction
            .write_stepwise()
            .expect_err("neither knows all of it");
        assert_eq!(error.code(), Code::FS_TRANSACTION_DEAD, "{settled}");
        open.make("/b");
        let error = open.transaction.write_to_disk().expect_err("still so");
        assert_eq!(error.code(), Code::FS_TRANSACTION_DEAD, "{settled}");
        let (repo, name) = (open.root.path().join("repo"), open.transaction.name().to_owned());
        open.transaction.abort().expect("removed");
        assert!(!listed(&repo, &name));
    }
}

#[test]
fn others_may_write_only_when_everything_is_written() {
    let mut open = OpenTransaction::new();
    assert!(!open.is_locked());
    open.make("/a");
    assert!(open.is_locked());
    open.transaction.write_stepwise().expect("written");
    assert!(open.is_locked());
    open.transaction.write_stepwise().expect("the same");
    assert!(!open.is_locked());
    open.change_tree();
    assert!(!open.transaction.is_in_step().expect("there"));
}

/// As a server that is killed between two requests, and one that goes on after it.
#[test]
fn a_transaction_whose_writing_was_deferred_cannot_be_continued_from_its_files() {
    let mut open = OpenTransaction::new();
    open.make("/a");
    open.transaction.write_to_disk().expect("written");
    let name = open.transaction.name().to_owned();
    open.make("/b");
    assert!(open.transaction.defer_writing());
    let path = open.root.path().join("repo");
    assert!(listed(&path, &name));
    open.transaction.leave();
    let opened = Transaction::open(&open.repo, &name);
    let error = opened.err().expect("/b is missing");
    assert_eq!(error.code(), Code::FS_TRANSACTION_DEAD);
    open.repo.remove_transaction(&name).expect("removed");
    assert!(!listed(&path, &name));
    let left = std::fs::read_dir(path.join("db/txn-protorevs")).expect("a directory");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_transaction_whose_deferred_changes_are_written_can_be_continued() {
    let mut open = OpenTransaction::new();
    open.make("/a");
    assert!(open.transaction.defer_writing());
    open.put("/b", b"text");
    open.transaction.write_stepwise().expect("written");
    open.transaction.write_stepwise().expect("the same");
    assert!(!open.is_locked());
    let name = open.transaction.name().to_owned();
    // This server has begun a text when its client pauses, so that everything is written, and gives the text up.
    let path = FsPath::parse("/c").expect("canonical");
    let put = PutText {
        path: &path,
        base_md5: None,
        result_md5: None,
        is_delta: false,
    };
    let upload = open.transaction.put(&put).expect("begun");
    assert!(open.transaction.defer_writing());
    open.transaction.write_to_disk().expect("written");
    assert!(
        open.repo.fs().check_txn_complete(&name).is_err(),
        "a text is being written"
    );
    drop(upload);
    open.transaction.leave();
    let mut again = Transaction::open(&open.repo, &name).expect("whole");
    again
        .make_dir(&FsPath::parse("/d").expect("canonical"))
        .expect("made");
    assert!(again.defer_writing());
    drop(again);
    let again = Transaction::open(&open.repo, &name).expect("written when it was dropped");
    for name in ["/a", "/b", "/c", "/d"] {
        let kind = again.kind(&FsPath::parse(name).expect("canonical"));
        assert_ne!(kind.expect("readable"), base::NodeKind::None, "{name}");
    }
}

/// Clients abandon transactions. A server that kept a descriptor for each would have none left for others.
#[test]
fn a_transaction_that_is_written_has_no_file_open() {
    let mut open = OpenTransaction::new();
    assert!(!open.has_descriptor(), "as begun");
    open.put("/a", b"first");
    assert!(open.has_descriptor(), "for the next text");
    open.transaction.write_to_disk().expect("written");
    assert!(!open.has_descriptor(), "one text written");
    open.put("/b", b"second");
    open.transaction.write_stepwise().expect("written");
    open.transaction.write_stepwise().expect("the same");
    assert!(!open.has_descriptor(), "two texts written");
    let path = FsPath::parse("/c").expect("canonical");
    let put = PutText {
        path: &path,
        base_md5: None,
        result_md5: None,
        is_delta: false,
    };
    let abandoned = open.transaction.put(&put).expect("begun");
    open.transaction.write_to_disk().expect("another request ends");
    drop(abandoned);
    assert!(!open.has_descriptor(), "a text was given up");
    open.put("/d", b"third");
    let hooks = Hooks::of(&open.repo, Arc::default());
    let ending = TransactionEnd {
        lock_tokens: &[],
        release_locks: false,
        user: None,
        hooks: &hooks,
    };
    open.transaction.commit(&ending, &clock()).expect("committed");
    let url = format!("file://{}/repo", open.root.path().display());
    for (name, text) in [("a", "first"), ("b", "second"), ("d", "third")] {
        let shown = Tool::new("svn").arg("cat").arg(format!("{url}/{name}")).ok();
        assert_eq!(shown.out(), text);
    }
}
