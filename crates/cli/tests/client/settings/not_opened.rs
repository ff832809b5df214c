//! Files of the configuration area that cannot be opened or read.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use testkit::{Repo, Side};

use crate::twins::{Access, TwinClients};

/// Makes the path a thing that is no readable file.
type Change = fn(&Path) -> std::io::Result<()>;

const CHANGES: [Change; 6] = [
    |path| fs::create_dir(path),
    |path| symlink("/dev/null", path),
    |path| symlink("nothing", path),
    |path| symlink(path, path),
    |path| symlink("/dev/null/below", path),
    |path| symlink("a".repeat(300), path),
];

/// A directory, a loop of links and a long name are errors; for a path below a file there is a warning, and no file of the area is used.
#[test]
fn files_that_cannot_be_opened() {
    let twins = TwinClients::new(&Repo::create("1.14"), Access::Disk);
    let commands = [
        "svn info --show-item kind {URL} --config-dir area",
        "svn info --show-item kind {URL} --config-dir area/config",
        "svnmucc -m m mkdir {URL}/d -U {URL} --config-dir area",
        "svnsync info {URL} --config-dir area",
        "svnrdump dump -q -r 0 {URL} --config-dir area",
    ];
    let areas = Side::BOTH.map(|side| twins.dir(side).join("area"));
    for name in ["config", "servers"] {
        for change in CHANGES {
            for area in &areas {
                _ = fs::remove_dir_all(area);
                fs::create_dir(area).expect("because it is gone");
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(area, mode).expect("because it is ours");
                change(&area.join(name)).expect("because there is none");
            }
            twins.all_same(&commands);
        }
    }
}
