//! Development commands: `cargo xtask <command>`.
//!
//! `tidy` checks the rules that the compiler does not (dependencies of crates, layers of modules, I/O, sizes of files, words); `golden`
//! makes the committed fixtures again with the real tools, or checks them; `interop` runs the real clients against our server, or against clusters of it;
//! `fuzz` runs each fuzz target for some time; `deny` checks the dependencies' licences, versions and sources;
//! `package-files` writes man pages and shell completions; `ci` runs everything that a submission must pass.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program, not a library"
)]

mod ci;
mod deny;
mod fuzz;
mod golden;
mod interop;
mod interop_cluster;
mod interop_fsx;
mod package_files;
mod run;
mod tidy;
mod tidy_cycles;
mod tidy_walk;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match command.as_str() {
        "tidy" => tidy::main(),
        "golden" => golden::main(&rest),
        "interop" => interop::main(&rest),
        "fuzz" => fuzz::main(&rest),
        "deny" => deny::main(),
        "package-files" => package_files::main(&rest),
        "ci" => ci::main(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "usage: cargo xtask tidy | golden [--check] | interop [--cluster | --fs-type fsx] [--over TRANSPORT] [FILTER] | fuzz [SECONDS] | deny | package-files [DIR] | ci";
