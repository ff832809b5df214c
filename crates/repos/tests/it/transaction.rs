//! Transactions that are edited step by step, also when another process edits them at the same time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, FsPath, Props};
use repos::Repository;
use repos::hooks::Hooks;
use repos::transaction::{Transaction, TransactionStart};
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
