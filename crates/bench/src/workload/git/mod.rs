//! Histories of real projects: the first-parent history of any git clone.
//!
//! The dump stream and the loaded repositories are stored under a name that has the clone's name, its head commit, the
//! options, and the version of this converter. Equal clones and options give equal streams.

mod blobs;
mod convert;
mod directories;
mod log;
mod moves;
mod names;
mod summary;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Workload, cached, load_file, run};
use blobs::BlobReader;
pub use convert::Extent;
use log::CommitLog;
use summary::Summary;

/// The version of the converter: it changes with the stream that a history becomes.
const CONVERTER: u32 = 1;

/// The shard size of new repositories, in revisions.
const DEFAULT_SHARD: u32 = 1000;

/// A clone whose history is measured.
#[derive(Clone, Debug)]
pub struct GitClone {
    /// The name in tables and file names.
    pub name: String,
    path: PathBuf,
    head: String,
}

impl GitClone {
    /// Opens a clone, bare or not: `PATH` or `NAME=PATH`.
    ///
    /// # Errors
    /// If there is no clone, or one without the whole history.
    pub fn open(given: &str) -> Result<GitClone, String> {
        let (name, path) = match given.split_once('=') {
            Some((name, path)) if !name.contains('/') => (Some(name.to_owned()), path),
            _ => (None, given),
        };
        let path = fs::canonicalize(path).map_err(|e| format!("{path}: {e}"))?;
        let ask = |words: &[&str]| {
            let output = run(git(&path).args(words)).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok::<String, String>(String::from_utf8_lossy(&output).trim().to_owned())
        };
        if ask(&["rev-parse", "--is-shallow-repository"])? == "true" {
            return Err(format!(
                "{}: a shallow clone, whose history is not complete (git fetch --unshallow)",
                path.display()
            ));
        }
        Ok(GitClone {
            name: name.unwrap_or_else(|| default_name(&path)),
            head: ask(&["rev-parse", "--verify", "HEAD^{commit}"])?,
            path,
        })
    }

    /// Writes the dump stream of the history.
    ///
    /// # Errors
    /// If Git fails or the stream can't be written.
    pub fn convert(&self, out: &mut dyn Write, extent: Extent) -> Result<Summary, String> {
        let write = || {
            let log = CommitLog::start(git(&self.path), &self.head)?;
            let blobs = BlobReader::start(git(&self.path))?;
            convert::convert(out, log, blobs, extent)
        };
        let mut write = write;
        write().map_err(|e| format!("{}: {e}", self.path.display()))
    }

    /// Returns the dump stream of the history, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn dump(&self, data: &Path, extent: Extent) -> Result<PathBuf, String> {
        self.prepared(data, extent).map(|(dump, _)| dump)
    }

    /// Returns the loaded repository, made if needed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn workload(&self, data: &Path, extent: Extent) -> Result<Workload, String> {
        let (dump, summary) = self.prepared(data, extent)?;
        let shard = shard_size(summary.revisions);
        let name = match shard {
            DEFAULT_SHARD => self.file_name(extent),
            _ => format!("{}-s{shard}", self.file_name(extent)),
        };
        let repository = cached(data, &name, |path| {
            create(path, shard)?;
            load_file(path, &dump)
        })?;
        Ok(Workload {
            name: format!("{} {}", self.name, summary.revisions),
            repository,
            trunk: "trunk",
            busy_file: summary.busy_file,
            busy_directory: summary.busy_directory,
            tag: summary.tag,
        })
    }

    /// Returns the dump and its summary, made if needed.
    fn prepared(&self, data: &Path, extent: Extent) -> Result<(PathBuf, Summary), String> {
        let name = self.file_name(extent);
        let dump = data.join(format!("{name}.dump"));
        let facts = data.join(format!("{name}.json"));
        let stored = fs::read(&facts).ok().and_then(|text| Summary::from_json(&text));
        if let Some(summary) = stored.filter(|_| dump.exists()) {
            return Ok((dump, summary));
        }
        eprintln!("converting {name} …");
        let named = |e: std::io::Error| format!("{}: {e}", dump.display());
        let unfinished = dump.with_extension("unfinished");
        let mut out = BufWriter::with_capacity(1 << 20, fs::File::create(&unfinished).map_err(named)?);
        let summary = self.convert(&mut out, extent)?;
        out.flush().map_err(named)?;
        fs::rename(&unfinished, &dump).map_err(named)?;
        // The summary comes last: without it the dump is made once more.
        fs::write(&facts, summary.to_json()).map_err(|e| format!("{}: {e}", facts.display()))?;
        Ok((dump, summary))
    }

    fn file_name(&self, extent: Extent) -> String {
        let revisions = extent
            .revisions
            .map_or_else(|| "all".to_owned(), |most| most.to_string());
        format!(
            "git-{}-{}-{revisions}-t{}-v{CONVERTER}",
            self.name,
            &self.head[..12],
            extent.tag_every
        )
    }
}

/// Returns the shard size of a repository, so that a short history has full shards too, which can be packed.
fn shard_size(revisions: u32) -> u32 {
    if revisions < DEFAULT_SHARD {
        100
    } else {
        DEFAULT_SHARD
    }
}

/// Creates an empty repository with a shard size.
fn create(repository: &Path, shard: u32) -> Result<(), String> {
    run(Command::new("svnadmin").arg("create").arg(repository))?;
    let path = repository.join("db/format");
    let named = |e: std::io::Error| format!("{}: {e}", path.display());
    let format = fs::read_to_string(&path).map_err(named)?;
    let layout = |size| format!("layout sharded {size}\n");
    fs::write(&path, format.replace(&layout(DEFAULT_SHARD), &layout(shard))).map_err(named)
}

/// Returns the path of the clone that the current directory is in.
///
/// # Errors
/// If it is in none.
pub fn enclosing_clone() -> Result<String, String> {
    let top = run(git(Path::new(".")).args(["rev-parse", "--show-toplevel"]))?;
    Ok(String::from_utf8_lossy(&top).trim_end_matches('\n').to_owned())
}

/// Returns `git` in a clone, independent of the environment of a running git command.
fn git(clone: &Path) -> Command {
    let mut git = Command::new("git");
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    ] {
        git.env_remove(name);
    }
    git.arg("--no-replace-objects").arg("-C").arg(clone);
    git
}

/// Returns the name of a clone at `NAME`, `NAME.git` or `NAME/.git`.
fn default_name(path: &Path) -> String {
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let name = match last.as_ref() {
        ".git" => path
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy(),
        _ => last,
    };
    let name = name.strip_suffix(".git").unwrap_or(&name);
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.+".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}
