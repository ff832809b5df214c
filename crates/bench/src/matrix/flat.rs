//! Flat against compressed: cold reads of the same tree, stored without compression, with LZ4 and with zlib.
//!
//! Where a file lies on the disk changes how fast it is read. So each repository is copied twice in the same way, and in each round the
//! copies are read in another random order: the two copies of one repository (A and B) differ by the error of the layout alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand::SeedableRng;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::MatrixOptions;
use super::cell::{Format, Implementation};
use super::compression::{SIDES, set_compression, source_tree};
use super::measure::measure;
use super::repositories;
use super::row::{config_area, drop_page_cache};
use super::store::{Runs, Store};
use crate::jobs::clear;
use crate::rivals::SvenBinary;
use crate::workload::run;

/// The compared values of the option `compression`.
pub const METHODS: [&str; 3] = ["none", "lz4", "zlib"];

/// The two copies.
pub const COPIES: [&str; 2] = ["A", "B"];

/// The ways to read: the bytes of the files below `db/revs` in the order of their names, and an export that writes nothing.
pub const READERS: [&str; 2] = ["bytes", "null-export"];

/// The rounds of a full run: enough for a deviation.
const ROUNDS: usize = 7;

/// The name of a row.
pub fn row(method: &str, copy: &str, reader: &str) -> String {
    format!("flat/{method}/{copy}/{reader}")
}

/// Measures the table, unless the results have it.
///
/// # Errors
/// If a repository cannot be made, or a program fails.
pub fn measure_all(
    options: &MatrixOptions,
    sven: &SvenBinary,
    scratch: &Path,
    store: &mut Store,
) -> Result<(), String> {
    let mut readings = Vec::new();
    for method in METHODS {
        for copy in COPIES {
            for reader in READERS {
                let sides = if reader == "bytes" {
                    &SIDES[1..]
                } else {
                    &SIDES[..]
                };
                let rows = sides
                    .iter()
                    .map(|side| (method, copy, reader, *side, Runs::default()));
                readings.extend(rows);
            }
        }
    }
    if readings
        .iter()
        .all(|(method, copy, reader, side, _)| store.has(&row(method, copy, reader), *side))
    {
        return Ok(());
    }
    let tree = source_tree(options, scratch)?;
    for method in METHODS {
        make_copies(method, &tree, scratch)?;
    }
    let config = config_area(scratch)?;
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut order: Vec<usize> = (0..readings.len()).collect();
    for round in 0..if options.quick { 2 } else { ROUNDS } {
        eprintln!("flat: round {}", round + 1);
        order.shuffle(&mut random);
        for &at in &order {
            let (method, copy, reader, side, runs) = &mut readings[at];
            let mut command = reading(reader, *side, sven, &copy_path(scratch, method, copy), &config);
            drop_page_cache()?;
            runs.costs.push(measure(&mut command, None)?);
        }
    }
    for method in METHODS {
        COPIES
            .iter()
            .try_for_each(|copy| clear(&copy_path(scratch, method, copy)))?;
    }
    readings
        .into_iter()
        .try_for_each(|(method, copy, reader, side, runs)| store.add(&row(method, copy, reader), side, runs))
}

fn copy_path(scratch: &Path, method: &str, copy: &str) -> PathBuf {
    scratch.join(format!("flat-{method}-{copy}"))
}

fn make_copies(method: &str, tree: &Path, scratch: &Path) -> Result<(), String> {
    let original = scratch.join("flat-original");
    clear(&original)?;
    repositories::empty(&original, Format::Fsfs8, 1000)?;
    set_compression(&original, method)?;
    let url = format!("file://{}/trunk", original.display());
    run(&mut crate::workload::import(tree, &url))?;
    for copy in COPIES {
        let path = copy_path(scratch, method, copy);
        clear(&path)?;
        run(Command::new("cp").arg("-a").arg(&original).arg(&path))?;
    }
    rustix::fs::sync();
    clear(&original)
}

fn reading(
    reader: &str,
    side: Implementation,
    sven: &SvenBinary,
    repository: &Path,
    config: &Path,
) -> Command {
    let mut command = match (reader, side) {
        ("bytes", _) => {
            let mut command = Command::new("cat");
            command.args(revision_files(&repository.join("db/revs")));
            command
        }
        (_, Implementation::Sven) => sven.command("svnbench"),
        _ => Command::new("svnbench"),
    };
    if reader != "bytes" {
        let url = format!("file://{}", repository.display());
        command.args(["null-export", &url, "--config-dir"]).arg(config);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Returns the files of the shards, in the order of their paths.
fn revision_files(revs: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut files: Vec<PathBuf> = below(revs).iter().flat_map(|shard| below(shard)).collect();
    files.sort();
    files
}
