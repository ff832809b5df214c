//! Databases that go back to an earlier state while nodes run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Code;
use fsfs::shared::Outcome;
use testkit::engines::engines;

use crate::support::{TestCluster, TestNode, revision, wait_until};

/// A cluster whose leases are short.
fn cluster() -> TestCluster {
    let mut base = TestCluster::new(engines());
    base.settings.lease_ms = 900;
    base
}

fn publish(node: &TestNode) {
    let head = node.head();
    let new = revision(head.youngest.0 + 1, b"bytes".to_vec(), "log");
    assert_eq!(node.fs.heads.publish(&head, &[new]).unwrap(), Outcome::Done);
}

/// The node is not ready, answers nothing, publishes nothing, and says so to its process.
fn assert_ended(base: &TestCluster, node: &TestNode) {
    wait_until("the node is not ready", || node.cluster.why_not_ready().is_some());
    let error = node
        .fs
        .heads
        .head(std::time::Duration::from_hours(1))
        .unwrap_err();
    assert!(
        error.message().contains("was restored to an earlier state"),
        "{error:?}"
    );
    assert_eq!(
        (node.cluster.check_database().is_err(), node.fs.heads.last_head()),
        (true, None)
    );
    let nodes = base.sql("SELECT count(*) FROM sven_node");
    let is_told = Arc::new(AtomicBool::new(false));
    let told = is_told.clone();
    node.cluster
        .on_restored_database(move || told.store(true, Ordering::SeqCst));
    assert!(is_told.load(Ordering::SeqCst));
    // It does not register again under a number that another node may get.
    assert_eq!(node.cluster.serve().unwrap_err().code(), Code::FS_GENERAL);
    assert_eq!(base.sql("SELECT count(*) FROM sven_node"), nodes);
}

#[test]
fn a_commit_after_a_restore_ends_with_an_error() {
    let base = cluster();
    let node = base.silent_node(&base.settings.database);
    publish(&node);
    publish(&node);
    let before = node.head();
    base.sql("DELETE FROM sven_revision WHERE rev > 1; UPDATE sven_repository SET youngest = 1");
    // As a commit does: what it was made from is outdated, so it asks what there is.
    let late = revision(3, b"bytes".to_vec(), "log");
    assert_eq!(
        node.fs.heads.publish(&before, &[late]).unwrap(),
        Outcome::Outdated
    );
    let error = node.fs.heads.head(std::time::Duration::ZERO).unwrap_err();
    assert!(error.message().contains("youngest revision was 2"), "{error:?}");
    let late = revision(2, b"bytes".to_vec(), "log");
    assert!(node.fs.heads.publish(&before, &[late]).is_err());
    assert_eq!(base.sql("SELECT youngest FROM sven_repository"), "1");
    // One that begins afterwards finds what there is.
    publish(&base.silent_node(&base.settings.database));
}

#[test]
fn nodes_notice_revisions_that_went_back() {
    let base = cluster();
    let node = base.node();
    publish(&node);
    // Nothing asks but the node itself.
    base.sql("UPDATE sven_repository SET youngest = 0");
    assert_ended(&base, &node);
}

#[test]
fn nodes_notice_epochs_that_went_back() {
    let base = cluster();
    let first = base.node();
    let second = base.node();
    // As in a backup that was made before the second one was registered.
    base.sql("DELETE FROM sven_node WHERE epoch = 2; SELECT setval('sven_epoch', 1)");
    assert_ended(&base, &second);
    assert_eq!(first.cluster.why_not_ready(), None);
    // The next one gets the number of the second one, and is another node.
    base.sql("UPDATE sven_node SET registered = registered + interval '1 us' WHERE epoch = 1");
    assert_ended(&base, &first);
}

#[test]
fn nodes_notice_another_database() {
    let base = cluster();
    let node = base.node();
    base.sql("UPDATE sven_cluster SET identity = gen_random_uuid()");
    assert_ended(&base, &node);
}

/// A node reads a short revision to move it to the object store. Then the database fails over to a copy that lacks the revision, and it is made
/// again. The object of the first one is not that of the second one.
#[test]
fn a_revision_that_was_made_again_keeps_its_content() {
    let base = TestCluster::new(engines());
    base.sql(
        "INSERT INTO sven_revision (repository, rev, publication, length, content, props) \
         SELECT 1, r, gen_random_uuid(), 1, 'x', '' FROM generate_series(1, 20) AS r; \
         UPDATE sven_repository SET youngest = 20",
    );
    let node = base.node();
    std::thread::scope(|scope| {
        // The node reads the first revision, and waits for the second one when it notes that it was moved.
        scope.spawn(|| {
            base.sql(
                "BEGIN; UPDATE sven_revision SET publication = gen_random_uuid(), content = 'y' WHERE rev = 1; \
                 DO $$ BEGIN FOR i IN 1..500 LOOP \
                     PERFORM pg_stat_clear_snapshot(), pg_sleep(0.02); \
                     EXIT WHEN EXISTS (SELECT FROM pg_stat_activity \
                         WHERE datname = current_database() AND wait_event_type = 'Lock'); \
                 END LOOP; END $$; COMMIT",
            )
        });
        let is_changed = "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event = 'PgSleep'";
        wait_until("the revision is changed", || base.sql(is_changed) == "1");
        publish(&node);
    });
    let is_inline = |rev: u64| {
        base.sql(&format!(
            "SELECT content IS NOT NULL FROM sven_revision WHERE rev = {rev}"
        ))
    };
    wait_until("the others are moved", || is_inline(2) == "f");
    assert_eq!(is_inline(1), "t");
}
