//! Measures Sven and Subversion side by side on one machine with the same data.
//!
//! `cargo run -p bench --release -- read` makes the workloads, starts both servers in turn, runs the same stock
//! client with each, and prints a table of medians, spreads and ratios with the server's CPU seconds and peak memory.
//! Runs are paired (ours, theirs, ours, theirs, …), so that a change of the machine's speed affects both. The ratio
//! is the median of the pairs' ratios. Cells in which Sven is slower are printed like the others.
//!
//! Rivals are processes; no code of them is linked.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program, not a library"
)]

mod cells;
mod client;
mod cluster;
mod delta_sample;
mod http;
mod huge;
mod jobs;
mod lean_client;
mod load;
mod machine;
mod matrix;
mod measure;
mod plot;
mod procfs;
mod read;
mod real;
mod rivals;
mod serving;
mod setup;
mod sizes;
mod surroundings;
mod svn_clients;
mod table;
mod verify_rate;
mod workload;
mod write;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
#[derive(Parser)]
#[command(about = "Measures Sven beside Subversion")]
struct BenchCli {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Reading: verify, dump, export, log, list, blame
    Read(read::ReadOptions),
    /// The histories of git clones: administration, logs, blame, lists, exports
    Real(real::RealOptions),
    /// Writing: load, import, large files, pack, hotcopy, sizes
    Write(write::WriteOptions),
    /// Many clients at once: idle ones, with one request each, exporting ones
    Load(load::LoadOptions),
    /// The client programs: svn, svnbench, svnsync, svnrdump, svndumpfilter
    Client(client::ClientOptions),
    /// Every operation in every format, form, cache, protocol, medium and state of the caches
    Matrix(matrix::MatrixOptions),
    /// HTTP: export, log, list, import and many clients, beside Apache
    Http(http::HttpOptions),
    /// Clusters: reading and committing on one node and on three, beside FSFS
    Cluster(cluster::ClusterOptions),
    /// Sends a list of HTTP requests and discards the responses: the lean client of `http`
    #[command(hide = true)]
    SendRequests(lean_client::LeanClientOptions),
    /// Writes a generated history as a dump stream to standard output
    Generate {
        /// Revisions to generate
        #[arg(default_value_t = 1000)]
        revisions: u32,
        /// Seed: equal seeds give equal streams
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Makes the dump streams and repositories of histories, and prints their paths
    Workloads(workload::listing::WorkloadsOptions),
}

fn main() -> ExitCode {
    let outcome = match BenchCli::parse().command {
        BenchCommand::Read(options) => read::main(options),
        BenchCommand::Real(options) => real::main(options),
        BenchCommand::Write(options) => write::main(options),
        BenchCommand::Load(options) => load::main(options),
        BenchCommand::Http(options) => http::main(options),
        BenchCommand::Client(options) => client::main(options),
        BenchCommand::Matrix(options) => matrix::main(options),
        BenchCommand::Cluster(options) => cluster::main(options),
        BenchCommand::SendRequests(options) => lean_client::main(&options),
        BenchCommand::Generate { revisions, seed } => {
            workload::history::write(&mut std::io::stdout().lock(), revisions, seed)
                .map_err(|e| e.to_string())
        }
        BenchCommand::Workloads(options) => workload::listing::main(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}
