//! The reading cells: administration in one process, and the stock client against both servers.

use std::process::Command;

use clap::Args;

use crate::cells::Cell;
use crate::measure::tool;
use crate::rivals::Sven;
use crate::rivals::servers::{Kind, start};
use crate::serving::{Job, Warmth, client};
use crate::setup::Selection;
use crate::workload::{self, Workload};

const TUNED: &str = "1.14 -T -M 1024";
const INSTALLED: &str = "1.14 as installed";

/// What to read, and how often.
#[derive(Args, Clone)]
pub struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Adds the history of N source releases of Django, fetched with pip
    #[arg(long, value_name = "N")]
    django: Option<usize>,
    /// Adds the tree of Debian's linux-source-6.1 package
    #[arg(long)]
    linux: bool,
}

/// Measures every cell and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(options: Options) -> Result<(), String> {
    let mut selection = options.selection;
    if selection.quick {
        selection.revisions = vec![200];
        selection.runs = 1;
    }
    let sven = selection.places.prepare()?;
    let data = &selection.places.data;
    let mut workloads = Vec::new();
    for revisions in &selection.revisions {
        workloads.push(workload::history::workload(data, *revisions, selection.seed)?);
    }
    if let Some(count) = options.django {
        workloads.push(workload::django::workload(data, count)?);
    }
    if options.linux {
        workloads.push(workload::linux::workload(data)?);
    }
    let mut cells = Vec::new();
    for workload in &workloads {
        let bench = Bench {
            selection: &selection,
            sven: &sven,
            workload,
        };
        bench.administration(&mut cells)?;
        bench.serving(&mut cells)?;
    }
    selection.publish("read", "Subversion", &cells, "")
}

struct Bench<'a> {
    selection: &'a Selection,
    sven: &'a Sven,
    workload: &'a Workload,
}

impl Bench<'_> {
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
            if !self.selection.wanted(&job) {
                continue;
            }
            let ours = || tool(self.sven.command("svnadmin").args(args).arg(repository));
            let theirs = || tool(Command::new("svnadmin").args(args).arg(repository));
            cells.push(Cell::measure(
                job,
                TUNED,
                Some(goal),
                self.selection.runs,
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
        let blame: &[&str] = &["svnbench", "null-blame"];
        let (cold, hot) = (Warmth::Cold, Warmth::Hot);
        let mut rows = vec![
            (export, cold, trunk, TUNED, Some(1.0)),
            (export, cold, trunk, INSTALLED, Some(3.0)),
            (log, cold, "", TUNED, Some(1.0)),
            (log, cold, "", INSTALLED, Some(3.0)),
            (export, hot, trunk, TUNED, None),
            (log, hot, "", TUNED, None),
            // A process for each connection has nothing to remember; one server has, and this is what its clients see.
            (export, hot, trunk, INSTALLED, None),
            (log, hot, "", INSTALLED, None),
            (list, hot, trunk, TUNED, None),
        ];
        if let Some(file) = &self.workload.busy_file {
            rows.push((blame, cold, file, TUNED, None));
        }
        for (words, warmth, path, rival, goal) in rows {
            let name = format!(
                "{} {}, {}",
                words[1..].join(" "),
                warmth.word(),
                self.workload.name
            );
            let theirs = if rival == TUNED {
                Kind::SubversionTuned
            } else {
                Kind::SubversionInstalled
            };
            let job = Job {
                name,
                rival,
                goal,
                warmth,
                start: &|ours, root| start(if ours { Kind::Sven } else { theirs }, self.sven, root),
                client: &|url| Ok(client(words, url, path)),
            };
            cells.extend(job.measure(self.workload, self.selection)?);
        }
        Ok(())
    }
}
