//! Measures one row with all implementations in turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cell::{Access, Implementation, Job, Medium, Row, Temperature};
use super::measure::{Cost, measure};
use super::programs::Programs;
use super::repositories::{self, Repositories};
use super::store::{Runs, Store};
use crate::jobs::clear;
use crate::rivals::SvenBinary;
use crate::rivals::servers::StartedServer;
use crate::sizes::of_repository;
use crate::surroundings::SurroundingsWatch;
use crate::workload::run;

/// Runs rows.
pub struct RowRunner<'a> {
    sven: &'a SvenBinary,
    repositories: &'a Repositories<'a>,
    /// A directory on the disk for what runs write.
    scratch: &'a Path,
    /// What imports import.
    tree: PathBuf,
    /// The configuration area of clients.
    config: PathBuf,
    /// A directory for the configuration files of the servers of each implementation: several run at the same time.
    servers: PathBuf,
    runs: usize,
}

impl<'a> RowRunner<'a> {
    /// Returns a runner.
    ///
    /// # Errors
    /// If the directories cannot be made.
    pub fn new(
        sven: &'a SvenBinary,
        repositories: &'a Repositories<'a>,
        scratch: &'a Path,
        runs: usize,
    ) -> Result<RowRunner<'a>, String> {
        let config = config_area(scratch)?;
        let servers = scratch.join("servers");
        for implementation in Implementation::ALL {
            let path = servers.join(implementation.name());
            fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(RowRunner {
            servers,
            sven,
            repositories,
            scratch,
            tree: scratch.join("tree"),
            config,
            runs,
        })
    }

    /// Measures a row, unless the results have it.
    ///
    /// # Errors
    /// If a program cannot start or fails.
    pub fn measure(&mut self, row: &Row, store: &mut Store) -> Result<(), String> {
        let name = row.to_string();
        let mut missing = row.implementations();
        missing.retain(|implementation| !store.has(&name, *implementation));
        if missing.is_empty() {
            return Ok(());
        }
        let mut jobs = Vec::new();
        for implementation in missing {
            let mut job = self.prepare(row, implementation)?;
            if row.temperature == Temperature::Hot && !job.writes() {
                job.run(self)?;
            }
            jobs.push((implementation, job, Runs::default()));
        }
        for _ in 0..self.runs.max(1) {
            for (_, job, runs) in &mut jobs {
                let watch = SurroundingsWatch::start();
                runs.costs.push(job.run(self)?);
                runs.is_busy |= watch.finish().is_busy();
            }
        }
        jobs.into_iter()
            .try_for_each(|(implementation, _, runs)| store.add(&name, implementation, runs))
    }

    fn prepare(&mut self, row: &Row, implementation: Implementation) -> Result<PreparedJob, String> {
        let repository = self.repositories.of(row)?;
        if row.job == Job::Import && !self.tree.exists() {
            let url = format!("file://{}/trunk", repository.display());
            run(Command::new("svn").args(["export", "-q", &url]).arg(&self.tree))?;
        }
        let mut job = PreparedJob {
            row: *row,
            implementation,
            repository,
            server: None,
        };
        if row.temperature == Temperature::Hot && !job.writes() {
            job.server = job.programs(self).server(job.root())?;
        }
        Ok(job)
    }

    /// Returns a new path on the row's medium.
    fn fresh_path(&self, row: &Row, name: &str) -> Result<PathBuf, String> {
        let parent = match row.medium {
            Medium::Disk => self.scratch,
            Medium::Ram => self.repositories.ram,
        };
        let path = parent.join(format!("written-{name}"));
        clear(&path)?;
        Ok(path)
    }
}

/// A job of one implementation, with its server if that is warm.
struct PreparedJob {
    row: Row,
    implementation: Implementation,
    repository: PathBuf,
    server: Option<StartedServer>,
}

impl PreparedJob {
    /// True if each run has a repository of its own.
    fn writes(&self) -> bool {
        matches!(self.row.job, Job::Load | Job::Pack | Job::Import)
    }

    /// The directory that a server serves.
    fn root(&self) -> &Path {
        self.repository.parent().unwrap_or(Path::new("/"))
    }

    fn programs<'a>(&self, runner: &'a RowRunner<'_>) -> Programs<'a> {
        Programs {
            sven: runner.sven,
            implementation: self.implementation,
            row: self.row,
            config: &runner.config,
            scratch: runner.servers.join(self.implementation.name()),
        }
    }

    fn run(&mut self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        match self.row.job {
            Job::Dump | Job::Verify => self.read_by_tool(runner),
            Job::Load => self.load(runner),
            Job::Pack => self.pack(runner),
            Job::Import => self.import(runner),
            _ => self.ask(runner),
        }
    }

    fn cool(&self) -> Result<(), String> {
        match self.row.temperature {
            Temperature::Cold => drop_page_cache(),
            Temperature::Hot => Ok(()),
        }
    }

    fn read_by_tool(&self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        let subcommand = if self.row.job == Job::Dump {
            "dump"
        } else {
            "verify"
        };
        self.cool()?;
        let mut command = self.programs(runner).admin(subcommand);
        measure(
            command
                .arg(&self.repository)
                .stdin(Stdio::null())
                .stdout(Stdio::null()),
            None,
        )
    }

    fn load(&self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        let target = runner.fresh_path(&self.row, "load")?;
        repositories::empty(&target, self.row.format, runner.repositories.shard)?;
        let dump = runner.repositories.history.dump(runner.repositories.data)?;
        let input = fs::File::open(&dump).map_err(|e| format!("{}: {e}", dump.display()))?;
        let mut command = self.programs(runner).admin("load");
        let cost = measure(command.arg(&target).stdin(input).stdout(Stdio::null()), None);
        let stored = of_repository(&target);
        clear(&target)?;
        let stored = Some(stored? as f64);
        cost.map(|cost| Cost { stored, ..cost })
    }

    fn pack(&self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        let target = runner.fresh_path(&self.row, "pack")?;
        run(Command::new("cp").arg("-a").arg(&self.repository).arg(&target))?;
        self.cool()?;
        let mut command = self.programs(runner).admin("pack");
        let cost = measure(
            command.arg(&target).stdin(Stdio::null()).stdout(Stdio::null()),
            None,
        );
        let stored = of_repository(&target);
        clear(&target)?;
        let stored = Some(stored? as f64);
        cost.map(|cost| Cost { stored, ..cost })
    }

    /// Imports into an empty repository with a server of its own.
    fn import(&self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        let root = runner.fresh_path(&self.row, "import")?;
        fs::create_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        let repository = root.join("repository");
        repositories::empty(&repository, self.row.format, runner.repositories.shard)?;
        let programs = self.programs(runner);
        let server = programs.server(&root)?;
        let url = self.url(server.as_ref(), &repository);
        let cost = measure(
            &mut programs.client(&url, &root, &runner.tree),
            server.as_ref().map(|running| &running.server),
        );
        drop(server);
        clear(&root)?;
        cost
    }

    /// Runs a client that reads.
    fn ask(&self, runner: &RowRunner<'_>) -> Result<Cost, String> {
        let programs = self.programs(runner);
        self.cool()?;
        let cold = match self.row.temperature {
            Temperature::Cold => programs.server(self.root())?,
            Temperature::Hot => None,
        };
        let server = cold.as_ref().or(self.server.as_ref());
        let output = runner.fresh_path(&self.row, "export")?;
        let mut client = programs.client(&self.url(server, &self.repository), &output, &runner.tree);
        let cost = measure(&mut client, server.map(|running| &running.server));
        clear(&output)?;
        cost
    }

    fn url(&self, server: Option<&StartedServer>, repository: &Path) -> String {
        let name = repository.file_name().unwrap_or_default().to_string_lossy();
        match (self.row.access, server) {
            (Access::File, _) | (_, None) => format!("file://{}", repository.display()),
            (_, Some(running)) => format!("{}/{name}", running.url),
        }
    }
}

/// Makes an empty configuration area for clients, if it is not there, and returns its path.
///
/// # Errors
/// If it cannot be made.
pub fn config_area(scratch: &Path) -> Result<PathBuf, String> {
    let path = scratch.join("config");
    fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// Empties the page cache. Without the right to do that, a cold run has a new server and warm files.
pub fn drop_page_cache() -> Result<(), String> {
    rustix::fs::sync();
    let denied = [
        std::io::ErrorKind::PermissionDenied,
        std::io::ErrorKind::ReadOnlyFilesystem,
    ];
    match fs::write("/proc/sys/vm/drop_caches", "3\n") {
        Err(e) if !denied.contains(&e.kind()) => Err(format!("drop_caches: {e}")),
        _ => Ok(()),
    }
}
