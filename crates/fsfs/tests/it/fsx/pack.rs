//! Packing FSX: what Subversion 1.14 reads of it, and goes on with; packs that are not larger than its own.

use std::path::Path;

use base::Cancel;
use fsfs::admin::pack::{self, PackEvent};
use testkit::Tool;
use testkit::repo::{Repo, Spec, build};

use super::repository::{open, verify};

/// Packs with this crate.
pub fn pack(repo: &Path) -> Vec<PackEvent> {
    let mut events = Vec::new();
    let fs = open(&repo.join("db")).unwrap();
    pack::run(&fs, &mut |event| events.push(event), &Cancel::new()).unwrap();
    events
}

fn theirs(command: &str, repo: &Path) -> Vec<u8> {
    Tool::new("svnadmin")
        .args([command, "-q"])
        .arg(repo)
        .under("timeout", &["-s", "KILL", "120"])
        .ok()
        .stdout
}

/// The bytes of all packed shards.
fn packed_bytes(repo: &Repo) -> u64 {
    let mut sum = 0;
    for dir in std::fs::read_dir(repo.db().join("revs")).unwrap() {
        let dir = dir.unwrap().path();
        if dir.extension().is_some_and(|extension| extension == "pack") {
            let files = std::fs::read_dir(dir).unwrap();
            sum += files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .sum::<u64>();
        }
    }
    sum
}

#[test]
fn packs_are_read_by_the_incumbent_and_not_larger_than_its_own() {
    for shard in [1, 2, 4, 7, 50] {
        let spec = Spec::fsx().shard(shard).busy().named("fsx");
        let (ours, twin) = (build(&spec).copy(), build(&spec).copy());
        let events = pack(ours.path());
        theirs("pack", twin.path());
        let shards = (ours.youngest() + 1) / u64::from(shard);
        let expected: Vec<_> = (0..shards)
            .flat_map(|shard| [PackEvent::Start(shard), PackEvent::End(shard)])
            .collect();
        assert_eq!(events, expected);
        let min_unpacked = |repo: &Repo| std::fs::read(repo.db().join("min-unpacked-rev")).unwrap();
        assert_eq!(min_unpacked(&ours), min_unpacked(&twin));
        theirs("verify", ours.path());
        verify(&open(&ours.db()).unwrap()).unwrap();
        assert!(
            theirs("dump", ours.path()) == theirs("dump", twin.path()),
            "{shard}"
        );
        println!("shard {shard}: {} {}", packed_bytes(&ours), packed_bytes(&twin));
        assert!(packed_bytes(&ours) <= packed_bytes(&twin));
        assert!(pack(ours.path()).is_empty(), "nothing is left to pack");
    }
}
