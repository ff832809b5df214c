//! Users' locks.

use base::{Depth, FsPath};
use testkit::history;

use super::repository::{FsxRepository, Settings};

#[test]
fn locks_of_svnadmin() {
    let repository = FsxRepository::load(&Settings::shard(7), &history::small().bytes());
    let fs = repository.open();
    let path = |path| FsPath::parse(path).unwrap();
    assert_eq!(fs.locks(&FsPath::root(), Depth::Infinity).unwrap(), []);
    repository
        .repo()
        .lock("A/D/gamma", "alice", "why", "opaquelocktoken:1");
    repository.repo().lock("iota", "bob", "", "opaquelocktoken:2");
    let lock = fs.lock(&path("/A/D/gamma")).unwrap().unwrap();
    assert_eq!(
        (lock.owner.as_str(), lock.token.as_str()),
        ("alice", "opaquelocktoken:1")
    );
    assert_eq!(lock.comment.as_deref(), Some("why"));
    let below = |at, depth| {
        let locks = fs.locks(&path(at), depth).unwrap();
        locks
            .into_iter()
            .map(|lock| lock.path.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(below("/", Depth::Infinity), ["/A/D/gamma", "/iota"]);
    assert_eq!(below("/", Depth::Files), ["/iota"]);
    assert_eq!(below("/A", Depth::Infinity), ["/A/D/gamma"]);
    assert_eq!(fs.lock(&path("/A")).unwrap(), None);
}
