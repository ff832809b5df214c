//! Jobs of `svnadmin` by either side, each on a repository of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{RunCost, tool, tool_reading};
use crate::rivals::SvenBinary;
use crate::workload::run;

/// The program and the directory of the repositories that the jobs write.
#[derive(Clone)]
pub struct AdminJobs<'a> {
    /// Sven's binary.
    pub sven: SvenBinary,
    /// The directory for repositories.
    pub scratch: &'a Path,
}

impl AdminJobs<'_> {
    /// Returns `svnadmin` of Sven or of Subversion.
    pub fn admin(&self, ours: bool) -> Command {
        if ours {
            self.sven.command("svnadmin")
        } else {
            Command::new("svnadmin")
        }
    }

    /// Loads a dump into a new repository. It stays until [`AdminJobs::clear_results`].
    ///
    /// # Errors
    /// If the repository can't be made, or the tool fails.
    pub fn load(&self, ours: bool, dump: &Path, options: &[&str]) -> Result<RunCost, String> {
        let repository = self.result("load")?;
        run(Command::new("svnadmin").arg("create").arg(&repository))?;
        let mut command = self.admin(ours);
        command.args(["load", "-q"]).args(options).arg(&repository);
        tool_reading(&mut command, dump)
    }

    /// Returns a new path for the result of a job.
    ///
    /// Results are removed together, when all runs of the job are over: ext4 searches long for free inodes where many were freed a
    /// moment ago, and that would be most of the time of both sides.
    fn result(&self, job: &str) -> Result<PathBuf, String> {
        let dir = self.scratch.join(job);
        let failed = |e| format!("{}: {e}", dir.display());
        fs::create_dir_all(&dir).map_err(failed)?;
        let number = fs::read_dir(&dir).map_err(failed)?.count();
        Ok(dir.join(number.to_string()))
    }

    /// Removes the results of loads and hot copies.
    ///
    /// # Errors
    /// If they cannot be removed.
    pub fn clear_results(&self) -> Result<(), String> {
        ["load", "copy"]
            .iter()
            .try_for_each(|job| clear(&self.scratch.join(job)))
    }

    /// Packs a copy of a repository.
    ///
    /// # Errors
    /// If the copy can't be made, or the tool fails.
    pub fn pack(&self, ours: bool, source: &Path, options: &[&str]) -> Result<RunCost, String> {
        let copy = self.scratch.join("pack");
        clear(&copy)?;
        run(Command::new("cp").arg("-a").arg(source).arg(&copy))?;
        tool(self.admin(ours).args(["pack", "-q"]).args(options).arg(&copy))
    }

    /// Makes a hot copy of a repository. It stays until [`AdminJobs::clear_results`].
    ///
    /// # Errors
    /// If the tool fails.
    pub fn hotcopy(&self, ours: bool, source: &Path) -> Result<RunCost, String> {
        let target = self.result("copy")?;
        tool(self.admin(ours).args(["hotcopy", "-q"]).arg(source).arg(&target))
    }
}

/// Makes an empty repository with Subversion's `svnadmin`.
///
/// # Errors
/// If it can't be made.
pub fn fresh(scratch: &Path, name: &str) -> Result<PathBuf, String> {
    let path = scratch.join(name);
    clear(&path)?;
    run(Command::new("svnadmin").arg("create").arg(&path))?;
    Ok(path)
}

/// Removes a file or a directory, if there is one.
///
/// # Errors
/// If it cannot be removed.
pub fn clear(path: &Path) -> Result<(), String> {
    let gone = if path.is_dir() {
        fs::remove_dir_all(path)
    } else if path.exists() {
        fs::remove_file(path)
    } else {
        Ok(())
    };
    gone.map_err(|e| format!("{}: {e}", path.display()))
}
