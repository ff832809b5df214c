//! Changing revision properties: the incumbent reads what was written, and changes it again. `FSX_REVPROP_SEEDS=0..100` sets the
//! seeds.

use std::fs;

use base::{Code, Revnum};
use testkit::history::{self, Random};
use testkit::{Tool, each_seed};

use super::repository::{FsxRepository, Settings, verify};

/// Packs of a few lists.
const SMALL_PACKS: &str = "[packed-revprops]\nrevprop-pack-size = 1\n";

#[test]
fn both_change_and_read_the_properties_of_a_repository() {
    each_seed("FSX_REVPROP_SEEDS", 0..3, |seed| {
        let mut random = Random::new(seed);
        let settings = Settings {
            shard: [2, 5, 12][random.below(3)],
            conf: ["", SMALL_PACKS][random.below(2)],
        };
        let stream = history::small();
        let repository = FsxRepository::load(&settings, &stream.bytes());
        let fs = repository.open();
        let packed_from = random.below(10);
        let mut expected = [""; 12].map(str::to_owned);
        for turn in 0..20 {
            if turn == packed_from {
                repository.pack();
            }
            let rev = random.below(12);
            // A long value of the incumbent makes it write a manifest that nothing can read.
            let by_ours = random.below(2) == 0;
            let length = if by_ours {
                [0, 3, 90, 700, 1500][random.below(5)]
            } else {
                2
            };
            let value = format!("{turn} {}", "x".repeat(length));
            if by_ours {
                let old = fs.change_revprop(Revnum(rev as u64), "p", None, Some(value.as_bytes()));
                let before = (!expected[rev].is_empty()).then(|| expected[rev].clone().into_bytes());
                assert_eq!(old.unwrap(), before, "turn {turn}, r{rev}");
            } else {
                repository.repo().set_revprop(rev as u64, "p", value.as_bytes());
            }
            expected[rev] = value;
            for (rev, value) in expected.iter().enumerate().filter(|(_, value)| !value.is_empty()) {
                let list = fs.revprops(Revnum(rev as u64)).unwrap();
                assert_eq!(list.get("p"), Some(value.as_bytes()), "turn {turn}, r{rev}");
                let rev = rev.to_string();
                assert_eq!(
                    repository.svnlook("propget", &["--revprop", "-r", &rev, "p"]),
                    *value
                );
            }
        }
        verify(&fs).unwrap();
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(repository.path())
            .ok();
        let generation = fs::read_to_string(repository.db().join("revprop-generation")).unwrap();
        assert_eq!(generation.trim().parse::<u64>().unwrap() % 2, 0);
    });
}

#[test]
fn a_change_checks_the_value_and_an_equal_one_writes_nothing() {
    let repository = FsxRepository::load(&Settings::shard(5), &history::small().bytes());
    let fs = repository.open();
    let generation = || fs::read(repository.db().join("revprop-generation")).unwrap();
    for packed in [false, true] {
        if packed {
            repository.pack();
        }
        let before = generation();
        let refused = fs.change_revprop(Revnum(2), "q", Some(Some(b"x")), Some(b"y"));
        assert_eq!(
            refused.err().map(|e| e.code()),
            Some(Code::FS_PROP_BASEVALUE_MISMATCH)
        );
        assert_eq!(fs.change_revprop(Revnum(2), "none", None, None).unwrap(), None);
        assert_eq!(generation(), before);
        fs.change_revprop(Revnum(2), "q", Some(None), Some(b"y")).unwrap();
        assert_ne!(generation(), before);
        assert_eq!(
            fs.change_revprop(Revnum(2), "q", Some(Some(b"y")), None).unwrap(),
            Some(b"y".to_vec())
        );
        let list = fs.revprops(Revnum(0)).unwrap().to_props();
        fs.set_revprops(Revnum(0), &list).unwrap();
        fs.change_revprop(Revnum(0), "svn:date", None, Some(b"2020-01-01T00:00:00.000000Z"))
            .unwrap();
        assert_eq!(
            repository.svnlook("date", &["-r", "0"]).get(..10),
            Some("2020-01-01")
        );
    }
}
