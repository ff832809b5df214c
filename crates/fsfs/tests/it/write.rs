//! What is written, against what Subversion 1.14 writes for the same changes: byte for byte.

use base::{Date, FsPath};
use fsfs::{Cache, Fs, Txn, TxnOptions};
use testkit::{Repo, Tool};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(16 << 20)).unwrap()
}

fn now() -> Date {
    Date(1_700_000_000_000_000)
}

fn path(text: &str) -> FsPath {
    FsPath::parse(text).unwrap()
}

fn put(txn: &mut Txn, file: &str, text: &[u8]) {
    let mut writer = txn.apply_text(&path(file), None).unwrap();
    writer.write(text).unwrap();
    writer.finish(txn).unwrap();
}

#[test]
fn a_first_commit() {
    for version in ["1.3", "1.4", "1.5", "1.7", "1.8", "1.9", "1.14"] {
        let ours = Repo::create(version);
        let fs = open(&ours);
        let mut txn = fs
            .begin_txn(base::Revnum(0), TxnOptions::default(), now())
            .unwrap();
        txn.make_file(&path("/iota")).unwrap();
        put(&mut txn, "/iota", b"Hello\n");
        let done = txn.commit(&now).unwrap();
        assert!(
            done.post_commit_error.is_none(),
            "{version}: {:?}",
            done.post_commit_error
        );
        Tool::new("svnadmin").args(["verify", "-q"]).arg(ours.path()).ok();
        let theirs = Repo::create(version);
        Tool::new("svnmucc")
            .args(["-m", "", "put", "/dev/stdin"])
            .arg(format!("{}/iota", theirs.url()))
            .stdin("Hello\n")
            .ok();
        let file = |repo: &Repo| {
            let sharded = repo.db().join("revs/0/1");
            let path = if sharded.exists() {
                sharded
            } else {
                repo.db().join("revs/1")
            };
            std::fs::read(path).unwrap()
        };
        assert_eq!(
            String::from_utf8_lossy(&file(&ours)),
            String::from_utf8_lossy(&file(&theirs)),
            "{version}"
        );
    }
}
