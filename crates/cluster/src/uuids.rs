//! The UUID of a repository in the directories of nodes.
//!
//! The UUID is in the row of the repository, and in the file `db/uuid` of each node's directory, where the engine reads it.
//! A change of it (`svnadmin setuuid`, `svnadmin load`) writes the row and the file of its own node. The other nodes compare both each time
//! that they renew their leases, and a program does when it opens the repository. A server opens a repository again when the file has changed.

use std::fs;
use std::path::Path;

use base::Result;

use crate::node_dir::{is_node_dir, replace};

/// Writes the UUID to the directory of a node, if that is there and has another one.
pub(crate) fn write_uuid(dir: &Path, text: &str) -> Result<()> {
    let db = dir.join("db");
    let path = db.join("uuid");
    match is_node_dir(&db) && fs::read(&path).is_ok_and(|found| found != text.as_bytes()) {
        true => replace(&path, text.as_bytes(), 0o666),
        false => Ok(()),
    }
}
