//! Runs the fuzz targets.
//!
//! Fuzzing needs a nightly toolchain and cargo-fuzz. CI has neither: there, the targets are only checked, with all other code.

use std::process::Command;

use crate::run::{root, run};

/// Runs each target for `SECONDS` (300 by default), one after the other. Stops at the first failure.
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
        let mut args = vec!["+nightly", "fuzz", "run", "--features", "link", &target, &corpus];
        if root().join(&seeds).is_dir() {
            args.push(&seeds);
        }
        // Leak detection is slow, and it reports threads that are about to end.
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
