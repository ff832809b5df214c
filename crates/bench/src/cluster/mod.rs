//! Clusters: the same repository on one node with FSFS, on one node of a cluster, and on three, beside each other.
//!
//! PostgreSQL and the S3 server run on the same machine. A proxy before each adds a delay to every answer. The rival of each cell
//! is Sven's own server on a directory; the ratio is its time divided by the cluster's.
//!
//! | table | what it shows |
//! |---|---|
//! | reading, warm | what the seam costs once everything is in memory |
//! | reading, cold | what the object store's answers cost a new node |
//! | one commit | what the database costs, beside its own time for a row |
//! | many committers | how many commits a second one repository takes |

mod commits;
mod delay_proxy;
mod nodes;
mod reading;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use self::nodes::Delays;
use crate::cells::TableCell;
use crate::machine::Machine;
use crate::setup::Directories;
use crate::table;

/// The sizes and the numbers of runs.
#[derive(Args)]
pub struct ClusterOptions {
    /// Counted pairs of runs of each reading cell
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Revisions of the generated history
    #[arg(long, default_value_t = 2000)]
    revisions: u32,
    /// Files of the tree that is read cold
    #[arg(long, default_value_t = 5000)]
    files: usize,
    /// Commits that are timed one by one
    #[arg(long, default_value_t = 300)]
    commits: usize,
    /// Committers at the same time
    #[arg(long, default_value_t = 100)]
    committers: usize,
    /// Commits of each of them
    #[arg(long, default_value_t = 20)]
    each: usize,
    /// Only tables whose name contains this: warm, cold, one, many
    #[arg(long)]
    only: Option<String>,
    /// Little data and few runs
    #[arg(long)]
    quick: bool,
    /// A directory on a RAM disk
    #[arg(long, default_value = "/dev/shm")]
    ram: PathBuf,
    #[command(flatten)]
    directories: Directories,
}

/// The delays of the tables: of the database and of the object store.
const DELAYS: [Delays; 3] = [
    Delays {
        database: Duration::ZERO,
        objects: Duration::ZERO,
    },
    Delays {
        database: Duration::from_millis(1),
        objects: Duration::from_millis(2),
    },
    Delays {
        database: Duration::from_millis(1),
        objects: Duration::from_millis(30),
    },
];

/// Measures all tables, prints and stores them.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: ClusterOptions) -> Result<(), String> {
    if options.quick {
        (options.runs, options.revisions, options.files) = (1, 100, 200);
        (options.commits, options.committers, options.each) = (30, 10, 5);
    }
    let sven = options.directories.prepare()?;
    let machine = Machine::of(&options.directories.data);
    let mut text = format!(
        "Sven on a cluster beside Sven on FSFS; clients, servers, PostgreSQL and the S3 server on the same machine. {}\n",
        machine.text()
    );
    let wanted = |name: &str| {
        options
            .only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    let mut cells: Vec<TableCell> = Vec::new();
    if wanted("warm") || wanted("cold") {
        cells = reading::measure(&options, &sven, wanted("warm"), wanted("cold"))?;
        let heading = format!(
            "\n## Reading\n\n{} pairs of runs a cell, medians. A ratio is the time on FSFS divided by the time on the cluster.",
            options.runs.max(1)
        );
        text.push_str(&table::markdown(&cells, &heading));
    }
    let mut rows = Vec::new();
    if wanted("one") {
        let (table, values) = commits::one_by_one(&options, &sven)?;
        text.push_str(&table);
        rows.extend(values);
    }
    if wanted("many") {
        let (table, values) = commits::many(&options, &sven)?;
        text.push_str(&table);
        rows.extend(values);
    }
    print!("{text}");
    let mut json = table::json(&machine, &cells);
    json["commits"] = rows.into();
    options.directories.store("cluster.md", text.as_bytes())?;
    options
        .directories
        .store("cluster.json", format!("{json:#}\n").as_bytes())
}
