//! Reading all objects: damage is found and reported, and nothing is changed.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Cancel, Code};
use cluster::jobs::ScrubReport;
use cluster::{Cluster, ClusterSettings};
use fsfs::shared::Outcome;
use testkit::engines::engines;

use crate::support::{TestCluster, TestNode, objects, revision, wait_until};

const LENGTHS: [usize; 4] = [70_000, 100_000, 9_000_000, 200_000];

/// A cluster whose revisions 1 to 4 are objects.
fn with_objects() -> (TestCluster, TestNode) {
    let mut base = TestCluster::new(engines());
    base.settings.gc_ms = 0;
    base.settings.scrub_ms = 0;
    let node = base.node();
    for (number, length) in LENGTHS.iter().enumerate() {
        let head = node.fs.heads.head(Duration::ZERO).unwrap();
        let next = revision(number as u64 + 1, vec![number as u8; *length], "log");
        assert_eq!(node.fs.heads.publish(&head, &[next]).unwrap(), Outcome::Done);
    }
    (base, node)
}

fn scrub(node: &TestNode) -> ScrubReport {
    node.cluster
        .scrub(None, None, &mut |_| {}, &Cancel::new())
        .unwrap()
}

/// What is wrong with each damaged object, by revision.
fn damage(report: &ScrubReport) -> Vec<(String, String)> {
    let mut found: Vec<_> = report
        .damaged
        .iter()
        .map(|(name, damage)| {
            let file = name.rsplit('/').next().unwrap();
            (file.split('-').next().unwrap().to_owned(), damage.clone())
        })
        .collect();
    found.sort();
    found
}

fn object_of(base: &TestCluster, rev: u64) -> PathBuf {
    let instance = base.sql("SELECT instance FROM sven_repository");
    objects(&[&instance, &format!("/{rev}-")]).remove(0)
}

/// How many revisions in objects have not one checksum of 4 bytes for each MiB.
const LACKING_BLOCKS: &str = "SELECT count(*) FROM sven_revision WHERE content IS NULL AND length > 0 \
     AND octet_length(blocks) IS DISTINCT FROM 4 * ((length + 1048575) / 1048576)";

#[test]
fn damaged_objects_are_found_and_stay() {
    let (base, node) = with_objects();
    let report = scrub(&node);
    assert_eq!(
        (report.objects, report.bytes, &report.damaged),
        (4, LENGTHS.iter().sum::<usize>() as u64, &Vec::new())
    );
    assert_eq!(base.sql(LACKING_BLOCKS), "0");
    let good = || base.sql("SELECT count(*) FROM sven_revision WHERE good = checked AND sha256 IS NOT NULL");
    assert_eq!(good(), "4");
    // Written in place: the store sees the same file with the same length.
    let paths: Vec<PathBuf> = (1..=4).map(|rev| object_of(&base, rev)).collect();
    let before: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut flipped = before[0].clone();
    flipped[40_000] ^= 1;
    fs::write(&paths[0], &flipped).unwrap();
    fs::write(&paths[1], &before[1][..50_000]).unwrap();
    fs::remove_file(&paths[3]).unwrap();
    let last_good =
        base.sql("SELECT string_agg(good::text, ',' ORDER BY rev) FROM sven_revision WHERE rev IN (1, 2, 4)");
    let report = scrub(&node);
    let text = |text: &str| text.to_owned();
    assert_eq!(
        damage(&report),
        [
            (text("1"), text("it has other bytes than were written")),
            (text("2"), text("it has 50000 bytes instead of 100000")),
            (text("4"), text("it is missing")),
        ]
    );
    assert_eq!(
        base.sql("SELECT string_agg(good::text, ',' ORDER BY rev) FROM sven_revision WHERE rev IN (1, 2, 4)"),
        last_good,
        "the last date at which they were good"
    );
    assert_eq!(good(), "1");
    assert_eq!(node.cluster.metrics().damaged_objects.load(Ordering::SeqCst), 3);
    let checked = node.cluster.compare_objects(0, &Cancel::new()).unwrap();
    assert_eq!(checked.damaged.len(), 3);
    assert!(fs::read(&paths[0]).unwrap() == flipped);
    // As from a backup.
    for (path, bytes) in paths.iter().zip(&before) {
        fs::write(path, bytes).unwrap();
    }
    // A file that was removed has lost what the store keeps beside it, and is good for all that.
    assert_eq!(damage(&scrub(&node)), []);
    assert_eq!(good(), "4");
    let checked = node.cluster.compare_objects(0, &Cancel::new()).unwrap();
    assert_eq!(checked.damaged, Vec::<String>::new());
}

#[test]
fn objects_of_an_earlier_program_get_a_digest() {
    let (base, node) = with_objects();
    base.sql("UPDATE sven_revision SET sha256 = NULL, checked = NULL, good = NULL WHERE rev = 1");
    base.sql("UPDATE sven_revision SET blocks = NULL WHERE rev IN (1, 3)");
    assert_eq!(base.sql(LACKING_BLOCKS), "2");
    assert_eq!(scrub(&node).damaged, []);
    assert_eq!(base.sql(LACKING_BLOCKS), "0");
    let path = object_of(&base, 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(damage(&scrub(&node)).len(), 1);
}

#[test]
fn an_interrupted_scrub_goes_on_with_the_oldest() {
    let (base, node) = with_objects();
    base.sql("UPDATE sven_revision SET checked = NULL, good = NULL");
    let cancel = Cancel::new();
    let mut done = |report: &ScrubReport| {
        if report.objects == 2 {
            cancel.cancel();
        }
    };
    let stopped = node
        .cluster
        .scrub(Some("r"), None, &mut done, &cancel)
        .map_err(|e| e.code());
    assert_eq!(stopped, Err(Code::CANCELLED));
    assert_eq!(
        base.sql("SELECT count(*) FROM sven_revision WHERE checked IS NOT NULL"),
        "2"
    );
    let mut order = Vec::new();
    let mut done = |_: &ScrubReport| {
        order.push(base.sql("SELECT rev FROM sven_revision ORDER BY checked DESC NULLS LAST LIMIT 1"));
    };
    node.cluster
        .scrub(Some("r"), None, &mut done, &Cancel::new())
        .unwrap();
    assert_eq!(order, ["3", "4", "1", "2"]);
    let missing = node
        .cluster
        .scrub(Some("other"), None, &mut |_| {}, &Cancel::new())
        .map_err(|e| e.code());
    assert_eq!(missing, Err(Code::FS_NOT_FOUND));
}

#[test]
fn a_serving_node_scrubs_what_was_not_read_for_long() {
    let (base, _node) = with_objects();
    let path = object_of(&base, 3);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    base.sql("UPDATE sven_revision SET checked = checked - interval '2 days' WHERE rev = 3");
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().to_owned(),
        scrub_ms: 24 * 60 * 60 * 1000,
        ..base.settings.clone()
    };
    let cluster = Cluster::connect_alone(&settings).unwrap();
    cluster.serve().unwrap();
    let metrics = cluster.metrics();
    wait_until("the damage is found", || {
        metrics.damaged_objects.load(Ordering::SeqCst) == 1
    });
    assert_eq!(metrics.scrubbed_objects.load(Ordering::SeqCst), 1);
}
