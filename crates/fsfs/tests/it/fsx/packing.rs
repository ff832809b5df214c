//! States of packing that one history does not have: revision properties that change, an open filesystem whose shards are
//! packed, a pack that another process makes.

use base::Revnum;
use testkit::history;

use super::compare;
use super::expected::Expected;
use super::repository::{FsxRepository, Settings};

#[test]
fn the_rich_history() {
    let stream = history::rich();
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(9), &stream.bytes());
    compare::all(&repository, &expected, false);
    // One handle has read nothing when the shards are packed.
    let opened_unpacked = repository.open();
    repository.pack();
    compare::contents(&opened_unpacked, &expected);
    compare::all(&repository, &expected, true);
}

#[test]
fn revision_properties_are_as_new_as_the_disk() {
    let stream = history::small();
    let repository = FsxRepository::load(&Settings::shard(2), &stream.bytes());
    let fs = repository.open();
    let value = |rev| {
        fs.revprops(Revnum(rev))
            .unwrap()
            .get("svn:log")
            .map(<[u8]>::to_vec)
    };
    for packed in [false, true] {
        for rev in 0..=stream.youngest() {
            let text = format!("log of r{rev}, packed: {packed}");
            repository.repo().set_revprop(rev, "svn:log", text.as_bytes());
            assert_eq!(value(rev), Some(text.into_bytes()));
        }
        repository.pack();
    }
    assert!(fs.revprops(Revnum(stream.youngest() + 1)).is_err());
}
