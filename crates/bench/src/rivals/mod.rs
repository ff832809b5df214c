//! The compared programs, as processes: Sven, Subversion and Apache.

pub mod apache;
pub mod servers;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Sven binary.
#[derive(Clone)]
pub struct SvenBinary {
    binary: PathBuf,
}

impl SvenBinary {
    /// Returns the given binary, or the one beside this program, which is built if needed.
    ///
    /// # Errors
    /// If it cannot be found or built.
    pub fn find(given: Option<&Path>) -> Result<Self, String> {
        if let Some(binary) = given {
            return Ok(SvenBinary {
                binary: binary.to_path_buf(),
            });
        }
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let binary = own.with_file_name("sven");
        let mut build = Command::new("cargo");
        build.args(["build", "--quiet", "--locked", "--package", "sven"]);
        if own.components().any(|c| c.as_os_str() == "release") {
            build.arg("--release");
        }
        crate::workload::run(&mut build)?;
        if binary.exists() {
            Ok(SvenBinary { binary })
        } else {
            Err(format!("{} is not there", binary.display()))
        }
    }

    /// Returns the length and the time of the binary: two runs with the same ones measure the same program.
    pub fn fingerprint(&self) -> String {
        let meta = std::fs::metadata(&self.binary);
        meta.map_or(String::new(), |meta| {
            format!("{} bytes, {}", meta.len(), meta.mtime())
        })
    }

    /// True if this Sven has the subcommand.
    pub fn has_subcommand(&self, name: &str) -> bool {
        let help = self.command(name).arg("--help").output();
        help.is_ok_and(|output| output.status.success())
    }

    /// Returns a tool of Sven as a command.
    pub fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(tool);
        command
    }
}

/// Returns Subversion's version, for the heading of the table.
pub fn subversion_version() -> String {
    let output = Command::new("svn").args(["--version", "-q"]).output();
    output
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        .unwrap_or_default()
}
