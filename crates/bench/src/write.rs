//! The writing cells: load, import, large files, pack, hotcopy, and the sizes of the results.
//!
//! Both sides begin each run with a repository that Subversion has just made, so that they have the same format and
//! settings. CPU and memory are those of the program that writes: the server or the tool.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::cells::{Goal, TableCell};
use crate::jobs::{AdminJobs, clear, fresh};
use crate::measure::{RunCost, tool_reading};
use crate::rivals::SvenBinary;
use crate::rivals::servers::{ServerKind, start};
use crate::setup::Selection;
use crate::sizes::{RepositorySizes, of_repository};
use crate::workload::{self, History, large, run};
use crate::{huge, sizes};

const RIVAL: &str = "1.14.2";
const SERVER: &str = "1.14 -T -M 1024";

/// The options of the writing measurements.
#[derive(Args, Clone)]
pub struct WriteOptions {
    #[command(flatten)]
    selection: Selection,
    /// Size of the large files, in MiB
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// How many files of the Linux sources to import (0: none; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 100_000)]
    files: usize,
    /// Adds a text of 4 GiB, and the memory for its commit, export, dump, load and verify
    #[arg(long)]
    huge: bool,
}

/// Measures all cells and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: WriteOptions) -> Result<(), String> {
    if options.selection.quick {
        options.selection.history.revisions = vec![40];
        options.selection.runs = 0;
        options.megabytes = 2;
        options.files = 50;
    }
    let sven = options.selection.directories.prepare()?;
    let selection = &options.selection;
    let scratch = tempfile::tempdir_in(&selection.directories.data).map_err(|e| e.to_string())?;
    let mut bench = WriteBench {
        jobs: AdminJobs {
            sven,
            scratch: scratch.path(),
        },
        selection,
        options: &options,
        cells: Vec::new(),
        sizes: Vec::new(),
        huge: String::new(),
        failed: Vec::new(),
    };
    for history in selection.history.histories()? {
        bench.history(&history)?;
    }
    bench.import()?;
    for compressible in [false, true] {
        bench.large_file(compressible)?;
    }
    if options.huge {
        let megabytes = if selection.quick { 8 } else { 4096 };
        bench.huge = huge::rows(
            &bench.jobs.sven,
            bench.jobs.scratch,
            megabytes,
            selection.history.seed,
        )?;
    }
    bench.publish()
}

/// Sven (`true`) and Subversion, in the order of a pair.
const SIDES: [bool; 2] = [true, false];

struct WriteBench<'a> {
    jobs: AdminJobs<'a>,
    selection: &'a Selection,
    options: &'a WriteOptions,
    cells: Vec<TableCell>,
    sizes: Vec<RepositorySizes>,
    huge: String,
    failed: Vec<String>,
}

impl WriteBench<'_> {
    fn measure(
        &mut self,
        job: String,
        rival: &'static str,
        goal: Goal,
        run: impl Fn(bool) -> Result<RunCost, String>,
    ) {
        let runs = self.selection.runs;
        let name = job.clone();
        match TableCell::measure(job, rival, goal, runs, || run(true), || run(false)) {
            Ok(cell) => self.cells.push(cell),
            // The other cells are still measured.
            Err(error) => self.failed.push(format!("{name}: {error}")),
        }
    }

    /// Measures load with and without syncs, then pack and hotcopy of the loaded repository.
    fn history(&mut self, history: &History) -> Result<(), String> {
        let name = history.name();
        let jobs = ["load", "load --no-flush-to-disk", "pack", "hotcopy", "size"];
        if !jobs
            .iter()
            .any(|job| self.selection.wanted(&format!("{job}, {name}")))
        {
            return Ok(());
        }
        let dump = history.dump(&self.selection.directories.data)?;
        for flag in [None, Some("--no-flush-to-disk")] {
            let job = format!(
                "load{}, {name}",
                flag.map(|f| format!(" {f}")).unwrap_or_default()
            );
            if !self.selection.wanted(&job) {
                continue;
            }
            let jobs = self.jobs.clone();
            let load = |ours| jobs.load(ours, &dump, flag.as_slice());
            self.measure(job, RIVAL, Goal::wall(2.0), load);
            self.jobs.clear_results()?;
        }
        self.after_load(&name, &dump)
    }

    fn after_load(&mut self, name: &str, dump: &Path) -> Result<(), String> {
        let (ours, theirs) = (self.jobs.scratch.join("ours"), self.jobs.scratch.join("theirs"));
        for side in SIDES {
            let path = if side { &ours } else { &theirs };
            clear(path)?;
            run(Command::new("svnadmin").arg("create").arg(path))?;
            let mut command = self.jobs.admin(side);
            tool_reading(command.args(["load", "-q", "--no-flush-to-disk"]).arg(path), dump)?;
        }
        self.sizes.push(RepositorySizes::new(
            format!("{name}, unpacked"),
            of_repository(&ours)?,
            of_repository(&theirs)?,
        ));
        // Both pack and copy the repository that Subversion loaded.
        if self.selection.wanted(&format!("pack, {name}")) {
            let jobs = self.jobs.clone();
            let pack = |side| jobs.pack(side, &theirs, &[]);
            self.measure(format!("pack, {name}"), RIVAL, Goal::wall(2.0), pack);
        }
        if self.selection.wanted(&format!("hotcopy, {name}")) {
            let jobs = self.jobs.clone();
            let copy = |side| jobs.hotcopy(side, &theirs);
            self.measure(format!("hotcopy, {name}"), RIVAL, Goal::wall(1.0), copy);
            self.jobs.clear_results()?;
        }
        for (side, path) in [(true, &ours), (false, &theirs)] {
            run(self.jobs.admin(side).args(["pack", "-q"]).arg(path))?;
        }
        self.sizes.push(RepositorySizes::new(
            format!("{name}, packed"),
            of_repository(&ours)?,
            of_repository(&theirs)?,
        ));
        Ok(())
    }

    /// Measures `svn import` of a source tree through both servers.
    fn import(&mut self) -> Result<(), String> {
        let files = self.options.files;
        let job = format!("svn import, Linux 6.1, {files} files");
        if files == 0 || !self.selection.wanted(&job) {
            return Ok(());
        }
        let data = &self.selection.directories.data;
        let tree = workload::import_tree(self.jobs.scratch, data, files, self.selection.quick)?;
        let repository = |side| {
            self.jobs
                .scratch
                .join(if side { "served-ours" } else { "served-theirs" })
        };
        let (scratch, sven) = (self.jobs.scratch, self.jobs.sven.clone());
        let import = |side: bool| {
            let name = if side { "served-ours" } else { "served-theirs" };
            served(scratch, name, side, &sven, |url| workload::import(&tree, url))
        };
        let (ours, theirs) = (repository(true), repository(false));
        self.measure(job.clone(), SERVER, Goal::wall(1.5), import);
        self.sizes.push(RepositorySizes::new(
            job,
            of_repository(&ours)?,
            of_repository(&theirs)?,
        ));
        Ok(())
    }

    /// Measures the commit of one large file by `svnmucc`.
    fn large_file(&mut self, compressible: bool) -> Result<(), String> {
        let megabytes = self.options.megabytes;
        let what = if compressible {
            "compressible"
        } else {
            "incompressible"
        };
        let job = format!("commit of one {what} file of {megabytes} MiB");
        if !self.selection.wanted(&job) {
            return Ok(());
        }
        let file = self.jobs.scratch.join("large");
        large::file(&file, megabytes, compressible, self.selection.history.seed)?;
        let (scratch, sven) = (self.jobs.scratch, self.jobs.sven.clone());
        let put = |side: bool| {
            let name = if side { "served-ours" } else { "served-theirs" };
            served(scratch, name, side, &sven, |url| {
                let mut client = Command::new("svnmucc");
                client
                    .args(["--non-interactive", "-m", "large", "put"])
                    .arg(&file)
                    .arg(format!("{url}/large"));
                client
            })
        };
        self.measure(job.clone(), SERVER, Goal::wall(2.0), put);
        let [ours, theirs] = ["served-ours", "served-theirs"].map(|name| of_repository(&scratch.join(name)));
        self.sizes.push(RepositorySizes::new(job, ours?, theirs?));
        clear(&file)
    }

    fn publish(&self) -> Result<(), String> {
        let more = format!("\n{}{}", sizes::markdown(&self.sizes), self.huge);
        self.selection
            .publish("write", "Subversion", &self.cells, &more)?;
        if self.failed.is_empty() {
            Ok(())
        } else {
            Err(format!("not measured: {}", self.failed.join("; ")))
        }
    }
}

/// Serves a new repository and measures the server while a client works.
fn served(
    scratch: &Path,
    name: &str,
    ours: bool,
    sven: &SvenBinary,
    client: impl Fn(&str) -> Command,
) -> Result<RunCost, String> {
    let repository = fresh(scratch, name)?;
    let conf = repository.join("conf/svnserve.conf");
    fs::write(&conf, "[general]\nanon-access = write\n").map_err(|e| format!("{}: {e}", conf.display()))?;
    let kind = if ours {
        ServerKind::Sven
    } else {
        ServerKind::SubversionTuned
    };
    let running = start(kind, sven, scratch)?;
    running
        .server
        .measure_client(&mut client(&format!("{}/{name}", running.url)))
}
