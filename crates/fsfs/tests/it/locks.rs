//! Reading users' locks that the real tool has created.

use base::{Depth, FsPath, Lock};
use fsfs::{Cache, Fs};
use testkit::repo::{LOCKED, Spec, build};

fn path(text: &str) -> FsPath {
    FsPath::parse(text).expect("canonical")
}

fn paths(locks: &[Lock]) -> Vec<&str> {
    locks.iter().map(|lock| lock.path.as_str()).collect()
}

#[test]
fn locks_are_found_by_path_and_below_a_path() {
    for version in ["1.3", "1.14"] {
        let repo = build(&Spec::new(version).busy());
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        for (locked, owner, comment, token) in &LOCKED[..4] {
            let lock = fs.lock(&path(locked)).expect("reads").expect("is locked");
            assert_eq!(
                (lock.path.as_str(), &*lock.owner, &*lock.token),
                (*locked, *owner, *token)
            );
            assert_eq!(lock.comment.as_deref().unwrap_or(""), *comment);
            assert!(!lock.is_dav_comment && lock.expires.is_none());
        }
        assert!(fs.lock(&path("/trunk")).expect("reads").is_none());
        assert!(fs.lock(&path("/nosuch")).expect("reads").is_none());
        let all = fs.locks(&path("/"), Depth::Infinity).expect("reads");
        assert_eq!(
            paths(&all),
            [
                "/tags/c3.txt",
                "/trunk/big.txt",
                "/trunk/many/file-050.txt",
                "/trunk/日本語/テスト.txt"
            ]
        );
        let within = |top, depth| fs.locks(&path(top), depth).expect("reads");
        assert_eq!(paths(&within("/trunk", Depth::Files)), ["/trunk/big.txt"]);
        assert_eq!(paths(&within("/trunk", Depth::Empty)), [""; 0]);
        assert_eq!(
            paths(&within("/trunk/many", Depth::Immediates)),
            ["/trunk/many/file-050.txt"]
        );
        assert_eq!(paths(&within("/tags/c3.txt", Depth::Infinity)), ["/tags/c3.txt"]);
        assert_eq!(paths(&within("/nosuch", Depth::Infinity)), [""; 0]);
    }
}

#[test]
fn a_repository_without_locks_has_none() {
    let repo = build(&Spec::small("1.14"));
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    assert!(fs.locks(&path("/"), Depth::Infinity).expect("reads").is_empty());
}

#[test]
fn expired_locks_are_ignored_and_damaged_ones_are_errors() {
    let repo = build(&Spec::new("1.14").busy()).copy();
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    let locked = path("/trunk/big.txt");
    let digest = base::checksum::Md5::of(b"/trunk/big.txt").to_string();
    let file = repo.db().join("locks").join(&digest[..3]).join(&digest);
    let text = std::fs::read_to_string(&file).expect("is there");
    let put = |text: String| {
        std::fs::remove_file(&file).expect("is there");
        std::fs::write(&file, text).expect("because the copy is ours");
    };
    let expiring = |year: &str| {
        let date = format!("K 15\nexpiration_date\nV 27\n{year}-01-01T00:00:00.000000Z\nEND\n");
        text.replace("END\n", &date)
    };
    put(expiring("2091"));
    assert!(
        fs.lock(&locked)
            .expect("reads")
            .expect("is locked")
            .expires
            .is_some()
    );
    put(expiring("2001"));
    assert!(fs.lock(&locked).expect("reads").is_none());
    assert_eq!(
        fs.locks(&path("/trunk"), Depth::Infinity).expect("reads").len(),
        2
    );
    put(text.replace("owner", "ownex"));
    assert_eq!(
        fs.lock(&locked).expect_err("damaged").code(),
        base::Code::FS_CORRUPT
    );
    assert_eq!(
        fs.locks(&path("/"), Depth::Infinity).expect_err("damaged").code(),
        base::Code::FS_CORRUPT
    );
    put("garbage".to_owned());
    let error = fs.lock(&locked).expect_err("damaged");
    assert_eq!(error.code(), base::Code::MALFORMED_FILE);
    assert!(
        error.message().starts_with("Can't parse lock/entries hashfile '"),
        "{error}"
    );
}
