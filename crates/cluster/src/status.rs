//! The state of a cluster on one page: what an administrator looks at first.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{Code, Error, Result};

use crate::cluster::Cluster;
use crate::database::sql_error;
use crate::schema;

/// The state of a cluster, besides its nodes and repositories.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    /// The time of a question to the database.
    pub database_time: Duration,
    /// The version of PostgreSQL.
    pub database_version: String,
    /// The version of the tables.
    pub tables_version: i32,
    /// The version of the tables that this program makes.
    pub own_tables_version: i32,
    /// The time of a question to the object store, or what it says.
    pub objects: std::result::Result<Duration, String>,
    /// By name of the repository, those without any left out.
    pub inline: Vec<InlineContents>,
}

/// Revision files in rows of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineContents {
    /// The name of the repository.
    pub repository: String,
    /// How many there are.
    pub revisions: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Cluster {
    /// Asks the database and the object store for their state.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database cannot be reached.
    pub fn status(&self) -> Result<ClusterStatus> {
        let ask = || {
            self.0.database.run("read the versions", |client| async move {
                client.query_one(SELECT_VERSIONS, &[]).await
            })
        };
        // The first question may have to wait for a connection to be made.
        ask()?;
        let begun = Instant::now();
        let versions = ask()?;
        let database_time = begun.elapsed();
        // The first one connects here as well.
        let objects = self
            .0
            .objects
            .length(NO_OBJECT)
            .and_then(|_| {
                let begun = Instant::now();
                self.0.objects.list(NO_OBJECT)?;
                Ok(begun.elapsed())
            })
            .map_err(|e| e.message().to_owned());
        let rows = self
            .0
            .database
            .run("look for revisions in rows", |client| async move {
                client.query(SELECT_INLINE, &[]).await
            })?;
        let number = |row: &tokio_postgres::Row, at: usize| -> Result<u64> {
            let number: i64 = row.try_get(at).map_err(sql_error)?;
            Ok(number.cast_unsigned())
        };
        let inline = rows.iter().map(|row| {
            Ok(InlineContents {
                repository: row.try_get(0).map_err(sql_error)?,
                revisions: number(row, 1)?,
                bytes: number(row, 2)?,
            })
        });
        Ok(ClusterStatus {
            database_time,
            database_version: versions.try_get(0).map_err(sql_error)?,
            tables_version: versions.try_get(1).map_err(sql_error)?,
            own_tables_version: schema::VERSION,
            objects,
            inline: inline.collect::<Result<_>>()?,
        })
    }

    /// Returns why the database may lose commits that were acknowledged; `None` if it waits for its disk.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database cannot be reached.
    pub fn durability_warning(&self) -> Result<Option<Error>> {
        let rows = self.0.database.run("read the settings", |client| async move {
            client.query(SELECT_UNSAFE, &[]).await
        })?;
        let names = rows.iter().map(|row| row.try_get(0).map_err(sql_error));
        let names: Vec<String> = names.collect::<Result<_>>()?;
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(Error::new(
            Code::FS_GENERAL,
            format!(
                "PostgreSQL does not wait for its disk ('{}' is off): after a crash, the database of the cluster may lack commits that were acknowledged; \
                 set it to 'on'",
                names.join("' and '")
            ),
        )))
    }

    /// Why this process should get no more clients; `None` if it should get some, and for a process that does not serve. Waits for
    /// nothing.
    pub fn why_not_ready(&self) -> Option<&'static str> {
        let is_serving = self.0.is_listening.load(Ordering::Acquire);
        self.0.nodes.why_not_ready().or_else(|| {
            let is_unchecked = is_serving && !self.0.objects.is_identity_checked();
            is_unchecked.then_some("it is not known yet whether the object store belongs to the cluster")
        })
    }
}

/// The name of a directory without objects. A list of it takes one request, and fails if there is no such bucket.
const NO_OBJECT: &str = "no-such-object";

const SELECT_VERSIONS: &str = "SELECT current_setting('server_version'), version FROM sven_cluster";
/// As they are for the user and the database of the cluster.
const SELECT_UNSAFE: &str = "SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off' ORDER BY name";
const SELECT_INLINE: &str = "SELECT r.name, count(*), sum(octet_length(v.content))::bigint \
     FROM sven_revision v JOIN sven_repository r ON r.id = v.repository \
     WHERE v.content IS NOT NULL GROUP BY r.name ORDER BY r.name";
