//! The files of a node's directory: the epoch of its server, and the open transactions of its repositories.
//!
//! | below the node's directory | content |
//! |---|---|
//! | `epoch` | the epoch under which the server of the directory is registered |
//! | `serving` | locked by the server of the directory |
//! | `repositories/NAME/` | see `directories` |
//!
//! What is absent: the database and the objects.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base::number::push_base36;
use base::{Code, Error, Result};
use fsfs::shared::SHARED_FS_TYPE;
use parking_lot::Mutex;
use uuid::Uuid;

use crate::settings::ClusterSettings;

/// True if `db` belongs to a directory of a node.
pub fn is_node_dir(db: &Path) -> bool {
    fs::read(db.join("fs-type")).is_ok_and(|text| text.trim_ascii_end() == SHARED_FS_TYPE.as_bytes())
}

/// Makes a node's directory that of this process, until it ends. Another process that served from it would take its transactions away.
///
/// # Errors
/// `FS_GENERAL` if another process serves from it; the system's.
pub(crate) fn own_directory(directory: &Path) -> Result<()> {
    static OWNED: LazyLock<Mutex<HashMap<PathBuf, File>>> = LazyLock::new(Mutex::default);
    make_dirs(directory)?;
    let directory =
        fs::canonicalize(directory).map_err(|e| Error::io("Can't open directory", directory, &e))?;
    let mut owned = OWNED.lock();
    if owned.contains_key(&directory) {
        return Ok(());
    }
    let path = directory.join(SERVING);
    let failed = |e: io::Error| Error::io("Can't lock", &path, &e);
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            owned.insert(directory, file);
            Ok(())
        }
        Err(TryLockError::WouldBlock) => {
            let text = format!(
                "Another process serves from the directory '{}'",
                directory.display()
            );
            Err(Error::new(Code::FS_GENERAL, text))
        }
        Err(TryLockError::Error(e)) => Err(failed(e)),
    }
}

/// The epoch of the server of a node's directory; `None` if there was none yet.
pub(crate) fn read_epoch(directory: &Path) -> Option<i64> {
    let text = fs::read_to_string(directory.join(EPOCH)).ok()?;
    text.trim().parse().ok()
}

/// Stores the epoch of the server of a node's directory.
pub(crate) fn write_epoch(directory: &Path, epoch: i64) -> Result<()> {
    make_dirs(directory)?;
    replace(&directory.join(EPOCH), format!("{epoch}\n").as_bytes(), 0o666)
}

/// Gives the directories of the node to a new epoch: their transactions belong to an epoch that has ended, and are removed.
pub(crate) fn take_over(settings: &ClusterSettings, epoch: i64) -> Result<()> {
    for dir in node_dirs(&settings.repositories())? {
        let db = dir.join("db");
        if !is_node_dir(&db) {
            continue;
        }
        replace(&db.join("txn-current"), first_number(epoch).as_bytes(), 0o666)?;
        for kind in ["transactions", "txn-protorevs"] {
            empty_dir(&db.join(kind))?;
        }
    }
    Ok(())
}

/// What the directories of a node were made from. A directory that is there and whose repository has not changed is not looked at again.
#[derive(Default)]
pub(crate) struct PreparedDirectories(pub(crate) HashMap<PathBuf, ListedRepository>);

/// A repository, as far as its directory depends on it.
#[derive(PartialEq, Eq)]
pub(crate) struct ListedRepository {
    /// `sven_repository.id`.
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) instance: Uuid,
    pub(crate) files_version: u64,
    /// The content of `db/uuid`, if it was changed since the repository was made.
    pub(crate) changed_uuid: Option<String>,
}

/// Lists the directories of repositories.
pub(crate) fn node_dirs(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries,
    };
    let failed = |e: io::Error| Error::io("Can't read directory", root, &e);
    let paths: io::Result<Vec<PathBuf>> = entries.map_err(failed)?.map(|entry| Ok(entry?.path())).collect();
    paths.map_err(failed)
}

/// Removes what is in a directory.
fn empty_dir(dir: &Path) -> Result<()> {
    node_dirs(dir)?.iter().try_for_each(|path| remove(path))
}

/// Removes a file, or a directory with what is in it. One that is not there is no error.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("Can't remove", path, &e)),
        _ => Ok(()),
    }
}

pub(crate) fn make_dirs(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io("Can't create directory", path, &e))
}

pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|e| Error::io("Can't write to file", path, &e))
}

/// Writes a file under another name and renames it.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    write(&new, bytes, mode)?;
    fs::rename(&new, path).map_err(|e| Error::io("Can't move", &new, &e))
}

/// The text of `txn-current` at the beginning of an epoch.
pub(crate) fn first_number(epoch: i64) -> String {
    let mut text = String::new();
    push_base36(&mut text, epoch.cast_unsigned() << EPOCH_SHIFT);
    text.push('\n');
    text
}

/// The bits of a transaction's number below the epoch.
pub(crate) const EPOCH_SHIFT: u32 = 32;

const EPOCH: &str = "epoch";
const SERVING: &str = "serving";
