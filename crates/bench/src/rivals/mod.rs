//! The programs that are compared: ours and Subversion's, as processes.

pub mod apache;
pub mod servers;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where our programs are.
#[derive(Clone)]
pub struct Sven {
    binary: PathBuf,
}

impl Sven {
    /// Takes the given binary, or the one built beside this program; builds it if it is not there.
    ///
    /// # Errors
    /// If it can't be found or built.
    pub fn find(given: Option<&Path>) -> Result<Self, String> {
        if let Some(binary) = given {
            return Ok(Sven {
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
            Ok(Sven { binary })
        } else {
            Err(format!("{} is not there", binary.display()))
        }
    }

    /// One of our personalities as a command.
    pub fn command(&self, personality: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(personality);
        command
    }
}

/// The incumbent's version, for the table's heading.
pub fn subversion_version() -> String {
    let output = Command::new("svn").args(["--version", "-q"]).output();
    output
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        .unwrap_or_default()
}
