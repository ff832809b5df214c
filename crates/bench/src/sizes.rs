//! How large repositories are: ours and theirs of the same content, with the same settings.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Ours may be this much larger.
const BAR: f64 = 1.02;

/// Two repositories of the same content, in bytes.
pub struct Size {
    what: String,
    ours: u64,
    theirs: u64,
}

impl Size {
    /// Takes both.
    pub fn new(what: String, ours: u64, theirs: u64) -> Self {
        Size { what, ours, theirs }
    }

    fn ratio(&self) -> f64 {
        self.ours as f64 / self.theirs.max(1) as f64
    }
}

/// Bytes in the files below `db/revs` and `db/revprops` and in the rep-cache: what revisions take.
///
/// # Errors
/// If a folder can't be read.
pub fn of_repository(repository: &Path) -> Result<u64, String> {
    let db = repository.join("db");
    let cache = fs::metadata(db.join("rep-cache.db")).map_or(0, |meta| meta.len());
    Ok(cache + below(&db.join("revs"))? + below(&db.join("revprops"))?)
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

/// The table as Markdown; here the ratio is ours divided by theirs.
pub fn markdown(sizes: &[Size]) -> String {
    let mut out = String::from(
        "| repository (revisions, their properties, rep-cache) | ours MiB | theirs MiB | ours / theirs | bar |\n|---|---:|---:|---:|---|\n",
    );
    for size in sizes {
        let verdict = if size.ratio() <= BAR { "met" } else { "**missed**" };
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        // Writing to a string cannot fail.
        _ = writeln!(
            out,
            "| {} | {:.2} | {:.2} | {:.3} | ≤ {BAR} {verdict} |",
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
            Size::new("a".to_owned(), 101, 100),
            Size::new("b".to_owned(), 103, 100),
        ]);
        assert!(
            text.contains("| a | 0.00 | 0.00 | 1.010 | ≤ 1.02 met |"),
            "{text}"
        );
        assert!(text.contains("1.030 | ≤ 1.02 **missed**"), "{text}");
    }
}
