//! Open transactions: their names and properties.

use base::{Cancel, Code, Date};
use fsfs::{Cache, Fs, TxnOptions};
use testkit::Tool;
use testkit::repo::{OPEN_TXN_LOG, Spec, build};

#[test]
fn open_transactions_are_listed_with_their_properties() {
    for version in ["1.3", "1.14"] {
        let repo = build(&Spec::new(version).busy());
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        let names = fs.list_txns().expect("reads");
        assert_eq!(names.len(), 1);
        let props = fs.txn_props(&names[0]).expect("reads");
        assert_eq!(props["svn:log"], OPEN_TXN_LOG.as_bytes());
        assert_eq!(props["svn:author"], b"alice");
        for (name, code) in [
            ("73-zz", Code::FS_NO_SUCH_TRANSACTION),
            ("nosuch", Code::FS_MALFORMED_TXN_ID),
            ("../../x", Code::FS_MALFORMED_TXN_ID),
            ("", Code::FS_MALFORMED_TXN_ID),
        ] {
            assert_eq!(fs.txn_props(name).expect_err(name).code(), code);
        }
    }
}

/// The file of a directory in a transaction is parsed once; changes that another process appends are seen all the
/// same.
#[test]
fn a_grown_directory_of_a_transaction_is_read_again() {
    let repo = build(&Spec::new("1.14").busy()).copy();
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    let name = fs.list_txns().expect("reads").remove(0);
    let root = fs.txn_root(&name).expect("opens");
    let names = || -> Vec<String> {
        let root = root.root_node().expect("reads");
        let entries = root.entries().expect("reads");
        entries.iter().map(|entry| entry.name.to_string()).collect()
    };
    let before = names();
    assert_eq!(names(), before);
    let dir = repo.db().join(format!("transactions/{name}.txn"));
    let file = dir.join("node.0.0.children");
    let mut text = std::fs::read(&file).expect("the root was changed");
    assert!(!before.contains(&"late".to_owned()));
    text.extend_from_slice(b"K 4\nlate\nV 16\nfile _9.0.t73-21\nK 4\nlate\nV 16\nfile _9.0.t73-22\n");
    std::fs::write(&file, &text).expect("can be written");
    assert!(names().contains(&"late".to_owned()));
    text.extend_from_slice(b"D 4\nlate\n");
    std::fs::write(&file, &text).expect("can be written");
    assert_eq!(names(), before);
}

/// A process that is killed while it removes a transaction leaves a directory with another name.
#[test]
fn leftovers_of_a_removed_transaction_are_ignored() {
    for version in ["1.4", "1.14"] {
        let repo = build(&Spec::small(version)).copy();
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        let youngest = fs.youngest().expect("reads");
        let begin = || fs.begin_txn(youngest, TxnOptions::default(), Date(0));
        let txn = begin().expect("begins");
        let gone = repo.db().join(format!("transactions/{}.gone", txn.name()));
        let other = repo.db().join("transactions/1-zz.gone");
        // With the number of an existing transaction and with another number; with files and without a root.
        for dir in [&gone, &other] {
            std::fs::create_dir(dir).expect("because its name is free");
            std::fs::write(dir.join("props"), "END\n").expect("because it was just made");
        }
        let theirs = |command: &str| Tool::new("svnadmin").arg(command).arg(repo.path()).ok().out();
        assert_eq!(theirs("lstxns").trim(), txn.name());
        theirs("verify");
        theirs("recover");
        let copy = repo.path().with_extension("copy");
        Tool::new("svnadmin")
            .arg("hotcopy")
            .arg(repo.path())
            .arg(&copy)
            .ok();
        assert_eq!(fs.list_txns().expect("reads"), [txn.name()]);
        assert!(gone.exists() && other.exists());
        txn.abort().expect("removes");
        assert!(!gone.exists() && !other.exists());
        assert_eq!(theirs("lstxns"), "");
        std::fs::create_dir(&other).expect("because its name is free");
        fsfs::admin::recover::run(&repo.db(), &Cancel::new()).expect("recovers");
        assert!(!other.exists());
    }
}
