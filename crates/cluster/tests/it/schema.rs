//! Tables of earlier versions, and programs that know them.

use base::Code;
use cluster::{Cluster, ClusterSettings};
use fsfs::shared::Outcome;
use testkit::engines::{ACCESS_KEY, SECRET_KEY, engines, sql};

use crate::support::{TestCluster, TestNode, revision};

fn publish(node: &TestNode) -> base::Result<Outcome> {
    let new = revision(1, b"bytes".to_vec(), "log");
    node.fs.heads.publish(&node.head(), &[new])
}

#[test]
fn tables_of_the_first_version_get_what_they_lack() {
    let engines = engines();
    let database = engines.new_database();
    sql(&database, include_str!("../../src/schema.sql"));
    sql(
        &database,
        "INSERT INTO sven_cluster (version, oldest, secret) VALUES (1, 1, 'secret'); \
         INSERT INTO sven_repository (name, format, uuid, fsfs_conf, instance, youngest) \
         VALUES ('r', '8', 'u', '', gen_random_uuid(), 0); \
         INSERT INTO sven_file (repository, path, mode, content) VALUES (1, 'conf/authz', 416, 'rules')",
    );
    let dir = tempfile::tempdir().unwrap();
    let mut settings = ClusterSettings::new(&database, &engines.new_prefix(), dir.path().to_owned());
    settings.endpoint = Some(engines.endpoint());
    settings.region = Some("us-east-1".to_owned());
    settings.access_key = Some(ACCESS_KEY.to_owned());
    settings.secret_key = Some(SECRET_KEY.to_owned());
    let refused = Cluster::connect_alone(&settings).map(drop).unwrap_err();
    assert_eq!(refused.code(), Code::FS_UNSUPPORTED_FORMAT);
    assert!(refused.message().contains("'sven cluster init'"), "{refused:?}");
    for _ in 0..2 {
        Cluster::create_tables(&settings).unwrap();
    }
    assert_eq!(
        sql(
            &database,
            "SELECT count(*) FROM pg_indexes WHERE indexname = 'sven_rep_place'"
        ),
        "1"
    );
    let cluster = Cluster::connect_alone(&settings).unwrap();
    let repository = cluster.repository("r").unwrap();
    let all = cluster.repository_files(&repository).unwrap();
    assert_eq!((all.version, all.files.len()), (0, 1));
    assert_eq!(
        (all.files[0].mode, &all.files[0].content[..]),
        (0o640, &b"rules"[..])
    );
    // A program of the first version goes on to write.
    sql(
        &database,
        "INSERT INTO sven_file (repository, path, mode, content) VALUES (1, 'conf/passwd', 384, 'x')",
    );
    let all = cluster.repository_files(&repository).unwrap();
    assert_eq!(all.files.len(), 2);
    // Checksums belong to one pack: an earlier program may put another one in its place.
    sql(
        &database,
        "INSERT INTO sven_pack (repository, shard, publication, length, blocks) VALUES (1, 0, gen_random_uuid(), 5, 'crc4')",
    );
    let blocks = || {
        sql(
            &database,
            "SELECT coalesce(encode(blocks, 'escape'), 'none') FROM sven_pack",
        )
    };
    sql(&database, "UPDATE sven_pack SET checked = now()");
    assert_eq!(blocks(), "crc4");
    sql(&database, "UPDATE sven_pack SET publication = gen_random_uuid()");
    assert_eq!(blocks(), "none");
    // Equal files are no new version.
    assert_eq!(cluster.replace_files(&repository, &all.files).unwrap(), 0);
    assert_eq!(cluster.replace_files(&repository, &all.files[..1]).unwrap(), 1);
    assert_eq!(cluster.repository_files(&repository).unwrap().files.len(), 1);
}

/// An upgrade that excludes earlier programs stops those that run: they commit no more once their lease has ended.
#[test]
fn a_node_whose_program_is_excluded_leaves() {
    let base = TestCluster::new(engines());
    let node = base.node();
    base.sql("UPDATE sven_cluster SET version = version + 1000, oldest = 1000");
    base.sql("UPDATE sven_node SET lease_until = clock_timestamp()");
    // The node registers again before its next commit, and is refused.
    let ended = publish(&node).unwrap_err();
    assert_eq!(ended.code(), Code::FS_TXN_OUT_OF_DATE, "{ended:?}");
    let refused = publish(&node).unwrap_err();
    assert_eq!(refused.code(), Code::FS_UNSUPPORTED_FORMAT, "{refused:?}");
    assert_eq!(base.sql("SELECT youngest FROM sven_repository"), "0");
    base.sql("UPDATE sven_cluster SET version = version - 1000, oldest = 1");
    assert_eq!(publish(&node).unwrap(), Outcome::Done);
}

/// Connections that were made while the database took no changes go on to refuse them.
#[test]
fn writes_go_on_once_the_database_takes_changes_again() {
    let base = TestCluster::new(engines());
    let name = base.database.rsplit('/').next().unwrap();
    let name = name.split('?').next().unwrap();
    // The change must not come from a connection that it concerns.
    let elsewhere = base.database.replace(name, "postgres");
    let set = |value: &str| {
        let statement = format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}");
        sql(&elsewhere, &statement);
    };
    let node = base.node();
    set("on");
    // Connections that were made before are not concerned.
    base.sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert!(publish(&node).is_err());
    set("off");
    assert_eq!(publish(&node).unwrap(), Outcome::Done);
}

#[test]
fn a_table_without_its_row_is_named() {
    let base = TestCluster::new(engines());
    base.sql("DELETE FROM sven_cluster");
    for result in [
        Cluster::create_tables(&base.settings),
        Cluster::connect_alone(&base.settings).map(drop),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Code::FS_CORRUPT);
        assert!(error.message().contains("'sven_cluster'"), "{error:?}");
    }
}

#[test]
fn a_database_that_does_not_wait_for_its_disk_is_named() {
    let base = TestCluster::new(engines());
    let name = base.database.rsplit('/').next().unwrap();
    let name = name.split('?').next().unwrap();
    let warning = || {
        let cluster = base.silent_node(&base.database).cluster;
        cluster
            .durability_warning()
            .unwrap()
            .unwrap()
            .message()
            .to_owned()
    };
    // The database of the tests has no disk that it could wait for.
    assert!(warning().contains("('fsync' is off)"), "{}", warning());
    base.sql(&format!("ALTER DATABASE {name} SET synchronous_commit = off"));
    assert!(
        warning().contains("'fsync' and 'synchronous_commit'"),
        "{}",
        warning()
    );
    base.sql(&format!("ALTER DATABASE {name} SET synchronous_commit = local"));
    assert!(!warning().contains("synchronous_commit"), "{}", warning());
}
