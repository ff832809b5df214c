//! Signals at random moments.
//!
//! Three seeds share the commands. `SIGNAL_SEEDS=A..B` runs other ones; `SIGNAL_SIDE=theirs` examines Subversion's client.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use testkit::history::Random;
use testkit::{Side, Tool, seeds};

use super::cases::{Case, Effect, Outcome, Site, share};
use crate::twins::Access;

const SIGNALS: [(&str, i32); 5] = [("INT", 2), ("TERM", 15), ("HUP", 1), ("PIPE", 13), ("KILL", 9)];

/// A command that a signal ended says so, and ends by it.
fn check_end(outcome: &Outcome, signal: i32) -> Result<(), String> {
    let status = outcome.status;
    if status.success() {
        return Ok(());
    }
    let caught = outcome.stderr.trim_end().ends_with("E200015: Caught signal");
    // The signal came before the handler was installed, or when the work was complete.
    let is_silent = outcome.stderr.is_empty();
    match status.signal() {
        Some(ended_by) if ended_by == signal && (signal == 9 || caught || is_silent) => Ok(()),
        _ => Err(format!("it ended with {status}")),
    }
}

fn run(
    site: &mut Site,
    access: Access,
    case: Case,
    delay: Duration,
    (name, number): (&str, i32),
) -> Result<(), String> {
    let (run, child) = site.start(case);
    std::thread::sleep(delay);
    Tool::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .run();
    let outcome = site.finish((run, child), Duration::from_secs(10))?;
    let shown = || format!("{} {:?}", outcome.status, outcome.stderr);
    check_end(&outcome, number).map_err(|what| format!("{what}: {}", shown()))?;
    // Nothing can tell a server over HTTP, or a repository on disk, that a process was killed.
    if number != 9 || access == Access::Svn {
        let repository = match case.effect {
            Effect::Commits => Some("into"),
            Effect::Loads | Effect::Mirrors => Some(outcome.name.as_str()),
            Effect::Prints | Effect::Exports => None,
        };
        if let Some(repository) = repository {
            site.check_transactions(repository)?;
        }
    } else if case.effect == Effect::Commits {
        let txns = Tool::new("svnadmin")
            .arg("lstxns")
            .arg(site.mirrors.path("into"))
            .ok()
            .out();
        for txn in txns.lines() {
            Tool::new("svnadmin")
                .arg("rmtxns")
                .arg(site.mirrors.path("into"))
                .arg(txn.trim())
                .run();
        }
    }
    if number != 9 && matches!(case.effect, Effect::Loads | Effect::Mirrors) {
        let names = Tool::new("svn")
            .args(["proplist", "--revprop", "-r0"])
            .arg(format!("file://{}", site.mirrors.path(&outcome.name).display()))
            .ok()
            .out();
        if names.contains("lock") {
            return Err(format!("a lock is left: {names} {}", shown()));
        }
    }
    site.check(case, &outcome)
        .map_err(|what| format!("{what}: {}", shown()))?;
    site.clear(&outcome);
    Ok(())
}

#[test]
fn signals_leave_nothing_behind() {
    let side = match std::env::var("SIGNAL_SIDE").as_deref() {
        Ok("theirs") => Side::Theirs,
        _ => Side::Ours,
    };
    let mut failed = Vec::new();
    for seed in seeds("SIGNAL_SEEDS", 0..3) {
        let mut random = Random::new(seed);
        random.next();
        let access = Access::ALL[seed as usize % 3];
        let mut site = Site::new(side, access);
        for case in share(seed) {
            let time = site.measure(case);
            let delay = time.mul_f64(random.below(1000) as f64 / 1000.0);
            let signal = SIGNALS[random.below(SIGNALS.len())];
            if let Err(what) = run(&mut site, access, case, delay, signal) {
                failed.push(format!(
                    "seed {seed} {access:?} {} {} SIG{} after {delay:?}: {what}",
                    case.tool, case.line, signal.0
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{} fail\n{}", failed.len(), failed.join("\n"));
}
