//! New filesystems, compared with those that `svnadmin create --fs-type fsx` makes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use base::{Code, Date, Revnum};
use fsfs::disk::RealDisk;
use fsfs::{BackEnd, CreateOptions};
use testkit::Tool;

use super::repository::{FsxRepository, Settings, open};

/// Mode and contents of everything below a directory, without what differs between two filesystems.
fn tree(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut out = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let meta = std::fs::metadata(&path).unwrap();
        let mut bytes = Vec::new();
        if meta.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            bytes = std::fs::read(&path).unwrap();
        }
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        match name.as_str() {
            "fsx.conf" => bytes.clear(),
            // The second line is the instance ID.
            "uuid" => bytes.truncate(37),
            "revs/0/p0" => {
                // The time, and the checksum.
                bytes.truncate(39);
                bytes.drain(11..38);
            }
            _ => {}
        }
        out.insert(name, (meta.permissions().mode(), bytes));
    }
    out
}

#[test]
fn created_files_equal_the_incumbents() {
    let theirs = FsxRepository::create(&Settings::shard(1000));
    let path = theirs.path().with_file_name("made");
    Tool::new("svnadmin")
        .args(["create", "--fs-type", "fsx"])
        .arg(&path)
        .ok();
    let theirs = path.join("db");
    let uuid = std::fs::read_to_string(theirs.join("uuid")).unwrap();
    let ours = path.with_file_name("db-of-ours");
    let options = CreateOptions {
        back_end: BackEnd::Fsx,
        uuid: Some(uuid[..36].to_owned()),
        ..CreateOptions::default()
    };
    fsfs::create(&ours, &options, Date(1_234_567), Arc::new(RealDisk)).unwrap();
    assert_eq!(tree(&ours), tree(&theirs));
    let options = |db: &Path| -> Vec<String> {
        let text = std::fs::read_to_string(db.join("fsx.conf")).unwrap();
        let lines = text.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix("# ")?.split_once(" = ")?;
            Some(name.to_owned())
        });
        lines
            .filter(|name| !name.ends_with("server") && !name.ends_with("memcached"))
            .collect()
    };
    for name in options(&theirs) {
        assert!(options(&ours).contains(&name), "{name}");
    }
    assert_eq!(open(&ours).unwrap().youngest().unwrap(), Revnum(0));
    std::fs::rename(&theirs, path.join("db-of-theirs")).unwrap();
    std::fs::rename(&ours, &theirs).unwrap();
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&path).ok();
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", ""])
        .arg(format!("file://{}/trunk", path.display()))
        .ok();
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&path).ok();
}

#[test]
fn there_are_always_shards_and_logical_addressing() {
    let folder = super::repository::folder();
    let db = folder.path().join("db");
    let with = |shard_size, log_addressing| {
        let options = CreateOptions {
            back_end: BackEnd::Fsx,
            shard_size,
            log_addressing,
            ..CreateOptions::default()
        };
        fsfs::create(&db, &options, Date(0), Arc::new(RealDisk))
    };
    for (shard_size, log_addressing) in [(Some(0), None), (Some(1 << 31), None), (None, Some(false))] {
        let e = with(shard_size, log_addressing).unwrap_err();
        assert_eq!(e.code(), Code::UNSUPPORTED_FEATURE);
    }
    with(Some(7), Some(true)).unwrap();
    assert_eq!(
        std::fs::read(db.join("format")).unwrap(),
        b"2\nlayout sharded 7\n"
    );
}
