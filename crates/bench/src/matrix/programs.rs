//! The programs of the implementations: tools, clients and servers, with a cache of the same size.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cell::{Access, Implementation, Job, Row};
use super::repositories::{BLAMED_FILE, DIRECTORY};
use crate::rivals::SvenBinary;
use crate::rivals::apache::{self, HttpSettings};
use crate::rivals::servers::{self, StartedServer};

/// The compression of texts over HTTP, as Apache's default.
const LEVEL: u8 = 5;

/// One implementation under the conditions of a row.
pub struct Programs<'a> {
    /// Sven's binary.
    pub sven: &'a SvenBinary,
    /// Whose programs.
    pub implementation: Implementation,
    /// The conditions.
    pub row: Row,
    /// The configuration area of clients, empty at first.
    pub config: &'a Path,
    /// The directory for configuration files of servers.
    pub scratch: PathBuf,
}

impl Programs<'_> {
    /// Returns one of Subversion's programs, by its name.
    pub fn tool(&self, name: &str) -> Command {
        match self.implementation {
            Implementation::Sven => self.sven.command(name),
            _ => Command::new(name),
        }
    }

    /// Returns `svnadmin` with a subcommand.
    pub fn admin(&self, subcommand: &str) -> Command {
        let mut command = self.tool("svnadmin");
        command.args([subcommand, "-q", "-M", &self.row.cache.to_string()]);
        command
    }

    /// Starts the server of a directory of repositories; `None` for access through the file system.
    ///
    /// # Errors
    /// If it does not listen within ten seconds.
    pub fn server(&self, root: &Path) -> Result<Option<StartedServer>, String> {
        let block_read = self.implementation == Implementation::SubversionBlockRead;
        match self.row.access {
            Access::File => Ok(None),
            Access::Svn => {
                let mut command = self.tool("svnserve");
                command.args(["-T", "-M", &self.row.cache.to_string()]);
                if block_read {
                    command.args(["--block-read", "yes"]);
                }
                servers::listen(command, root).map(Some)
            }
            Access::Http => {
                let settings = HttpSettings {
                    level: LEVEL,
                    cache: self.row.cache,
                    block_read,
                };
                match self.implementation {
                    Implementation::Sven => apache::start_sven(self.sven, root, settings, &self.scratch),
                    _ => apache::start_apache(root, settings, &self.scratch),
                }
                .map(Some)
            }
        }
    }

    /// Returns the client of the row's job. `output` is where an export goes, `tree` what is imported.
    pub fn client(&self, url: &str, output: &Path, tree: &Path) -> Command {
        let trunk = format!("{url}/trunk");
        let file = format!("{url}/{BLAMED_FILE}");
        let (tool, words): (&str, Vec<&str>) = match self.row.job {
            Job::LogAll => ("svn", vec!["log", "-v", url]),
            Job::LogDirectory => ("svn", vec!["log"]),
            Job::LogFile => ("svn", vec!["log", &file]),
            Job::Blame => ("svn", vec!["blame", &file]),
            Job::List => ("svn", vec!["list", "-R", &trunk]),
            Job::NullExport => ("svnbench", vec!["null-export", &trunk]),
            Job::NullLog => ("svnbench", vec!["null-log", "-v", url]),
            Job::NullBlame => ("svnbench", vec!["null-blame", &file]),
            Job::NullList => ("svnbench", vec!["null-list", "-R", &trunk]),
            Job::NullInfo => ("svnbench", vec!["null-info", "-R", &trunk]),
            Job::Import => (
                "svn",
                vec!["import", "-q", "--no-auto-props", "--no-ignore", "-m", "import"],
            ),
            _ => ("svn", vec!["export", "-q", &trunk]),
        };
        let mut command = self.tool(tool);
        command.args(words);
        match self.row.job {
            Job::Export => _ = command.arg(output),
            Job::Import => _ = command.arg(tree).arg(&trunk),
            Job::LogDirectory => _ = command.arg(format!("{url}/{DIRECTORY}")),
            _ => {}
        }
        let cache = format!("config:miscellany:memory-cache-size={}", self.row.cache);
        command.args(["--non-interactive", "--config-option", &cache, "--config-dir"]);
        command
            .arg(self.config)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }
}
