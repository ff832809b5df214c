//! A small repository in one file, for the golden tests.
//!
//! An image is a hash dump ([`base::hashdump`]): keys are paths relative to the repository, values are the contents
//! of files. A key that ends in `/` is an empty directory. Modes and times are not stored. `cargo xtask golden` makes
//! images from repositories of Subversion's `svnadmin`.

use std::fs;
use std::path::Path;

use base::hashdump::{Reader, Terminator};
use base::{Code, Error, RelPath, Result};

/// Writes the image's files below `target`, which is created if it does not exist.
///
/// # Errors
/// `MALFORMED_FILE` for an invalid image, `FS_PATH_SYNTAX` for a path outside of `target`, or an error of the file
/// system.
pub fn write_files(image: &[u8], target: &Path) -> Result<()> {
    let mut reader = Reader::new(image, Terminator::End, false);
    while let Some(entry) = reader.next_entry()? {
        let name = std::str::from_utf8(entry.key).map_err(|_| Error::bare(Code::MALFORMED_FILE))?;
        let is_dir = name.ends_with('/');
        let path = target.join(RelPath::parse(name.trim_end_matches('/'))?.as_str());
        let folder = if is_dir {
            Some(path.as_path())
        } else {
            path.parent()
        };
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(|e| Error::io("Can't create directory", folder, &e))?;
        }
        if !is_dir {
            let bytes = entry.value.unwrap_or_default();
            fs::write(&path, bytes).map_err(|e| Error::io("Can't write file", &path, &e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_empty_directories_appear() {
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        let mut image = Vec::new();
        let entries = [(&b"a/b"[..], &b"text"[..]), (b"empty/", b"")];
        base::hashdump::write(&mut image, entries, Terminator::End);
        write_files(&image, folder.path()).expect("a sound image");
        assert_eq!(fs::read(folder.path().join("a/b")).expect("was written"), b"text");
        assert!(folder.path().join("empty").is_dir());
    }

    #[test]
    fn an_image_cannot_leave_its_target() {
        let mut image = Vec::new();
        base::hashdump::write(&mut image, [(&b"../x"[..], &b""[..])], Terminator::End);
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        assert_eq!(
            write_files(&image, folder.path()).expect_err("leaves").code(),
            Code::FS_PATH_SYNTAX
        );
    }
}
