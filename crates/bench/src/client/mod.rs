//! The client programs: Sven's beside Subversion's, with the same server.
//!
//! Figures are those of the client. Both clients read the same repository, directly, from Subversion's servers and from Sven's. Writing jobs have a new
//! repository for each run. [`reading`] has the jobs that read, [`writing`] those that write.

mod reading;
mod writing;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::cells::{Goal, TableCell};
use crate::jobs::clear;
use crate::matrix::Format;
use crate::matrix::repositories::Repositories;
use crate::measure::{MeasuredServer, RunCost};
use crate::rivals::SvenBinary;
use crate::rivals::apache::{self, HttpSettings};
use crate::rivals::servers::{ServerKind, StartedServer, start};
use crate::setup::Selection;
use crate::workload::History;

/// The compression of texts over HTTP, as Apache's default.
const LEVEL: u8 = 5;

/// The options of the measurements of client programs.
#[derive(Args, Clone)]
pub struct ClientOptions {
    #[command(flatten)]
    selection: Selection,
    /// How many files of the Linux sources to import, and to export (0: generated ones; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 0)]
    files: usize,
}

/// Measures all cells and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made; all cells that could not be measured.
pub fn main(mut options: ClientOptions) -> Result<(), String> {
    let selection = &mut options.selection;
    if selection.quick {
        selection.history.revisions = vec![200];
        selection.runs = selection.runs.min(1);
    } else if selection.history.revisions.is_empty() && selection.history.history_from.is_empty() {
        selection.history.revisions = vec![5000];
    }
    let sven = selection.directories.prepare()?;
    let scratch = tempfile::tempdir_in(&selection.directories.data).map_err(|e| e.to_string())?;
    let config = scratch.path().join("config");
    std::fs::create_dir(&config).map_err(|e| format!("{}: {e}", config.display()))?;
    let mut bench = ClientBench {
        selection,
        programs: ClientPrograms {
            sven: &sven,
            scratch: scratch.path(),
            config: &config,
        },
        cells: Vec::new(),
        failed: Vec::new(),
    };
    for history in selection.history.histories()? {
        bench.history(&history)?;
    }
    bench.tree(options.files)?;
    selection.publish("client", "Subversion's clients", &bench.cells, "")?;
    match &bench.failed[..] {
        [] => Ok(()),
        failed => Err(format!("not measured: {}", failed.join("; "))),
    }
}

/// Whose server the clients use, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// None: the client opens the repository itself.
    Disk,
    /// Subversion's svnserve, with threads and a cache of 1024 MiB.
    Svnserve,
    /// Sven over svn://.
    SvenSvn,
    /// Apache with mod_dav_svn.
    Apache,
    /// Sven over http://.
    SvenHttp,
}

impl Peer {
    const ALL: [Peer; 5] = [
        Peer::Disk,
        Peer::Svnserve,
        Peer::SvenSvn,
        Peer::Apache,
        Peer::SvenHttp,
    ];

    fn name(self) -> &'static str {
        match self {
            Peer::Disk => "file://",
            Peer::Svnserve => "svnserve",
            Peer::SvenSvn => "Sven over svn://",
            Peer::Apache => "Apache",
            Peer::SvenHttp => "Sven over http://",
        }
    }
}

struct ClientBench<'a> {
    selection: &'a Selection,
    programs: ClientPrograms<'a>,
    cells: Vec<TableCell>,
    failed: Vec<String>,
}

/// The programs of both sides, and where they write.
#[derive(Clone, Copy)]
struct ClientPrograms<'a> {
    sven: &'a SvenBinary,
    scratch: &'a Path,
    /// The configuration area of both clients.
    config: &'a Path,
}

impl ClientBench<'_> {
    fn history(&mut self, history: &History) -> Result<(), String> {
        let repositories = Repositories {
            data: &self.selection.directories.data,
            ram: self.programs.scratch,
            history,
            shard: 1000,
            seed: self.selection.history.seed,
        };
        let repository = repositories.on_disk(Format::Fsfs8, false)?;
        let name = history.name();
        for peer in Peer::ALL {
            self.reading(peer, &repository, &name)?;
        }
        let dump = history.dump(&self.selection.directories.data)?;
        self.filtering(&dump, &name);
        for peer in Peer::ALL {
            self.mirroring(peer, &repository, &name)?;
        }
        Ok(())
    }

    /// Measures a job in pairs, if it is selected. The other jobs are still measured if it fails.
    fn job(&mut self, job: &str, goal: Goal, run: impl Fn(bool) -> Result<RunCost, String>) {
        if !self.selection.wanted(job) {
            return;
        }
        let runs = self.selection.runs;
        match TableCell::measure(job.to_owned(), "1.14.2", goal, runs, || run(true), || run(false)) {
            Ok(cell) => self.cells.push(cell),
            Err(error) => self.failed.push(format!("{job}: {error}")),
        }
    }
}

impl ClientPrograms<'_> {
    /// Starts the server of a directory of repositories; `None` for [`Peer::Disk`].
    fn serve(&self, peer: Peer, root: &Path) -> Result<Option<StartedServer>, String> {
        let settings = HttpSettings::large_cache(LEVEL);
        match peer {
            Peer::Disk => Ok(None),
            Peer::Svnserve => start(ServerKind::SubversionTuned, self.sven, root).map(Some),
            Peer::SvenSvn => start(ServerKind::Sven, self.sven, root).map(Some),
            Peer::Apache => apache::start_apache(root, settings, self.scratch).map(Some),
            Peer::SvenHttp => apache::start_sven(self.sven, root, settings, self.scratch).map(Some),
        }
    }

    /// Returns one of Subversion's client programs with options that all of them have.
    fn client(&self, is_ours: bool, tool: &str) -> Command {
        let mut command = self.tool(is_ours, tool);
        command
            .arg("--non-interactive")
            .arg("--config-dir")
            .arg(self.config);
        command
    }

    fn tool(&self, is_ours: bool, tool: &str) -> Command {
        let mut command = if is_ours {
            self.sven.command(tool)
        } else {
            Command::new(tool)
        };
        command.stdin(Stdio::null());
        command
    }

    /// Returns a path in the scratch directory at which there is nothing.
    fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join(name);
        clear(&path)?;
        Ok(path)
    }
}

/// Returns the process whose processor time is counted.
fn measured(server: Option<&StartedServer>) -> Option<&MeasuredServer> {
    server.map(|running| &running.server)
}

/// Returns the URL of a repository, directly or at a server of its parent directory.
fn url(server: Option<&StartedServer>, repository: &Path) -> String {
    let name = repository.file_name().unwrap_or_default().to_string_lossy();
    match server {
        Some(running) => format!("{}/{name}", running.url),
        None => format!("file://{}", repository.display()),
    }
}
