//! Removal of objects that no row names.

use std::time::Duration;

use base::{Cancel, Code, Revnum};
use cluster::{Cluster, ClusterSettings, GarbageReport};
use fsfs::shared::{Outcome, SharedFs};
use testkit::engines::engines;

use crate::support::{MemoryFile, TestCluster, TestNode, objects, revision, wait_until};

const LENGTH: usize = 70_000;

fn publish(fs: &SharedFs, byte: u8) {
    let head = fs.heads.head(Duration::ZERO).unwrap();
    let next = revision(head.youngest.0 + 1, vec![byte; LENGTH], "log");
    assert_eq!(fs.heads.publish(&head, &[next]).unwrap(), Outcome::Done);
}

/// A cluster with two revisions that are objects.
fn two_objects() -> (TestCluster, TestNode) {
    let mut base = TestCluster::new(engines());
    // The test removes garbage itself.
    base.settings.gc_ms = 0;
    base.settings.scrub_ms = 0;
    let node = base.node();
    publish(&node.fs, b'x');
    publish(&node.fs, b'y');
    (base, node)
}

fn collect(node: &TestNode, grace: u64) -> (u64, u64) {
    let report = node
        .cluster
        .collect_garbage(grace, false, &Cancel::new())
        .unwrap();
    assert_eq!(report.removed * LENGTH as u64, report.removed_bytes);
    assert_eq!(report.waiting * LENGTH as u64, report.waiting_bytes);
    (report.removed, report.waiting)
}

/// The objects of a revision.
fn objects_of(base: &TestCluster, rev: u64) -> usize {
    let instance = base.sql("SELECT instance FROM sven_repository");
    objects(&[&instance, &format!("/{rev}-")]).len()
}

const HOUR: u64 = 3600;

#[test]
fn objects_go_when_they_had_no_row_for_the_grace_time() {
    let (base, node) = two_objects();
    let publication = base.sql("SELECT publication FROM sven_revision WHERE rev = 1");
    let unname = || base.sql("UPDATE sven_revision SET publication = gen_random_uuid() WHERE rev = 1");
    let name = || {
        base.sql(&format!(
            "UPDATE sven_revision SET publication = '{publication}' WHERE rev = 1"
        ))
    };
    // As after that time, by the clock of the database.
    let wait = || base.sql("UPDATE sven_garbage SET found = found - interval '2 hours'");
    assert_eq!(collect(&node, 0), (0, 0));
    unname();
    let dry = node.cluster.collect_garbage(0, true, &Cancel::new()).unwrap();
    assert_eq!((dry.removed, dry.waiting), (0, 1), "it is not known yet");
    assert_eq!(collect(&node, HOUR), (0, 1));
    assert_eq!(collect(&node, HOUR), (0, 1));
    wait();
    // A database that was restored to an earlier moment names it again.
    name();
    assert_eq!(collect(&node, HOUR), (0, 0));
    unname();
    assert_eq!(collect(&node, HOUR), (0, 1), "the grace time begins again");
    wait();
    let dry = node.cluster.collect_garbage(HOUR, true, &Cancel::new()).unwrap();
    assert_eq!((dry.removed, dry.removed_bytes), (1, LENGTH as u64));
    assert_eq!(objects_of(&base, 1), 1);
    assert_eq!(collect(&node, HOUR), (1, 0));
    assert_eq!((objects_of(&base, 1), objects_of(&base, 2)), (0, 1));
    assert_eq!(collect(&node, 0), (0, 0));
    assert_eq!(
        base.sql("SELECT count(*) FROM sven_garbage"),
        "0",
        "what is gone is forgotten"
    );
}

/// A node was interrupted after it had written an object, and before the row named it. The row names it the next moment.
#[test]
fn an_object_whose_row_has_the_content_is_no_garbage() {
    let (base, node) = two_objects();
    base.sql(&format!(
        "UPDATE sven_revision SET content = convert_to(repeat('x', {LENGTH}), 'UTF8') WHERE rev = 1"
    ));
    assert_eq!(collect(&node, 0), (0, 0));
    base.sql("UPDATE sven_revision SET content = NULL WHERE rev = 1");
    let fresh = TestCluster {
        database: base.database.clone(),
        settings: base.settings.clone(),
    }
    .node();
    let file = fresh.fs.blobs.open_revision(Revnum(1)).unwrap();
    let mut buf = vec![0; LENGTH];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), LENGTH);
    assert!(buf == vec![b'x'; LENGTH]);
    assert_eq!(
        node.cluster.compare_objects(0, &Cancel::new()).unwrap().damaged,
        Vec::<String>::new()
    );
}

/// Revisions are published, and moved to objects, while garbage is removed all the time.
#[test]
fn publications_lose_nothing_while_garbage_is_removed() {
    let (base, node) = two_objects();
    let other = base.node();
    std::thread::scope(|scope| {
        let publisher = scope.spawn(|| {
            for number in 0..30 {
                publish(&other.fs, number);
            }
        });
        while !publisher.is_finished() {
            // A publication takes less than a minute.
            node.cluster.collect_garbage(60, false, &Cancel::new()).unwrap();
        }
    });
    let checked = node.cluster.compare_objects(0, &Cancel::new()).unwrap();
    assert_eq!(checked.damaged, Vec::<String>::new());
    // Revision 0 is short: it may have been moved, or not.
    assert!((32..=33).contains(&checked.objects), "{}", checked.objects);
}

#[test]
fn a_serving_node_removes_garbage_from_time_to_time() {
    let (base, node) = two_objects();
    base.sql("UPDATE sven_revision SET publication = gen_random_uuid() WHERE rev = 1");
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().to_owned(),
        gc_ms: 1,
        gc_grace_ms: 0,
        ..base.settings.clone()
    };
    let cluster = Cluster::connect_alone(&settings).unwrap();
    cluster.serve().unwrap();
    wait_until("the object is removed", || objects_of(&base, 1) == 0);
    wait_until("the job is done", || {
        base.sql("SELECT count(*) FROM sven_job WHERE kind = 'gc' AND finished IS NOT NULL") == "1"
    });
    assert_eq!(objects_of(&base, 2), 1);
    let nothing = node.cluster.collect_garbage(0, true, &Cancel::new()).unwrap();
    assert_eq!(nothing, GarbageReport::default());
}

/// A commit that was stopped after its upload names no object: it may be gone.
#[test]
fn a_publication_that_comes_too_late_names_no_object() {
    let mut base = TestCluster::new(engines());
    base.settings.gc_grace_ms = 1000;
    let node = base.node();
    let bytes = vec![b'x'; LENGTH];
    let publish_after = |pause: u64| {
        let uploaded = node
            .fs
            .blobs
            .upload_ahead(Revnum(1), &MemoryFile(bytes.clone()))
            .unwrap();
        assert!(uploaded.is_some());
        std::thread::sleep(Duration::from_millis(pause));
        let mut new = revision(1, bytes.clone(), "log");
        new.uploaded = uploaded;
        node.fs.heads.publish(&node.head(), &[new])
    };
    let refused = publish_after(600).unwrap_err();
    assert_eq!(refused.code(), Code::FS_TXN_OUT_OF_DATE, "{refused:?}");
    assert!(refused.message().contains("'gc-grace'"), "{refused:?}");
    assert_eq!(base.sql("SELECT youngest FROM sven_repository"), "0");
    // The next attempt uploads it again.
    assert_eq!(publish_after(0).unwrap(), Outcome::Done);
    assert_eq!(
        base.sql("SELECT count(*) FROM sven_revision WHERE content IS NULL AND length > 0"),
        "1"
    );
}
