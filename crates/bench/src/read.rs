//! The reading cells: administration tools, and the stock client with both servers.

use std::process::Command;

use clap::Args;

use crate::cells::{Goal, TableCell};
use crate::measure::tool;
use crate::rivals::SvenBinary;
use crate::rivals::servers::{ServerKind, start};
use crate::serving::{ServerJob, Warmth, client};
use crate::setup::Selection;
use crate::workload::{self, RepositoryForm, Workload};

const TUNED: &str = "1.14 -T -M 1024";
const INSTALLED: &str = "1.14 as installed";

/// The options of the reading measurements.
#[derive(Args, Clone)]
pub struct ReadOptions {
    #[command(flatten)]
    selection: Selection,
    /// Adds the history of N source releases of Django, fetched with pip
    #[arg(long, value_name = "N")]
    django: Option<usize>,
    /// Adds the tree of Debian's linux-source-6.1 package
    #[arg(long)]
    linux: bool,
}

/// Measures all cells and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(options: ReadOptions) -> Result<(), String> {
    let mut selection = options.selection;
    if selection.quick {
        selection.history.revisions = vec![200];
        selection.runs = 1;
    }
    let sven = selection.directories.prepare()?;
    let data = &selection.directories.data;
    let mut workloads = Vec::new();
    for history in selection.history.histories()? {
        workloads.push(history.workload(data, RepositoryForm::Unpacked)?);
    }
    if let Some(count) = options.django {
        workloads.push(workload::django::workload(data, count)?);
    }
    if options.linux {
        workloads.push(workload::linux::workload(data)?);
    }
    let mut cells = Vec::new();
    for workload in &workloads {
        let bench = ReadBench {
            selection: &selection,
            sven: &sven,
            workload,
        };
        bench.administration(&mut cells)?;
        bench.serving(&mut cells)?;
    }
    selection.publish("read", "Subversion", &cells, "")
}

struct ReadBench<'a> {
    selection: &'a Selection,
    sven: &'a SvenBinary,
    workload: &'a Workload,
}

impl ReadBench<'_> {
    /// Measures tools that open the repository themselves.
    fn administration(&self, cells: &mut Vec<TableCell>) -> Result<(), String> {
        let repository = &self.workload.repository;
        let jobs: [(&str, &[&str], Goal); 3] = [
            ("verify", &["verify", "-q", "-M", "1024"], Goal::wall(2.0)),
            ("dump", &["dump", "-q", "-M", "1024"], Goal::wall(1.5)),
            (
                "dump --deltas",
                &["dump", "--deltas", "-q", "-M", "1024"],
                Goal::wall(1.5),
            ),
        ];
        for (name, args, goal) in jobs {
            let job = format!("{name}, {}", self.workload.name);
            if !self.selection.wanted(&job) {
                continue;
            }
            let ours = || tool(self.sven.command("svnadmin").args(args).arg(repository));
            let theirs = || tool(Command::new("svnadmin").args(args).arg(repository));
            cells.push(TableCell::measure(
                job,
                TUNED,
                goal,
                self.selection.runs,
                ours,
                theirs,
            )?);
        }
        Ok(())
    }

    /// Measures the stock client with a server: cold (a new server for each run) and hot.
    fn serving(&self, cells: &mut Vec<TableCell>) -> Result<(), String> {
        let trunk = self.workload.trunk;
        let export: &[&str] = &["svnbench", "null-export"];
        let log: &[&str] = &["svnbench", "null-log", "-v"];
        let list: &[&str] = &["svnbench", "null-list", "-R"];
        let blame: &[&str] = &["svnbench", "null-blame"];
        let (cold, hot) = (Warmth::Cold, Warmth::Hot);
        let mut rows = vec![
            (export, cold, trunk, TUNED, Goal::wall(1.0)),
            (export, cold, trunk, INSTALLED, Goal::wall(3.0)),
            (log, cold, "", TUNED, Goal::wall(1.0)),
            (log, cold, "", INSTALLED, Goal::wall(3.0)),
            (export, hot, trunk, TUNED, Goal::NONE),
            (log, hot, "", TUNED, Goal::NONE),
            // With a process for each connection no cache is warm, as its clients experience it.
            (export, hot, trunk, INSTALLED, Goal::NONE),
            (log, hot, "", INSTALLED, Goal::NONE),
            (list, hot, trunk, TUNED, Goal::NONE),
        ];
        if let Some(file) = &self.workload.busy_file {
            rows.push((blame, cold, file, TUNED, Goal::NONE));
        }
        for (words, warmth, path, rival, goal) in rows {
            let name = format!(
                "{} {}, {}",
                words[1..].join(" "),
                warmth.word(),
                self.workload.name
            );
            let theirs = if rival == TUNED {
                ServerKind::SubversionTuned
            } else {
                ServerKind::SubversionInstalled
            };
            let job = ServerJob {
                name,
                rival,
                goal,
                warmth,
                start: &|ours, root| start(if ours { ServerKind::Sven } else { theirs }, self.sven, root),
                client: &|url| Ok(client(words, url, path)),
            };
            cells.extend(job.measure(self.workload, self.selection)?);
        }
        Ok(())
    }
}
