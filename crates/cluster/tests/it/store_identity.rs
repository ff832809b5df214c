//! Object stores that belong to another cluster, or to none.

use base::{Cancel, Code, Error};
use cluster::{Cluster, ClusterSettings};
use fsfs::shared::Outcome;
use testkit::engines::{engines, sql};

use crate::support::{TestCluster, TestNode, objects, revision};

/// The objects of a cluster below its prefix.
fn objects_of(base: &TestCluster) -> usize {
    let prefix = base.settings.objects.rsplit('/').next().unwrap();
    objects(&[&format!("/{prefix}/")]).len()
}

/// A node with its own directory and these settings.
fn connect(settings: &ClusterSettings) -> (Cluster, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let settings = ClusterSettings {
        directory: dir.path().to_owned(),
        ..settings.clone()
    };
    (Cluster::connect_alone(&settings).unwrap(), dir)
}

/// Publishes a revision that becomes an object.
fn publish(node: &TestNode) {
    let head = node.head();
    let new = revision(head.youngest.0 + 1, vec![b'x'; 70_000], "log");
    assert_eq!(node.fs.heads.publish(&head, &[new]).unwrap(), Outcome::Done);
}

/// A cluster with an object.
fn with_object() -> (TestCluster, TestNode) {
    let mut base = TestCluster::new(engines());
    base.settings.gc_ms = 0;
    base.settings.scrub_ms = 0;
    let node = base.silent_node(&base.settings.database);
    publish(&node);
    (base, node)
}

fn refused<T>(result: base::Result<T>) -> Error {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.code(), Code::BAD_CONFIG_VALUE, "{error:?}");
    error
}

#[test]
fn another_cluster_is_refused_at_the_same_place() {
    let (first, _node) = with_object();
    let mut second = TestCluster::new(engines());
    second.settings.objects.clone_from(&first.settings.objects);
    let before = objects_of(&first);
    let (cluster, _dir) = connect(&second.settings);
    let identity = |base: &TestCluster| base.sql("SELECT identity FROM sven_cluster");
    for error in [
        refused(cluster.serve()),
        refused(cluster.check_objects()),
        refused(cluster.collect_garbage(0, false, &Cancel::new())),
        refused(cluster.collect_garbage(0, true, &Cancel::new())),
        refused(cluster.compare_objects(0, &Cancel::new())),
        refused(cluster.scrub(None, None, &mut |_| {}, &Cancel::new())),
    ] {
        for part in [&first.settings.objects, &identity(&first), &identity(&second)] {
            assert!(error.message().contains(part.as_str()), "{error:?}");
        }
    }
    assert_eq!(objects_of(&first), before);
}

/// The objects of a cluster whose tables were made before clusters had identities are not those of a new one.
#[test]
fn a_new_cluster_is_refused_among_the_objects_of_an_old_one() {
    let (old, _node) = with_object();
    forget_marker(&old);
    let mut new = TestCluster::new(engines());
    new.settings.objects.clone_from(&old.settings.objects);
    let (cluster, _dir) = connect(&new.settings);
    refused(cluster.collect_garbage(0, false, &Cancel::new()));
    // The old one goes on.
    let (cluster, _dir) = connect(&old.settings);
    cluster.check_objects().unwrap();
    assert_eq!(old.sql("SELECT is_store_marked FROM sven_cluster"), "t");
    assert_eq!(
        cluster.collect_garbage(0, false, &Cancel::new()).unwrap().waiting,
        0
    );
    assert_eq!(objects_of(&old), 2);
}

/// As if the cluster had been made by an earlier program.
fn forget_marker(base: &TestCluster) {
    let prefix = base.settings.objects.rsplit('/').next().unwrap();
    for path in objects(&[&format!("/{prefix}/cluster-id")]) {
        std::fs::remove_file(path).unwrap();
    }
    base.sql("UPDATE sven_cluster SET is_store_marked = false");
}

#[test]
fn a_node_with_another_place_than_its_cluster_is_refused() {
    let engines = engines();
    // Before there is an object, and when there is one.
    let base = TestCluster::new(engines);
    base.silent_node(&base.settings.database)
        .cluster
        .check_objects()
        .unwrap();
    for base in [base, with_object().0] {
        let elsewhere = ClusterSettings {
            objects: engines.new_prefix(),
            ..base.settings.clone()
        };
        let (cluster, _dir) = connect(&elsewhere);
        let error = refused(cluster.serve());
        assert!(error.message().contains(&elsewhere.objects), "{error:?}");
        base.sql("UPDATE sven_cluster SET is_store_marked = false");
        if base.sql("SELECT count(*) FROM sven_revision WHERE content IS NULL") != "0" {
            refused(cluster.serve());
        }
    }
}

/// The object with the identity is lost: those that the database names show whose the store is.
#[test]
fn a_lost_identity_is_written_again() {
    let (base, _node) = with_object();
    forget_marker(&base);
    base.sql("UPDATE sven_cluster SET is_store_marked = true");
    let (cluster, _dir) = connect(&base.settings);
    cluster.check_store_identity().unwrap();
    assert_eq!(objects_of(&base), 2);
}

/// The prefix of one cluster may begin with that of another one, and earlier programs note all that no row names as garbage.
#[test]
fn garbage_collection_leaves_what_is_no_object_of_the_cluster() {
    let (base, node) = with_object();
    let inner = ClusterSettings {
        objects: format!("{}/inner", base.settings.objects),
        database: engines().new_database(),
        ..base.settings.clone()
    };
    Cluster::create_tables(&inner).unwrap();
    let (cluster, _dir) = connect(&inner);
    cluster.check_objects().unwrap();
    sql(
        &base.database,
        "INSERT INTO sven_garbage (name) VALUES ('cluster-id'), ('other')",
    );
    assert_eq!(base.sql("SELECT name FROM sven_garbage"), "other");
    for _ in 0..2 {
        let report = node.cluster.collect_garbage(0, false, &Cancel::new()).unwrap();
        assert_eq!((report.removed, report.waiting), (0, 0));
    }
    // The object, and both identities.
    assert_eq!(objects_of(&base), 3);
}
