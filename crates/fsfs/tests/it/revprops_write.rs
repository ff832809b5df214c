//! Changing revision properties: the files are the same as those of the real tool on a copy.

use base::{Code, Props, Revnum};
use fsfs::{Cache, Fs};
use rand::{Rng as _, SeedableRng as _};
use testkit::repo::{Repo, Spec, When, build};
use testkit::{Tool, history};

use crate::files::{assert_same, files};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

fn verify(repo: &Repo) {
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

#[test]
fn the_same_changes_make_the_same_files() {
    for spec in [
        Spec::small("1.3"),
        Spec::small("1.7").shard(4).pack(When::After),
        Spec::small("1.14").shard(4),
        Spec::small("1.14")
            .shard(5)
            .pack(When::After)
            .packed_revprops(1, false),
        Spec::small("1.8")
            .shard(12)
            .pack(When::After)
            .packed_revprops(2, false),
    ] {
        let (ours, theirs) = (build(&spec).copy(), build(&spec).copy());
        let fs = open(&ours);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(11);
        let text = history::lines(3, 200);
        for turn in 0..30 {
            let rev = random.random_range(0..=11);
            let length = [0, 3, 90, 300, 700, 2500][random.random_range(0..6)].min(text.len());
            let value = format!("{turn}{}", &text[..length]);
            let name = ["svn:log", "x"][random.random_range(0..2)];
            theirs.set_revprop(rev, name, value.as_bytes());
            fs.change_revprop(Revnum(rev), name, None, Some(value.as_bytes()))
                .unwrap();
            let what = format!("{} turn {turn} r{rev} {name} {length}", spec.name);
            assert_same(&ours.db().join("revprops"), &theirs.db().join("revprops"), &what);
        }
        verify(&ours);
    }
}

#[test]
fn the_incumbent_reads_compressed_packs() {
    let spec = Spec::small("1.14")
        .shard(12)
        .pack(When::After)
        .packed_revprops(1, true);
    let (ours, theirs) = (build(&spec).copy(), build(&spec).copy());
    let fs = open(&ours);
    let text = history::lines(3, 200);
    for (turn, rev) in [3, 7, 3, 11, 1, 5].into_iter().enumerate() {
        let value = format!("{turn}{}", &text[..turn * 400]);
        theirs.set_revprop(rev, "svn:log", value.as_bytes());
        fs.change_revprop(Revnum(rev), "svn:log", None, Some(value.as_bytes()))
            .unwrap();
    }
    let dump = |repo: &Repo| {
        Tool::new("svnadmin")
            .args(["dump-revprops", "-q"])
            .arg(repo.path())
            .ok()
            .stdout
    };
    let uuid_free = |dump: Vec<u8>| String::from_utf8_lossy(&dump).into_owned();
    assert_eq!(uuid_free(dump(&ours)), uuid_free(dump(&theirs)));
    let names = |repo: &Repo| files(&repo.db().join("revprops")).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    verify(&ours);
}

#[test]
fn a_change_is_made_only_on_the_expected_value() {
    let repo = build(&Spec::small("1.14").shard(4).pack(When::After)).copy();
    let fs = open(&repo);
    let change = |expected, value| fs.change_revprop(Revnum(2), "p", expected, value);
    assert_eq!(change(Some(None), Some(&b"1"[..])).unwrap(), None);
    let refused = change(Some(None), Some(b"2")).unwrap_err();
    assert_eq!(refused.code(), Code::FS_PROP_BASEVALUE_MISMATCH);
    assert_eq!(
        refused.message(),
        "revprop 'p' has unexpected value in filesystem"
    );
    assert!(change(Some(Some(b"x")), None).is_err());
    assert_eq!(change(Some(Some(b"1")), Some(b"2")).unwrap(), Some(b"1".to_vec()));
    assert_eq!(change(None, None).unwrap(), Some(b"2".to_vec()));
    assert_eq!(change(None, None).unwrap(), None);
    assert!(fs.revprops(Revnum(2)).unwrap().get("p").is_none());
    let missing = fs.change_revprop(Revnum(99), "p", None, None).unwrap_err();
    assert_eq!(missing.code(), Code::FS_NO_SUCH_REVISION);
    verify(&repo);
}

#[test]
fn unchanged_properties_are_not_written() {
    let repo = build(&Spec::small("1.14").shard(4).pack(When::Halfway)).copy();
    let fs = open(&repo);
    let inodes = || {
        use std::os::unix::fs::MetadataExt as _;
        let folder = repo.db().join("revprops");
        let names = files(&folder).into_keys();
        names
            .map(|name| std::fs::metadata(folder.join(name)).unwrap().ino())
            .collect::<Vec<_>>()
    };
    let before = inodes();
    for rev in [0, 2, 9].map(Revnum) {
        let props = fs.revprops(rev).unwrap().to_props();
        fs.set_revprops(rev, &props).unwrap();
        for (name, value) in &props {
            fs.change_revprop(rev, name, None, Some(value)).unwrap();
        }
    }
    assert_eq!(inodes(), before);
}

#[test]
fn whole_lists_can_be_replaced_even_damaged_ones() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let path = repo.db().join("revprops/0/3");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "garbage").unwrap();
    assert!(fs.change_revprop(Revnum(3), "a", None, Some(b"b")).is_err());
    let props = Props::from([("svn:log".to_owned(), b"repaired".to_vec())]);
    fs.set_revprops(Revnum(3), &props).unwrap();
    assert_eq!(fs.revprops(Revnum(3)).unwrap().to_props(), props);
    verify(&repo);
}
