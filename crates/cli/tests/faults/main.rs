//! A cluster of three real nodes under faults: nothing acknowledged is lost, nothing is made twice, and all that clients see fits one order.
//!
//! Clients make random requests at random nodes: commits, readings, revision properties, locks ([`client`]). Meanwhile faults follow each
//! other ([`fault`]): nodes are killed or stopped for longer than their lease, connections to PostgreSQL, to the object store and between
//! nodes stall, end or are slow, the object store answers errors or its responses are lost, engines are restarted, files of
//! caches are damaged ([`nodes`] has the proxies). After each fault, every node must make commits again. In the end what the clients have seen is
//! compared with the history ([`checker`]), which Subversion verifies after an export.
//!
//! Clocks: leases and the order of changes are decided by PostgreSQL's clock and row locks alone. A node's wall clock gives `svn:date`
//! only, its monotonic clock how long a state may be used. So clocks that jump are not among the faults.
//!
//! `SVEN_FAULT_SEEDS` (`7`, `1..21`) chooses the seeds, `SVEN_FAULTS` the number of faults of each run. A thousand faults:
//! `SVEN_FAULT_SEEDS=1..21 SVEN_FAULTS=50 cargo test -p sven --test faults -- --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "tests print their seeds")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod checker;
mod client;
mod fault;
mod history;
mod lost_merge;
mod nodes;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::Revnum;
use parking_lot::Mutex;
use ra::{FileRequest, LogRequest};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::checker::{FinalRevision, FinalState, check};
use crate::client::{Client, LISTS, Shared, items, list_name, open, read_all};
use crate::fault::Fault;
use crate::history::{History, made_by};
use crate::nodes::{NODES, TestNodes};

#[test]
fn a_cluster_under_faults_loses_nothing() {
    let faults = std::env::var("SVEN_FAULTS").map_or(6, |count| count.parse().unwrap());
    testkit::each_seed("SVEN_FAULT_SEEDS", 1..2, |seed| run(seed, faults));
}

fn run(seed: u64, faults: usize) {
    let begun = Instant::now();
    let mut test = TestNodes::start();
    let shared = Arc::new(Shared {
        targets: test.targets(),
        history: History::default(),
        locks: Mutex::default(),
        is_over: AtomicBool::new(false),
        violations: Mutex::default(),
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client::new(shared.clone(), number, seed);
            std::thread::spawn(move || client.run())
        })
        .collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut count, mut damaged) = (0, 0);
    recovered(&test, &shared, "the start");
    while count < faults {
        let mut at_once = vec![Fault::random(&mut random)];
        if random.random_bool(0.25) && faults - count > 1 {
            let second = Fault::random(&mut random);
            let is_apart = second.node() != at_once[0].node();
            at_once.extend(Some(second).filter(|_| is_apart));
        }
        count += at_once.len();
        let what = format!("seed {seed}, fault {count}: {at_once:?}");
        println!("{:6.1} s {what}", begun.elapsed().as_secs_f64());
        let duration = at_once.iter().map(|fault| fault.duration(&mut random)).max();
        for fault in &at_once {
            damaged += fault.begin(&mut test, &mut random);
        }
        std::thread::sleep(duration.unwrap_or_default());
        at_once.sort();
        for fault in &at_once {
            fault.end(&mut test);
        }
        recovered(&test, &shared, &what);
    }
    shared.is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    read_all(&shared).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", test.logs()));
    let exported = test.verified_export();
    let last = final_state(&exported);
    let shared = Arc::into_inner(shared).unwrap();
    let events = shared.history.into_events();
    let (summary, mut wrong) = check(&events, &last);
    wrong.extend(shared.violations.into_inner());
    println!(
        "seed {seed}: {count} faults, {} connections and requests hit, {damaged} files of caches damaged, {} revisions, \
         {summary:?}, {:.0} s",
        test.hits(),
        last.youngest,
        begun.elapsed().as_secs_f64()
    );
    assert!(
        wrong.is_empty(),
        "seed {seed}: {} violations\n{}\n{}",
        wrong.len(),
        wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n"),
        test.logs()
    );
}

/// Waits until each node has made commits again.
fn recovered(test: &TestNodes, shared: &Shared, after: &str) {
    if let Err(node) = shared.history.wait_for_commits(NODES, 1, RECOVERY) {
        panic!("node {node} makes no commits after {after}\n{}", test.logs());
    }
}

/// Reads the history of an exported repository.
fn final_state(repository: &Path) -> FinalState {
    let mut session = open(&format!("file://{}", repository.display())).unwrap();
    let mut ids: BTreeMap<u64, (String, String)> = BTreeMap::new();
    let request = LogRequest {
        start: Some(Revnum(1)),
        changed_paths: true,
        ..LogRequest::default()
    };
    session
        .log(&request, &mut |entry| {
            let id = entry.revprops.get("svn:log").cloned().unwrap_or_default();
            let paths: Vec<&str> = entry.changes.iter().map(|change| change.path.rel_str()).collect();
            let made = (String::from_utf8(id).unwrap(), paths.join(" "));
            ids.insert(entry.rev.unwrap().0, made);
            Ok(())
        })
        .unwrap();
    // The one that was imported.
    ids.remove(&1);
    let mut revisions = BTreeMap::new();
    for (rev, (id, path)) in ids {
        let mut text = Vec::new();
        let name = base::RelPath::parse(&path).unwrap();
        let request = FileRequest {
            path: &name,
            rev: Some(Revnum(rev)),
            props: false,
            text: true,
        };
        session
            .file(&request, &mut |_, piece| {
                text.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        let text = made_by(&text).unwrap();
        revisions.insert(rev, FinalRevision { id, path, text });
    }
    let lists = (0..LISTS).map(|list| {
        let value = session.revprop(Revnum(0), &list_name(list)).unwrap();
        items(value.as_deref())
    });
    FinalState {
        lists: lists.collect(),
        youngest: session.latest_revision().unwrap().0,
        revisions,
    }
}

/// Clients that make requests side by side.
const CLIENTS: u64 = 6;

/// How long a node may take until it makes a commit after a fault. A client waits for a silent node for some seconds.
const RECOVERY: Duration = Duration::from_secs(40);

/// Violations in a message.
const SHOWN: usize = 10;
