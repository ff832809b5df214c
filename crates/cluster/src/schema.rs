//! The tables of a cluster, and their versions.
//!
//! The texts are in `schema.sql`, which explains each table, and `schema_N.sql`, which add what version N has more. A program knows one version and works with every later one that does
//! not exclude it: later versions only add. So two versions of the program can run side by side while nodes are replaced one by
//! one. `sven cluster init` makes the tables, or adds what a later version has.

use base::{Code, Error, Result};
use uuid::Uuid;

use crate::database::{Database, StepError, sql_error, step_error, wait_for};

/// The version of the tables that this program makes.
pub(crate) const VERSION: i32 = 7;

/// The oldest version that a program must know to use them.
const OLDEST: i32 = 1;

/// Version 1.
const TABLES: &str = include_str!("schema.sql");

/// What each later version adds.
const ADDITIONS: [(i32, &str); 6] = [
    (2, include_str!("schema_2.sql")),
    (3, include_str!("schema_3.sql")),
    (4, include_str!("schema_4.sql")),
    (5, include_str!("schema_5.sql")),
    (6, include_str!("schema_6.sql")),
    (7, include_str!("schema_7.sql")),
];

/// The number of the advisory lock under which tables are made.
const SCHEMA_LOCK: i64 = 0x7376_656e;

/// Makes the tables if there are none, and adds what they lack of this program's version.
///
/// # Errors
/// `FS_GENERAL`; `FS_CORRUPT` for a table without its row.
pub(crate) fn create(database: &Database) -> Result<()> {
    // A database that has just been started may need a moment.
    database.run("make the tables", |client| async move {
        client.simple_query("").await.map(drop)
    })?;
    let made = wait_for(async {
        let mut client = database.connect().await?;
        make(&mut client).await.map_err(|e| step_error(&e))
    })?;
    match made {
        Ok(true) => Ok(()),
        Ok(false) => Err(empty()),
        Err(StepError::Refused(e)) => Err(e.context("Can't make the tables in the database of the cluster")),
        Err(StepError::Lost(text)) => Err(Error::new(
            Code::FS_GENERAL,
            format!("Can't make the tables: the database of the cluster cannot be reached: {text}"),
        )),
    }
}

/// Makes or completes the tables, all or nothing. Returns false if the table `sven_cluster` has lost its row.
async fn make(client: &mut tokio_postgres::Client) -> std::result::Result<bool, tokio_postgres::Error> {
    let secret = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
    let transaction = client.transaction().await?;
    // An index of a large table takes longer than any question of a node.
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0")
        .await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])
        .await?;
    let is_there = transaction
        .query_one("SELECT to_regclass('sven_cluster') IS NOT NULL", &[])
        .await?;
    if !is_there.try_get::<_, bool>(0)? {
        transaction.batch_execute(TABLES).await?;
        transaction
            .execute(
                "INSERT INTO sven_cluster (version, oldest, secret) VALUES (1, $1, $2)",
                &[&OLDEST, &secret],
            )
            .await?;
    }
    let row = transaction
        .query_opt("SELECT version FROM sven_cluster", &[])
        .await?;
    let Some(row) = row else { return Ok(false) };
    let found: i32 = row.try_get(0)?;
    for (version, additions) in ADDITIONS.iter().filter(|(version, _)| *version > found) {
        transaction.batch_execute(additions).await?;
        transaction
            .execute("UPDATE sven_cluster SET version = $1", &[version])
            .await?;
    }
    transaction.commit().await?;
    Ok(true)
}

/// The error for a table that has lost its row. Another row has another secret, and says nothing about the version of the tables.
fn empty() -> Error {
    Error::new(
        Code::FS_CORRUPT,
        "The table 'sven_cluster' of the database is empty; restore it from a backup of the database",
    )
}

/// What the row of `sven_cluster` says of a cluster.
pub(crate) struct ClusterRow {
    /// The key of the seals.
    pub(crate) secret: Vec<u8>,
    /// The identity of the cluster.
    pub(crate) identity: Uuid,
}

/// Checks that this program may use the tables. Returns the row of the cluster.
///
/// # Errors
/// `FS_UNSUPPORTED_FORMAT` without tables, with those of an earlier program, or with those of a later one that excludes this one;
/// `FS_CORRUPT` for a table without its row.
pub(crate) fn check(database: &Database) -> Result<ClusterRow> {
    let found = database.run("read the version of the tables", |client| async move {
        let is_there = client
            .query_one("SELECT to_regclass('sven_cluster') IS NOT NULL", &[])
            .await?;
        match is_there.get::<_, bool>(0) {
            // The identity by way of JSON: tables of earlier versions have no such column.
            true => client
                .query_opt(
                    "SELECT version, oldest, secret, (to_jsonb(c) ->> 'identity')::uuid FROM sven_cluster c",
                    &[],
                )
                .await
                .map(Some),
            false => Ok(None),
        }
    })?;
    let Some(row) = found else {
        return Err(Error::new(
            Code::FS_UNSUPPORTED_FORMAT,
            "The database has no tables of a cluster; 'sven cluster init' makes them",
        ));
    };
    let row = row.ok_or_else(empty)?;
    let (version, oldest): (i32, i32) = (
        row.try_get(0).map_err(sql_error)?,
        row.try_get(1).map_err(sql_error)?,
    );
    if oldest > VERSION {
        return Err(Error::new(
            Code::FS_UNSUPPORTED_FORMAT,
            format!(
                "The tables of the cluster have version {version}, which this program (version {VERSION}) cannot use"
            ),
        ));
    }
    if version < VERSION {
        return Err(Error::new(
            Code::FS_UNSUPPORTED_FORMAT,
            format!(
                "The tables of the cluster have version {version}, this program needs version {VERSION}; 'sven cluster init' adds what is missing, \
                 and earlier programs go on working"
            ),
        ));
    }
    Ok(ClusterRow {
        secret: row.try_get(2).map_err(sql_error)?,
        identity: row.try_get(3).map_err(sql_error)?,
    })
}
