//! The reading cells: administration in one process, and the stock client against both servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Options;
use crate::cells::Cell;
use crate::measure::{Cost, tool};
use crate::rivals::servers::{Kind, start};
use crate::rivals::{Sven, subversion_version};
use crate::workload::{self, Workload};
use crate::{plot, table};

const TUNED: &str = "1.14 -T -M 1024";
const INSTALLED: &str = "1.14 as installed";

/// Measures every cell and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: Options) -> Result<(), String> {
    if options.quick {
        options.revisions = vec![200];
        options.runs = 1;
    }
    fs::create_dir_all(&options.data).map_err(|e| format!("{}: {e}", options.data.display()))?;
    options.data = fs::canonicalize(&options.data).map_err(|e| e.to_string())?;
    let sven = Sven::find(options.sven.as_deref())?;
    let mut workloads = Vec::new();
    for revisions in &options.revisions {
        workloads.push(workload::history::workload(
            &options.data,
            *revisions,
            options.seed,
        )?);
    }
    if let Some(count) = options.django {
        workloads.push(workload::django::workload(&options.data, count)?);
    }
    if options.linux {
        workloads.push(workload::linux::workload(&options.data)?);
    }
    let mut cells = Vec::new();
    for workload in &workloads {
        let bench = Bench {
            options: &options,
            sven: &sven,
            workload,
        };
        bench.administration(&mut cells)?;
        bench.serving(&mut cells)?;
    }
    publish(&cells, &options)
}

fn publish(cells: &[Cell], options: &Options) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let heading = format!(
        "Sven beside Subversion {}, {cores} cores, {} pairs of runs a cell, medians. A ratio is theirs divided by ours.",
        subversion_version(),
        options.runs
    );
    let text = table::markdown(cells, &heading);
    print!("{text}");
    let store = |name: &str, bytes: &[u8]| {
        let path: PathBuf = options.results.join(name);
        fs::create_dir_all(&options.results)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    store("read.md", text.as_bytes())?;
    store("read.json", format!("{:#}\n", table::json(cells)).as_bytes())?;
    plot::ratios(cells, &options.results.join("read.svg"))
}

struct Bench<'a> {
    options: &'a Options,
    sven: &'a Sven,
    workload: &'a Workload,
}

impl Bench<'_> {
    fn wanted(&self, job: &str) -> bool {
        self.options
            .only
            .as_ref()
            .is_none_or(|only| job.contains(only.as_str()))
    }

    /// Tools that open the repository themselves.
    fn administration(&self, cells: &mut Vec<Cell>) -> Result<(), String> {
        let repository = &self.workload.repository;
        let jobs: [(&str, &[&str], f64); 3] = [
            ("verify", &["verify", "-q", "-M", "1024"], 2.0),
            ("dump", &["dump", "-q", "-M", "1024"], 1.5),
            ("dump --deltas", &["dump", "--deltas", "-q", "-M", "1024"], 1.5),
        ];
        for (name, args, goal) in jobs {
            let job = format!("{name}, {}", self.workload.name);
            if !self.wanted(&job) {
                continue;
            }
            let ours = || tool(self.sven.command("svnadmin").args(args).arg(repository));
            let theirs = || tool(Command::new("svnadmin").args(args).arg(repository));
            cells.push(Cell::measure(
                job,
                TUNED,
                Some(goal),
                self.options.runs,
                ours,
                theirs,
            )?);
        }
        Ok(())
    }

    /// The stock client against a server: cold (a new server for each run) and hot.
    fn serving(&self, cells: &mut Vec<Cell>) -> Result<(), String> {
        let trunk = self.workload.trunk;
        let export: &[&str] = &["svnbench", "null-export"];
        let log: &[&str] = &["svnbench", "null-log", "-v"];
        let list: &[&str] = &["svnbench", "null-list", "-R"];
        self.cold("null-export", export, trunk, TUNED, Some(1.0), cells)?;
        self.cold("null-export", export, trunk, INSTALLED, Some(3.0), cells)?;
        self.cold("null-log -v", log, "", TUNED, Some(1.0), cells)?;
        self.cold("null-log -v", log, "", INSTALLED, Some(3.0), cells)?;
        self.hot("null-export", export, trunk, TUNED, cells)?;
        self.hot("null-log -v", log, "", TUNED, cells)?;
        self.hot("null-list -R", list, trunk, TUNED, cells)?;
        if let Some(file) = &self.workload.busy_file {
            let blame: &[&str] = &["svnbench", "null-blame"];
            self.cold("null-blame", blame, file, TUNED, None, cells)?;
        }
        Ok(())
    }

    fn cold(
        &self,
        name: &str,
        client: &[&str],
        path: &str,
        rival: &'static str,
        goal: Option<f64>,
        cells: &mut Vec<Cell>,
    ) -> Result<(), String> {
        let job = format!("{name} cold, {}", self.workload.name);
        if !self.wanted(&job) {
            return Ok(());
        }
        let kind = if rival == TUNED {
            Kind::SubversionTuned
        } else {
            Kind::SubversionInstalled
        };
        let run = |kind| -> Result<Cost, String> {
            let running = start(kind, self.sven, self.root())?;
            running.server.serve(&mut self.client(client, &running.url, path))
        };
        cells.push(Cell::measure(
            job,
            rival,
            goal,
            self.options.runs,
            || run(Kind::Sven),
            || run(kind),
        )?);
        Ok(())
    }

    fn hot(
        &self,
        name: &str,
        client: &[&str],
        path: &str,
        rival: &'static str,
        cells: &mut Vec<Cell>,
    ) -> Result<(), String> {
        let job = format!("{name} hot, {}", self.workload.name);
        if !self.wanted(&job) {
            return Ok(());
        }
        let ours = start(Kind::Sven, self.sven, self.root())?;
        let theirs = start(Kind::SubversionTuned, self.sven, self.root())?;
        cells.push(Cell::measure(
            job,
            rival,
            None,
            self.options.runs,
            || ours.server.serve(&mut self.client(client, &ours.url, path)),
            || theirs.server.serve(&mut self.client(client, &theirs.url, path)),
        )?);
        Ok(())
    }

    fn root(&self) -> &Path {
        self.workload.repository.parent().unwrap_or(Path::new("/"))
    }

    fn client(&self, client: &[&str], url: &str, path: &str) -> Command {
        let name = self
            .workload
            .repository
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let mut command = Command::new(client[0]);
        command.args(&client[1..]).arg(format!("{url}/{name}/{path}"));
        command
    }
}
