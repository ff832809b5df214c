//! The matrix: what each operation costs in every format, form, cache, protocol, medium and state of the caches, beside Subversion.
//!
//! Each side has its own client and its own server. A row is measured with all implementations in turn (Sven, Subversion, Subversion with
//! block reads, Sven, …), so that a change of the machine's speed affects all of them, and is stored when it is complete: an
//! interrupted run continues. [`cell`] has the dimensions, [`plan`] the rows, [`report`] makes the tables.
//!
//! [`compression`] and [`flat`] are two tables more: what LZ4 and zlib cost and save, and cold reads of the same tree stored with each.

mod cell;
mod compression;
mod flat;
mod measure;
mod plan;
mod plots;
mod programs;
mod report;
pub mod repositories;
pub mod row;
mod store;

pub use cell::Format;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::rivals::{SvenBinary, subversion_version};
use crate::setup::Directories;
use crate::workload::History;

use plan::Dimensions;
use repositories::Repositories;
use row::RowRunner;
use store::Store;

/// The options of the matrix.
#[derive(Args, Clone)]
pub struct MatrixOptions {
    #[command(flatten)]
    dimensions: Dimensions,
    /// Revisions of the generated history; 520 more change the file for blame
    #[arg(long, default_value_t = 2000)]
    revisions: u32,
    /// Seed of the history
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Counted runs of each row and implementation
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Size of the large files of the compression table, in MiB
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// Little data, one run, and a selection of rows, in less than 20 minutes
    #[arg(long)]
    quick: bool,
    /// Begins again instead of continuing
    #[arg(long)]
    fresh: bool,
    /// Makes the tables of what has been measured, and measures nothing
    #[arg(long)]
    report_only: bool,
    /// A directory on a RAM disk
    #[arg(long, default_value = "/dev/shm")]
    ram: PathBuf,
    #[command(flatten)]
    directories: Directories,
}

/// Measures the rows that the file of results does not have, and makes the tables.
///
/// # Errors
/// The first thing that could not be made; all rows that could not be measured.
pub fn main(mut options: MatrixOptions) -> Result<(), String> {
    if options.quick {
        (options.revisions, options.runs, options.megabytes) = (200, 1, 16);
    }
    let sven = options.directories.prepare()?;
    let history = History::Generated {
        revisions: options.revisions,
        seed: options.seed,
    };
    let description = options.describe(&sven);
    let path = options.directories.result("matrix.jsonl");
    let mut store = Store::open(&path, &description, options.fresh)?;
    let failed = if options.report_only {
        Vec::new()
    } else {
        options.measure(&sven, &history, &mut store)?
    };
    report::publish(&options.directories, &description, &store.results)?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("not measured: {}", failed.join("; ")))
    }
}

impl MatrixOptions {
    /// Returns what must be equal for two runs to be continued as one.
    fn describe(&self, sven: &SvenBinary) -> Value {
        let machine = Machine::of(&self.directories.data);
        json!({
            "machine": machine.json(), "text": machine.text(), "subversion": subversion_version(), "sven": sven.fingerprint(),
            "revisions": self.revisions, "seed": self.seed, "runs": self.runs, "megabytes": self.megabytes,
        })
    }

    /// Measures what is missing. Returns the failures.
    fn measure(
        &self,
        sven: &SvenBinary,
        history: &History,
        store: &mut Store,
    ) -> Result<Vec<String>, String> {
        let scratch =
            |parent: &Path| tempfile::tempdir_in(parent).map_err(|e| format!("{}: {e}", parent.display()));
        let (disk, ram) = (scratch(&self.directories.data)?, scratch(&self.ram)?);
        let repositories = Repositories {
            data: &self.directories.data,
            ram: ram.path(),
            history,
            shard: if self.quick { 100 } else { 1000 },
            seed: self.seed,
        };
        let mut runner = RowRunner::new(sven, &repositories, disk.path(), self.runs)?;
        let rows = self.dimensions.rows(self.quick);
        let mut failed = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            eprintln!("{}/{} {row}", at + 1, rows.len());
            if let Err(error) = runner.measure(row, store) {
                eprintln!("  {error}");
                failed.push(format!("{row}: {error}"));
            }
        }
        repositories.clear_ram()?;
        for (name, outcome) in [
            (
                "compression",
                compression::measure_all(self, sven, disk.path(), store),
            ),
            ("flat", flat::measure_all(self, sven, disk.path(), store)),
        ] {
            if let Err(error) = outcome {
                failed.push(format!("{name}: {error}"));
            }
        }
        Ok(failed)
    }
}
