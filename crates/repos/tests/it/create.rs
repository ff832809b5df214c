//! Compares new repositories with those that `svnadmin create` makes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base::{Date, Error};
use repos::CreateOptions;
use testkit::tool::{Side, Tool};

/// Mode, kind and name of every file and directory.
fn listing(root: &Path) -> Vec<String> {
    fn walk(root: &Path, at: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(at).expect("readable") {
            let path = entry.expect("readable").path();
            let meta = path.symlink_metadata().expect("there");
            out.push(format!(
                "{:o} {}",
                meta.permissions().mode(),
                path.strip_prefix(root).expect("below").display()
            ));
            if meta.is_dir() {
                walk(root, &path, out);
            }
        }
    }
    let mut out = Vec::new();
    walk(root, root, &mut out);
    out.sort();
    out
}

#[test]
fn created_repositories_equal_svnadmins() {
    let scratch = testkit::tool::scratch();
    for minor in [3, 4, 5, 7, 8, 9, 14] {
        let version = &format!("1.{minor}");
        let [theirs, ours] = ["theirs", "ours"].map(|side| scratch.path().join(format!("{side}-{version}")));
        Tool::new("svnadmin")
            .args(["create", "--compatible-version", version])
            .arg(&theirs)
            .ok();
        let options = CreateOptions {
            compatible: minor,
            ..Default::default()
        };
        repos::create(&ours, &options, Date(0)).expect("because the place is free");
        assert_eq!(listing(&ours), listing(&theirs), "{version}");
        for file in ["format", "db/format", "db/fs-type", "db/current"] {
            let read = |root: &Path| std::fs::read(root.join(file)).expect("there");
            assert_eq!(read(&ours), read(&theirs), "{version} {file}");
        }
        Tool::new("svnadmin").args(["verify", "-q"]).arg(&ours).ok();
        let url = format!("file://{}/d", ours.display());
        Tool::new("svn").args(["mkdir", "-q", "-m", "x", &url]).ok();
        Side::Theirs.tool("svnlook").arg("youngest").arg(&ours).ok();
    }
}

#[test]
fn repositories_cannot_be_created_there() {
    let scratch = testkit::tool::scratch();
    let dir = scratch.path();
    repos::create(&dir.join("r"), &CreateOptions::default(), Date(0)).expect("because the place is free");
    std::fs::create_dir(dir.join("full")).expect("writable");
    std::fs::write(dir.join("full/x"), "").expect("writable");
    std::fs::write(dir.join("file"), "").expect("writable");
    std::fs::create_dir(dir.join("empty")).expect("writable");
    for place in ["r", "r/sub", "r/db/x/y", "full", "file", "file/x", "missing/x"] {
        let path = dir.join(place);
        let theirs = Tool::new("svnadmin").arg("create").arg(&path).run();
        let ours = repos::create(&path, &CreateOptions::default(), Date(0));
        let ours = ours.expect_err("because the place is taken");
        assert_eq!(printed(&ours), theirs.err(), "{place}");
    }
    let options = CreateOptions {
        fs_type: Some("foo".to_owned()),
        ..Default::default()
    };
    let refused = repos::create(&dir.join("foo"), &options, Date(0)).expect_err("because it is unknown");
    assert_eq!(printed(&refused), "svnadmin: E160033: Unknown FS type 'foo'\n");
    assert!(!dir.join("foo").exists());
    repos::create(&dir.join("empty"), &CreateOptions::default(), Date(0)).expect("because it is empty");
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(dir.join("empty"))
        .ok();
}

fn printed(e: &Error) -> String {
    e.links()
        .map(|link| format!("svnadmin: {}: {}\n", link.code(), link.text()))
        .collect()
}
