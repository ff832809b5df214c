//! One text far larger than the allowed memory: committed, exported, dumped and loaded.
//!
//! The result is the peak of memory. It must stay below the size in `-M` plus a fixed amount, for any length of the
//! text. There is no rival.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::measure::{RunCost, tool, tool_reading, tool_writing};
use crate::rivals::SvenBinary;
use crate::rivals::servers::{SMALL_CACHE, ServerKind, start};
use crate::surroundings::{Surroundings, SurroundingsWatch};
use crate::workload::{large, run};

/// The allowed memory in addition to the cache, in MiB.
const ALLOWANCE_MIB: f64 = 128.0;

/// Measures, and returns a table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn rows(sven: &SvenBinary, scratch: &Path, megabytes: u64, seed: u64) -> Result<String, String> {
    let at = |name: &str| scratch.join(name);
    let (text, out, dump) = (at("huge"), at("huge-out"), at("huge.dump"));
    large::file(&text, megabytes, true, seed)?;
    let served = at("huge-served");
    let repository = served.join("repository");
    fs::create_dir(&served).map_err(|e| format!("{}: {e}", served.display()))?;
    run(Command::new("svnadmin").arg("create").arg(&repository))?;
    let conf = repository.join("conf/svnserve.conf");
    fs::write(&conf, "[general]\nanon-access = write\n").map_err(|e| format!("{}: {e}", conf.display()))?;
    let lean = SMALL_CACHE.to_string();
    let mut rows = Vec::new();
    {
        let running = start(ServerKind::SvenLean, sven, &served)?;
        let url = format!("{}/repository/huge", running.url);
        let mut put = Command::new("svnmucc");
        put.args(["--non-interactive", "-m", "huge", "put"])
            .arg(&text)
            .arg(&url);
        rows.push(HugeRow::measure("commit, of the server", || {
            running.server.measure_client(&mut put)
        })?);
    }
    {
        let running = start(ServerKind::SvenLean, sven, &served)?;
        let url = format!("{}/repository/huge", running.url);
        let mut export = Command::new("svn");
        export
            .args(["export", "-q", "--non-interactive"])
            .arg(&url)
            .arg(&out);
        rows.push(HugeRow::measure("export, of the server", || {
            running.server.measure_client(&mut export)
        })?);
    }
    same(&text, &out)?;
    let admin = |words: &[&str], repository: &Path| {
        let mut command = sven.command("svnadmin");
        command.args(words).args(["-q", "-M", &lean]).arg(repository);
        command
    };
    rows.push(HugeRow::measure("svnadmin dump", || {
        tool_writing(&mut admin(&["dump"], &repository), &dump)
    })?);
    let loaded = at("huge-loaded");
    run(Command::new("svnadmin").arg("create").arg(&loaded))?;
    rows.push(HugeRow::measure("svnadmin load", || {
        tool_reading(&mut admin(&["load"], &loaded), &dump)
    })?);
    rows.push(HugeRow::measure("svnadmin verify", || {
        tool(&mut admin(&["verify"], &loaded))
    })?);
    fs::remove_file(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    run(Command::new("svn")
        .args(["export", "-q"])
        .arg(format!("file://{}/huge", loaded.display()))
        .arg(&out))?;
    same(&text, &out)?;
    Ok(table(&rows, megabytes))
}

/// The measurement of one job.
struct HugeRow {
    job: &'static str,
    cost: RunCost,
    surroundings: Surroundings,
}

impl HugeRow {
    fn measure(job: &'static str, run: impl FnOnce() -> Result<RunCost, String>) -> Result<HugeRow, String> {
        let watch = SurroundingsWatch::start();
        let cost = run()?;
        Ok(HugeRow {
            job,
            cost,
            surroundings: watch.finish(),
        })
    }
}

/// Returns an error if two files differ.
fn same(one: &Path, other: &Path) -> Result<(), String> {
    run(Command::new("cmp").arg(one).arg(other)).map(drop)
}

fn table(rows: &[HugeRow], megabytes: u64) -> String {
    let goal = f64::from(SMALL_CACHE) + ALLOWANCE_MIB;
    let mut text = format!(
        "\n| a text of {megabytes} MiB, `-M {SMALL_CACHE}` | wall s | CPU s | peak MiB | goal | page faults | load average |\n|---|---:|---:|---:|---|---:|---|\n"
    );
    for row in rows {
        let (job, cost, surroundings) = (row.job, &row.cost, row.surroundings.text());
        let met = if cost.memory <= goal { "met" } else { "**missed**" };
        _ = writeln!(
            text,
            "| {job} | {:.1} | {:.1} | {:.0} | ≤ {goal:.0} {met} | {:.0} | {surroundings} |",
            cost.wall, cost.cpu, cost.memory, cost.faults
        );
    }
    text
}
