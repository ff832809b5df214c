//! Changes of a repository's UUID: `svnadmin setuuid`.
//!
//! The UUID is in the row of the repository, and in the file `db/uuid` of each node's directory, where the engine reads it. A node
//! compares both each time that it renews its lease. A server opens a repository again when the file has changed.

use std::fs;
use std::path::Path;

use base::{Code, Error, Result};
use uuid::Uuid;

use crate::cluster::{Cluster, RepositoryInfo};
use crate::node_dir::{is_node_dir, replace};

impl Cluster {
    /// Gives a repository this UUID, or a new one. The directory of this node has it on return, those of the other nodes after a third of
    /// the time of a lease.
    ///
    /// # Errors
    /// `BAD_UUID` if `uuid` is malformed; the system's; `FS_GENERAL` if the database cannot be reached.
    pub fn set_uuid(&self, repository: &RepositoryInfo, uuid: Option<&str>) -> Result<()> {
        let uuid = match uuid {
            Some(uuid) if !uuid.is_ascii() || uuid.contains('\n') => {
                return Err(Error::new(Code::BAD_UUID, format!("Malformed UUID '{uuid}'")));
            }
            Some(uuid) => uuid.to_owned(),
            None => Uuid::new_v4().to_string(),
        };
        // The second line is the instance ID, which formats 7 and 8 have.
        let lines = repository.uuid.lines().count();
        let text = match lines > 1 {
            true => format!("{uuid}\n{}\n", Uuid::new_v4()),
            false => format!("{uuid}\n"),
        };
        let id = repository.id;
        self.0.database.run("change the UUID of a repository", |client| {
            let text = text.clone();
            async move { client.execute(UPDATE, &[&id, &text]).await.map(drop) }
        })?;
        write_uuid(&self.0.settings.repositories().join(&repository.name), &text)
    }
}

/// Writes the UUID to the directory of a node, if that is there and has another one.
pub(crate) fn write_uuid(dir: &Path, text: &str) -> Result<()> {
    let db = dir.join("db");
    let path = db.join("uuid");
    match is_node_dir(&db) && fs::read(&path).is_ok_and(|found| found != text.as_bytes()) {
        true => replace(&path, text.as_bytes(), 0o666),
        false => Ok(()),
    }
}

const UPDATE: &str = "UPDATE sven_repository SET uuid = $2, uuid_changed = clock_timestamp() WHERE id = $1";
