//! Creates a repository: the directories and files around those of the storage engine.
//!
//! `format` is written last. Until then the directory is not a repository, and a failure removes what was created.
//! Access rights are those of the process's umask; only `format` is made read-only, hook samples are executable, and
//! everything below `db` belongs to the directory's group.

mod hooks;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, absolute};
use std::sync::Arc;

use base::{Code, Date, Error, Result, disk_path};
use fsfs::BackEnd;

use crate::repo::Repository;

/// The options of a new repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// The oldest release (its minor number, 1.x) that must be able to use it.
    pub compatible: u32,
    /// The name of the storage engine, `fsfs` or `fsx`; `None` is `fsfs`.
    pub fs_type: Option<String>,
}

impl Default for CreateOptions {
    /// The newest formats.
    fn default() -> Self {
        CreateOptions {
            compatible: 14,
            fs_type: None,
        }
    }
}

/// Creates a repository in `path`, which must not exist or be empty; `now` becomes the date of revision 0.
///
/// # Errors
/// `REPOS_BAD_ARGS` if `path` is a repository or inside of one, `DIR_NOT_EMPTY`, `FS_UNKNOWN_FS_TYPE`; the system's.
pub fn create(path: &Path, options: &CreateOptions, now: Date) -> Result<()> {
    let minor = options.compatible;
    let back_end = match options.fs_type.as_deref() {
        None | Some("fsfs") => BackEnd::Fsfs,
        Some("fsx") => BackEnd::Fsx,
        Some(name) => {
            return Err(Error::new(
                Code::FS_UNKNOWN_FS_TYPE,
                format!("Unknown FS type '{name}'"),
            ));
        }
    };
    // An empty path is the current directory.
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    refuse_nested(path)?;
    let is_ours = make_top(path).map_err(|e| e.context(FAILED))?;
    let made = fill(path, minor).and_then(|()| {
        let db = fsfs::CreateOptions {
            back_end,
            format: fs_format(minor),
            ..Default::default()
        };
        fsfs::create(&path.join("db"), &db, now, Arc::new(fsfs::disk::RealDisk))?;
        write_format(path, if minor < 4 { 3 } else { LAYOUT })
    });
    made.map_err(|e| {
        remove(path, is_ours);
        e.context(FAILED)
    })
}

/// Writes the file that makes a directory a repository, with the version of its layout, and makes it durable.
fn write_format(root: &Path, version: u32) -> Result<()> {
    let path = root.join("format");
    let failed = |e: io::Error| Error::io("Can't write to file", &path, &e);
    let mut temporary = tempfile::Builder::new()
        .prefix("svn-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(root)
        .map_err(failed)?;
    temporary
        .write_all(format!("{version}\n").as_bytes())
        .map_err(failed)?;
    let mode = temporary
        .as_file()
        .metadata()
        .map_err(failed)?
        .permissions()
        .mode()
        & 0o444;
    let read_only = fs::Permissions::from_mode(mode);
    temporary.as_file().set_permissions(read_only).map_err(failed)?;
    temporary.as_file().sync_data().map_err(failed)?;
    temporary.persist(&path).map_err(|e| failed(e.error))?;
    fs::File::open(root)
        .and_then(|dir| dir.sync_all())
        .map_err(|e| Error::io("Can't flush directory", root, &e))
}

/// Creates the directory `locks` with the files that old releases need. Those that are there stay.
pub(crate) fn make_locks(root: &Path) -> Result<()> {
    let folder = root.join("locks");
    if !folder.is_dir() {
        make_dir(&folder)?;
    }
    for name in ["db.lock", "db-logs.lock"] {
        let file = folder.join(name);
        if !file.exists() {
            make_file(&file, LOCK_FILE.as_bytes(), 0o666)?;
        }
    }
    Ok(())
}

/// Refuses a path that is a repository or part of one.
fn refuse_nested(path: &Path) -> Result<()> {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(root) = Repository::find_upward(&path) else {
        return Ok(());
    };
    let message = if root == path {
        format!("'{}' is an existing repository", disk_path::shown(&path))
    } else {
        format!(
            "'{}' is a subdirectory of an existing repository rooted at '{}'",
            disk_path::shown(&path),
            disk_path::shown(&root)
        )
    };
    Err(Error::new(Code::REPOS_BAD_ARGS, message))
}

/// Makes sure that the top directory exists and is empty; true if it was created.
fn make_top(path: &Path) -> Result<bool> {
    let made = match fs::read_dir(path) {
        Ok(mut names) => match names.next() {
            None => Ok(false),
            Some(_) => Err(Error::new(
                Code::DIR_NOT_EMPTY,
                format!("'{}' exists and is non-empty", disk_path::shown(&path)),
            )),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound || !path.exists() => make_dir(path).map(|()| true),
        Err(e) => Err(Error::io("Can't check directory", path, &e)),
    };
    made.map_err(|e| e.context("Could not create top-level directory"))
}

/// Creates everything but `db` and `format`.
fn fill(root: &Path, minor: u32) -> Result<()> {
    if minor < 5 {
        // For Apache, which stored its activities there in the past.
        make_dir(&root.join("dav"))?;
    }
    make_locks(root)?;
    let folder = root.join("hooks");
    make_dir(&folder)?;
    for (name, text) in hooks::samples() {
        make_file(&folder.join(name), text.as_bytes(), 0o777)?;
    }
    let folder = root.join("conf");
    make_dir(&folder)?;
    for (name, text) in CONF {
        make_file(&folder.join(name), text.as_bytes(), 0o666)?;
    }
    make_file(&root.join("README.txt"), README.as_bytes(), 0o666)
}

/// Removes what was created; existing files stay.
fn remove(root: &Path, is_ours: bool) {
    // The first error is being reported; what cannot be removed has no `format`.
    if is_ours {
        _ = fs::remove_dir_all(root);
        return;
    }
    let names = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in names.map(|entry| entry.path()) {
        _ = match entry.is_dir() {
            true => fs::remove_dir_all(&entry),
            false => fs::remove_file(&entry),
        };
    }
}

fn make_dir(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(|e| Error::io("Can't create directory", path, &e))
}

fn make_file(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    options
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|e| Error::io("Can't create file", path, &e))
}

/// Returns the storage format for a release.
pub(crate) fn fs_format(minor: u32) -> u32 {
    match minor {
        0..=3 => 1,
        4 => 2,
        5 => 3,
        6 | 7 => 4,
        8 => 6,
        9 => 7,
        _ => 8,
    }
}

/// The layout version of new repositories.
const LAYOUT: u32 = 5;

const FAILED: &str = "Repository creation failed";

const LOCK_FILE: &str = "\
Nothing of this file's contents is ever read. It is here because releases of
Subversion before 1.3 look for it.
";

const README: &str = include_str!("templates/README.txt");

const CONF: [(&str, &str); 4] = [
    ("svnserve.conf", include_str!("templates/svnserve.conf")),
    ("passwd", include_str!("templates/passwd")),
    ("authz", include_str!("templates/authz")),
    ("hooks-env.tmpl", include_str!("templates/hooks-env.tmpl")),
];
