//! Errors of wrong paths, missing revisions and damaged files.

use base::{Code, Error, FsPath, Revnum};
use fsfs::{Cache, Fs};

use crate::compare;
use crate::incumbent::Repository;
use crate::sample::sample;

fn path(text: &str) -> FsPath {
    FsPath::parse(text).unwrap()
}

fn links(e: &Error) -> Vec<(u32, String)> {
    e.links()
        .map(|link| (link.code().0 as u32, link.text()))
        .collect()
}

fn fails<T>(result: base::Result<T>) -> Error {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(e) => e,
    }
}

#[test]
fn messages_equal_the_incumbents() {
    let fs = compare::open(&sample().repository);
    let e = fails(fs.root(Revnum(99)));
    assert_eq!(links(&e), [(160_006, "No such revision 99".to_owned())]);
    let root = fs.root(Revnum(3)).unwrap();
    let e = fails(root.node(&path("/x")));
    assert_eq!(
        links(&e),
        [(160_013, "File not found: revision 3, path '/x'".to_owned())]
    );
    let e = fails(root.node(&path("/trunk/hello.txt/a/b")));
    let uuid = fs.uuid();
    let expected = [
        (
            160_016,
            "Failure opening '/trunk/hello.txt' in revision 3".to_owned(),
        ),
        (
            160_016,
            format!("'/trunk/hello.txt' is not a directory in filesystem '{uuid}'"),
        ),
    ];
    assert_eq!(links(&e), expected);
    assert!(root.try_node(&path("/trunk/hello.txt/a")).unwrap().is_none());
    let file = root.node(&path("/trunk/hello.txt")).unwrap();
    assert_eq!(fails(file.entries()).code(), Code::FS_NOT_DIRECTORY);
    let dir = root.node(&path("/trunk")).unwrap();
    assert_eq!(fails(dir.size()).code(), Code::FS_NOT_FILE);
    assert_eq!(fails(dir.reader().map(|_| ())).code(), Code::FS_NOT_FILE);
    let e = fails(fs.txn_root("foo"));
    assert_eq!(links(&e), [(160_053, "malformed txn id 'foo'".to_owned())]);
    let e = fails(fs.txn_root("1-z"));
    assert_eq!(links(&e), [(160_007, "No such transaction '1-z'".to_owned())]);
}

#[test]
fn a_changed_byte_of_a_text_is_a_checksum_error() {
    let repository = Repository::create("1.14", 1000, "");
    let file = repository.file("f", b"Hello, world!\n");
    repository.mucc(&["put", &file, "f"]);
    let rev = repository.db().join("revs/0/1");
    let mut bytes = std::fs::read(&rev).unwrap();
    let at = bytes.windows(5).position(|w| w == b"world").unwrap();
    bytes[at] = b'W';
    std::fs::remove_file(&rev).unwrap();
    std::fs::write(&rev, bytes).unwrap();
    let fs = compare::open(&repository);
    let node = fs.root(Revnum(1)).unwrap().node(&path("/f")).unwrap();
    let e = fails(node.reader().unwrap().read_all());
    let theirs = std::process::Command::new("svnlook")
        .args(["cat", repository.path().to_str().unwrap(), "f"])
        .output()
        .unwrap();
    let theirs = String::from_utf8(theirs.stderr).unwrap();
    let ours: String = e
        .links()
        .map(|link| format!("svnlook: {}: {}\n", link.code(), link.text()))
        .collect();
    assert_eq!(ours, theirs);
}

/// With any byte of any file damaged, reads succeed or fail, but never panic, hang or use up the memory.
#[test]
fn flipped_bytes_cause_no_panic_or_endless_loop() {
    for (version, packed) in [("1.14", true), ("1.14", false), ("1.8", true), ("1.3", false)] {
        let repository = Repository::create(version, 4, "");
        let file = repository.file("f", b"Hello, world!\n");
        let other = repository.file("g", &crate::sample::noise(3, 3000));
        repository.mucc(&[
            "put", &file, "f", "mkdir", "d", "put", &other, "d/g", "propset", "p", "v", "d",
        ]);
        repository.mucc(&["cp", "1", "d", "e", "put", &file, "e/g"]);
        repository.mucc(&["put", &other, "f", "propset", "p", "w", "e"]);
        if packed {
            repository.pack();
        }
        for name in [
            "revs/0/1",
            "revs/1",
            "revs/0/3",
            "revs/3",
            "revs/0.pack/pack",
            "revs/0.pack/manifest",
        ] {
            let name = repository.db().join(name);
            let Ok(good) = std::fs::read(&name) else { continue };
            std::fs::remove_file(&name).unwrap();
            let mut found = 0;
            for at in (0..good.len()).step_by(1 + good.len() / 300) {
                for flip in [0x01, 0x80, 0x10] {
                    let mut bad = good.clone();
                    bad[at] ^= flip;
                    std::fs::write(&name, &bad).unwrap();
                    found += usize::from(read_all(&repository).is_err());
                }
            }
            assert!(
                found > good.len().min(300) / 4,
                "only {found} flips in {} were noticed",
                name.display()
            );
            std::fs::write(&name, &good).unwrap();
        }
        read_all(&repository).unwrap();
    }
}

fn read_all(repository: &Repository) -> base::Result<()> {
    fn walk(node: &fsfs::Node, depth: usize) -> base::Result<()> {
        node.props()?;
        node.closest_copy()?;
        let mut history = node.history()?;
        while history.prev(true)?.is_some() {}
        if node.kind() == base::NodeKind::File {
            std::hint::black_box(node.reader()?.read_all()?);
            return Ok(());
        }
        for entry in node.entries()?.iter() {
            // A damaged directory may contain itself.
            if depth < 5 {
                walk(&node.child_of(entry)?, depth + 1)?;
            }
        }
        Ok(())
    }
    let fs = Fs::open(&repository.db(), &Cache::new(1 << 20))?;
    for rev in 0..=fs.youngest()?.0 {
        let root = fs.root(Revnum(rev))?;
        walk(&root.root_node()?, 0)?;
        root.changed_paths()?;
    }
    Ok(())
}
