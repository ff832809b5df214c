//! Sizes of repositories with the same content and settings, made by Sven and by Subversion.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The goal: the largest ratio of Sven's size to Subversion's.
const MAX_RATIO: f64 = 1.02;

/// The sizes of two repositories with the same content, in bytes.
pub struct RepositorySizes {
    what: String,
    ours: u64,
    theirs: u64,
}

impl RepositorySizes {
    /// Returns the sizes of a pair.
    pub fn new(what: String, ours: u64, theirs: u64) -> Self {
        RepositorySizes { what, ours, theirs }
    }

    fn ratio(&self) -> f64 {
        self.ours as f64 / self.theirs.max(1) as f64
    }
}

/// Returns the bytes in the files below `db/revs` and `db/revprops` and in the rep-cache. FSX has revision properties in `db/revs`.
///
/// # Errors
/// If a directory cannot be read.
pub fn of_repository(repository: &Path) -> Result<u64, String> {
    let db = repository.join("db");
    let cache = fs::metadata(db.join("rep-cache.db")).map_or(0, |meta| meta.len());
    let revprops = db.join("revprops");
    let revprops = if revprops.exists() { below(&revprops)? } else { 0 };
    Ok(cache + below(&db.join("revs"))? + revprops)
}

fn below(folder: &Path) -> Result<u64, String> {
    let mut total = 0;
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        let meta = entry.metadata().map_err(|e| e.to_string())?;
        total += if meta.is_dir() {
            below(&entry.path())?
        } else {
            meta.len()
        };
    }
    Ok(total)
}

/// Returns the table as Markdown. Here the ratio is Sven's size divided by Subversion's.
pub fn markdown(sizes: &[RepositorySizes]) -> String {
    let mut out = String::from(
        "| repository (revisions, their properties, rep-cache) | Sven MiB | Subversion MiB | ratio | goal |\n|---|---:|---:|---:|---|\n",
    );
    for size in sizes {
        let verdict = if size.ratio() <= MAX_RATIO {
            "met"
        } else {
            "**missed**"
        };
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        // Writing to a string cannot fail.
        _ = writeln!(
            out,
            "| {} | {:.2} | {:.2} | {:.3} | ≤ {MAX_RATIO} {verdict} |",
            size.what,
            mib(size.ours),
            mib(size.theirs),
            size.ratio()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_larger_is_met_and_more_is_missed() {
        let text = markdown(&[
            RepositorySizes::new("a".to_owned(), 101, 100),
            RepositorySizes::new("b".to_owned(), 103, 100),
        ]);
        assert!(
            text.contains("| a | 0.00 | 0.00 | 1.010 | ≤ 1.02 met |"),
            "{text}"
        );
        assert!(text.contains("1.030 | ≤ 1.02 **missed**"), "{text}");
    }
}
