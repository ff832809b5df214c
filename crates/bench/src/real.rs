//! The cells on real histories: administration, and what a server answers about a whole history, a file, a directory
//! and a tag.
//!
//! Both sides have a cache of 1024 MiB, except for the rows *as installed*. Jobs that write have a repository of their
//! own. If Sven has the subcommand `index`, it serves logs of a path, and blame, from a copy with a history index.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cells::{Goal, TableCell};
use crate::jobs::{AdminJobs, clear};
use crate::measure::{RunCost, tool};
use crate::rivals::servers::{ServerKind, start};
use crate::serving::{ServerJob, Warmth, client};
use crate::setup::Selection;
use crate::verify_rate;
use crate::workload::git::enclosing_clone;
use crate::workload::{History, RepositoryForm, Workload, run};

const TUNED: &str = "1.14 -M 1024";
const TUNED_SERVER: &str = "1.14 -T -M 1024";
const INSTALLED: &str = "1.14 as installed";
/// The cache of both sides, in MiB.
const MEMORY: [&str; 2] = ["-M", "1024"];

/// The options of the measurements on real histories.
#[derive(Args, Clone)]
pub struct RealOptions {
    #[command(flatten)]
    selection: Selection,
    /// Forms of the repositories
    #[arg(long, value_delimiter = ',', default_value = "unpacked,packed")]
    forms: Vec<RepositoryForm>,
}

/// Measures all cells and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made; all cells that could not be measured.
pub fn main(mut options: RealOptions) -> Result<(), String> {
    let selection = &mut options.selection;
    if selection.quick {
        selection.runs = selection.runs.min(2);
        if selection.history.history_from.is_empty() {
            let clone = enclosing_clone().map_err(|e| {
                format!("--quick needs this project's clone, with its whole history, at the current directory: {e}")
            })?;
            selection.history.history_from.push(clone);
        }
    }
    if selection.history.history_from.is_empty() {
        return Err(
            "--history-from PATH names a git clone; --quick measures with this project's own".to_owned(),
        );
    }
    let sven = selection.directories.prepare()?;
    let scratch = tempfile::tempdir_in(&selection.directories.data).map_err(|e| e.to_string())?;
    let mut bench = RealBench {
        selection,
        jobs: AdminJobs {
            sven,
            scratch: scratch.path(),
        },
        cells: Vec::new(),
        notes: String::new(),
        failed: Vec::new(),
    };
    for history in selection.history.histories()? {
        bench.history(&history, &options.forms)?;
    }
    bench.publish()
}

struct RealBench<'a> {
    selection: &'a Selection,
    jobs: AdminJobs<'a>,
    cells: Vec<TableCell>,
    /// Lines below the table.
    notes: String,
    failed: Vec<String>,
}

/// A job of a server: what a client asks, and the goals cold and hot.
struct ServerRow<'a> {
    name: &'static str,
    client: &'static [&'static str],
    path: Option<&'a str>,
    goals: (f64, f64),
    /// The history index is for this job.
    is_indexed: bool,
}

impl RealBench<'_> {
    fn history(&mut self, history: &History, forms: &[RepositoryForm]) -> Result<(), String> {
        let data = &self.selection.directories.data;
        let dump = history.dump(data)?;
        for (at, form) in forms.iter().enumerate() {
            let workload = history.workload(data, *form)?;
            if at == 0 {
                // The dump has no form.
                let loaded = workload.name.trim_end_matches(" packed");
                self.job("load", loaded, TUNED, Goal::both(5.0, 4.0), |jobs, ours| {
                    jobs.load(ours, &dump, &MEMORY)
                });
            }
            self.administration(&workload, *form);
            self.verification(&workload);
            self.serving(&workload)?;
        }
        for name in ["pack", "indexed"] {
            clear(&self.jobs.scratch.join(name))?;
        }
        Ok(())
    }

    /// Measures a job of `svnadmin` in pairs, if it is selected.
    fn job(
        &mut self,
        name: &str,
        workload: &str,
        rival: &'static str,
        goal: Goal,
        run: impl Fn(&AdminJobs<'_>, bool) -> Result<RunCost, String>,
    ) {
        let (job, runs) = (format!("{name}, {workload}"), self.selection.runs);
        if self.selection.wanted(&job) {
            let jobs = &self.jobs;
            let cell = TableCell::measure(
                job.clone(),
                rival,
                goal,
                runs,
                || run(jobs, true),
                || run(jobs, false),
            );
            let cell = cell.and_then(|cell| self.jobs.clear_results().map(|()| Some(cell)));
            self.add(&job, cell);
        }
    }

    /// Adds a cell. The others are still measured if it failed.
    fn add(&mut self, job: &str, cell: Result<Option<TableCell>, String>) {
        match cell {
            Ok(cell) => self.cells.extend(cell),
            Err(error) => self.failed.push(format!("{job}: {error}")),
        }
    }

    fn administration(&mut self, workload: &Workload, form: RepositoryForm) {
        let repository = &workload.repository;
        for (name, options) in [("dump", &["dump"][..]), ("dump --deltas", &["dump", "--deltas"])] {
            self.job(name, &workload.name, TUNED, Goal::both(4.0, 2.5), |jobs, ours| {
                tool(
                    jobs.admin(ours)
                        .args(options)
                        .arg("-q")
                        .args(MEMORY)
                        .arg(repository),
                )
            });
        }
        if form == RepositoryForm::Unpacked {
            self.job(
                "pack",
                &workload.name,
                TUNED,
                Goal::both(2.0, 2.0),
                |jobs, ours| jobs.pack(ours, repository, &MEMORY),
            );
        }
        self.job(
            "hotcopy",
            &workload.name,
            INSTALLED,
            Goal::both(2.0, 2.0),
            |jobs, ours| jobs.hotcopy(ours, repository),
        );
        self.job(
            "verify as installed",
            &workload.name,
            INSTALLED,
            Goal::wall(5.0),
            |jobs, ours| tool(jobs.admin(ours).args(["verify", "-q"]).arg(repository)),
        );
    }

    /// Measures `verify`, and compares it with what the machine allows.
    fn verification(&mut self, workload: &Workload) {
        let repository = &workload.repository;
        let before = self.cells.len();
        self.job(
            "verify",
            &workload.name,
            TUNED,
            Goal::both(5.0, 3.0),
            |jobs, ours| {
                tool(
                    jobs.admin(ours)
                        .args(["verify", "-q"])
                        .args(MEMORY)
                        .arg(repository),
                )
            },
        );
        if let Some(cell) = self.cells.get(before) {
            match verify_rate::note(&self.jobs.sven, workload, cell) {
                Ok(note) => self.notes.push_str(&note),
                Err(error) => self.failed.push(format!("the rate of {}: {error}", cell.job)),
            }
        }
    }

    /// Measures the stock client with a server, cold and hot.
    fn serving(&mut self, workload: &Workload) -> Result<(), String> {
        let (file, directory) = (workload.busy_file.as_deref(), workload.busy_directory.as_deref());
        let row = |name, client, path, goals| ServerRow {
            name,
            client,
            path,
            goals,
            is_indexed: false,
        };
        let with_index = |row| ServerRow {
            is_indexed: true,
            ..row
        };
        let log = |name, path| with_index(row(name, &["null-log"], path, (10.0, 5.0)));
        let rows = [
            row(
                "null-export of a tag",
                &["null-export"],
                workload.tag.as_deref(),
                (4.0, 3.5),
            ),
            row("null-log -v of all", &["null-log", "-v"], Some(""), (3.0, 2.5)),
            log("null-log of a busy file", file),
            log("null-log of a busy directory", directory),
            with_index(row(
                "null-blame of a busy file",
                &["null-blame"],
                file,
                (3.0, 3.0),
            )),
            row(
                "null-list -R of trunk",
                &["null-list", "-R"],
                Some(workload.trunk),
                (2.5, 1.5),
            ),
        ];
        let mut copy = None;
        for row in rows.iter().filter(|row| row.path.is_some()) {
            let uses_index = row.is_indexed && self.jobs.sven.has_subcommand("index");
            for (warmth, goal) in [(Warmth::Cold, row.goals.0), (Warmth::Hot, row.goals.1)] {
                let with_index = if uses_index { " with an index" } else { "" };
                let name = format!("{} {}{with_index}, {}", row.name, warmth.word(), workload.name);
                if !self.selection.wanted(&name) {
                    continue;
                }
                if uses_index && copy.is_none() {
                    copy = Some(self.indexed(workload)?);
                }
                let ours = copy.as_deref().filter(|_| uses_index);
                let cell = self.server_cell(workload, row, warmth, (&name, goal), ours);
                self.add(&name, cell);
            }
        }
        Ok(())
    }

    /// Measures a row; `ours` is the directory that Sven serves instead of the workload's.
    fn server_cell(
        &self,
        workload: &Workload,
        row: &ServerRow<'_>,
        warmth: Warmth,
        (name, goal): (&str, f64),
        ours: Option<&Path>,
    ) -> Result<Option<TableCell>, String> {
        let sven = &self.jobs.sven;
        let job = ServerJob {
            name: name.to_owned(),
            rival: TUNED_SERVER,
            goal: Goal::wall(goal),
            warmth,
            start: &|is_ours, root| match is_ours {
                true => start(ServerKind::Sven, sven, ours.unwrap_or(root)),
                false => start(ServerKind::SubversionTuned, sven, root),
            },
            client: &|url| {
                let words: Vec<&str> = ["svnbench"].iter().chain(row.client).copied().collect();
                Ok(client(&words, url, row.path.unwrap_or("")))
            },
        };
        job.measure(workload, self.selection)
    }

    /// Returns a directory with a copy of the repository that has a history index.
    fn indexed(&self, workload: &Workload) -> Result<PathBuf, String> {
        let root = self.jobs.scratch.join("indexed");
        clear(&root)?;
        fs::create_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        let copy = root.join(workload.base_name());
        run(Command::new("cp").arg("-a").arg(&workload.repository).arg(&copy))?;
        run(self.jobs.sven.command("index").arg(&copy))?;
        Ok(root)
    }

    fn publish(&self) -> Result<(), String> {
        let notes = format!("\n{}", self.notes);
        self.selection
            .publish("real", "Subversion", &self.cells, &notes)?;
        match self.failed.is_empty() {
            true => Ok(()),
            false => Err(format!("not measured: {}", self.failed.join("; "))),
        }
    }
}
