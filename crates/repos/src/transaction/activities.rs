//! Names that clients choose for transactions.
//!
//! Old clients (HTTPv1) name a transaction before it exists, by a UUID of their own: an activity. The map is a
//! directory with a file for each activity, in the form that the incumbent's server reads and writes. The name of a
//! file is the MD5 of the activity. Where several machines share the repository, the map is in the shared storage.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::checksum::Md5;
use base::{Error, Result};
use fsfs::shared::SharedNodes;

use crate::repo::Repository;

/// A map from activities to names of transactions.
#[derive(Clone)]
pub struct Activities(ActivityMap);

#[derive(Clone)]
enum ActivityMap {
    /// The directory of the files.
    Files(PathBuf),
    /// The storage that several machines share.
    Shared(Arc<dyn SharedNodes>),
}

impl Activities {
    /// Returns the map in `folder`, or by default in the repository itself.
    pub fn of(repo: &Repository, folder: Option<&Path>) -> Activities {
        if let Some(nodes) = repo.fs().shared_nodes() {
            return Activities(ActivityMap::Shared(nodes.clone()));
        }
        Activities(ActivityMap::Files(match folder {
            Some(folder) => folder.to_owned(),
            None => repo.path().join("dav").join("activities.d"),
        }))
    }

    /// Returns the transaction of an activity; empty if it is a revision by now.
    ///
    /// # Errors
    /// The system's.
    pub fn find(&self, id: &str) -> Result<Option<String>> {
        let folder = match &self.0 {
            ActivityMap::Files(folder) => folder,
            ActivityMap::Shared(nodes) => return nodes.find_activity(id),
        };
        let path = file(folder, id);
        match fs::read(&path) {
            Ok(text) => {
                let line = text.split(|b| *b == b'\n').next().unwrap_or_default();
                Ok(Some(String::from_utf8_lossy(line).into_owned()))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("Can't open file", &path, &e)),
        }
    }

    /// Maps an activity to a transaction. After a crash the old mapping holds.
    ///
    /// # Errors
    /// The system's.
    pub fn store(&self, id: &str, txn: &str) -> Result<()> {
        let folder = match &self.0 {
            ActivityMap::Files(folder) => folder,
            ActivityMap::Shared(nodes) => return nodes.store_activity(id, Some(txn)),
        };
        fs::create_dir_all(folder).map_err(|e| Error::io("Can't create directory", folder, &e))?;
        let path = file(folder, id);
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(format!("{txn}\n{id}\n").as_bytes())?;
            share(&file)?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|e| Error::io("Can't write file", &path, &e))
    }

    /// Removes an activity.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, id: &str) -> Result<()> {
        let folder = match &self.0 {
            ActivityMap::Files(folder) => folder,
            ActivityMap::Shared(nodes) => return nodes.store_activity(id, None),
        };
        let path = file(folder, id);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("Can't remove file", &path, &e)),
            _ => Ok(()),
        }
    }
}

/// The file of an activity.
fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(Md5::of(id.as_bytes()).to_string())
}

/// Temporary files are private; another server may run as another user of the group.
fn share(file: &tempfile::NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o664))
}
