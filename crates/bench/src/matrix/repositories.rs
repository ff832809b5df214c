//! The repositories of the matrix: one history in formats 6, 7 and 8 of FSFS and in FSX, unpacked and packed, on the disk and on a RAM disk.
//!
//! Subversion makes them. Those on the disk are kept between runs; the RAM disk has the one that is being measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cell::{Format, Medium, Row, word};
use crate::jobs::clear;
use crate::workload::{self, History, history, run};

/// The changes of the file for blame. With its addition, the file has that many revisions.
pub const BLAMED_REVISIONS: u32 = 520;

/// The file for blame and for the log of a file.
pub const BLAMED_FILE: &str = "trunk/blamed.c";

/// The directory for the log of a directory.
pub const DIRECTORY: &str = "trunk";

/// Where repositories are made.
pub struct Repositories<'a> {
    /// The directory of workloads, on the disk.
    pub data: &'a Path,
    /// A directory on a RAM disk.
    pub ram: &'a Path,
    /// The history.
    pub history: &'a History,
    /// Revisions of a shard; more of them are packed in small histories when it is small.
    pub shard: u32,
    /// The seed of the file for blame.
    pub seed: u64,
}

impl Repositories<'_> {
    /// Returns the repository of a row, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn of(&self, row: &Row) -> Result<PathBuf, String> {
        let disk = self.on_disk(row.format, row.is_packed)?;
        if row.medium == Medium::Disk {
            return Ok(disk);
        }
        let name = disk.file_name().unwrap_or_default();
        let ram = self.ram.join(name);
        if !ram.exists() {
            self.clear_ram()?;
            copy(&disk, &ram)?;
        }
        Ok(ram)
    }

    /// Removes what is on the RAM disk.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn clear_ram(&self) -> Result<(), String> {
        let entries = fs::read_dir(self.ram).map_err(|e| format!("{}: {e}", self.ram.display()))?;
        entries.flatten().try_for_each(|entry| clear(&entry.path()))
    }

    /// Returns the repository of a form on the disk, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn on_disk(&self, format: Format, is_packed: bool) -> Result<PathBuf, String> {
        let name = format!(
            "matrix-{}-{}",
            self.history.name().replace(' ', "-"),
            word(format)
        );
        let unpacked = workload::cached(self.data, &name, |path| {
            empty(path, format, self.shard)?;
            workload::load_file(path, &self.history.dump(self.data)?)?;
            workload::load_into(path, |out| {
                history::write_blamed(out, BLAMED_REVISIONS, self.seed)
            })
        })?;
        if !is_packed {
            return Ok(unpacked);
        }
        workload::cached(self.data, &format!("{name}-packed"), |path| {
            copy(&unpacked, path)?;
            run(Command::new("svnadmin").args(["pack", "-q"]).arg(path)).map(drop)
        })
    }
}

/// Makes an empty repository of a format, into which everyone may write.
///
/// # Errors
/// If it cannot be made.
pub fn empty(path: &Path, format: Format, shard: u32) -> Result<(), String> {
    run(Command::new("svnadmin")
        .arg("create")
        .args(format.create_args())
        .arg(path))?;
    let change = |name: &str, change: &dyn Fn(String) -> String| -> Result<(), String> {
        let path = path.join(name);
        let text = fs::read_to_string(&path).map(change);
        let written = text.and_then(|text| fs::write(&path, text));
        written.map_err(|e| format!("{}: {e}", path.display()))
    };
    change("db/format", &|text| {
        text.replace("sharded 1000", &format!("sharded {shard}"))
    })?;
    change("conf/svnserve.conf", &|_| {
        "[general]\nanon-access = write\n".to_owned()
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    run(Command::new("cp").arg("-a").arg(from).arg(to)).map(drop)
}
