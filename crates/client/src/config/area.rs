//! The directory of the user's configuration: made on first use, with files that have every option as a comment.
//!
//! A directory that cannot be made is no error: commands then work without one. Existing files are never touched.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::credential_cache::CredentialKind;
use super::texts;

/// Makes the parts of the area that are missing. Missing parents of the directory are not made. Parts that cannot be made are left out.
pub fn create(dir: &Path) {
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    match fs::create_dir(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(_) => return,
    }
    let auth = dir.join("auth");
    // It exists, or it cannot be made; then nor can its subdirectories.
    _ = DirBuilder::new().mode(0o700).create(&auth);
    for kind in CredentialKind::ALL.into_iter().filter(|kind| kind.is_made()) {
        _ = fs::create_dir(auth.join(kind.name()));
    }
    for (name, text) in [
        ("README.txt", texts::README),
        ("servers", texts::SERVERS),
        ("config", texts::CONFIG),
    ] {
        _ = create_file(&dir.join(name), text);
    }
}

fn create_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        // The disk is full. The next command makes the file again.
        _ = fs::remove_file(path);
    }
    written
}
