//! Connections that are cut after a random number of bytes, or stall until the user interrupts.
//!
//! Three seeds share the commands. `CUT_SEEDS=A..B` runs other ones; `CUT_SIDE=theirs` examines Subversion's client.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use testkit::cut_proxy::{CutProxy, Fault, From};
use testkit::history::Random;
use testkit::{Side, Tool, sample, seeds};

use super::cases::{Case, Effect, Site, share};
use crate::twins::Access;

/// More than any command sends or receives.
const EVERYTHING: u64 = 1 << 40;

fn run(site: &mut Site, case: Case, random: &mut Random) -> Result<(), String> {
    let from = [From::Client, From::Server][random.below(2)];
    let fault = [Fault::Cut, Fault::Stall][random.below(2)];
    let server = site.mirrors.addr();
    let whole = CutProxy::start(server, from, EVERYTHING, fault);
    site.mirrors.through(Some(whole.port()));
    site.measure(case);
    let limit = random.below(whole.passed() as usize) as u64;
    drop(whole);
    let proxy = CutProxy::start(server, from, limit, fault);
    site.mirrors.through(Some(proxy.port()));
    let (run, child) = site.start(case);
    if fault == Fault::Stall && proxy.wait_until_broken(Duration::from_secs(20)) {
        // Long enough for the client to wait for what does not come.
        std::thread::sleep(Duration::from_millis(random.below(300) as u64));
        Tool::new("kill").arg("-INT").arg(child.id().to_string()).run();
    }
    // A session that has a lock to release gives up after some seconds.
    let finished = site.finish((run, child), Duration::from_secs(15));
    let outcome = finished.map_err(|what| format!("{fault:?} after {limit} bytes of {from:?}: {what}"))?;
    let shown = format!(
        "{fault:?} after {limit} bytes of {from:?}: {} {:?}",
        outcome.status, outcome.stderr
    );
    if std::env::var_os("CUT_SHOWN").is_some() {
        println!("{} {} {shown}", case.tool, case.line);
    }
    let status = outcome.status;
    let is_right = match fault {
        Fault::Delay { .. } => unreachable!("a connection that is only slow"),
        Fault::Cut => status.code() == Some(1) && outcome.stderr.contains(": E"),
        Fault::Stall => {
            status.signal() == Some(2) && outcome.stderr.trim_end().ends_with("E200015: Caught signal")
        }
    };
    if !status.success() && !is_right {
        return Err(format!("ended otherwise: {shown}"));
    }
    drop(proxy);
    site.mirrors.through(None);
    site.check(case, &outcome)
        .map_err(|what| format!("{what}: {shown}"))?;
    site.clear(&outcome);
    Ok(())
}

#[test]
fn broken_connections_are_errors() {
    let side = match std::env::var("CUT_SIDE").as_deref() {
        Ok("theirs") => Side::Theirs,
        _ => Side::Ours,
    };
    let mut failed = Vec::new();
    for seed in seeds("CUT_SEEDS", 0..3) {
        let mut random = Random::new(seed);
        random.next();
        let access = [Access::Svn, Access::Http, Access::HttpV1][seed as usize % 3];
        let mut site = Site::new(side, access);
        let (reading, writing): (Vec<Case>, Vec<Case>) =
            share(seed).partition(|case| case.effect == Effect::Prints);
        for case in sample(3, reading).chain(writing) {
            if let Err(what) = run(&mut site, case, &mut random) {
                failed.push(format!(
                    "seed {seed} {access:?} {} {}: {what}",
                    case.tool, case.line
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{} fail\n{}", failed.len(), failed.join("\n"));
}
