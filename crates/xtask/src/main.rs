//! Chores of the house: `cargo xtask <chore>`.
//!
//! `tidy` checks the rules that no compiler knows (who may name whom, where I/O is allowed, how big a room may get);
//! `golden` makes the committed fixtures anew with the real tools, or checks them; `interop` runs the real clients
//! against our server; `fuzz` gives every fuzz target its minutes; `ci` runs everything that a submission must pass.

mod ci;
mod fuzz;
mod golden;
mod interop;
mod run;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match chore.as_str() {
        "tidy" => tidy::main(),
        "golden" => golden::main(&rest),
        "interop" => interop::main(&rest),
        "fuzz" => fuzz::main(&rest),
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

const USAGE: &str =
    "usage: cargo xtask tidy | golden [--check] | interop [--over TRANSPORT] [FILTER] | fuzz [SECONDS] | ci";
