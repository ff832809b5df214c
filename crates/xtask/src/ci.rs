//! The checks that every submission must pass, the fastest first.

use crate::run::{run, run_with};

/// Runs formatting, lints, tidy, the checks of dependencies, documentation, all tests (interop and examples in the documentation among them), the golden check and a small benchmark.
pub fn main() -> Result<(), String> {
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
    run("cargo", &["test", "--workspace", "--locked"])?;
    crate::golden::main(&["--check".to_owned()])?;
    for bench in ["read", "write", "http"] {
        run(
            "cargo",
            &[
                "run",
                "--locked",
                "--package",
                "bench",
                "--",
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
