//! Makes workloads without measuring, and prints where they are.

use std::path::PathBuf;

use clap::Args;

use super::{RepositoryForm, Workload};
use crate::setup::HistoryOptions;

/// The histories to make.
#[derive(Args)]
pub struct WorkloadsOptions {
    #[command(flatten)]
    history: HistoryOptions,
    /// Forms of the repositories
    #[arg(long, value_delimiter = ',', default_value = "unpacked,packed")]
    forms: Vec<RepositoryForm>,
    /// Where workloads are kept between runs
    #[arg(long, default_value = "bench-data")]
    data: PathBuf,
}

/// Makes and prints them.
///
/// # Errors
/// The first one that can't be made.
pub fn main(options: WorkloadsOptions) -> Result<(), String> {
    for history in options.history.histories()? {
        println!(
            "{}\n  dump {}",
            history.name(),
            history.dump(&options.data)?.display()
        );
        for form in &options.forms {
            let workload = history.workload(&options.data, *form)?;
            println!("  repository {}", workload.repository.display());
            print_paths(&workload);
        }
    }
    Ok(())
}

fn print_paths(workload: &Workload) {
    let paths = [
        ("busy file", &workload.busy_file),
        ("busy directory", &workload.busy_directory),
        ("tag", &workload.tag),
    ];
    for (what, path) in paths {
        if let Some(path) = path {
            println!("    {what} {path}");
        }
    }
}
