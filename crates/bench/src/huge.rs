//! One text far larger than any memory that we may take: committed, exported, dumped and loaded.
//!
//! What counts is the peak of memory: it must stay below what `-M` names and a fixed amount beside it, however long
//! the text is. Nothing is compared; a rival that takes an hour would say nothing about that.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::measure::{Cost, tool, tool_reading, tool_writing};
use crate::rivals::Sven;
use crate::rivals::servers::{Kind, LEAN, start};
use crate::workload::{large, run};

/// MiB that may be taken beside the cache.
const BESIDE: f64 = 128.0;

/// Measures, and returns a table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn rows(sven: &Sven, place: &Path, megabytes: u64, seed: u64) -> Result<String, String> {
    let at = |name: &str| place.join(name);
    let (text, out, dump) = (at("huge"), at("huge-out"), at("huge.dump"));
    large::file(&text, megabytes, true, seed)?;
    let served = at("huge-served");
    let repository = served.join("repository");
    fs::create_dir(&served).map_err(|e| format!("{}: {e}", served.display()))?;
    run(Command::new("svnadmin").arg("create").arg(&repository))?;
    let conf = repository.join("conf/svnserve.conf");
    fs::write(&conf, "[general]\nanon-access = write\n").map_err(|e| format!("{}: {e}", conf.display()))?;
    let lean = LEAN.to_string();
    let mut rows = Vec::new();
    {
        let running = start(Kind::SvenLean, sven, &served)?;
        let url = format!("{}/repository/huge", running.url);
        let mut put = Command::new("svnmucc");
        put.args(["--non-interactive", "-m", "huge", "put"])
            .arg(&text)
            .arg(&url);
        rows.push(("commit, of the server", running.server.serve(&mut put)?));
    }
    {
        let running = start(Kind::SvenLean, sven, &served)?;
        let url = format!("{}/repository/huge", running.url);
        let mut export = Command::new("svn");
        export
            .args(["export", "-q", "--non-interactive"])
            .arg(&url)
            .arg(&out);
        rows.push(("export, of the server", running.server.serve(&mut export)?));
    }
    same(&text, &out)?;
    let admin = |words: &[&str], repository: &Path| {
        let mut command = sven.command("svnadmin");
        command.args(words).args(["-q", "-M", &lean]).arg(repository);
        command
    };
    rows.push((
        "svnadmin dump",
        tool_writing(&mut admin(&["dump"], &repository), &dump)?,
    ));
    let loaded = at("huge-loaded");
    run(Command::new("svnadmin").arg("create").arg(&loaded))?;
    rows.push((
        "svnadmin load",
        tool_reading(&mut admin(&["load"], &loaded), &dump)?,
    ));
    rows.push(("svnadmin verify", tool(&mut admin(&["verify"], &loaded))?));
    fs::remove_file(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    run(Command::new("svn")
        .args(["export", "-q"])
        .arg(format!("file://{}/huge", loaded.display()))
        .arg(&out))?;
    same(&text, &out)?;
    Ok(table(&rows, megabytes))
}

/// Fails if two files differ.
fn same(one: &Path, other: &Path) -> Result<(), String> {
    run(Command::new("cmp").arg(one).arg(other)).map(drop)
}

fn table(rows: &[(&str, Cost)], megabytes: u64) -> String {
    let bar = f64::from(LEAN) + BESIDE;
    let mut text = format!(
        "\n| a text of {megabytes} MiB, `-M {LEAN}` | wall s | CPU s | peak MiB | bar |\n|---|---:|---:|---:|---|\n"
    );
    for (job, cost) in rows {
        let met = if cost.memory <= bar { "met" } else { "**missed**" };
        _ = writeln!(
            text,
            "| {job} | {:.1} | {:.1} | {:.0} | ≤ {bar:.0} {met} |",
            cost.wall, cost.cpu, cost.memory
        );
    }
    text
}
