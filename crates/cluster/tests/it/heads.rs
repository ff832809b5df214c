//! The parts that change: each call as its documentation says, on several nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::checksum::Sha1;
use base::{Code, Date, Depth, FsPath, Lock, Revnum};
use fsfs::RepCacheRow;
use fsfs::shared::{NewRevision, Outcome, TxnOwner};
use testkit::engines::engines;
use testkit::fault_proxy::{FaultProxy, Framing, ProxyFault};

use crate::support::{TestCluster, list, revision};

fn lock(path: &str, token: &str) -> Lock {
    Lock {
        path: FsPath::parse(path).unwrap(),
        token: token.to_owned(),
        owner: "jane".to_owned(),
        comment: Some("c ü".to_owned()),
        is_dav_comment: true,
        created: Date(5),
        expires: Some(Date(7)),
    }
}

#[test]
fn revisions_are_published_from_a_known_state_only() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    let from = a.head();
    assert_eq!(from.youngest, Revnum(0));
    let row = RepCacheRow {
        sha1: Sha1::of(b"x"),
        rev: Revnum(1),
        item: 3,
        length: 4,
        expanded: 5,
    };
    let first = NewRevision {
        reps: vec![row],
        ..revision(1, b"short".to_vec(), "one")
    };
    assert_eq!(a.fs.heads.publish(&from, &[first]).unwrap(), Outcome::Done);
    assert_eq!(a.fs.heads.last_head().unwrap().youngest, Revnum(1));
    // The same again, from both: the state is another one.
    for node in [&a, &b] {
        let again = node
            .fs
            .heads
            .publish(&from, &[revision(1, b"other".to_vec(), "x")]);
        assert_eq!(again.unwrap(), Outcome::Outdated);
    }
    assert_eq!(b.head().youngest, Revnum(1));
    assert_eq!(b.fs.heads.find_rep(&Sha1::of(b"x")).unwrap(), Some(row));
    assert_eq!(b.fs.heads.find_rep(&Sha1::of(b"y")).unwrap(), None);
    let reps = |first, last, after| b.fs.heads.reps(Revnum(first), Revnum(last), after).unwrap();
    assert_eq!(reps(0, 1, None), [row]);
    assert_eq!(reps(1, u64::MAX, None), [row]);
    assert_eq!(reps(0, 1, Some(&row)), []);
    assert_eq!((reps(2, 9, None), reps(0, 0, None)), (vec![], vec![]));
    // Several at once, a long one among them.
    let long = vec![7; 300 << 10];
    let two = [revision(2, long, "two"), revision(3, b"s".to_vec(), "three")];
    assert_eq!(b.fs.heads.publish(&b.head(), &two).unwrap(), Outcome::Done);
    let lists = a.fs.heads.revprops(&[Revnum(3), Revnum(0), Revnum(9), Revnum(2)]);
    assert_eq!(**lists[0].as_ref().unwrap(), list("three")[..]);
    assert_eq!(**lists[1].as_ref().unwrap(), b"END\n"[..]);
    assert_eq!(lists[2].as_ref().unwrap_err().code(), Code::FS_NO_SUCH_REVISION);
    assert_eq!(**lists[3].as_ref().unwrap(), list("two")[..]);
    assert_eq!(
        test.sql(
            "SELECT string_agg(coalesce(length(content)::text, '-'), ' ' ORDER BY rev) FROM sven_revision"
        ),
        "1 5 - 1"
    );
}

#[test]
fn a_commit_does_not_make_old_properties_current() {
    let mut test = TestCluster::new(engines());
    test.settings.staleness_ms = 500;
    let (a, b) = (test.silent_node(&test.database), test.node());
    let from = a.head();
    let read = || a.fs.heads.revprops(&[Revnum(0)]).pop().unwrap().unwrap();
    assert_eq!(*read(), b"END\n"[..]);
    // It returns when no node uses the old list any more.
    let changed = b.fs.heads.replace_revprops(Revnum(0), b"END\n", &list("new"));
    assert_eq!(changed.unwrap(), Outcome::Done);
    let made = a.fs.heads.publish(&from, &[revision(1, b"x".to_vec(), "x")]);
    assert_eq!(made.unwrap(), Outcome::Done);
    assert_eq!(a.fs.heads.last_head().unwrap().youngest, Revnum(1));
    assert_eq!(*read(), list("new")[..]);
}

#[test]
fn a_database_that_is_silent_ends_the_wait_for_a_hold() {
    let mut test = TestCluster::new(engines());
    test.settings.patience_ms = 300;
    let proxy = FaultProxy::start(engines().postgres_address(), Framing::Bytes);
    let name = test.database.rsplit('/').next().unwrap();
    let name = name.split('?').next().unwrap();
    let node = test.node_at(&engines().database_at(name, proxy.address().port()));
    drop(node.fs.heads.hold().unwrap());
    proxy.set(ProxyFault::Stall);
    let Err(e) = node.fs.heads.hold() else {
        panic!("there is a hold");
    };
    assert!(e.to_string().contains("cannot be reached"), "{e}");
    proxy.set(ProxyFault::None);
    drop(node.fs.heads.hold().unwrap());
}

#[test]
fn contents_are_moved_to_the_objects() {
    let test = TestCluster::new(engines());
    let node = test.node();
    for rev in 1..=40 {
        let text = format!("revision {rev}").into_bytes();
        let made = node.fs.heads.publish(&node.head(), &[revision(rev, text, "x")]);
        assert_eq!(made.unwrap(), Outcome::Done);
    }
    let count = || test.sql("SELECT count(*) FROM sven_revision WHERE content IS NOT NULL");
    for _ in 0..100 {
        if count() == "16" {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{} contents are left", count());
}

#[test]
fn a_changed_property_list_is_seen_by_every_later_read() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    a.fs.heads
        .publish(&a.head(), &[revision(1, b"x".to_vec(), "0")])
        .unwrap();
    let read = |node: &crate::support::TestNode| node.fs.heads.revprops(&[Revnum(1)]).pop().unwrap().unwrap();
    for turn in 0..20 {
        let (writer, reader) = if turn % 2 == 0 { (&a, &b) } else { (&b, &a) };
        let old = read(writer);
        let new = list(&format!("{}", turn + 1));
        let mut outcome = writer.fs.heads.replace_revprops(Revnum(1), &old, &new).unwrap();
        if outcome == Outcome::Outdated {
            outcome = writer.fs.heads.replace_revprops(Revnum(1), &old, &new).unwrap();
        }
        assert_eq!(outcome, Outcome::Done);
        assert_eq!(*read(reader), new[..], "turn {turn}");
        assert_eq!(*read(writer), new[..], "turn {turn}");
    }
    let outdated = a.fs.heads.replace_revprops(Revnum(1), b"other", b"x");
    assert_eq!(outdated.unwrap(), Outcome::Outdated);
    let missing = a.fs.heads.replace_revprops(Revnum(5), b"x", b"y").unwrap_err();
    assert_eq!(missing.code(), Code::FS_NO_SUCH_REVISION);
}

#[test]
fn locks_are_made_and_removed_together() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    let from = a.head();
    let made = [lock("/d/f", "t1"), lock("/d/g", "t2"), lock("/da", "t3")];
    assert_eq!(a.fs.heads.change_locks(&from, &made, &[]).unwrap(), Outcome::Done);
    a.fs.heads.wait_until_seen().unwrap();
    assert_eq!(b.fs.heads.lock(&made[0].path).unwrap(), Some(made[0].clone()));
    assert_eq!(
        b.fs.heads
            .change_locks(&from, &[], &[made[0].path.clone()])
            .unwrap(),
        Outcome::Outdated
    );
    let publish = b.fs.heads.publish(&from, &[revision(1, b"x".to_vec(), "x")]);
    assert_eq!(publish.unwrap(), Outcome::Outdated, "the locks have changed");
    let below = |path: &str| {
        let path = FsPath::parse(path).unwrap();
        let locks = b.fs.heads.locks(&path, Depth::Infinity).unwrap();
        locks.into_iter().map(|lock| lock.token).collect::<Vec<_>>()
    };
    assert_eq!(below("/"), ["t1", "t2", "t3"]);
    assert_eq!(below("/d"), ["t1", "t2"]);
    assert_eq!(below("/da"), ["t3"]);
    let replaced = lock("/d/f", "t4");
    let changed =
        b.fs.heads
            .change_locks(&b.head(), &[replaced], &[made[1].path.clone()]);
    assert_eq!(changed.unwrap(), Outcome::Done);
    b.fs.heads.wait_until_seen().unwrap();
    assert_eq!(below("/"), ["t4", "t3"]);
    // So many that they are not kept in memory.
    test.sql(
        "INSERT INTO sven_lock SELECT 1, convert_to('/many/' || n, 'UTF8'), 'm' || n, 'o', NULL, false, 0, NULL \
         FROM generate_series(1, 10001) n; UPDATE sven_repository SET locks_version = locks_version + 1",
    );
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(below("/d"), ["t4"]);
    assert_eq!(below("/many").len(), 10_001);
    assert_eq!(below("/many/77"), ["m77"]);
    assert_eq!(below("/").len(), 10_003);
}

#[test]
fn a_node_that_was_declared_dead_commits_no_more() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    let epoch = a.cluster.epoch().unwrap();
    assert_eq!(
        b.fs.nodes.txn_owner((epoch << 32) + 5).unwrap(),
        TxnOwner::Gone,
        "it has no address"
    );
    assert_eq!(a.fs.nodes.txn_owner((epoch << 32) + 5).unwrap(), TxnOwner::This);
    assert!(b.cluster.declare_dead(epoch).unwrap());
    assert!(!b.cluster.declare_dead(epoch).unwrap());
    let refused = a.fs.heads.publish(&a.head(), &[revision(1, b"x".to_vec(), "x")]);
    // It may have noticed already, and registered again.
    if let Err(e) = refused {
        assert_eq!(e.code(), Code::FS_TXN_OUT_OF_DATE);
        let again = a.fs.heads.publish(&a.head(), &[revision(1, b"x".to_vec(), "x")]);
        assert_eq!(again.unwrap(), Outcome::Done);
    }
    assert_ne!(a.cluster.epoch().unwrap(), epoch);
    assert_eq!(a.fs.nodes.txn_owner((epoch << 32) + 5).unwrap(), TxnOwner::Gone);
    let alive = b
        .cluster
        .nodes()
        .unwrap()
        .iter()
        .filter(|node| node.is_alive)
        .count();
    assert_eq!(alive, 2);
    assert!(a.dir().join("epoch").exists());
}

#[test]
fn a_hold_keeps_other_nodes_from_publishing() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    let is_held = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let hold = a.fs.heads.hold().unwrap();
        let other = scope.spawn(|| {
            let mut rev = 1;
            loop {
                let made =
                    b.fs.heads
                        .publish(&b.head(), &[revision(rev, b"b".to_vec(), "b")])
                        .unwrap();
                if made == Outcome::Done {
                    assert!(!is_held.load(Ordering::SeqCst), "published during a hold");
                    return rev;
                }
                rev = b.head().youngest.0 + 1;
            }
        });
        std::thread::sleep(Duration::from_millis(200));
        for rev in 1..=3 {
            let made =
                a.fs.heads
                    .publish(&a.head(), &[revision(rev, b"a".to_vec(), "a")]);
            assert_eq!(made.unwrap(), Outcome::Done);
        }
        is_held.store(false, Ordering::SeqCst);
        drop(hold);
        assert_eq!(other.join().unwrap(), 4);
    });
}

#[test]
fn activities_and_seals_are_those_of_the_cluster() {
    let test = TestCluster::new(engines());
    let (a, b) = (test.node(), test.node());
    assert_eq!(a.fs.nodes.find_activity("x").unwrap(), None);
    a.fs.nodes.store_activity("x", Some("1-1")).unwrap();
    a.fs.nodes.store_activity("x", Some("1-2")).unwrap();
    assert_eq!(b.fs.nodes.find_activity("x").unwrap(), Some("1-2".to_owned()));
    b.fs.nodes.store_activity("x", None).unwrap();
    assert_eq!(a.fs.nodes.find_activity("x").unwrap(), None);
    let seal = a.fs.nodes.seal(b"message").unwrap();
    assert!(b.fs.nodes.is_sealed(b"message", &seal).unwrap());
    for (message, seal) in [
        (&b"messagf"[..], &*seal),
        (b"message", ""),
        (b"message", "0g"),
        (b"message", &seal[2..]),
    ] {
        assert!(!b.fs.nodes.is_sealed(message, seal).unwrap());
    }
    let other = TestCluster::new(engines()).node();
    assert!(!other.fs.nodes.is_sealed(b"message", &seal).unwrap());
}

/// The rows are read in parts, whichever of their columns changes where a part ends.
#[test]
fn shared_contents_are_listed_in_the_order_of_revisions() {
    let test = TestCluster::new(engines());
    let node = test.node();
    // Revisions 1, 11, 21 … have many contents, the others one; two contents are at each place.
    test.sql(
        "INSERT INTO sven_rep (repository, sha1, rev, item, length, expanded) \
         SELECT (SELECT id FROM sven_repository), decode(lpad(to_hex(n), 40, '0'), 'hex'), \
         CASE WHEN n % 4 = 0 THEN n / 4 ELSE 1 + 10 * (n % 7) END, n / 2, n, n FROM generate_series(1, 17000) n",
    );
    let key = |row: &RepCacheRow| (row.rev, row.item, row.sha1.0);
    let mut all: Vec<RepCacheRow> = Vec::new();
    let mut answers = 0;
    loop {
        let rows = node.fs.heads.reps(Revnum(0), Revnum(5_000), all.last()).unwrap();
        if rows.is_empty() {
            break;
        }
        answers += 1;
        all.extend(rows);
    }
    assert!(answers > 3 && all.len() == 17_000, "{answers}: {}", all.len());
    assert!(all.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
    // What no commit writes is an error, not a row with other numbers.
    test.sql("UPDATE sven_rep SET length = -1 WHERE rev = 4000");
    let reps = |first, last| node.fs.heads.reps(Revnum(first), Revnum(last), None);
    assert_eq!(reps(4000, 4000).unwrap_err().code(), Code::FS_CORRUPT);
    test.sql("UPDATE sven_rep SET rev = -1 WHERE rev = 4000");
    assert_eq!(reps(0, 9).unwrap_err().code(), Code::FS_CORRUPT);
}
