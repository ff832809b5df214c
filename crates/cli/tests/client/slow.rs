//! Servers that are slow: the bytes come one by one at first, then nothing for a while, then the rest. Commands end as Subversion's do, and
//! take no longer.
//!
//! `SLOW=whole` has the long pauses: 10 ms before each of 2,000 bytes, and then 5 s.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use testkit::cut_proxy::{CutProxy, Fault, From};
use testkit::{Side, normalize, sample_from};

use crate::mirrors::Mirrors;
use crate::read_repo;
use crate::twins::Access;

/// The tool and the words, and who is slow.
const LINES: &[(&str, &str, From)] = &[
    ("svn", "log -v {source}", From::Server),
    ("svn", "cat {source}/P/f", From::Server),
    ("svn", "diff -c5 {source}", From::Server),
    ("svn", "list -R -v {source}", From::Server),
    ("svn", "export -q {source}/P/d exported", From::Server),
    ("svnrdump", "dump -q {source}", From::Server),
    ("svn", "mkdir -m x {source}/new", From::Server),
    ("svn", "mkdir -m x {source}/P", From::Client),
    ("svn", "cat {source}/nosuch", From::Server),
    // Less than the long pause.
    (
        "svn",
        "log {source} --config-option servers:global:http-timeout=1",
        From::Server,
    ),
];

/// The pause before each byte, the number of these bytes, and the pause after them.
fn pauses() -> (Duration, u64, Duration) {
    match std::env::var_os("SLOW") {
        Some(_) => (Duration::from_millis(10), 2_000, Duration::from_secs(5)),
        None => (Duration::from_millis(1), 400, Duration::from_millis(1_500)),
    }
}

#[test]
fn slow_servers_are_waited_for() {
    let repo = read_repo::repository();
    let wrong = Mutex::new(Vec::new());
    let accesses = [Access::Svn, Access::Http, Access::Https];
    std::thread::scope(|scope| {
        // They wait, nearly all of the time.
        for (number, access) in accesses.into_iter().enumerate() {
            let make = || Arc::new(Side::BOTH.map(|_| Mirrors::new(&repo, access)));
            let (read, mut written) = (make(), None);
            for case in sample_from(number, 3, LINES) {
                let mirrors = match case.1.contains("mkdir") {
                    true => written.get_or_insert_with(make),
                    false => &read,
                };
                let (mirrors, wrong) = (Arc::clone(mirrors), &wrong);
                scope.spawn(move || {
                    let run = |side| run(&mirrors[side as usize], side, case);
                    let (theirs, ours) = std::thread::scope(|scope| {
                        let theirs = scope.spawn(|| run(Side::Theirs));
                        let ours = run(Side::Ours);
                        (theirs.join().expect("because no run panics"), ours)
                    });
                    let took = [theirs.1, ours.1];
                    if theirs.0 != ours.0 || took[1] > took[0] * 2 + Duration::from_secs(6) {
                        let message = format!(
                            "{access:?} {case:?} {took:?}\n--- theirs\n{}\n--- ours\n{}",
                            theirs.0, ours.0
                        );
                        wrong.lock().expect("because no thread panics").push(message);
                    }
                });
            }
        }
    });
    let wrong = wrong.into_inner().expect("because no thread panics");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs a command through a slow proxy. Returns what it printed, and how long it took.
fn run(mirrors: &Mirrors, side: Side, (tool, line, slow): &(&str, &str, From)) -> (String, Duration) {
    let (pause, limit, long) = pauses();
    let proxy = CutProxy::start(mirrors.addr(), *slow, limit, Fault::Delay { pause, long });
    let url = mirrors.url("source");
    let direct = format!(":{}/", mirrors.addr().port());
    let slow_url = url.replace(&direct, &format!(":{}/", proxy.port()));
    let scratch = testkit::scratch();
    let line = line.replace("{source}", &slow_url);
    let began = Instant::now();
    let output = mirrors.tool(side, tool, &line).dir(scratch.path()).run();
    let took = began.elapsed();
    let text = mirrors.shape(&output, "mirror");
    let text = normalize::mask_dates(&normalize::replace(&text, &[(&slow_url, "{URL}")]));
    (normalize::sorted_lines(&text).join("\n"), took)
}
