//! The directories of a node: for each repository of the cluster one that every program of Sven opens as a repository.
//!
//! A directory has what belongs to the node alone: open transactions, locks between its processes, and copies of the
//! configuration and the hooks, which the cluster keeps. Nothing in it is needed after the node has ended.
//!
//! | below the node's directory | content |
//! |---|---|
//! | `cluster.toml` | the settings, for processes that open a repository by its path, such as a hook's `svnlook`; only the owner may read it |
//! | `repositories/NAME/` | `format`, `conf/`, `hooks/` and `locks/`, as in each repository |
//! | `repositories/NAME/db/` | `format`, `uuid`, `fsfs.conf`, `transactions/` and lock files, as FSFS has them |
//! | `repositories/NAME/db/fs-type` | [`SHARED_FS_TYPE`], so that no other program takes it for FSFS |
//! | `repositories/NAME/db/sven-cluster.conf` | where `cluster.toml` is, and the instance of the repository |
//! | `repositories/NAME/db/sven-files` | the version of `conf/` and `hooks/`, see [`files`](crate::files) |
//! | `repositories/NAME/db/txn-current` | the next number of a transaction; it begins at the node's epoch times 2^32 |
//! | `not-of-cluster/` | what was below `repositories/`, was not made by the cluster, and had the name of a repository of the cluster |
//! | `new/` | directories that are being made or removed |
//!
//! A directory is made under another name and renamed, so it is complete or not there.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use base::{Code, Error, Result};
use fsfs::shared::{SHARED_FS_TYPE, SharedFs};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cluster::{Cluster, RepositoryInfo};
use crate::database::sql_error;
use crate::files::{RepositoryFiles, deliver, version_in};
use crate::node_dir::{
    ListedRepository, first_number, is_node_dir, make_dirs, node_dirs, read_epoch, replace, write,
};
use crate::settings::ClusterSettings;
use crate::uuids::write_uuid;

/// The file that says what a directory belongs to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NodeDirConf {
    /// The file with the settings.
    settings: PathBuf,
    /// The instance of the repository, a UUID.
    instance: String,
}

/// Opens the storage of the repository whose directory at this node has this `db`.
///
/// # Errors
/// As [`find`].
pub fn open(db: &Path) -> Result<SharedFs> {
    let (cluster, repository) = find(db)?;
    if let Some(dir) = db.parent() {
        // Where no server renews a lease, the file may be older than the last change. Who may not write it reads what is there.
        _ = write_uuid(dir, &repository.uuid);
    }
    Ok(cluster.shared_fs(&repository))
}

/// Returns the cluster and the repository to which the directory of a node with this `db` belongs. Directories with the same settings share the
/// connections of the process.
///
/// # Errors
/// The system's if a file cannot be read; `BAD_CONFIG_VALUE` if it cannot be parsed; as [`Cluster::connect`]; `FS_NOT_FOUND` if the repository was removed from the
/// cluster.
pub fn find(db: &Path) -> Result<(Cluster, RepositoryInfo)> {
    let conf: NodeDirConf = read_toml(&db.join(CONF))?;
    let settings: ClusterSettings = read_toml(&conf.settings)?;
    let cluster = Cluster::connect(&settings)?;
    let name = cluster.0.database.run("look for a repository", |client| {
        let instance = conf.instance.clone();
        async move { client.query_opt(SELECT_NAME, &[&instance]).await }
    })?;
    match name {
        Some(row) => {
            let name: String = row.try_get(0).map_err(sql_error)?;
            let repository = cluster.repository(&name)?;
            Ok((cluster, repository))
        }
        None => Err(Error::new(
            Code::FS_NOT_FOUND,
            format!(
                "'{}': the cluster does not have this repository any more",
                db.display()
            ),
        )),
    }
}

impl Cluster {
    /// Makes the directories of all repositories that have none at this node, gives them the current configuration and hooks, and removes those of repositories that the
    /// cluster has no more. Repositories that are being imported have none.
    ///
    /// # Errors
    /// The system's; `FS_GENERAL` if the database cannot be reached. A directory that cannot be made does not keep the others from being made; this process answers
    /// no requests to its repository until it is.
    pub fn prepare_directories(&self) -> Result<()> {
        // Two threads of a node may be here, after a notification and after a renewal.
        let mut prepared = self.0.directories.lock();
        let settings = self.settings();
        let repositories = self.complete_repositories()?;
        let root = settings.repositories();
        make_dirs(&root)?;
        write_settings(settings)?;
        let mut known = HashMap::new();
        let (mut outcome, mut outdated) = (Ok(()), HashSet::new());
        for repository in repositories {
            let dir = root.join(&repository.name);
            if !dir.join("db").join(CONF).exists() || prepared.0.get(&dir) != Some(&repository) {
                let made = self.prepare_directory(&repository, &dir).map_err(|e| {
                    prepared.0.remove(&dir);
                    outdated.insert(repository.id);
                    e.context(format!(
                        "this machine does not serve the repository '{}'",
                        repository.name
                    ))
                });
                outcome = outcome.and(made);
            }
            known.insert(dir, repository);
        }
        self.0.refusals.set_outdated(outdated);
        for dir in node_dirs(&root)? {
            if !known.contains_key(&dir) && instance_of(&dir).is_some() {
                remove_dir(settings, &dir)?;
            }
        }
        if outcome.is_ok() {
            prepared.0 = known;
        }
        outcome
    }

    fn prepare_directory(&self, listed: &ListedRepository, dir: &Path) -> Result<()> {
        if instance_of(dir) != Some(listed.instance) {
            let repository = self.repository(&listed.name)?;
            let files = self.repository_files(&repository)?;
            return make_dir(self.settings(), &repository, &files, dir);
        }
        if version_in(dir) != Some(listed.files_version) {
            let repository = self.repository(&listed.name)?;
            deliver(&self.repository_files(&repository)?, dir)?;
        }
        match &listed.changed_uuid {
            Some(text) => write_uuid(dir, text),
            None => Ok(()),
        }
    }

    /// Lists the repositories that are not being imported. This is asked often, so it leaves out all that is not needed.
    fn complete_repositories(&self) -> Result<Vec<ListedRepository>> {
        let rows = self
            .0
            .database
            .run("list the repositories", |client| async move {
                client.query(SELECT_COMPLETE, &[]).await
            })?;
        let listed = rows.iter().map(|row| {
            let version: i64 = row.try_get(2).map_err(sql_error)?;
            Ok(ListedRepository {
                id: row.try_get(4).map_err(sql_error)?,
                name: row.try_get(0).map_err(sql_error)?,
                instance: row.try_get(1).map_err(sql_error)?,
                files_version: version.cast_unsigned(),
                changed_uuid: row.try_get(3).map_err(sql_error)?,
            })
        });
        listed.collect()
    }
}

/// Makes the directory of a repository.
fn make_dir(
    settings: &ClusterSettings,
    repository: &RepositoryInfo,
    files: &RepositoryFiles,
    to: &Path,
) -> Result<()> {
    check_name(&repository.name)?;
    let made = scratch(settings)?;
    for name in [
        "db",
        "conf",
        "hooks",
        "locks",
        "db/transactions",
        "db/txn-protorevs",
    ] {
        make_dirs(&made.join(name))?;
    }
    let epoch = read_epoch(&settings.directory).unwrap_or(0);
    let conf = NodeDirConf {
        settings: settings_file(settings),
        instance: repository.instance.to_string(),
    };
    let conf = to_toml(&conf)?;
    let fs_type = format!("{SHARED_FS_TYPE}\n");
    let first_number = first_number(epoch);
    let texts: [(&str, &[u8]); 14] = [
        ("locks/db.lock", b""),
        ("locks/db-logs.lock", b""),
        ("db/fs-type", fs_type.as_bytes()),
        ("db/uuid", repository.uuid.as_bytes()),
        ("db/fsfs.conf", &repository.fsfs_conf),
        ("db/sven-cluster.conf", conf.as_bytes()),
        ("db/min-unpacked-rev", b"0\n"),
        ("db/txn-current", first_number.as_bytes()),
        ("db/txn-current-lock", b""),
        ("db/write-lock", b""),
        ("db/pack-lock", b""),
        ("db/format", repository.format.as_bytes()),
        ("README.txt", README.as_bytes()),
        ("format", b"5\n"),
    ];
    for (name, bytes) in texts {
        write(&made.join(name), bytes, 0o666)?;
    }
    deliver(files, &made)?;
    make_way(settings, to)?;
    match fs::rename(&made, to) {
        Err(_) if instance_of(to) == Some(repository.instance) => {
            _ = fs::remove_dir_all(&made);
            Ok(())
        }
        renamed => renamed.map_err(|e| Error::io("Can't move", &made, &e)),
    }
}

/// Takes away what has the name of a directory that is to be made. What belongs to another instance of the repository, or was made by another process at the same time,
/// is removed. Anything else was not made by the cluster, such as a repository of 'svnadmin create', and is kept under another name.
fn make_way(settings: &ClusterSettings, to: &Path) -> Result<()> {
    if fs::symlink_metadata(to).is_err() {
        return Ok(());
    }
    if is_node_dir(&to.join("db")) {
        return remove_dir(settings, to);
    }
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{}", Uuid::new_v4()));
    let dir = settings.directory.join(FOREIGN);
    make_dirs(&dir)?;
    let kept = dir.join(name);
    fs::rename(to, &kept).map_err(|e| Error::io(&format!("Can't move to '{}'", kept.display()), to, &e))?;
    tracing::error!(
        "'{}' is not of the cluster, which has a repository of that name now; it was moved to '{}'",
        to.display(),
        kept.display()
    );
    Ok(())
}

/// Removes a directory of a node, under another name.
fn remove_dir(settings: &ClusterSettings, dir: &Path) -> Result<()> {
    let to = scratch(settings)?;
    fs::rename(dir, &to)
        .and_then(|()| fs::remove_dir_all(&to))
        .map_err(|e| Error::io("Can't remove directory", dir, &e))
}

/// Makes an empty directory with a name of its own.
fn scratch(settings: &ClusterSettings) -> Result<PathBuf> {
    let dir = settings.directory.join("new").join(Uuid::new_v4().to_string());
    make_dirs(&dir)?;
    Ok(dir)
}

/// The instance to which a directory belongs; `None` if it is no directory of a node.
fn instance_of(dir: &Path) -> Option<Uuid> {
    let conf: NodeDirConf = read_toml(&dir.join("db").join(CONF)).ok()?;
    Uuid::parse_str(&conf.instance).ok()
}

fn settings_file(settings: &ClusterSettings) -> PathBuf {
    let path = settings.directory.join("cluster.toml");
    std::path::absolute(&path).unwrap_or(path)
}

/// Writes the settings for other processes, unless they are there.
fn write_settings(settings: &ClusterSettings) -> Result<()> {
    let path = settings_file(settings);
    let text = to_toml(settings)?;
    match fs::read(&path) {
        Ok(found) if found == text.as_bytes() => Ok(()),
        _ => replace(&path, text.as_bytes(), 0o600),
    }
}

fn to_toml(value: &impl Serialize) -> Result<String> {
    toml::to_string(value).map_err(|e| Error::new(Code::BAD_CONFIG_VALUE, e.to_string()))
}

fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|e| Error::io("Can't open file", path, &e))?;
    toml::from_str(&text).map_err(|e| {
        Error::new(
            Code::BAD_CONFIG_VALUE,
            format!("'{}': {}", path.display(), e.message()),
        )
    })
}

/// Checks the name of a repository: it becomes the name of a directory.
///
/// # Errors
/// `BAD_FILENAME`.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_one =
        !name.contains(['/', '\0', '\n']) && !name.starts_with('.') && !name.is_empty() && name.len() <= 200;
    match is_one {
        true => Ok(()),
        false => Err(Error::new(
            Code::BAD_FILENAME,
            format!(
                "'{name}' cannot be the name of a repository: it must be a single file name without a dot at its beginning"
            ),
        )),
    }
}

/// The directory of what the cluster has not made.
const FOREIGN: &str = "not-of-cluster";

const CONF: &str = "sven-cluster.conf";

const README: &str = "This directory belongs to one machine of a cluster of Sven. The repository itself is in a database and an\n\
     object store; 'sven cluster export' writes it to files.\n";

const SELECT_NAME: &str = "SELECT name FROM sven_repository WHERE instance::text = $1";
const SELECT_COMPLETE: &str = "SELECT name, instance, files_version, CASE WHEN uuid_changed IS NULL THEN NULL ELSE uuid END, id \
     FROM sven_repository WHERE youngest >= 0";
