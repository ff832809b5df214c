//! Random histories, in each state of packing. `FSX_SEEDS=17` or `FSX_SEEDS=0..1000` sets the seeds.

use testkit::history::Random;
use testkit::{branch_history, each_seed, random_history};

use super::expected::Expected;
use super::repository::{FsxRepository, Settings};
use super::{compare, pack};

/// Small blocks and pages: many containers, many pages of the indexes.
const SMALL_PAGES: &str =
    "[io]\nblock-size = 4\nl2p-page-size = 8\np2l-page-size = 1\n[packed-revprops]\nrevprop-pack-size = 1\n";

/// Nothing is compressed.
const UNCOMPRESSED: &str =
    "[deltification]\ncompression-level = 0\n[packed-revprops]\ncompress-packed-revprops = false\n";

#[test]
fn random_histories_in_each_state_of_packing() {
    each_seed("FSX_SEEDS", 0..3, |seed| {
        let mut random = Random::new(seed);
        let revisions = 20 + random.below(25) as u64;
        let history = match random.below(3) {
            0 => branch_history::history(seed, revisions),
            _ => random_history::history(seed, revisions, true),
        };
        let settings = Settings {
            shard: [2, 3, 7, 50, 1000][random.below(5)],
            conf: ["", SMALL_PAGES, UNCOMPRESSED][random.below(3)],
        };
        println!("seed {seed}: r{}, {settings:?}", history.youngest);
        let stream = history.stream;
        let youngest = stream.youngest();
        let parts = [
            stream.part(0, youngest / 2),
            stream.part(youngest / 2 + 1, youngest),
        ];
        let expected = Expected::of_parts(&[&parts[0], &parts[1]]);

        let repository = FsxRepository::load(&settings, &parts[0]);
        let opened_unpacked = repository.open();
        compare::contents(&opened_unpacked, &expected.until(youngest / 2));
        let mut pack = || match random.below(3) {
            0 => repository.pack(),
            _ => drop(pack::pack(repository.path())),
        };
        pack();
        repository.repo().load(parts[1].clone());
        compare::all(&repository, &expected, true);
        pack();
        compare::all(&repository, &expected, seed % 3 == 0);
        // This handle has seen no shard packed.
        compare::contents(&opened_unpacked, &expected);
        pack::check_their_reading(repository.path(), &expected);
    });
}
