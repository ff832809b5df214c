//! Tests of the testkit itself: Subversion's tools check the repositories.

use std::net::TcpStream;

use testkit::engines::{Engines, sql};
use testkit::repo::{Spec, When, build, matrix};
use testkit::{Side, Tool};

#[test]
fn every_kind_of_repository_is_made_and_verifies() {
    for spec in matrix() {
        let repo = build(&spec);
        Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
        assert_eq!(repo.youngest(), spec.history.youngest(), "{}", spec.name);
    }
}

#[test]
fn all_kinds_hold_the_same_history() {
    let mut first: Option<Vec<String>> = None;
    for spec in matrix().iter().filter(|spec| !spec.revprop_edits) {
        let dump = Tool::new("svnadmin")
            .args(["dump", "-q"])
            .arg(build(spec).path())
            .ok()
            .out();
        // Formats before 4 have no SHA-1.
        let lines: Vec<_> = dump
            .lines()
            .filter(|l| !l.contains("-sha1: "))
            .map(str::to_owned)
            .collect();
        let first = first.get_or_insert_with(|| lines.clone());
        assert!(*first == lines, "{} holds something else", spec.name);
    }
}

#[test]
fn a_busy_repository_has_locks_and_an_open_transaction() {
    let repo = build(&Spec::new("1.14").busy());
    let locks = Tool::new("svnadmin").arg("lslocks").arg(repo.path()).ok().out();
    assert_eq!(locks.matches("Path: ").count(), 4, "{locks}");
    let txns = Tool::new("svnadmin").arg("lstxns").arg(repo.path()).ok().out();
    assert_eq!(txns.lines().count(), 1, "{txns}");
    let changed = Tool::new("svnlook")
        .args(["changed", "-t", txns.trim()])
        .arg(repo.path())
        .ok()
        .out();
    let expected = "_U  /\nA   open/\nA   open/copy/\nA   open/copy.txt\nA   open/new.txt\nA   open/props.txt\n\
        D   trunk/a-b\nU   trunk/hello.txt\n";
    assert_eq!(changed, expected);
    let log = Tool::new("svnlook")
        .args(["log", "-t", txns.trim()])
        .arg(repo.path())
        .ok()
        .out();
    assert_eq!(log.trim(), testkit::repo::OPEN_TXN_LOG);
}

#[test]
fn a_copy_may_be_changed_and_goes_away() {
    let repo = build(&Spec::small("1.8").shard(4).pack(When::After)).copy();
    repo.set_revprop(2, "svn:log", b"changed");
    assert_eq!(
        Tool::new("svnlook")
            .args(["log", "-r2"])
            .arg(repo.path())
            .ok()
            .out(),
        "changed\n"
    );
    let path = repo.path().to_owned();
    drop(repo);
    assert!(!path.exists());
}

#[test]
fn a_server_starts_and_stops() {
    let repo = build(&Spec::small("1.14"));
    let root = repo.path().parent().expect("because it is in a folder");
    let name = repo
        .path()
        .file_name()
        .expect("because it has a name")
        .to_string_lossy()
        .into_owned();
    let server = testkit::server::TestServer::svnserve(Side::Theirs, root, &["-T"]);
    let info = Tool::new("svn")
        .args(["info", "--show-item", "revision", &server.url(&name)])
        .ok();
    assert_eq!(info.out().trim(), "11");
}

#[test]
fn engines_start_and_start_again() {
    let mut engines = Engines::start();
    let database = engines.new_database();
    sql(&database, "CREATE TABLE t (n integer); INSERT INTO t VALUES (7)");
    let object = engines.bucket_dir().join("test");
    std::fs::write(&object, "text").expect("because the directory is there");
    engines.stop_postgres();
    engines.stop_objects();
    assert!(TcpStream::connect(engines.postgres_address()).is_err());
    assert!(TcpStream::connect(engines.objects_address()).is_err());
    engines.start_postgres();
    engines.start_objects();
    assert_eq!(sql(&database, "SELECT n FROM t"), "7");
    assert!(object.exists());
    drop(engines);
    assert!(!object.exists());
}
