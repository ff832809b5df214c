//! Commits of one small file: one by one, and by many committers at the same time.
//!
//! The committers are threads of this process with a connection each, which stays open. Each commits into a directory of its own, so
//! nothing conflicts. What PostgreSQL does by itself is measured with `pgbench`: one row that each statement changes, which is what
//! one repository comes down to.

use std::process::Command;
use std::thread;
use std::time::Instant;

use base::{RelPath, Url};
use delta::editor::TextChunk;
use delta::window::Window;
use ra::{CommitRequest, OpenOptions, Session};
use serde_json::{Value, json};
use testkit::engines::{postgres_bin, sql};

use super::nodes::{ClusterEngines, DELAYS_OFF, make_open, on_files};
use super::{ClusterOptions, DELAYS};
use crate::rivals::SvenBinary;
use crate::rivals::servers::StartedServer;
use crate::workload::run;

type Measured = (String, Vec<Value>);

/// The times of commits, in milliseconds.
struct Times(Vec<f64>);

/// Measures single commits.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn one_by_one(options: &ClusterOptions, sven: &SvenBinary) -> Result<Measured, String> {
    let data = &options.directories.data;
    let mut text = format!(
        "\n## One commit\n\n{} commits of one file of 1 KiB over svn://, one after the other, on an open connection; milliseconds.\n\n\
         | storage | median | 95 % | most |\n|---|---:|---:|---:|\n",
        options.commits
    );
    let mut values = Vec::new();
    let mut add = |name: String, times: &Times| {
        text.push_str(&format!(
            "| {name} | {:.2} | {:.2} | {:.2} |\n",
            times.at(0.5),
            times.at(0.95),
            times.at(1.0)
        ));
        eprintln!("one commit, {name}: {:.2} ms", times.at(0.5));
        values.push(
            json!({"table": "one", "storage": name, "median_ms": times.at(0.5), "p95_ms": times.at(0.95)}),
        );
    };
    let files = tempfile::tempdir_in(data).map_err(|e| e.to_string())?;
    make_open(&files.path().join("r"))?;
    let server = on_files(sven, files.path())?;
    add("FSFS".to_owned(), &commit_times(&server, "r", options.commits)?);
    drop(server);
    let engines = ClusterEngines::start(sven, data)?;
    let alone = pgbench(&engines, 1)?;
    for (at, delays) in DELAYS.into_iter().enumerate() {
        // A repository for each: the same work at each delay.
        let name = format!("r{at}");
        engines.create(&name)?;
        let node = engines.node("one", delays)?;
        let times = commit_times(&node, &name, options.commits)?;
        add(format!("cluster, {delays}"), &times);
    }
    text.push_str(&format!(
        "\nPostgreSQL alone, one row changed by one connection: {:.2} ms.\n",
        1000.0 / alone
    ));
    values.push(json!({"table": "one", "storage": "pgbench", "mean_ms": 1000.0 / alone}));
    Ok((text, values))
}

/// Measures many committers.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn many(options: &ClusterOptions, sven: &SvenBinary) -> Result<Measured, String> {
    let mut text = format!(
        "\n## Many committers\n\n{} committers with {} commits each to one repository, at the same time, over svn://.\n\n\
         | storage | medium | commits/s | median ms | 95 % ms |\n|---|---|---:|---:|---:|\n",
        options.committers, options.each
    );
    let mut values = Vec::new();
    for (medium, parent) in [("disk", &options.directories.data), ("RAM disk", &options.ram)] {
        let mut add = |name: String, rate: f64, times: &Times| {
            text.push_str(&format!(
                "| {name} | {medium} | {rate:.0} | {:.1} | {:.1} |\n",
                times.at(0.5),
                times.at(0.95)
            ));
            eprintln!("many committers, {name}, {medium}: {rate:.0} commits/s");
            values.push(json!({"table": "many", "storage": name, "medium": medium, "rate": rate, "median_ms": times.at(0.5)}));
        };
        let files = tempfile::tempdir_in(parent).map_err(|e| e.to_string())?;
        make_open(&files.path().join("r"))?;
        let server = on_files(sven, files.path())?;
        let (rate, times) = commit_rate(&[&server], "r", options)?;
        add("FSFS".to_owned(), rate, &times);
        drop(server);
        let engines = ClusterEngines::start(sven, parent)?;
        for count in [1, 3] {
            let name = format!("r{count}");
            engines.create(&name)?;
            let nodes = (0..count)
                .map(|node| engines.node(&format!("many{count}-{node}"), DELAYS_OFF))
                .collect::<Result<Vec<_>, _>>()?;
            let nodes: Vec<&StartedServer> = nodes.iter().collect();
            let (rate, times) = commit_rate(&nodes, &name, options)?;
            add(format!("cluster, nodes: {count}"), rate, &times);
        }
        let alone = pgbench(&engines, options.committers)?;
        add(
            "PostgreSQL alone, one row".to_owned(),
            alone,
            &Times(vec![1000.0 * options.committers as f64 / alone]),
        );
    }
    Ok((text, values))
}

fn commit_times(server: &StartedServer, name: &str, commits: usize) -> Result<Times, String> {
    let mut committer = Committer::open(server, name, 0)?;
    // The first ones open everything.
    (0..5).try_for_each(|_| committer.commit().map(drop))?;
    let times = (0..commits)
        .map(|_| committer.commit())
        .collect::<Result<_, _>>()?;
    Ok(Times::of(times))
}

/// Returns commits a second, and the times of all.
fn commit_rate(
    servers: &[&StartedServer],
    name: &str,
    options: &ClusterOptions,
) -> Result<(f64, Times), String> {
    let mut committers = Vec::new();
    for number in 0..options.committers {
        let mut committer = Committer::open(servers[number % servers.len()], name, number)?;
        committer.commit()?;
        committers.push(committer);
    }
    let begun = Instant::now();
    let times: Result<Vec<Vec<f64>>, String> = thread::scope(|scope| {
        let threads: Vec<_> = committers
            .into_iter()
            .map(|mut committer| scope.spawn(move || (0..options.each).map(|_| committer.commit()).collect()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a committer".to_owned())?)
            .collect()
    });
    let wall = begun.elapsed().as_secs_f64();
    let times: Vec<f64> = times?.into_iter().flatten().collect();
    Ok((times.len() as f64 / wall, Times::of(times)))
}

/// A connection that commits into a directory of its own.
struct Committer {
    session: Box<dyn Session>,
    count: usize,
}

impl Committer {
    fn open(server: &StartedServer, name: &str, number: usize) -> Result<Committer, String> {
        let failed = |e: base::Error| e.to_string();
        let root = Url::canonicalize(&format!("{}/{name}", server.url)).map_err(failed)?;
        let mut session = ra::open(&root, &OpenOptions::default()).map_err(failed)?;
        let directory = format!("d{number}");
        let path = RelPath::canonicalize(&directory).map_err(failed)?;
        session
            .commit(&CommitRequest::default(), &mut |editor| {
                let root = editor.open_root(None)?;
                let added = editor.add_directory(&path, root, None)?;
                editor.close_directory(added)?;
                editor.close_directory(root)
            })
            .map_err(failed)?;
        let url = Url::canonicalize(&format!("{}/{name}/{directory}", server.url)).map_err(failed)?;
        session.reparent(&url).map_err(failed)?;
        Ok(Committer { session, count: 0 })
    }

    /// Adds a file. Returns the milliseconds that it took.
    fn commit(&mut self) -> Result<f64, String> {
        self.count += 1;
        let failed = |e: base::Error| e.to_string();
        let path = RelPath::canonicalize(&format!("f{}", self.count)).map_err(failed)?;
        let text: Vec<u8> = (0..1024_usize)
            .map(|at| (at * 31 + self.count * 7 % 251) as u8)
            .collect();
        let window = Window::insertion(&text);
        let begun = Instant::now();
        self.session
            .commit(&CommitRequest::default(), &mut |editor| {
                let root = editor.open_root(None)?;
                let file = editor.add_file(&path, root, None)?;
                editor.apply_textdelta(file, None)?;
                editor.text_chunk(file, TextChunk::Decoded(&window))?;
                editor.text_end(file)?;
                editor.close_file(file, None)?;
                editor.close_directory(root)
            })
            .map_err(failed)?;
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    }
}

impl Times {
    fn of(mut times: Vec<f64>) -> Times {
        times.sort_by(f64::total_cmp);
        Times(times)
    }

    /// The time that this share of the commits is not above.
    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0
            .get((last as f64 * share).round() as usize)
            .copied()
            .unwrap_or(f64::NAN)
    }
}

/// Returns how many statements a second change one row, by this many connections.
fn pgbench(engines: &ClusterEngines<'_>, connections: usize) -> Result<f64, String> {
    let database = engines.database();
    sql(
        &database,
        "CREATE TABLE IF NOT EXISTS bench_row (id integer PRIMARY KEY, n bigint); \
         INSERT INTO bench_row VALUES (1, 0) ON CONFLICT DO NOTHING",
    );
    let script = engines.scratch().join("pgbench.sql");
    std::fs::write(&script, "UPDATE bench_row SET n = n + 1 WHERE id = 1;\n").map_err(|e| e.to_string())?;
    let mut command = Command::new(postgres_bin().join("pgbench"));
    command
        .args([
            "-n",
            "-M",
            "prepared",
            "-T",
            "4",
            "-c",
            &connections.to_string(),
            "-f",
        ])
        .arg(script)
        .arg(database);
    let output = run(&mut command)?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("tps = "))
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| format!("pgbench: {text}"))
}
