//! Effects of a commit other than the tree: revision properties, users' locks, options of `fsfs.conf`, and refusals.

use base::{Code, NodeKind, Revnum};
use fsfs::{LockAccess, TxnOptions};

use super::script::CommitStep::{self, Cp, Mkdir, Propset, Put, Rm};
use super::script::{apply, begin, now, ours, path, verify};
use crate::compare;
use crate::incumbent::{Repository, arg, run};

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn the_date_is_that_of_the_commit_unless_the_client_set_one() {
    for version in ["1.3", "1.8", "1.14", "fsx"] {
        let repository = Repository::create(version, 1000, "");
        let fs = compare::open(&repository);
        let early = base::Date(1_000_000_000_000_000);
        for (client_date, set, expected) in [
            (false, None, Some(now().to_string())),
            (
                false,
                Some(Some("2001-01-01T00:00:00.000000Z")),
                Some(now().to_string()),
            ),
            (true, None, Some(now().to_string())),
            (
                true,
                Some(Some("2001-01-01T00:00:00.000000Z")),
                Some("2001-01-01T00:00:00.000000Z".to_owned()),
            ),
            (true, Some(None), None),
        ] {
            let options = TxnOptions {
                check_locks: true,
                client_date,
                ..TxnOptions::default()
            };
            let mut txn = fs.begin_txn(fs.youngest().unwrap(), options, early).unwrap();
            if let Some(value) = set {
                txn.set_prop("svn:date", value.map(str::as_bytes)).unwrap();
            }
            txn.set_prop("svn:log", Some(b"a log")).unwrap();
            let rev = txn.commit(&now).unwrap().rev;
            drop(txn);
            let list = fs.revprops(rev).unwrap();
            let names: Vec<_> = list.iter().map(|(name, _)| name).collect();
            let date = list
                .get("svn:date")
                .map(|date| String::from_utf8_lossy(date).into_owned());
            assert_eq!(date, expected, "{version}");
            match date {
                Some(_) => assert_eq!(names, ["svn:date", "svn:log"]),
                None => assert_eq!(names, ["svn:log"]),
            }
        }
        verify(&repository);
    }
}

#[test]
fn errors_equal_the_incumbents_and_change_nothing() {
    let repository = Repository::create("1.14", 1000, "");
    let fs = compare::open(&repository);
    ours(&fs, &[Mkdir("d"), Put("d/f", text("one\n"))]).unwrap();
    let mut txn = begin(&fs);
    let name = txn.name().to_owned();
    let uuid = fs.uuid();
    let not_directory = (
        Code::FS_NOT_DIRECTORY,
        format!("Failure opening '/d/f' in transaction '{name}'"),
    );
    let not_found = |path: &str| {
        (
            Code::FS_NOT_FOUND,
            format!("File not found: transaction '{name}', path '{path}'"),
        )
    };
    let exists = |path: &str| {
        (
            Code::FS_ALREADY_EXISTS,
            format!("File already exists: filesystem '{uuid}', transaction '{name}', path '{path}'"),
        )
    };
    let refused: Vec<(CommitStep, (Code, String))> = vec![
        (Mkdir("d"), exists("/d")),
        (Mkdir("d/f"), exists("/d/f")),
        (Mkdir("none/x"), not_found("/none/x")),
        (Mkdir("none/x/y"), not_found("/none/x/y")),
        (Mkdir("d/f/x"), not_directory.clone()),
        (Rm("none"), not_found("/none")),
        (Rm("d/f/x"), not_directory.clone()),
        (Propset("none", "p", "v"), not_found("/none")),
        (Cp(1, "d", "none/x"), not_found("/none/x")),
        (
            Cp(1, "none", "x"),
            (
                Code::FS_NOT_FOUND,
                "File not found: revision 1, path '/none'".to_owned(),
            ),
        ),
    ];
    let before = compare::ids(&txn.root().unwrap());
    for (op, (code, message)) in refused {
        let e = apply(&fs, &mut txn, std::slice::from_ref(&op)).unwrap_err();
        assert_eq!((e.code(), e.message()), (code, message), "{op:?}");
    }
    assert_eq!(txn.delete(&path("")).unwrap_err().code(), Code::FS_ROOT_DIR);
    assert_eq!(
        txn.make_dir(&base::FsPath::parse("/a\nb").unwrap())
            .unwrap_err()
            .code(),
        Code::FS_PATH_SYNTAX
    );
    let code = |result: base::Result<fsfs::TextWriter>| result.map(drop).unwrap_err().code();
    assert_eq!(code(txn.apply_text(&path("d"), None)), Code::FS_NOT_FILE);
    assert_eq!(code(txn.apply_text(&path("none"), None)), Code::FS_NOT_FOUND);
    assert_eq!(compare::ids(&txn.root().unwrap()), before);
    // Wrong digests of the delta base and of the result.
    let wrong = base::checksum::Md5::of(b"something else");
    assert_eq!(
        code(txn.apply_textdelta(&path("d/f"), Some(&wrong), None)),
        Code::CHECKSUM_MISMATCH
    );
    let mut writer = txn.apply_text(&path("d/f"), Some(&wrong)).unwrap();
    writer.write(b"two\n").unwrap();
    let e = writer.finish(&mut txn).unwrap_err();
    assert_eq!(e.code(), Code::CHECKSUM_MISMATCH);
    assert!(
        e.message()
            .starts_with("Checksum mismatch for resulting fulltext\n(/d/f):\n")
    );
    // Only one text may be written at a time; a dropped one leaves no bytes.
    let first = txn.apply_text(&path("d/f"), None).unwrap();
    assert_eq!(
        code(txn.apply_text(&path("d/f"), None)),
        Code::FS_REP_BEING_WRITTEN
    );
    drop(first);
    apply(&fs, &mut txn, &[Put("d/f", text("three\n"))]).unwrap();
    assert_eq!(txn.commit(&now).unwrap().rev, Revnum(2));
    assert_eq!(txn.commit(&now).unwrap_err().code(), Code::FS_TRANSACTION_DEAD);
    assert_eq!(repository.svnlook(&["cat", "d/f"]), "three\n");
    verify(&repository);
    for gone in ["0-0", "99-1"] {
        assert_eq!(
            fs.open_txn(gone).map(drop).unwrap_err().code(),
            Code::FS_NO_SUCH_TRANSACTION
        );
    }
    assert_eq!(
        fs.open_txn("x").map(drop).unwrap_err().code(),
        Code::FS_MALFORMED_TXN_ID
    );
    assert_eq!(
        fs.begin_txn(Revnum(9), TxnOptions::default(), now())
            .map(drop)
            .unwrap_err()
            .code(),
        Code::FS_NO_SUCH_REVISION
    );
}

#[test]
fn users_locks_are_enforced_while_editing_and_at_the_commit() {
    let repository = Repository::create("1.14", 1000, "");
    let fs = compare::open(&repository);
    ours(
        &fs,
        &[Mkdir("d"), Put("d/f", text("one\n")), Put("g", text("g\n"))],
    )
    .unwrap();
    let comment = repository.file("comment", b"mine");
    let lock = |path: &str, token: &str| {
        let db = repository.path();
        run("svnadmin", &["lock", arg(&db), path, "alice", &comment, token])
    };
    lock("/d/f", "opaquelocktoken:1");
    let begin = |user: Option<&str>, tokens: &[&str]| {
        let options = TxnOptions {
            check_locks: true,
            client_date: false,
            ..TxnOptions::default()
        };
        let mut txn = fs.begin_txn(fs.youngest().unwrap(), options, now()).unwrap();
        txn.set_lock_access(LockAccess {
            user: user.map(str::to_owned),
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            ignores_locks: false,
        });
        txn
    };
    let put = [Put("d/f", text("two\n"))];
    for (user, tokens, code) in [
        (None, &[][..], Code::FS_NO_USER),
        (Some("bob"), &["opaquelocktoken:1"], Code::FS_LOCK_OWNER_MISMATCH),
        (Some("alice"), &[], Code::FS_BAD_LOCK_TOKEN),
    ] {
        for op in [&put[..], &[Rm("d")], &[Propset("d/f", "p", "v")]] {
            let mut txn = begin(user, tokens);
            assert_eq!(apply(&fs, &mut txn, op).unwrap_err().code(), code, "{op:?}");
            txn.abort().unwrap();
        }
        // A lock on a path does not cover siblings or parents.
        let mut txn = begin(user, tokens);
        apply(&fs, &mut txn, &[Propset("d", "p", "v"), Mkdir("e")]).unwrap();
        txn.abort().unwrap();
    }
    let mut txn = begin(Some("alice"), &["opaquelocktoken:1"]);
    apply(&fs, &mut txn, &put).unwrap();
    txn.commit(&now).unwrap();
    // With a lock created after the edit the commit fails, and the transaction still exists.
    let mut txn = begin(Some("bob"), &[]);
    apply(&fs, &mut txn, &[Put("g", text("changed\n"))]).unwrap();
    lock("/g", "opaquelocktoken:2");
    assert_eq!(txn.commit(&now).unwrap_err().code(), Code::FS_LOCK_OWNER_MISMATCH);
    run(
        "svnadmin",
        &[
            "unlock",
            arg(&repository.path()),
            "/g",
            "alice",
            "opaquelocktoken:2",
        ],
    );
    txn.commit(&now).unwrap();
    verify(&repository);
}

#[test]
fn fsfs_conf_enables_verify_before_and_pack_after_commit() {
    let conf = "[debug]\nverify-before-commit = true\npack-after-commit = true\n";
    for version in ["1.8", "1.14", "fsx"] {
        let repository = Repository::create(version, 3, conf);
        let fs = compare::open(&repository);
        for number in 0..8 {
            let name: &'static str = format!("d{number}").leak();
            let committed = ours(&fs, &[Mkdir(name), Put("f", format!("{number}\n").into_bytes())]).unwrap();
            assert!(committed.post_commit_error.is_none(), "{version} {committed:?}");
        }
        assert_eq!(fs.info().unwrap().min_unpacked_rev, Revnum(9), "{version}");
        verify(&repository);
        // The next shard's first revision follows a packed one.
        ours(&fs, &[Mkdir("after")]).unwrap();
        verify(&repository);
        let youngest = fs.root(fs.youngest().unwrap()).unwrap();
        assert_eq!(youngest.kind(&path("after")).unwrap(), NodeKind::Dir);
    }
}

/// Readers in this process see each change at once, through any open handle.
#[test]
fn a_transaction_root_shows_the_current_state() {
    let repository = Repository::create("1.14", 1000, "");
    let fs = compare::open(&repository);
    ours(&fs, &[Mkdir("d"), Put("d/f", text("one\n"))]).unwrap();
    let mut txn = begin(&fs);
    let root = txn.root().unwrap();
    assert!(root.changed_paths().unwrap().is_empty());
    apply(
        &fs,
        &mut txn,
        &[Put("d/f", text("two\n")), Mkdir("d/e"), Propset("d", "p", "v")],
    )
    .unwrap();
    let d = root.node(&path("d")).unwrap();
    assert_eq!(d.entries().unwrap().len(), 2);
    assert_eq!(d.prop("p").unwrap(), Some(b"v".to_vec()));
    assert_eq!(
        d.child("f")
            .unwrap()
            .unwrap()
            .reader()
            .unwrap()
            .read_all()
            .unwrap(),
        b"two\n"
    );
    assert_eq!(root.changed_paths().unwrap().len(), 3);
    apply(&fs, &mut txn, &[Rm("d/f")]).unwrap();
    assert!(root.try_node(&path("d/f")).unwrap().is_none());
    assert_eq!(
        fs.txn_root(txn.name()).unwrap().kind(&path("d/f")).unwrap(),
        NodeKind::None
    );
    // Other processes do not see it until it is written to disk.
    let other = compare::open(&repository);
    assert_eq!(
        other.txn_root(txn.name()).unwrap().kind(&path("d/e")).unwrap(),
        NodeKind::None
    );
    txn.write_to_disk().unwrap();
    assert_eq!(
        other.txn_root(txn.name()).unwrap().kind(&path("d/e")).unwrap(),
        NodeKind::Dir
    );
    txn.abort().unwrap();
    assert!(other.list_txns().unwrap().is_empty());
}
