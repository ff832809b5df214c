//! Runs other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("because crates/xtask lies two folders below the root")
        .to_path_buf()
}

/// Runs a program in the workspace's root, with this process's output streams.
pub fn run(program: &str, args: &[&str]) -> Result<(), String> {
    run_with::<&str>(program, args, &[])
}

/// As [`run`], with more variables in the program's environment.
pub fn run_with<V: AsRef<OsStr>>(program: &str, args: &[&str], env: &[(&str, V)]) -> Result<(), String> {
    println!("+ {program} {}", args.join(" "));
    let mut command = Command::new(program);
    let start = Instant::now();
    let status = command
        .args(args)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => {
            println!("{:.0} s", start.elapsed().as_secs_f64());
            Ok(())
        }
        Ok(status) => Err(format!("{program} {}: {status}", args.join(" "))),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}

/// True if the program can be started.
pub fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
