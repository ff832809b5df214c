//! Gives the fuzz targets their minutes.
//!
//! Fuzzing proper needs a nightly toolchain and cargo-fuzz, which a newcomer does not have; so CI only replays the
//! committed seeds through the same decoders (`smoke`), and the full run is this chore.

use std::process::Command;

use crate::run::{exists, root, run};

/// Fuzzes each target for `SECONDS` (300 unless told), one after the other; stops at the first find.
pub fn main(rest: &[String]) -> Result<(), String> {
    let seconds: u32 = match rest.first() {
        Some(text) => text
            .parse()
            .map_err(|_| format!("'{text}' is not a number of seconds"))?,
        None => 300,
    };
    let only = rest.get(1);
    for target in targets()? {
        if only.is_some_and(|only| *only != target) {
            continue;
        }
        let seeds = format!("fuzz/seeds/{target}");
        let corpus = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(root().join(&corpus)).map_err(|e| format!("{corpus}: {e}"))?;
        let limit = format!("-max_total_time={seconds}");
        let mut args = vec!["+nightly", "fuzz", "run", &target, &corpus];
        if root().join(&seeds).is_dir() {
            args.push(&seeds);
        }
        // The search for leaks takes a thread that is about to end for one, and it is slow.
        args.extend([
            "--",
            &limit,
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-detect_leaks=0",
        ]);
        run("cargo", &args)?;
    }
    Ok(())
}

/// Builds the targets with the pinned toolchain, so that they cannot rot; runs nothing without nightly.
pub fn smoke() -> Result<(), String> {
    if !exists("cargo-fuzz") {
        println!("fuzz: cargo-fuzz is not installed, checking only that the targets compile");
    }
    run(
        "cargo",
        &[
            "check",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target-dir",
            "target/fuzz-check",
        ],
    )
}

fn targets() -> Result<Vec<String>, String> {
    let output = Command::new("cargo")
        .args(["+nightly", "fuzz", "list"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run cargo fuzz: {e}"))?;
    if !output.status.success() {
        return Err("cargo +nightly fuzz list failed: install a nightly toolchain and cargo-fuzz".to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect())
}
