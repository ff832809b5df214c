//! Random sequences of requests for transactions of both protocols, compared with Apache: over new and persistent
//! connections, pipelined, in parallel, aborted at any byte, and with `Expect`. Responses and trees are equal, and no
//! request waits longer than with Apache.
//!
//! `SEQUENCES=100..10000 cargo test -p sven --test interop sequences` runs these seeds.

mod drive;
mod generator;

use std::ops::Range;
use std::thread;
use std::time::Duration;

use self::drive::{SequenceResult, drive};
use self::generator::sequence;
use super::served::{Served, compare_trees, twins, verify};

/// A waiting time that Apache does not have.
const LONG: Duration = Duration::from_secs(1);

fn run(seeds: Range<u64>) {
    let twins = twins();
    let mut seen = twins[0].youngest();
    let mut waits = 0;
    for from in seeds.clone().step_by(20) {
        let part = from..(from + 20).min(seeds.end);
        let all = |served: &Served| -> Vec<SequenceResult> {
            part.clone()
                .map(|seed| drive(served, seed, &sequence(seed)))
                .collect()
        };
        let [theirs, ours] = thread::scope(|scope| {
            let theirs = scope.spawn(|| all(&twins[0]));
            let ours = all(&twins[1]);
            [theirs.join().expect("because Apache is there"), ours]
        });
        for ((theirs, ours), seed) in theirs.iter().zip(&ours).zip(part.clone()) {
            if theirs.reported != ours.reported {
                panic!(
                    "seed {seed}\n--- theirs\n{}\n--- ours\n{}",
                    theirs.reported, ours.reported
                );
            }
            if ours.slowest.0 > theirs.slowest.0 + LONG {
                eprintln!(
                    "seed {seed} waits {:?}; theirs {:?}",
                    ours.slowest, theirs.slowest
                );
                waits += 1;
            }
        }
        seen = compare_trees(&twins, seen, &format!("{part:?}"));
    }
    verify(&twins);
    // A busy machine may delay one or two requests.
    let most = 2 + (seeds.end - seeds.start) / 100;
    assert!(waits <= most, "{waits} sequences wait for more than a second");
}

#[test]
fn sequences_of_both_protocols() {
    let count = if testkit::runs_all_cases() { 60 } else { 12 };
    run(testkit::seeds("SEQUENCES", 0..count));
}
