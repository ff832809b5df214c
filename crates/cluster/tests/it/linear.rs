//! Random changes by several nodes whose connections to the database break again and again. What the nodes have seen must fit one
//! order: that of the database.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Depth, FsPath, Lock, Revnum};
use fsfs::shared::Outcome;
use rand::{Rng as _, SeedableRng as _};
use testkit::engines::engines;
use testkit::flaky_proxy::FlakyProxy;

use crate::support::{TestCluster, list, revision};

#[test]
fn nothing_acknowledged_is_lost_when_connections_break() {
    for seed in testkit::seeds("SVEN_CLUSTER_SEEDS", 1..3) {
        println!("seed {seed}");
        run(seed);
    }
}

fn run(seed: u64) {
    let test = TestCluster::new(engines());
    let proxies: Vec<FlakyProxy> = (0..3)
        .map(|node| FlakyProxy::start(engines().postgres_address(), seed * 10 + node, 6000))
        .collect();
    let name = test
        .database
        .rsplit('/')
        .next()
        .unwrap()
        .split('?')
        .next()
        .unwrap()
        .to_owned();
    let nodes: Vec<_> = proxies
        .iter()
        .map(|proxy| test.node_at(&engines().database_at(&name, proxy.port())))
        .collect();
    // Acknowledged revisions with their texts, and how many property changes were acknowledged.
    let acknowledged: Mutex<HashMap<u64, String>> = Mutex::default();
    let youngest = AtomicU64::new(0);
    let counted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate() {
            let (acknowledged, youngest, counted) = (&acknowledged, &youngest, &counted);
            scope.spawn(move || {
                let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed * 100 + number as u64);
                for turn in 0..60 {
                    let before = youngest.load(Ordering::SeqCst);
                    let Ok(head) = node.fs.heads.head(Duration::ZERO) else {
                        continue;
                    };
                    assert!(
                        head.youngest.0 >= before,
                        "seed {seed}: an acknowledged revision is missing"
                    );
                    match random.random_range(0..10) {
                        0..=5 => {
                            let rev = head.youngest.0 + 1;
                            let text = format!("{number}-{turn}");
                            let new = revision(rev, text.clone().into_bytes(), &text);
                            if let Ok(Outcome::Done) = node.fs.heads.publish(&head, &[new]) {
                                let twice = acknowledged.lock().unwrap().insert(rev, text);
                                assert_eq!(twice, None, "seed {seed}: revision {rev} was made twice");
                                youngest.fetch_max(rev, Ordering::SeqCst);
                            }
                        }
                        6 | 7 => {
                            // A counter in the properties of revision 0.
                            let Some(Ok(old)) = node.fs.heads.revprops(&[Revnum(0)]).pop() else {
                                continue;
                            };
                            let before = counter(&old);
                            let new = list(&(before + 1).to_string());
                            if let Ok(Outcome::Done) = node.fs.heads.replace_revprops(Revnum(0), &old, &new) {
                                counted.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                        8 => {
                            // Each node has its own paths: what it has changed stays until it changes it again.
                            let path =
                                FsPath::parse(&format!("/{number}-{}", random.random_range(0..3))).unwrap();
                            let lock = Lock {
                                path: path.clone(),
                                token: format!("{number}-{turn}"),
                                owner: "o".to_owned(),
                                comment: None,
                                is_dav_comment: false,
                                created: base::Date(0),
                                expires: None,
                            };
                            let made = std::slice::from_ref(&lock);
                            if let Ok(Outcome::Done) = node.fs.heads.change_locks(&head, made, &[])
                                && node.fs.heads.wait_until_seen().is_ok()
                                && let Ok(found) = node.fs.heads.lock(&path)
                            {
                                assert_eq!(found, Some(lock), "seed {seed}: an acknowledged lock is missing");
                            }
                        }
                        _ => {
                            let path =
                                FsPath::parse(&format!("/{number}-{}", random.random_range(0..3))).unwrap();
                            let removed = std::slice::from_ref(&path);
                            if let Ok(Outcome::Done) = node.fs.heads.change_locks(&head, &[], removed)
                                && node.fs.heads.wait_until_seen().is_ok()
                                && let Ok(found) = node.fs.heads.locks(&path, Depth::Infinity)
                            {
                                assert_eq!(found, [], "seed {seed}: a removed lock is there");
                            }
                        }
                    }
                }
            });
        }
    });
    let breaks: u64 = proxies.iter().map(FlakyProxy::breaks).sum();
    assert!(breaks > 10, "seed {seed}: only {breaks} connections were broken");
    proxies.iter().for_each(|proxy| proxy.set_mean(0));
    let node = test.node();
    let last = node.head().youngest.0;
    assert_eq!(
        last,
        youngest.load(Ordering::SeqCst),
        "seed {seed}: a revision that no node knows of"
    );
    let acknowledged = acknowledged.into_inner().unwrap();
    for rev in 1..=last {
        let props = node.fs.heads.revprops(&[Revnum(rev)]).pop().unwrap().unwrap();
        let expected = acknowledged
            .get(&rev)
            .unwrap_or_else(|| panic!("seed {seed}: nobody has made {rev}"));
        assert_eq!(*props, list(expected)[..], "seed {seed}: revision {rev}");
    }
    let props = node.fs.heads.revprops(&[Revnum(0)]).pop().unwrap().unwrap();
    assert_eq!(
        counter(&props),
        counted.load(Ordering::SeqCst),
        "seed {seed}: changes were lost or made twice"
    );
    println!("seed {seed}: {last} revisions, {breaks} broken connections");
}

/// The number in the log message of a list.
fn counter(list: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(list);
    text.lines()
        .nth(3)
        .and_then(|line| line.parse().ok())
        .unwrap_or(0)
}
