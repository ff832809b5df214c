//! When a row must name an object that was written.
//!
//! An object is written before the row that names it, and is garbage until then. So a row is refused that comes later than half of the grace
//! time after the upload was begun, by the database's clock: the object may have been removed. The other half is for what happens between the
//! look at the clock and the end of the transaction. That holds if all nodes and commands of a cluster have the same grace time.

use std::time::{Duration, SystemTime};

use base::Result;

use crate::database::{Database, sql_error};

/// Returns when a row must name an object whose upload begins now. `grace` is the grace time.
///
/// # Errors
/// `FS_GENERAL` if the database cannot be reached.
pub(crate) fn naming_deadline(database: &Database, grace: Duration) -> Result<SystemTime> {
    let row = database.run("ask for the time", |client| async move {
        client.query_one(SELECT_TIME, &[]).await
    })?;
    let now: SystemTime = row.try_get(0).map_err(sql_error)?;
    Ok(now + grace / 2)
}

const SELECT_TIME: &str = "SELECT clock_timestamp()";
