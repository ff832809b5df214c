//! Tables of earlier versions, and programs that know them.

use base::Code;
use cluster::{Cluster, ClusterSettings};
use testkit::engines::{ACCESS_KEY, SECRET_KEY, engines, sql};

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
