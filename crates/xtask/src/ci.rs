//! The checks that every submission must pass, the fastest first.

use crate::run::{run, run_with};

/// Runs formatting, lints, tidy, the checks of dependencies, documentation, all tests (interop and examples in the documentation among them), the golden check and a small benchmark.
pub fn main() -> Result<(), String> {
    let bench_program = bench_program()?;
    run("cargo", &["fmt", "--all", "--check"])?;
    run(
        "cargo",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    crate::tidy::main()?;
    crate::deny::main()?;
    run_with(
        "cargo",
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
            "--locked",
        ],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    // Many tests wait for programs and time limits: twice as many of them as cores keep the cores busy.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| (2 * cores).to_string());
    let env = [("RUST_TEST_THREADS", threads.as_str())];
    run_with("cargo", &["test", "--workspace", "--locked"], &env)?;
    crate::golden::main(&["--check".to_owned()])?;
    // With the features of the tests, only the benchmark itself is left to build; `cargo run --package bench` has others.
    run("cargo", &["build", "--workspace", "--all-targets", "--locked"])?;
    for bench in ["read", "write", "http"] {
        run(
            &bench_program,
            &[
                bench,
                "--quick",
                "--data",
                "target/bench-data",
                "--results",
                "target/bench-results",
            ],
        )?;
    }
    crate::fuzz::smoke()
}

/// Returns the path of the benchmark, which is built beside this program.
fn bench_program() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    Ok(own.with_file_name("bench").to_string_lossy().into_owned())
}
