//! Measures Sven beside Subversion: same machine, same data, one run.
//!
//! `cargo run -p bench --release -- read` makes the workloads, starts both servers in turn, runs the same stock
//! client against each, and prints a table of medians, spreads and ratios with the server's CPU seconds and peak
//! memory. Runs are paired (ours, theirs, ours, theirs, …), so that a machine whose speed drifts slows both; the
//! ratio is the median of the pairs' ratios. Cells where we lose are printed like the others.
//!
//! Rivals are processes: nothing here links against them, and without them only our own columns fill.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program, not a library"
)]

mod asker;
mod cells;
mod crowd;
mod http;
mod huge;
mod load;
mod measure;
mod plot;
mod read;
mod rivals;
mod serving;
mod setup;
mod sizes;
mod table;
mod workload;
mod write;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Measures Sven beside Subversion")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reading: verify, dump, export, log, list, blame
    Read(read::Options),
    /// Writing: load, import, large files, pack, hotcopy, sizes
    Write(write::Options),
    /// Many clients at once: connected, asking, exporting
    Load(load::Options),
    /// HTTP: export, log, list, import and many clients, beside Apache
    Http(http::Options),
    /// Sends a list of HTTP requests and throws the answers away: the client of rows about servers alone
    #[command(hide = true)]
    Ask(asker::Options),
    /// Writes a generated history as a dump stream to standard output
    Generate {
        /// Revisions to generate
        #[arg(default_value_t = 1000)]
        revisions: u32,
        /// Seed: equal seeds give equal streams
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Read(options) => read::main(options),
        Command::Write(options) => write::main(options),
        Command::Load(options) => load::main(options),
        Command::Http(options) => http::main(options),
        Command::Ask(options) => asker::main(&options),
        Command::Generate { revisions, seed } => {
            workload::history::write(&mut std::io::stdout().lock(), revisions, seed)
                .map_err(|e| e.to_string())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}
