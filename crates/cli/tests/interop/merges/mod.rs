//! Merges over random histories of branches: the stock client's queries, merges in working copies and commits, with
//! the incumbent's server and with Sven, over svn:// and http://.
//!
//! The seed determines a history. `MERGE_SEEDS=100..200 cargo test -p sven --test interop merges_of_branches` runs
//! these; `MERGE_QUESTIONS` and `MERGE_MERGES` are the numbers of queries and of merges for each transport,
//! `MERGE_REVS` the length of the histories; `MERGE_KEEP` names a directory that the repositories are copied to;
//! `MERGE_GO_ON` reports all differences at the end instead of stopping at the first.

mod foreign;
mod known;
mod merging;
mod peer;
mod questions;
mod raw;

use std::fmt::Write as _;

use testkit::branch_history;
use testkit::history::Random;
use testkit::random_history::RandomHistory;
use testkit::server::transport::Transport;
use testkit::{Repo, Side, runs_all_cases};

use known::{MergeDifference, known};
use peer::MergePeer;
use questions::MergeGenerator;

/// The parameters of a run.
struct MergePlan {
    revisions: u64,
    questions: usize,
    merges: usize,
    go_on: bool,
}

/// The counts of a run.
#[derive(Debug, Default)]
struct MergeCounts {
    histories: usize,
    runs: usize,
    /// Runs that ended with exit code 0.
    succeeded: usize,
    known: usize,
    died: usize,
    refused_values: usize,
    differ: Vec<String>,
}

#[test]
fn merges_of_branches_have_equal_results() {
    let number = |name: &str, usual: usize| -> usize {
        let text = std::env::var(name).ok();
        text.map_or(usual, |text| {
            text.parse().unwrap_or_else(|_| panic!("{name}: a number"))
        })
    };
    let plan = MergePlan {
        revisions: number("MERGE_REVS", 40) as u64,
        questions: number("MERGE_QUESTIONS", if runs_all_cases() { 20 } else { 6 }),
        merges: number("MERGE_MERGES", if runs_all_cases() { 4 } else { 1 }),
        go_on: std::env::var_os("MERGE_GO_ON").is_some(),
    };
    let mut count = MergeCounts::default();
    for seed in testkit::seeds("MERGE_SEEDS", 0..1) {
        one_history(&plan, seed, &mut count);
    }
    if std::env::var_os("MERGE_SEEDS").is_some() {
        eprintln!("{count:#?}");
    }
    assert!(count.differ.is_empty(), "{}", count.differ.join("\n"));
}

fn one_history(plan: &MergePlan, seed: u64, count: &mut MergeCounts) {
    let history = branch_history::history(seed, plan.revisions);
    let repo = Repo::create("1.14");
    repo.load(history.stream.bytes());
    count.histories += 1;
    let random = || {
        let mut random = Random::new(seed ^ 0x3e26e);
        random.next();
        random
    };
    let pair = Side::BOTH.map(|side| MergePeer::new(side, Transport::Svn, &repo));
    let youngest = raw_values(plan, seed, &pair, &history, count);
    let raw = Repo::at(&pair[0].repository);
    if let Some(folder) = std::env::var_os("MERGE_KEEP") {
        raw.copy_to(&std::path::Path::new(&folder).join(format!("s{seed}")));
    }
    let over_http = Side::BOTH.map(|side| MergePeer::new(side, Transport::Http, &raw));
    let maker = || MergeGenerator {
        random: random(),
        history: &history,
        youngest,
    };
    play(plan, seed, pair, &mut maker(), count);
    play(plan, seed, over_http, &mut maker(), count);
}

/// Sends both servers the same values, which current clients do not send. Returns the youngest revision.
fn raw_values(
    plan: &MergePlan,
    seed: u64,
    pair: &[MergePeer; 2],
    history: &RandomHistory,
    count: &mut MergeCounts,
) -> usize {
    let mut youngest = history.youngest as usize;
    for nth in 0..4 {
        let [theirs, ours] = pair.each_ref().map(|peer| {
            let mut random = Random::new(seed * 4 + nth + 77_000_000);
            random.next();
            raw::commit(peer, &mut random, history, history.trees.len() - 1)
        });
        let is_taken = theirs.ends_with(": taken");
        youngest += usize::from(is_taken);
        count.refused_values += usize::from(!is_taken);
        if theirs != ours {
            differ(
                plan,
                seed,
                count,
                format!("a raw value\n--- theirs\n{theirs}\n--- ours\n{ours}"),
            );
        }
    }
    youngest
}

fn differ(plan: &MergePlan, seed: u64, count: &mut MergeCounts, text: String) {
    let text = format!("MERGE_SEEDS={seed}: {text}");
    assert!(plan.go_on, "{text}");
    eprintln!("{text}");
    count.differ.push(text);
}

fn play(
    plan: &MergePlan,
    seed: u64,
    pair: [MergePeer; 2],
    maker: &mut MergeGenerator<'_>,
    count: &mut MergeCounts,
) {
    for _ in 0..plan.questions {
        let question = maker.question();
        if !same(plan, seed, &pair, &question.args, question.is_ordered, count) {
            return;
        }
    }
    let Some((root, steps)) = merging::checkout(maker) else {
        return;
    };
    for step in steps {
        if !same(plan, seed, &pair, &step, false, count) {
            return;
        }
    }
    for _ in 0..plan.merges {
        for step in merging::merge(maker, &root) {
            if !same(plan, seed, &pair, &step, false, count) {
                return;
            }
        }
    }
    let [theirs, ours] = pair.each_ref().map(MergePeer::dump);
    if theirs != ours {
        differ(
            plan,
            seed,
            count,
            format!("dumps\n{}", difference(&theirs, &ours)),
        );
    }
}

/// Runs the client on both sides; false if the working copies differ afterwards.
fn same(
    plan: &MergePlan,
    seed: u64,
    pair: &[MergePeer; 2],
    args: &[String],
    ordered: bool,
    count: &mut MergeCounts,
) -> bool {
    let run = || {
        let run = |peer: &MergePeer| {
            let output = peer.svn(args);
            (peer.shown(&output, ordered), output.code)
        };
        std::thread::scope(|scope| {
            let ours = scope.spawn(|| run(&pair[1]));
            let theirs = run(&pair[0]);
            [theirs, ours.join().expect("because our side runs")]
        })
    };
    let [theirs, ours] = run();
    count.runs += 1;
    count.succeeded += usize::from(theirs.1 == 0);
    if theirs.0 == ours.0 {
        return true;
    }
    match known(args, &theirs.0, &ours.0) {
        Some(MergeDifference::Words) => {
            count.known += 1;
            return true;
        }
        Some(MergeDifference::Died) => {
            count.died += 1;
            return false;
        }
        None => {}
    }
    // The client finds ancestors in hash order, so its output varies with one server.
    if args[0] == "mergeinfo" {
        let (mut all_theirs, mut all_ours) = (vec![theirs.0.clone()], vec![ours.0.clone()]);
        for _ in 0..8 {
            let [theirs, ours] = run();
            all_theirs.push(theirs.0);
            all_ours.push(ours.0);
            if all_theirs.iter().any(|text| all_ours.contains(text)) {
                count.known += 1;
                return true;
            }
        }
    }
    let transport = pair[0].transport;
    let found = difference(&theirs.0, &ours.0);
    differ(
        plan,
        seed,
        count,
        format!("{transport:?}: svn {}\n{found}", args.join(" ")),
    );
    false
}

/// Returns the first lines in which both differ.
fn difference(theirs: &str, ours: &str) -> String {
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let at = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (name, lines) in [("theirs", &theirs), ("ours", &ours)] {
        let end = lines.len().min(at + 12);
        let shown = lines[at.saturating_sub(4).min(end)..end].join("\n");
        _ = writeln!(text, "--- {name} from line {at} of {}\n{shown}", lines.len());
    }
    text
}
