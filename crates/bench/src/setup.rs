//! Options of all measurements: the data, the number of runs, and the directories.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::cells::TableCell;
use crate::machine::Machine;
use crate::rivals::{SvenBinary, subversion_version};
use crate::workload::History;
use crate::workload::git::{Extent, GitClone};
use crate::{plot, table};

/// The directories and the binary.
#[derive(Args, Clone)]
pub struct Directories {
    /// Where workloads are kept between runs, and repositories are written
    #[arg(long, default_value = "bench-data")]
    pub data: PathBuf,
    /// Where tables and plots go
    #[arg(long, default_value = "bench-results")]
    results: PathBuf,
    /// The sven binary (default: built beside this program)
    #[arg(long)]
    sven: Option<PathBuf>,
}

impl Directories {
    /// Makes the directory of workloads, makes its path absolute, and finds the Sven binary.
    ///
    /// # Errors
    /// If the directory cannot be made or there is no binary.
    pub fn prepare(&mut self) -> Result<SvenBinary, String> {
        let data = fs::create_dir_all(&self.data).and_then(|()| fs::canonicalize(&self.data));
        self.data = data.map_err(|e| format!("{}: {e}", self.data.display()))?;
        SvenBinary::find(self.sven.as_deref())
    }

    /// Returns the path of a file of results.
    pub fn result(&self, name: &str) -> PathBuf {
        self.results.join(name)
    }

    /// Writes one file of results.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn store(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let path = self.results.join(name);
        fs::create_dir_all(&self.results)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// Which histories.
#[derive(Args, Clone)]
pub struct HistoryOptions {
    /// Sizes of the histories, in revisions (default: 5000,25000 generated ones; all of a clone)
    #[arg(long, value_delimiter = ',')]
    pub revisions: Vec<u32>,
    /// The first-parent history of a git clone instead of generated histories; `NAME=PATH` names it in tables
    #[arg(long, value_name = "PATH")]
    pub history_from: Vec<String>,
    /// Revisions of a clone's history from one tag to the next (0: no tags)
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub tag_every: u32,
    /// Seed of the generated histories
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl HistoryOptions {
    /// Returns the histories of all sizes.
    ///
    /// # Errors
    /// If a clone can't be opened.
    pub fn histories(&self) -> Result<Vec<History>, String> {
        let mut histories = Vec::new();
        for path in &self.history_from {
            let clone = GitClone::open(path)?;
            let sizes = self.revisions.iter().copied().map(Some);
            let every_size = if self.revisions.is_empty() {
                vec![None]
            } else {
                sizes.collect()
            };
            histories.extend(every_size.into_iter().map(|revisions| History::Git {
                clone: clone.clone(),
                extent: Extent {
                    revisions,
                    tag_every: self.tag_every,
                },
            }));
        }
        if self.history_from.is_empty() {
            let sizes: &[u32] = match &self.revisions[..] {
                [] => &[5000, 25000],
                given => given,
            };
            histories.extend(sizes.iter().map(|revisions| History::Generated {
                revisions: *revisions,
                seed: self.seed,
            }));
        }
        Ok(histories)
    }
}

/// The options of measurements in pairs.
#[derive(Args, Clone)]
pub struct Selection {
    #[command(flatten)]
    pub history: HistoryOptions,
    /// Counted pairs of runs for each cell
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Only cells whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Little data and few runs; for `real` the history of this project's own clone
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub directories: Directories,
}

impl Selection {
    /// True if the cell of this name is selected.
    pub fn wanted(&self, job: &str) -> bool {
        self.only.as_ref().is_none_or(|only| job.contains(only.as_str()))
    }

    /// Prints the table followed by `more`, and stores it as `name.md`, `.json` and `.svg`.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn publish(&self, name: &str, rival: &str, cells: &[TableCell], more: &str) -> Result<(), String> {
        let machine = Machine::of(&self.directories.data);
        let heading = format!(
            "Sven beside {rival} {}, {} pairs of runs a cell, medians. A ratio is theirs divided by ours. {}",
            subversion_version(),
            self.runs.max(1),
            machine.text()
        );
        let text = format!("{}{more}", table::markdown(cells, &heading));
        print!("{text}");
        let json = format!("{:#}\n", table::json(&machine, cells));
        self.directories.store(&format!("{name}.md"), text.as_bytes())?;
        self.directories.store(&format!("{name}.json"), json.as_bytes())?;
        let svg = plot::ratios(cells)?;
        self.directories.store(&format!("{name}.svg"), svg.as_bytes())
    }
}
