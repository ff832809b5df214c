//! The workloads: repositories that are made once and kept, named after their parameters.
//!
//! There are generated histories with the proportions of a real project, the histories of git clones, the source
//! releases of a real project with one revision each, and a real source tree. Subversion loads all of them, so that
//! both sides read the same bytes.

pub mod django;
pub mod git;
pub mod history;
pub mod large;
pub mod linux;
pub mod listing;
mod quantiles;
mod stream;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use git::{Extent, GitClone};

/// A repository for measurements.
pub struct Workload {
    /// The name in tables.
    pub name: String,
    /// The repository.
    pub repository: PathBuf,
    /// The path of exports and logs.
    pub trunk: &'static str,
    /// A file with many revisions, for blame.
    pub busy_file: Option<String>,
    /// A directory with many revisions, for logs.
    pub busy_directory: Option<String>,
    /// A tag, for exports.
    pub tag: Option<String>,
}

/// The form of a repository's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RepositoryForm {
    /// A file for each revision.
    Unpacked,
    /// As `svnadmin pack` leaves it.
    Packed,
}

/// A history, generated or of a git clone.
pub enum History {
    /// A generated history.
    Generated {
        /// The number of revisions.
        revisions: u32,
        /// Equal seeds give equal histories.
        seed: u64,
    },
    /// The history of a clone.
    Git {
        /// The clone.
        clone: GitClone,
        /// How much of it.
        extent: Extent,
    },
}

impl History {
    /// Returns the dump stream, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn dump(&self, data: &Path) -> Result<PathBuf, String> {
        match self {
            History::Generated { revisions, seed } => history::dump(data, *revisions, *seed),
            History::Git { clone, extent } => clone.dump(data, *extent),
        }
    }

    /// Returns the loaded repository, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn workload(&self, data: &Path, form: RepositoryForm) -> Result<Workload, String> {
        let mut workload = match self {
            History::Generated { revisions, seed } => history::workload(data, *revisions, *seed)?,
            History::Git { clone, extent } => clone.workload(data, *extent)?,
        };
        if form == RepositoryForm::Packed {
            let name = format!("{}-packed", workload.base_name());
            let unpacked = workload.repository;
            workload.repository = cached(data, &name, |path| {
                run(Command::new("cp").arg("-a").arg(&unpacked).arg(path))?;
                run(Command::new("svnadmin").args(["pack", "-q"]).arg(path)).map(drop)
            })?;
            workload.name.push_str(" packed");
        }
        Ok(workload)
    }

    /// Returns the name in tables.
    pub fn name(&self) -> String {
        match self {
            History::Generated { revisions, .. } => format!("history {revisions}"),
            History::Git { clone, extent } => match extent.revisions {
                Some(revisions) => format!("{} {revisions}", clone.name),
                None => clone.name.clone(),
            },
        }
    }
}

impl Workload {
    /// Returns the directory that a server serves.
    pub fn root(&self) -> &Path {
        self.repository.parent().unwrap_or(Path::new("/"))
    }

    /// Returns the repository's name in that directory.
    pub fn base_name(&self) -> String {
        let name = self.repository.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Returns `folder/name`. If it does not exist, `make` makes it at a temporary path first.
pub fn cached(
    folder: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let target = folder.join(name);
    if target.join("format").exists() {
        return Ok(target);
    }
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let unfinished = folder.join(format!("{name}.unfinished"));
    let _ = fs::remove_dir_all(&unfinished);
    eprintln!("making {name} …");
    make(&unfinished)?;
    fs::rename(&unfinished, &target).map_err(|e| format!("{}: {e}", target.display()))?;
    Ok(target)
}

/// Creates a repository and loads the dump stream that `produce` writes, with Subversion's `svnadmin load`.
fn load(
    repository: &Path,
    produce: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), String> {
    run(Command::new("svnadmin").arg("create").arg(repository))?;
    load_into(repository, produce)
}

/// Loads the dump stream that `produce` writes behind what a repository has, with Subversion's `svnadmin load`.
pub fn load_into(
    repository: &Path,
    produce: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), String> {
    let mut loader = Command::new("svnadmin")
        .args(["load", "-q", "--no-flush-to-disk", "-M", "512"])
        .arg(repository)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|e| format!("svnadmin load: {e}"))?;
    let stdin = loader.stdin.take().ok_or("svnadmin load has no standard input")?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, stdin);
    let produced = produce(&mut out).and_then(|()| std::io::Write::flush(&mut out));
    drop(out);
    let status = loader.wait().map_err(|e| e.to_string())?;
    produced.map_err(|e| format!("writing to svnadmin load: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("svnadmin load: {status}"))
    }
}

/// Loads a dump stream into a repository, with Subversion's `svnadmin load`.
pub fn load_file(repository: &Path, dump: &Path) -> Result<(), String> {
    let input = fs::File::open(dump).map_err(|e| format!("{}: {e}", dump.display()))?;
    let mut loader = Command::new("svnadmin");
    loader
        .args(["load", "-q", "--no-flush-to-disk", "-M", "512"])
        .arg(repository)
        .stdin(input);
    run(&mut loader).map(drop)
}

/// Runs a command until it ends. The error of a failure has its standard error.
pub fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!(
        "{command:?}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// Returns `svn import` of a whole tree, without automatic properties and ignored files.
pub fn import(tree: &Path, url: &str) -> Command {
    let mut client = Command::new("svn");
    let flags = ["-q", "--non-interactive", "--no-auto-props", "--no-ignore"];
    client
        .arg("import")
        .args(flags)
        .args(["-m", "import"])
        .arg(tree)
        .arg(url);
    client
}

/// Returns the tree to import: files of the Linux sources, or with `quick` small generated files.
///
/// # Errors
/// If it cannot be made.
pub fn import_tree(scratch: &Path, data: &Path, files: usize, quick: bool) -> Result<PathBuf, String> {
    if quick {
        large::small_tree(scratch, files)
    } else {
        linux::sources(data, files)
    }
}
