//! A real source tree: Debian's linux-source-6.1, in one revision. Also converts directories to dump records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::stream::DumpWriter;
use super::{Workload, cached, load, run};

/// Returns the repository with the tree, made if needed.
///
/// # Errors
/// If the package is not installed.
pub fn workload(data: &Path) -> Result<Workload, String> {
    let repository = cached(data, "linux-6.1", |path| {
        let archive = Path::new("/usr/src/linux-source-6.1.tar.xz");
        if !archive.exists() {
            return Err("linux-source-6.1 is not installed (apt-get install linux-source-6.1)".to_owned());
        }
        let folder = tempfile::tempdir_in(data).map_err(|e| e.to_string())?;
        run(Command::new("tar")
            .arg("-xf")
            .arg(archive)
            .args(["--strip-components=1", "-C"])
            .arg(folder.path()))?;
        let tree = SourceTree::read(folder.path())?;
        load(path, |out| {
            let mut stream = DumpWriter::begin(out)?;
            let date = "2022-12-11T00:00:00.000000Z";
            stream.revision(
                1,
                &[("svn:author", "linus"), ("svn:date", date), ("svn:log", "6.1")],
            )?;
            tree.write_difference(&SourceTree::default(), &mut stream, true)
        })
    })?;
    let busy_file = None;
    Ok(Workload {
        name: "linux 6.1".to_owned(),
        repository,
        trunk: "trunk",
        busy_file,
        busy_directory: None,
        tag: None,
    })
}

/// Returns a directory with the first `files` files of the sources, for imports.
///
/// # Errors
/// If the package is not installed.
pub fn sources(data: &Path, files: usize) -> Result<PathBuf, String> {
    let folder = data.join(format!("linux-6.1-files-{files}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    let unfinished = data.join("linux-6.1-files.unfinished");
    _ = fs::remove_dir_all(&unfinished);
    let repository = workload(data)?.repository;
    // Exported from the repository, which has only regular files with UTF-8 names.
    let export = unfinished.join("all");
    fs::create_dir_all(&unfinished).map_err(|e| e.to_string())?;
    let url = format!("file://{}/trunk", repository.display());
    run(Command::new("svn").args(["export", "-q", &url]).arg(&export))?;
    let tree = SourceTree::read(&export)?;
    for path in tree.files.keys().skip(files) {
        fs::remove_file(export.join(path)).map_err(|e| format!("{path}: {e}"))?;
    }
    fs::rename(&export, &folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    _ = fs::remove_dir_all(&unfinished);
    Ok(folder)
}

/// The regular files of a directory in memory: relative path and text.
#[derive(Default)]
pub struct SourceTree {
    files: BTreeMap<String, Vec<u8>>,
}

impl SourceTree {
    /// Reads a directory. Links and names that are not UTF-8 are skipped.
    pub fn read(root: &Path) -> Result<SourceTree, String> {
        let mut tree = SourceTree::default();
        tree.read_below(root, "")?;
        Ok(tree)
    }

    fn read_below(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let entry = entry.map_err(|e| e.to_string())?;
            let kind = entry.file_type().map_err(|e| e.to_string())?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            if kind.is_dir() {
                self.read_below(&entry.path(), &path)?;
            } else if kind.is_file() {
                self.files
                    .insert(path, fs::read(entry.path()).map_err(|e| e.to_string())?);
            }
        }
        Ok(())
    }

    fn dirs(&self) -> BTreeSet<&str> {
        let mut dirs = BTreeSet::new();
        for path in self.files.keys() {
            let mut rest = path.as_str();
            while let Some(at) = rest.rfind('/') {
                rest = &rest[..at];
                dirs.insert(rest);
            }
        }
        dirs
    }

    /// Writes the changes from `previous` to this tree, below `trunk`.
    pub fn write_difference(
        &self,
        previous: &SourceTree,
        stream: &mut DumpWriter<'_>,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            stream.add_dir("trunk")?;
        }
        let (old, new) = (previous.dirs(), self.dirs());
        for path in previous.files.keys().filter(|p| !self.files.contains_key(*p)) {
            // The deletion of a directory deletes its files.
            if path.rfind('/').is_none_or(|at| new.contains(&path[..at])) {
                stream.delete(&format!("trunk/{path}"))?;
            }
        }
        for dir in old
            .difference(&new)
            .filter(|d| d.rfind('/').is_none_or(|at| new.contains(&d[..at])))
        {
            stream.delete(&format!("trunk/{dir}"))?;
        }
        for dir in new.difference(&old) {
            stream.add_dir(&format!("trunk/{dir}"))?;
        }
        for (path, text) in &self.files {
            match previous.files.get(path) {
                Some(before) if before == text => {}
                Some(_) => stream.change_text(&format!("trunk/{path}"), text)?,
                None => stream.add_file(&format!("trunk/{path}"), &[], text)?,
            }
        }
        Ok(())
    }
}
