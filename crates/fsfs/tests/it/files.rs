//! The contents of folders, for comparisons.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Every file below `folder`: its relative path, its permissions and its bytes.
pub fn files(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    collect(folder, "", &mut all);
    all
}

fn collect(folder: &Path, prefix: &str, all: &mut BTreeMap<String, (u32, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            all.insert(format!("{name}/"), (0, Vec::new()));
            collect(&entry.path(), &format!("{name}/"), all);
        } else {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
            all.insert(name, (mode, std::fs::read(entry.path()).unwrap()));
        }
    }
}

/// Panics with the first difference.
pub fn assert_same(ours: &Path, theirs: &Path, what: &str) {
    let (ours, theirs) = (files(ours), files(theirs));
    let names = |files: &BTreeMap<String, _>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{what}: names");
    for (name, theirs) in &theirs {
        let ours = &ours[name];
        assert_eq!(ours.0, theirs.0, "{what}: permissions of {name}");
        let at = ours.1.iter().zip(&theirs.1).position(|(a, b)| a != b);
        assert!(
            ours.1 == theirs.1,
            "{what}: {name} differs at {at:?}: {} and {} bytes",
            ours.1.len(),
            theirs.1.len()
        );
    }
}
