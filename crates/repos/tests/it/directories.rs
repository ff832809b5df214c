//! Listings of only the first entries of a directory.

use base::{FsPath, NodeKind, Revnum};
use repos::access::Everything;
use repos::{Cache, DirentFields, Repository};
use testkit::Tool;
use testkit::stream::DumpStream;

#[test]
fn directories_come_first_and_the_rest_is_counted() {
    let folder = testkit::scratch();
    let path = folder.path().join("r");
    Tool::new("svnadmin").arg("create").arg(&path).ok();
    let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a03");
    stream.rev("begin").mkdirs(["b", "d", "y"]);
    for name in ["a", "c", "x", "z"] {
        stream.file(name, "text\n");
    }
    let load = Tool::new("svnadmin").args(["load", "-q"]).arg(&path);
    load.stdin(stream.bytes()).ok();
    let repository = Repository::open(&path, &Cache::new(1 << 20)).expect("because it was made");
    let (root, rev) = (FsPath::root(), Revnum(1));
    let first = |most| {
        let found = repository.first_of_directory(rev, &root, DirentFields::ALL, &Everything, most);
        let found = found.expect("because it is a directory");
        let names: Vec<String> = found.entries.iter().map(|(name, _)| name.to_string()).collect();
        (names.join(""), found.left_out)
    };
    assert_eq!(first(0), (String::new(), 7));
    assert_eq!(first(2), ("bd".into(), 5));
    assert_eq!(first(5), ("bdyac".into(), 2));
    assert_eq!(first(7), ("bdyacxz".into(), 0));
    assert_eq!(first(100), ("bdyacxz".into(), 0));
    let mut whole = repository
        .directory(rev, &root, DirentFields::ALL, &Everything)
        .expect("because it is a directory");
    whole.sort_by_key(|(_, dirent)| dirent.kind != NodeKind::Dir);
    let found = repository.first_of_directory(rev, &root, DirentFields::ALL, &Everything, 7);
    let found = found.expect("because it is a directory").entries;
    assert_eq!(format!("{whole:?}"), format!("{found:?}"));
    let file = FsPath::parse("/a").expect("canonical");
    let refused = repository.first_of_directory(rev, &file, DirentFields::ALL, &Everything, 7);
    let theirs = repository.directory(rev, &file, DirentFields::ALL, &Everything);
    assert_eq!(
        refused.map(drop).expect_err("a file").code(),
        theirs.map(drop).expect_err("a file").code()
    );
}
