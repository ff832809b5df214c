//! Rep sharing: with a rep-cache that the incumbent uses too, and with a wrong rep-cache.

use base::checksum::Sha1;
use base::{Code, Date, FsPath, Result, Revnum};
use fsfs::{Cache, Fs, TxnOptions};
use testkit::{Repo, Tool};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

fn put(fs: &Fs, file: &str, text: &[u8]) -> Result<Revnum> {
    let path = FsPath::parse(&format!("/{file}")).unwrap();
    let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), Date(0))?;
    txn.make_file(&path)?;
    let mut writer = txn.apply_text(&path, None)?;
    writer.write(text)?;
    if let Err(e) = writer.finish(&mut txn) {
        txn.abort()?;
        return Err(e);
    }
    let done = txn.commit(&|| Date(0))?;
    assert!(done.post_commit_error.is_none(), "{:?}", done.post_commit_error);
    Ok(done.rev)
}

fn put_theirs(repo: &Repo, file: &str, text: &[u8]) {
    Tool::new("svnmucc")
        .args(["-m", "", "put", "/dev/stdin"])
        .arg(format!("{}/{file}", repo.url()))
        .stdin(text)
        .ok();
}

/// The revision in which the text of a file is stored.
fn stored_in(repo: &Repo, rev: u64, file: &str) -> u64 {
    let bytes = std::fs::read(repo.db().join(format!("revs/0/{rev}"))).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let node = text
        .split("id: ")
        .find(|node| node.contains(&format!("cpath: /{file}\n")));
    let line = node.unwrap().lines().find_map(|line| line.strip_prefix("text: "));
    line.unwrap().split(' ').next().unwrap().parse().unwrap()
}

fn execute(repo: &Repo, sql: &str) {
    let connection = rusqlite::Connection::open(repo.db().join("rep-cache.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn both_programs_share_representations() {
    for version in ["1.7", "1.8", "1.9", "1.14"] {
        let repo = Repo::create(version);
        let fs = open(&repo);
        put(&fs, "a", b"ours first").unwrap();
        put_theirs(&repo, "b", b"ours first");
        put_theirs(&repo, "c", b"theirs first");
        put(&fs, "d", b"theirs first").unwrap();
        let places = [(1, "a"), (2, "b"), (3, "c"), (4, "d")].map(|(rev, file)| stored_in(&repo, rev, file));
        assert_eq!(places, [1, 1, 3, 3], "{version}");
        Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
    }
}

#[test]
fn a_deleted_or_replaced_database_is_made_again() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    let database = repo.db().join("rep-cache.db");
    assert!(!database.exists());
    put(&fs, "a", b"text").unwrap();
    std::fs::remove_file(&database).unwrap();
    put(&fs, "b", b"text").unwrap();
    assert_eq!(stored_in(&repo, 2, "b"), 2);
    put(&fs, "c", b"text").unwrap();
    assert_eq!(stored_in(&repo, 3, "c"), 2);
    // A crash may leave an empty file.
    std::fs::remove_file(&database).unwrap();
    std::fs::write(&database, b"").unwrap();
    put(&fs, "d", b"text").unwrap();
    assert_eq!(stored_in(&repo, 4, "d"), 4);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

/// The error numbers are those of Subversion 1.14.2 for the same rows.
#[test]
fn wrong_rows_stop_the_commit() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    put(&fs, "first", b"hello\n").unwrap();
    let row = |text: &[u8], rev: u64, item: u64, length: u64, expanded: usize| {
        let hash = Sha1::of(text);
        execute(
            &repo,
            &format!("INSERT INTO rep_cache VALUES ('{hash}', {rev}, {item}, {length}, {expanded})"),
        );
    };
    row(b"too young", 9, 3, 20, 9);
    let error = put(&fs, "too-young", b"too young").unwrap_err();
    assert_eq!(error.code(), Code::FS_CORRUPT);
    assert!(error.has(Code::FS_NO_SUCH_REVISION), "{error}");
    // Item 2 is a node-revision.
    row(b"no content", 1, 2, 20, 10);
    assert_eq!(
        put(&fs, "none", b"no content").unwrap_err().code(),
        Code::FS_CORRUPT
    );
    row(b"HELLO\n", 1, 3, 18, 6);
    let error = put(&fs, "other", b"HELLO\n").unwrap_err();
    assert_eq!(error.code(), Code::FS_AMBIGUOUS_CHECKSUM_REP, "{error}");
    // A row with a wrong length does not fail the commit: the text is not shared.
    row(b"short", 1, 3, 18, 6);
    put(&fs, "short", b"short").unwrap();
    assert_eq!(stored_in(&repo, 2, "short"), 2);
    assert!(fs.list_txns().unwrap().is_empty());
}

#[test]
fn an_invalid_database_does_not_prevent_commits() {
    let repo = Repo::create("1.14");
    std::fs::write(repo.db().join("rep-cache.db"), b"garbage").unwrap();
    let fs = open(&repo);
    let mut txn = fs.begin_txn(Revnum(0), TxnOptions::default(), Date(0)).unwrap();
    let path = FsPath::parse("/a").unwrap();
    txn.make_file(&path).unwrap();
    let mut writer = txn.apply_text(&path, None).unwrap();
    writer.write(b"text").unwrap();
    writer.finish(&mut txn).unwrap();
    let done = txn.commit(&|| Date(0)).unwrap();
    assert_eq!(done.rev, Revnum(1));
    // The damage is reported.
    assert!(done.post_commit_error.is_some());
}

/// Long texts are compared in pieces, and the second copy is removed from the proto-revision file.
#[test]
fn long_texts_are_shared() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    let text: Vec<u8> = (0..3_000_000u64).map(|at| ((at * at) >> 7) as u8).collect();
    put(&fs, "a", &text).unwrap();
    put(&fs, "b", &text).unwrap();
    assert_eq!(stored_in(&repo, 2, "b"), 1);
    assert!(std::fs::metadata(repo.db().join("revs/0/2")).unwrap().len() < 2000);
    // Texts with another last byte, and entirely different ones.
    let mut other = text.clone();
    *other.last_mut().unwrap() ^= 1;
    put(&fs, "c", &other).unwrap();
    assert_eq!(stored_in(&repo, 3, "c"), 3);
    let hash = Sha1::of(&other[..2_999_999]);
    execute(
        &repo,
        &format!(
            "INSERT INTO rep_cache SELECT '{hash}', revision, offset, size, 2999999 FROM rep_cache WHERE revision = 3 \
             AND expanded_size = 3000000"
        ),
    );
    let error = put(&fs, "d", &other[..2_999_999]).unwrap_err();
    assert_eq!(error.code(), Code::FS_AMBIGUOUS_CHECKSUM_REP, "{error}");
    Tool::new("svnadmin")
        .args(["verify", "-q", "--keep-going"])
        .arg(repo.path())
        .run();
}

/// The result of a commit of a new text: whether there is a revision, and whether an error is reported besides.
fn outcomes(repo: &Repo, sick: &dyn Fn(&std::path::Path)) -> [(bool, bool); 2] {
    sick(&repo.db().join("rep-cache.db"));
    let put = Tool::new("svnmucc").args(["-m", "", "put", "/dev/stdin"]);
    let put = put.arg(format!("{}/theirs", repo.url())).stdin("theirs").run();
    let output = put.out() + &put.err();
    let theirs = (
        put.code == 0,
        output.contains("post commit FS processing had error"),
    );
    sick(&repo.db().join("rep-cache.db"));
    // A new handle, because the other side was a new process, too.
    let fs = open(repo);
    let path = FsPath::parse("/ours").unwrap();
    let commit = || {
        let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), Date(0))?;
        txn.make_file(&path)?;
        let mut writer = txn.apply_text(&path, None)?;
        writer.write(b"ours")?;
        writer.finish(&mut txn)?;
        txn.commit(&|| Date(0))
    };
    let ours = match commit() {
        Ok(done) => (true, done.post_commit_error.is_some()),
        Err(_) => (false, false),
    };
    [theirs, ours]
}

#[test]
fn damaged_databases_have_the_incumbents_results() {
    use std::fs::{File, remove_dir_all, remove_file, write};
    let sql = |path: &std::path::Path, sql: &str| {
        rusqlite::Connection::open(path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    };
    type Sickness<'a> = (&'a str, &'a dyn Fn(&std::path::Path));
    let sicknesses: [Sickness<'_>; 9] = [
        ("none", &|path| remove_file(path).unwrap()),
        ("empty", &|path| write(path, b"").unwrap()),
        ("garbage", &|path| write(path, "garbage".repeat(999)).unwrap()),
        ("cut", &|path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(4096).unwrap();
        }),
        ("no table", &|path| sql(path, "DROP TABLE IF EXISTS rep_cache;")),
        ("newer schema", &|path| sql(path, "PRAGMA user_version = 99;")),
        ("read-only", &|path| {
            sql(
                path,
                "CREATE TRIGGER IF NOT EXISTS no BEFORE INSERT ON rep_cache BEGIN SELECT RAISE(ABORT, 'no'); END;",
            );
        }),
        ("a column is missing", &|path| {
            sql(path, "DROP TABLE rep_cache; CREATE TABLE rep_cache (hash TEXT);");
        }),
        ("folder", &|path| {
            _ = remove_file(path);
            _ = std::fs::create_dir(path);
        }),
    ];
    for (name, sick) in sicknesses {
        let repo = Repo::create("1.14");
        put(&open(&repo), "first", b"first").unwrap();
        let both = outcomes(&repo, sick);
        assert_eq!(both[1], both[0], "{name}");
        assert!(both[0].0, "{name}");
        let path = repo.db().join("rep-cache.db");
        _ = remove_file(&path);
        _ = remove_dir_all(&path);
        Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
    }
}

#[test]
fn a_locked_database_does_not_undo_a_commit() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    put(&fs, "first", b"first").unwrap();
    let holder = rusqlite::Connection::open(repo.db().join("rep-cache.db")).unwrap();
    // A reader of the rep-cache does not wait; a writer that waits too long reports an error.
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let both = outcomes(&repo, &|_| {});
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(both, [(true, true); 2]);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

#[test]
fn a_reopened_transaction_shares_its_texts() {
    let repo = Repo::create("1.14");
    let add = |fs: &Fs, txn: &mut fsfs::Txn, file: &str| -> Result<()> {
        let path = FsPath::parse(file)?;
        txn.make_file(&path)?;
        let mut writer = txn.apply_text(&path, None)?;
        writer.write(b"a text that comes twice")?;
        writer.finish(txn)?;
        txn.write_to_disk()?;
        fs.list_txns().map(drop)
    };
    let fs = open(&repo);
    let mut txn = fs.begin_txn(Revnum(0), TxnOptions::default(), Date(0)).unwrap();
    add(&fs, &mut txn, "/a").unwrap();
    let name = txn.name().to_owned();
    drop(txn);
    // The representation line of the node, in a file named by the digest, as the incumbent writes it.
    let dir = repo.db().join(format!("transactions/{name}.txn"));
    let line = std::fs::read_to_string(dir.join(Sha1::of(b"a text that comes twice").to_string())).unwrap();
    let node = std::fs::read_to_string(dir.join("node._0.0")).unwrap();
    assert!(node.contains(&format!("\ntext: {line}\n")), "{node} {line}");
    // Another process continues with the transaction.
    let fs = open(&repo);
    let mut txn = fs.open_txn(&name).unwrap();
    add(&fs, &mut txn, "/b").unwrap();
    txn.commit(&|| Date(0)).unwrap();
    let bytes = std::fs::read(repo.db().join("revs/0/1")).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert_eq!(text.matches("a text that comes twice").count(), 1);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}
