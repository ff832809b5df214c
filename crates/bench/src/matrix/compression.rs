//! What LZ4 and zlib cost and save: imports and exports of the same content, stored with each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::MatrixOptions;
use super::cell::{Format, Implementation};
use super::measure::{Cost, measure};
use super::repositories;
use super::row::config_area;
use super::store::{Runs, Store};
use crate::jobs::clear;
use crate::rivals::SvenBinary;
use crate::sizes::of_repository;
use crate::workload::{self, large, run};

/// The values of the option `compression` in `fsfs.conf`.
pub const METHODS: [&str; 5] = ["none", "lz4", "zlib-1", "zlib-5", "zlib-9"];

/// The contents: their names in rows, and in tables.
pub const CONTENTS: [(&str, &str); 4] = [
    ("compressible", "one compressible file"),
    ("incompressible", "one incompressible file"),
    ("sources", "a source tree"),
    ("binaries", "programs and libraries"),
];

/// The implementations of these tables.
pub const SIDES: [Implementation; 2] = [Implementation::Sven, Implementation::Subversion];

/// The name of a row.
pub fn row(content: &str, method: &str, job: &str) -> String {
    format!("compression/{content}/{method}/{job}")
}

/// Measures what the results do not have.
///
/// # Errors
/// If a content cannot be made, or a program fails.
pub fn measure_all(
    options: &MatrixOptions,
    sven: &SvenBinary,
    scratch: &Path,
    store: &mut Store,
) -> Result<(), String> {
    let bench = CompressionBench {
        options,
        sven,
        scratch,
        config: config_area(scratch)?,
    };
    for (content, _) in CONTENTS {
        let rows = METHODS
            .iter()
            .flat_map(|method| ["import", "export"].map(|job| row(content, method, job)));
        if rows
            .into_iter()
            .all(|row| SIDES.iter().all(|side| store.has(&row, *side)))
        {
            continue;
        }
        let tree = bench.content(content)?;
        for method in METHODS {
            eprintln!("compression: {content} {method}");
            bench.method(content, method, &tree, store)?;
        }
        clear(&tree)?;
    }
    Ok(())
}

struct CompressionBench<'a> {
    options: &'a MatrixOptions,
    sven: &'a SvenBinary,
    scratch: &'a Path,
    config: PathBuf,
}

impl CompressionBench<'_> {
    fn method(&self, content: &str, method: &str, tree: &Path, store: &mut Store) -> Result<(), String> {
        let (import, export) = (row(content, method, "import"), row(content, method, "export"));
        let mut runs = [(); 2].map(|()| (Runs::default(), Runs::default()));
        for _ in 0..self.options.runs.max(1) {
            for (side, (imports, exports)) in SIDES.into_iter().zip(&mut runs) {
                let (import, export) = self.round_trip(side, method, tree)?;
                imports.costs.push(import);
                exports.costs.push(export);
            }
        }
        for (side, (imports, exports)) in SIDES.into_iter().zip(runs) {
            store.add(&import, side, imports)?;
            store.add(&export, side, exports)?;
        }
        Ok(())
    }

    /// Imports a tree into an empty repository and exports it, over `file://`.
    fn round_trip(&self, side: Implementation, method: &str, tree: &Path) -> Result<(Cost, Cost), String> {
        let repository = self.scratch.join("compressed");
        clear(&repository)?;
        repositories::empty(&repository, Format::Fsfs8, 1000)?;
        set_compression(&repository, method)?;
        let url = format!("file://{}", repository.display());
        let mut command = self.svn(side);
        command.args(["import", "-q", "--no-auto-props", "--no-ignore", "-m", "import"]);
        let mut import = measure(command.arg(tree).arg(&url), None)?;
        import.stored = Some(of_repository(&repository)? as f64);
        let output = self.scratch.join("exported");
        clear(&output)?;
        let export = measure(self.svn(side).args(["export", "-q", &url]).arg(&output), None)?;
        clear(&output)?;
        clear(&repository)?;
        Ok((import, export))
    }

    fn svn(&self, side: Implementation) -> Command {
        let mut command = match side {
            Implementation::Sven => self.sven.command("svn"),
            _ => Command::new("svn"),
        };
        command
            .arg("--non-interactive")
            .arg("--config-dir")
            .arg(&self.config);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Makes the directory with a content.
    fn content(&self, content: &str) -> Result<PathBuf, String> {
        let tree = self.scratch.join("content");
        clear(&tree)?;
        let options = self.options;
        if content == "sources" {
            let sources = source_tree(options, self.scratch)?;
            return run(Command::new("cp").arg("-a").arg(sources).arg(&tree)).map(|_| tree);
        }
        fs::create_dir(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
        match content {
            "binaries" => copy_programs(&tree, options.megabytes.min(256) << 20)?,
            _ => large::file(
                &tree.join("file"),
                options.megabytes,
                content == "compressible",
                options.seed,
            )?,
        }
        Ok(tree)
    }
}

/// Sets the compression of new representations.
///
/// # Errors
/// If the file cannot be written.
pub fn set_compression(repository: &Path, method: &str) -> Result<(), String> {
    let path = repository.join("db/fsfs.conf");
    let text = format!("[deltification]\ncompression = {method}\n");
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns a directory with sources: of Linux where Debian's package is installed, else generated ones.
///
/// # Errors
/// If it cannot be made.
pub fn source_tree(options: &MatrixOptions, scratch: &Path) -> Result<PathBuf, String> {
    let is_installed = Path::new("/usr/src/linux-source-6.1.tar.xz").exists();
    let (files, is_small) = if options.quick {
        (300, true)
    } else {
        (20_000, !is_installed)
    };
    let parent = scratch.join("sources");
    fs::create_dir_all(&parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    workload::import_tree(&parent, &options.directories.data, files, is_small)
}

/// Copies programs and libraries of this machine, in the order of their names, until there are `limit` bytes.
fn copy_programs(tree: &Path, limit: u64) -> Result<(), String> {
    let mut files = Vec::new();
    for folder in [
        "/usr/bin",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
    ] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path()));
    }
    files.sort();
    let mut total = 0;
    for file in files {
        let is_plain = fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file());
        let (Some(name), true) = (file.file_name(), is_plain) else {
            continue;
        };
        total += fs::copy(&file, tree.join(name)).map_err(|e| format!("{}: {e}", file.display()))?;
        if total >= limit {
            break;
        }
    }
    Ok(())
}
