//! The directory for temporary files: the first one that can be written.
//!
//! As in the incumbent, TMPDIR, TMP and TEMP are tried, then the usual directories and the current one. A full disk is no directory for files.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Chooses the directory. Without any of the variables nothing is tried: files are made in `/tmp`.
pub fn choose() {
    let named: Vec<PathBuf> = ["TMPDIR", "TMP", "TEMP"]
        .iter()
        .filter_map(env::var_os)
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .collect();
    if named.is_empty() {
        return;
    }
    let usual = ["/tmp", "/usr/tmp", "/var/tmp", "."].map(PathBuf::from);
    if let Some(directory) = named
        .into_iter()
        .chain(usual)
        .find(|directory| can_be_written(directory).is_ok())
    {
        // It is set once, before any file is made.
        _ = tempfile::env::override_temp_dir(&directory);
    }
}

/// Makes a file with one byte, and removes it.
fn can_be_written(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!("sven-{}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file.write_all(b"!");
    fs::remove_file(&path)?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_can_be_written() {
        let directory = tempfile::tempdir().expect("because /tmp is there");
        assert!(can_be_written(directory.path()).is_ok());
        assert!(can_be_written(&directory.path().join("none")).is_err());
        assert!(can_be_written(Path::new("/proc")).is_err());
        assert_eq!(
            fs::read_dir(directory.path())
                .expect("because it is there")
                .count(),
            0
        );
    }
}
