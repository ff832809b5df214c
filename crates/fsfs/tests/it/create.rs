//! Creating filesystems, compared with those that `svnadmin create` makes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use base::{Code, Date, Revnum};
use fsfs::disk::RealDisk;
use fsfs::{Cache, CreateOptions, Fs};
use testkit::{Repo, Tool};

const VERSIONS: [(&str, u32); 7] = [
    ("1.3", 1),
    ("1.4", 2),
    ("1.5", 3),
    ("1.7", 4),
    ("1.8", 6),
    ("1.9", 7),
    ("1.14", 8),
];

/// Mode and contents of everything below a directory.
fn tree(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut out = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let meta = std::fs::metadata(&path).unwrap();
        let bytes = if meta.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            Vec::new()
        } else {
            std::fs::read(&path).unwrap()
        };
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        out.insert(name, (meta.permissions().mode(), bytes));
    }
    out
}

fn create(repo: &Repo, options: &CreateOptions) -> base::Result<()> {
    fsfs::create(&repo.db(), options, Date(1_234_567), Arc::new(RealDisk))
}

/// A repository without its `db`.
fn without_db(version: &str) -> Repo {
    let repo = Repo::create(version);
    std::fs::remove_dir_all(repo.db()).unwrap();
    repo
}

#[test]
fn created_files_equal_the_incumbents() {
    for (version, format) in VERSIONS {
        let theirs = Repo::create(version);
        let uuid = String::from_utf8(std::fs::read(theirs.db().join("uuid")).unwrap()).unwrap();
        let ours = without_db(version);
        let options = CreateOptions {
            format,
            uuid: Some(uuid[..36].to_owned()),
            ..CreateOptions::default()
        };
        create(&ours, &options).unwrap();
        let (mut ours_tree, mut theirs_tree) = (tree(&ours.db()), tree(&theirs.db()));
        for tree in [&mut ours_tree, &mut theirs_tree] {
            for (name, (_, bytes)) in tree.iter_mut() {
                match name.as_str() {
                    "fsfs.conf" => bytes.clear(),
                    "uuid" => bytes.truncate(37),
                    "revprops/0" | "revprops/0/0" if !bytes.is_empty() => {
                        bytes.drain(18..45);
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(ours_tree, theirs_tree, "{version}");
        // Our file explains the same options, and sets none.
        if format >= 4 {
            let options = |repo: &Repo| -> Vec<String> {
                let text = std::fs::read_to_string(repo.db().join("fsfs.conf")).unwrap();
                let lines = text.lines().filter_map(|line| {
                    let (name, _) = line.strip_prefix("# ")?.split_once(" = ")?;
                    Some(name.to_owned())
                });
                lines
                    .filter(|name| {
                        name.ends_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with("server")
                    })
                    .collect()
            };
            let (ours, theirs) = (options(&ours), options(&theirs));
            for name in theirs.iter().filter(|name| !name.ends_with("memcached")) {
                assert!(ours.contains(name), "{name}");
            }
        }
        let fs = Fs::open(&ours.db(), &Cache::new(1 << 20)).unwrap();
        assert_eq!(fs.youngest().unwrap(), Revnum(0));
        Tool::new("svnadmin").args(["verify", "-q"]).arg(ours.path()).ok();
        Tool::new("svn")
            .args(["mkdir", "-q", "-m", ""])
            .arg(format!("{}/trunk", ours.url()))
            .ok();
        Tool::new("svnadmin").args(["verify", "-q"]).arg(ours.path()).ok();
    }
}

#[test]
fn layouts_and_addressing_can_be_chosen() {
    for (format, shard_size, log_addressing) in [
        (3, Some(0), None),
        (6, Some(3), None),
        (7, Some(0), None),
        (8, Some(2), Some(false)),
        (8, Some(5), Some(true)),
    ] {
        let repo = without_db("1.14");
        let options = CreateOptions {
            format,
            shard_size,
            log_addressing,
            ..CreateOptions::default()
        };
        create(&repo, &options).unwrap();
        for name in ["a", "b", "c"] {
            Tool::new("svn")
                .args(["mkdir", "-q", "-m", ""])
                .arg(format!("{}/{name}", repo.url()))
                .ok();
        }
        Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
        let info = Fs::open(&repo.db(), &Cache::new(1 << 20))
            .unwrap()
            .info()
            .unwrap();
        assert_eq!((info.format, Some(info.shard_size)), (format, shard_size));
        assert_eq!(info.logical_addressing, log_addressing.unwrap_or(false));
    }
}

#[test]
fn unsupported_options_of_a_format_are_errors() {
    let repo = without_db("1.14");
    let refused = |format, shard_size, log_addressing, conf: Option<&str>| {
        let options = CreateOptions {
            back_end: fsfs::BackEnd::Fsfs,
            format,
            shard_size,
            log_addressing,
            conf: conf.map(|text| text.as_bytes().to_vec()),
            uuid: None,
        };
        let code = create(&repo, &options).unwrap_err().code();
        assert!(!repo.db().exists(), "nothing is made");
        code
    };
    assert_eq!(refused(5, None, None, None), Code::FS_UNSUPPORTED_FORMAT);
    assert_eq!(refused(9, None, None, None), Code::FS_UNSUPPORTED_FORMAT);
    assert_eq!(refused(0, None, None, None), Code::FS_UNSUPPORTED_FORMAT);
    assert_eq!(refused(2, Some(4), None, None), Code::UNSUPPORTED_FEATURE);
    assert_eq!(refused(6, None, Some(true), None), Code::UNSUPPORTED_FEATURE);
    assert_eq!(refused(8, Some(0), Some(true), None), Code::UNSUPPORTED_FEATURE);
    let conf = "[deltification]\ncompression = lz4\n";
    assert_eq!(refused(7, None, None, Some(conf)), Code::BAD_CONFIG_VALUE);
}

#[test]
fn nothing_is_overwritten() {
    let repo = Repo::create("1.14");
    let before = tree(&repo.db());
    let error = create(&repo, &CreateOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code(17), "{error}");
    assert_eq!(tree(&repo.db()), before);
}
