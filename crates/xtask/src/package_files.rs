//! Man pages and shell completions, for those who make packages.

use crate::run::run;

/// Writes the files below `DIR` (`target/package-files` unless given), by a release build of the program that can do so.
pub fn main(rest: &[String]) -> Result<(), String> {
    let dir = rest.first().map_or("target/package-files", String::as_str);
    run(
        "cargo",
        &[
            "run",
            "--release",
            "--locked",
            "--package",
            "sven",
            "--features",
            "package-files",
            "--",
            "package-files",
            dir,
        ],
    )
}
