//! Many clients at the same time: ten thousand connected ones, a thousand that export. Compares Sven with
//! Subversion's svnserve, with threads and with a process for each client.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::machine::Machine;
use crate::procfs::{self, ProcessStat, number, status};
use crate::rivals::servers::{self, StartedServer};
use crate::rivals::subversion_version;
use crate::setup::Directories;
use crate::surroundings::SurroundingsWatch;
use crate::svn_clients::{LATEST, ResponseTotals, SvnClients};
use crate::workload::{self, run};

/// The numbers of clients and the data.
#[derive(Args)]
pub struct LoadOptions {
    /// Clients that are connected and idle
    #[arg(long, default_value_t = 10_000)]
    idle: usize,
    /// Clients that export at the same time
    #[arg(long, default_value_t = 1000)]
    exporting: usize,
    /// Size of the generated history, in revisions
    #[arg(long, default_value_t = 1000)]
    revisions: u32,
    /// Seconds after which clients without a response count as missing
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Only servers whose name contains this
    #[arg(long)]
    only: Option<String>,
    #[command(flatten)]
    directories: Directories,
}

/// Runs both loads with all servers, and prints and stores the table.
///
/// # Errors
/// The first thing that could not be made or run; clients that fail are numbers in the table.
pub fn main(mut options: LoadOptions) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    // If the limit cannot be raised, the table reports missing clients.
    _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    let sven = options.directories.prepare()?;
    let workload = workload::history::workload(&options.directories.data, options.revisions, 1)?;
    let load = LoadBench {
        options: &options,
        repository: workload.repository.clone(),
        trunk: workload.trunk,
    };
    let many = (options.idle.max(options.exporting) + 100).to_string();
    let mut table = format!(
        "Sven beside Subversion {}; clients and server on the same machine. {}\n\n\
         | load | server | completed | wall s | bytes each | memory MiB | peak MiB | threads or processes | page faults | load average |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---|\n",
        subversion_version(),
        Machine::of(&options.directories.data).text(),
    );
    let threads = ["-T", "-M", "1024", "--max-threads"];
    let mut servers = [
        ("sven -M 1024", sven.command("svnserve")),
        ("1.14 -T -M 1024", Command::new("svnserve")),
        ("1.14 -T -M 1024 --max-threads", Command::new("svnserve")),
        ("1.14 as installed", Command::new("svnserve")),
    ];
    servers[0].1.args(&threads[1..3]);
    servers[1].1.args(&threads[..3]);
    servers[2].1.args(threads).arg(&many);
    let wanted = |name: &str| {
        options
            .only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    for (name, command) in servers.iter_mut().filter(|(name, _)| wanted(name)) {
        load.idle(name, command, &mut table)?;
        load.exporting(name, command, &mut table)?;
    }
    print!("{table}");
    options.directories.store("load.md", table.as_bytes())
}

struct LoadBench<'a> {
    options: &'a LoadOptions,
    repository: PathBuf,
    trunk: &'static str,
}

impl LoadBench<'_> {
    fn limit(&self) -> Duration {
        Duration::from_secs(self.options.limit)
    }

    fn idle(&self, name: &str, command: &mut Command, table: &mut String) -> Result<(), String> {
        let count = self.options.idle;
        let server = WatchedServer::start(command, &self.repository)?;
        let begun = Instant::now();
        let mut clients =
            SvnClients::connect(server.running.address, &server.running.url, count, self.limit());
        let mut totals = clients.log_in(self.limit()).map_err(|e| e.to_string())?;
        totals.wall = begun.elapsed().as_secs_f64();
        // Time for idle threads to end and buffers to be released.
        thread::sleep(Duration::from_secs(5));
        server.row(
            &format!("{count} clients log in and stay idle"),
            name,
            count,
            totals,
            table,
        );
        if totals.completed < count {
            return Ok(());
        }
        let totals = clients.request(LATEST, self.limit()).map_err(|e| e.to_string())?;
        server.row(
            &format!("each of the {} sends one request", clients.len()),
            name,
            count,
            totals,
            table,
        );
        Ok(())
    }

    fn exporting(&self, name: &str, command: &mut Command, table: &mut String) -> Result<(), String> {
        let count = self.options.exporting;
        let server = WatchedServer::start(command, &self.repository)?;
        let begun = Instant::now();
        let url = format!("{}/{}", server.running.url, self.trunk);
        let mut clients = SvnClients::connect(server.running.address, &url, count, self.limit());
        // A stock client runs at the same time. Its result must be correct.
        let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
        let real = {
            let to = scratch.path().join("real");
            thread::spawn(move || {
                let mut export = Command::new("svn");
                export.args(["export", "-q", "--non-interactive", &url]).arg(&to);
                run(&mut export)
            })
        };
        let mut totals = clients
            .export(self.options.revisions, self.limit())
            .map_err(|e| e.to_string())?;
        totals.wall = begun.elapsed().as_secs_f64();
        drop(clients);
        let real = real.join().map_err(|_| "the real client's thread")?;
        let local = format!("file://{}/{}", self.repository.display(), self.trunk);
        run(Command::new("svn")
            .args(["export", "-q", &local])
            .arg(scratch.path().join("local")))?;
        let same = real.is_ok()
            && run(Command::new("diff")
                .arg("-r")
                .args([scratch.path().join("real"), scratch.path().join("local")]))
            .is_ok();
        let job = format!(
            "{count} clients export at the same time, and the stock `svn` (its result: {})",
            if same { "equal" } else { "**failed**" }
        );
        server.row(&job, name, count, totals, table);
        Ok(())
    }
}

/// A server with a thread that samples its number of threads.
struct WatchedServer {
    running: StartedServer,
    peaks: Arc<Peaks>,
    surroundings: SurroundingsWatch,
}

#[derive(Default)]
struct Peaks {
    over: AtomicBool,
    threads: AtomicUsize,
}

impl WatchedServer {
    fn start(command: &mut Command, repository: &Path) -> Result<WatchedServer, String> {
        let mut svnserve = Command::new(command.get_program());
        svnserve.args(command.get_args());
        let surroundings = SurroundingsWatch::start();
        let running = servers::listen(svnserve, repository)?;
        let peaks = Arc::new(Peaks::default());
        let server = WatchedServer {
            running,
            peaks: peaks.clone(),
            surroundings,
        };
        let pid = server.running.server.id();
        thread::spawn(move || {
            while !peaks.over.load(Ordering::Relaxed) {
                let threads = status(pid, "Threads:");
                peaks.threads.fetch_max(threads, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        Ok(server)
    }

    /// Returns the page faults of the server and its children.
    fn faults(&self) -> f64 {
        let pid = self.running.server.id();
        let running = procfs::children(pid).into_iter();
        let running = running.map(|pid| ProcessStat::of(pid).own.faults);
        ProcessStat::of(pid).tree().faults + running.sum::<f64>()
    }

    fn row(&self, job: &str, name: &str, count: usize, totals: ResponseTotals, table: &mut String) {
        let pid = self.running.server.id();
        let (memory, processes) = memory(pid);
        let lost = count - totals.completed;
        let completed = match lost {
            0 => "all".to_owned(),
            lost => format!("**{} missing**", lost),
        };
        let bytes = match totals.bytes {
            (low, high) if low == high => low.to_string(),
            (low, high) => format!("{low}–{high}"),
        };
        let row = format!(
            "| {job} | {name} | {completed} | {:.2} | {bytes} | {} | {} | {} | {:.0} | {} |",
            totals.wall,
            memory / 1024,
            status(pid, "VmHWM:").max(memory) / 1024,
            self.peaks.threads.load(Ordering::Relaxed).max(processes),
            self.faults(),
            self.surroundings.finish().text(),
        );
        // Each row is printed at once, because an overloaded server takes long.
        eprintln!("{row}");
        table.push_str(&row);
        table.push('\n');
    }
}

impl Drop for WatchedServer {
    fn drop(&mut self) {
        self.peaks.over.store(true, Ordering::Relaxed);
    }
}

/// Returns the memory of a server in KiB, and its number of processes. Memory that processes share is divided among
/// them.
fn memory(pid: u32) -> (usize, usize) {
    let children = procfs::children(pid);
    if children.is_empty() {
        return (status(pid, "VmRSS:"), 1);
    }
    let all = children.iter().chain([&pid]);
    let held = all
        .map(|pid| number(&format!("/proc/{pid}/smaps_rollup"), "Pss:"))
        .sum();
    (held, children.len() + 1)
}
