//! A history of real texts: the source releases of Django, one revision each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::stream::DumpWriter;
use super::{Workload, cached, load, run};

/// Returns the repository of the first `count` source releases, oldest first, made if needed.
///
/// # Errors
/// pip's output if it cannot fetch them.
pub fn workload(data: &Path, count: usize) -> Result<Workload, String> {
    let repository = cached(data, &format!("django-{count}"), |path| {
        let archives = fetch(&data.join("django-archives"), count)?;
        load(path, |out| write(out, &archives).map_err(std::io::Error::other))
    })?;
    let busy_file = Some("trunk/django/db/models/query.py".to_owned());
    Ok(Workload {
        name: format!("django {count}"),
        repository,
        trunk: "trunk",
        busy_file,
        busy_directory: None,
        tag: None,
    })
}

/// Fetches source archives, oldest first, until there are `count`. Releases whose metadata this machine's Python
/// cannot read are skipped.
fn fetch(folder: &Path, count: usize) -> Result<Vec<PathBuf>, String> {
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let pip = pip(folder)?;
    let listing = run(Command::new(&pip).args(["index", "versions", "Django"]))?;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let line = listing
        .lines()
        .find_map(|l| l.strip_prefix("Available versions: "));
    let mut versions: Vec<&str> = line
        .ok_or("pip lists no versions of Django")?
        .split(", ")
        .collect();
    versions.reverse();
    let mut archives = Vec::new();
    for version in versions {
        if archives.len() == count {
            break;
        }
        let target = folder.join(version);
        if !target.is_dir() {
            let wanted = format!("Django=={version}");
            let options = [
                "download",
                "-q",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--no-build-isolation",
            ];
            let fetched = run(Command::new(&pip)
                .args(options)
                .arg(&wanted)
                .arg("-d")
                .arg(&target));
            if fetched.is_err() {
                let _ = fs::remove_dir(&target);
                continue;
            }
        }
        let file = fs::read_dir(&target)
            .ok()
            .and_then(|mut d| d.next())
            .and_then(Result::ok);
        archives.extend(file.map(|f| f.path()));
    }
    if archives.is_empty() {
        Err("no release of Django could be fetched".to_owned())
    } else {
        Ok(archives)
    }
}

/// Returns a pip in an environment with the packages that make the metadata of old releases.
fn pip(folder: &Path) -> Result<PathBuf, String> {
    let venv = folder.with_file_name("django-venv");
    let pip = venv.join("bin/pip");
    if !pip.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(&pip).args(["install", "-q", "setuptools<80", "wheel"]))?;
    }
    Ok(pip)
}

fn write(out: &mut dyn std::io::Write, archives: &[PathBuf]) -> Result<(), String> {
    let mut stream = DumpWriter::begin(out).map_err(|e| e.to_string())?;
    let mut previous = super::linux::SourceTree::default();
    for (at, archive) in archives.iter().enumerate() {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        run(Command::new("tar")
            .args(["-xf"])
            .arg(archive)
            .args(["--strip-components=1", "-C"])
            .arg(folder.path()))?;
        let tree = super::linux::SourceTree::read(folder.path())?;
        let number = at as u32 + 1;
        let name = archive
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let date = format!("2010-01-{:02}T00:00:00.000000Z", 1 + at % 28);
        stream
            .revision(
                number,
                &[("svn:author", "django"), ("svn:date", &date), ("svn:log", &name)],
            )
            .and_then(|()| tree.write_difference(&previous, &mut stream, at == 0))
            .map_err(|e| e.to_string())?;
        previous = tree;
    }
    Ok(())
}
