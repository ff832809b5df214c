//! The checks that every submission must pass, the fastest first.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

use crate::run::{run, run_with};

/// Runs formatting, lints, tidy, the checks of dependencies, documentation, all tests (interop and examples in the documentation among them), the golden check and a small benchmark.
pub fn main() -> Result<(), String> {
    let [bench, sven] = [program("bench")?, program("sven")?];
    run("cargo", &["fmt", "--all", "--check"])?;
    run(
        "cargo",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            // The fuzz targets: they need a nightly toolchain to run, not to compile.
            "--features",
            "fuzz/targets",
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
    let memory = memory_directory();
    let mut env = vec![("RUST_TEST_THREADS", OsStr::new(&threads))];
    env.extend(memory.iter().map(|dir| ("TMPDIR", dir.path().as_os_str())));
    run_with("cargo", &["test", "--workspace", "--locked"], &env)?;
    crate::golden::main(&["--check".to_owned()])?;
    // With the features of the tests, only the benchmark itself is left to build; `cargo run --package bench` has others.
    run("cargo", &["build", "--workspace", "--all-targets", "--locked"])?;
    // In memory, too: for a history of 200 revisions, `svnadmin load` makes and removes 6,000 files, 20 seconds on a busy disk.
    let target = Path::new("target");
    let data = memory.as_ref().map_or(target, TempDir::path).join("bench-data");
    let data = data.to_string_lossy();
    for job in ["read", "write", "http"] {
        // The program of the tests; `--package sven` has other features, too.
        run(
            &bench,
            &[
                job,
                "--quick",
                "--sven",
                &sven,
                "--data",
                &data,
                "--results",
                "target/bench-results",
            ],
        )?;
    }
    Ok(())
}

/// Returns the path of a program that is built beside this one.
fn program(name: &str) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    Ok(own.with_file_name(name).to_string_lossy().into_owned())
}

/// A directory for the tests' files in memory, unless the user named one or there is no room for them. The tests make and remove a
/// hundred thousand small files and wait for the disk at each commit.
fn memory_directory() -> Option<TempDir> {
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let memory = Path::new("/dev/shm");
    let stat = statvfs(memory).ok()?;
    let has_room = stat.f_bavail * stat.f_frsize >= ROOM;
    let runs_programs = !stat.f_flag.contains(StatVfsMountFlags::NOEXEC);
    if !has_room || !runs_programs {
        return None;
    }
    // Some tests run programs as other users.
    let mode = Permissions::from_mode(0o755);
    let dir = tempfile::Builder::new()
        .prefix("sven-ci-")
        .permissions(mode)
        .tempdir_in(memory)
        .ok()?;
    println!("the tests' files: {}", dir.path().display());
    Some(dir)
}

/// The room in memory without which the tests' files are on disk, bytes.
const ROOM: u64 = 8 << 30;
