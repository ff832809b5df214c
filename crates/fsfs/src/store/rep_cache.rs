//! `rep-cache.db`: the table that finds a representation by the SHA-1 of its content, for rep sharing.
//!
//! It is an SQLite database with one table. Only writers use it; readers of the repository never need it. It may be
//! deleted at any time, and is created again on demand. Subversion may use it at the same time: SQLite coordinates
//! the processes. Schema 1 (formats 4 to 7) and schema 2 (format 8) differ only inside SQLite.
//!
//! | column | content |
//! |---|---|
//! | `hash` | SHA-1 of the content, hexadecimal; the key |
//! | `revision` | the revision with the representation |
//! | `offset` | its item: a number with logical addressing, else an offset in bytes |
//! | `size` | bytes of the stored body |
//! | `expanded_size` | bytes of the content |
//!
//! An open filesystem keeps one connection ([`Store::with_rep_cache`]) and opens another one when the file was
//! replaced.

#![expect(
    clippy::disallowed_methods,
    reason = "SQLite opens this file itself, not through `disk`"
)]

use std::path::Path;
use std::time::Duration;

use base::checksum::Sha1;
use base::{Code, Error, Result, Revnum};
use parking_lot::Mutex;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, TransactionBehavior};

use super::Store;
use crate::format::fs_format::FsFormat;
use crate::store::disk::Create;

/// An open database.
#[derive(Debug)]
pub(crate) struct RepCache {
    connection: Connection,
    /// False if the database has no table yet.
    is_initialised: bool,
}

/// A row: where a content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepCacheRow {
    /// SHA-1 of the content.
    pub sha1: Sha1,
    /// The revision of the representation.
    pub rev: Revnum,
    /// Its item (byte offset with physical addressing).
    pub item: u64,
    /// Bytes of the stored body.
    pub length: u64,
    /// Bytes of the content.
    pub expanded: u64,
}

impl RepCache {
    /// Opens the database for reading; `None` if there is no file.
    ///
    /// # Errors
    /// `SQLITE_…` below `ATOMIC_INIT_FAILURE`. Any schema version is accepted, as the incumbent does.
    pub(crate) fn open(path: &Path) -> Result<Option<RepCache>> {
        let _opening = OPENING.lock();
        // SQLite gives one error number for a missing file and for one that cannot be opened.
        if matches!(std::fs::symlink_metadata(path), Err(e) if e.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        Self::open_existing(path).map(Some).map_err(|e| {
            e.wrap(
                Code::ATOMIC_INIT_FAILURE,
                "Couldn't perform atomic initialization",
            )
            .wrap(
                Code::ATOMIC_INIT_FAILURE,
                format!("Couldn't open rep-cache database '{}'", path.display()),
            )
        })
    }

    fn open_existing(path: &Path) -> Result<RepCache> {
        // SQLite would wait for a writer of a FIFO.
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let message = "sqlite[S14]: unable to open database file";
            return Err(Error::new(Code::SQLITE_ERROR, message));
        }
        // For writing if possible: only then can SQLite roll back an unfinished transaction of a crashed writer.
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY))
            .map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        // Rows lost in a power failure can be made again. The journal file is kept, and with it its permissions.
        connection
            .pragma_update(None, "synchronous", "OFF")
            .and_then(|()| connection.pragma_update_and_check(None, "journal_mode", "TRUNCATE", |_| Ok(())))
            .map_err(sqlite)?;
        let version: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(sqlite)?;
        // Reads the schema: fails if the file is no database.
        connection
            .query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))
            .map_err(sqlite)?;
        Ok(RepCache {
            connection,
            is_initialised: version > 0,
        })
    }

    /// Locks the database against other writers until it is closed.
    ///
    /// # Errors
    /// `SQLITE_READONLY` if the file is not writable, because then it cannot be locked. Other `SQLITE_…`.
    pub(crate) fn hold(&self) -> Result<()> {
        if self.connection.is_readonly("main").map_err(sqlite)? {
            return Err(Error::new(
                Code::SQLITE_READONLY,
                "sqlite[S8]: attempt to write a readonly database",
            ));
        }
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(sqlite)
    }

    /// Opens the database for writing. Creates it if there is none.
    ///
    /// # Errors
    /// As [`RepCache::open`]; the system's.
    pub(crate) fn open_or_create(fs: &Store) -> Result<RepCache> {
        let path = fs.layout().file(FILE);
        let opening = OPENING.lock();
        match fs.disk().write(&path, Create::New).map(drop) {
            Ok(()) => {
                let like = fs.layout().file("current");
                fs.disk()
                    .copy_permissions(&like, &path)
                    .map_err(|e| Error::io("Can't set permissions on file", &path, &e))?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io("Can't create file", &path, &e)),
        }
        drop(opening);
        let mut cache = Self::open(&path)?.ok_or_else(|| {
            let e = std::io::ErrorKind::NotFound.into();
            Error::io("Can't open file", &path, &e)
        })?;
        cache.initialise(fs.format())?;
        Ok(cache)
    }

    /// Creates the table if there is none.
    fn initialise(&mut self, format: &FsFormat) -> Result<()> {
        if self.is_initialised {
            return Ok(());
        }
        let (version, options) = if format.has_rep_cache_schema_2() {
            (2, " WITHOUT ROWID")
        } else {
            (1, "")
        };
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sqlite)?;
        // Another process may have created it meanwhile.
        let made: i64 = transaction
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(sqlite)?;
        if made == 0 {
            transaction
                .execute_batch(&format!("{SCHEMA}{options}; PRAGMA user_version = {version};"))
                .map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        self.is_initialised = true;
        Ok(())
    }

    /// Adds rows in one transaction. A content that has a row keeps it.
    ///
    /// # Errors
    /// `SQLITE_…`: then none is added.
    pub(crate) fn insert(&mut self, rows: &[RepCacheRow]) -> Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sqlite)?;
        {
            let mut statement = transaction.prepare_cached(INSERT).map_err(sqlite)?;
            for row in rows {
                let numbers = [row.rev.0, row.item, row.length, row.expanded];
                let [rev, item, length, expanded] = numbers.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
                statement
                    .execute((row.sha1.to_string(), rev, item, length, expanded))
                    .map_err(sqlite)?;
            }
        }
        transaction.commit().map_err(sqlite)
    }

    /// Deletes the rows of revisions that are younger than `youngest`.
    ///
    /// # Errors
    /// `SQLITE_…`.
    pub(crate) fn delete_younger(&mut self, youngest: Revnum) -> Result<()> {
        if self.is_initialised {
            let bound = i64::try_from(youngest.0).unwrap_or(i64::MAX);
            self.connection
                .execute("DELETE FROM rep_cache WHERE revision > ?1", [bound])
                .map_err(sqlite)?;
        }
        Ok(())
    }

    /// Copies the database as it is at this moment over the one at `path`.
    ///
    /// # Errors
    /// `SQLITE_…`.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<()> {
        let mut copy = Connection::open(path).map_err(sqlite)?;
        let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy).map_err(sqlite)?;
        // All pages in one step, so that no writer comes between.
        let started = std::time::Instant::now();
        loop {
            use rusqlite::backup::StepResult;
            match backup.step(-1).map_err(sqlite)? {
                StepResult::Done => return Ok(()),
                _ if started.elapsed() > BUSY_TIMEOUT => {
                    let message = format!(
                        "Can't copy to rep-cache database '{}': it is busy",
                        path.display()
                    );
                    return Err(Error::new(Code::SQLITE_BUSY, message));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// The youngest revision in the table; `None` if it is empty.
    ///
    /// # Errors
    /// `SQLITE_…`.
    pub(crate) fn max_revision(&self) -> Result<Option<Revnum>> {
        if !self.is_initialised {
            return Ok(None);
        }
        let query = "SELECT MAX(revision) FROM rep_cache";
        let max: Option<i64> = self
            .connection
            .query_row(query, [], |row| row.get(0))
            .map_err(sqlite)?;
        max.map(|number| unsigned(number).map(Revnum)).transpose()
    }

    /// The row of this content.
    ///
    /// # Errors
    /// `SQLITE_…`; `FS_CORRUPT` if the row is nonsense.
    pub(crate) fn lookup(&self, sha1: &Sha1) -> Result<Option<RepCacheRow>> {
        if !self.is_initialised {
            return Ok(None);
        }
        let query = format!("{SELECT} WHERE hash = ?1");
        let mut statement = self.connection.prepare_cached(&query).map_err(sqlite)?;
        let raw = statement.query_row([sha1.to_string()], RawRow::read).optional();
        raw.map_err(sqlite)?.map(RawRow::check).transpose()
    }

    /// As [`RepCache::lookup`], and keeps the database locked against writers until [`RepCache::release`]: further calls need not
    /// ask the system for its lock, nor whether it has changed.
    ///
    /// # Errors
    /// As [`RepCache::lookup`].
    pub(crate) fn lookup_and_hold(&self, sha1: &Sha1) -> Result<Option<RepCacheRow>> {
        if self.connection.is_autocommit() {
            self.connection.execute_batch("BEGIN").map_err(sqlite)?;
        }
        self.lookup(sha1)
    }

    /// Gives up the lock of [`RepCache::lookup_and_hold`], if there is one.
    fn release(&self) {
        if !self.connection.is_autocommit() {
            // Nothing was written. The lock goes with the connection if this fails.
            _ = self.connection.execute_batch("COMMIT");
        }
    }

    /// Calls `each` for every row of the revisions `first` to `last`, ordered by revision and offset.
    ///
    /// # Errors
    /// `SQLITE_…`, `BAD_CHECKSUM_PARSE`, `FS_CORRUPT`, and those of `each`.
    pub(crate) fn for_each(
        &self,
        first: Revnum,
        last: Revnum,
        each: &mut dyn FnMut(RepCacheRow) -> Result<()>,
    ) -> Result<()> {
        if !self.is_initialised {
            return Ok(());
        }
        let query = format!("{SELECT} WHERE revision >= ?1 AND revision <= ?2 ORDER BY revision, offset");
        let mut statement = self.connection.prepare(&query).map_err(sqlite)?;
        let bounds = [first, last].map(|rev| i64::try_from(rev.0).unwrap_or(i64::MAX));
        let mut rows = statement.query(bounds).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            each(RawRow::read(row).map_err(sqlite)?.check()?)?;
        }
        Ok(())
    }
}

/// The connection of an open filesystem.
#[derive(Default)]
pub(crate) struct RepCacheConnection(Mutex<Option<OpenRepCache>>);

struct OpenRepCache {
    cache: RepCache,
    /// Device and inode of the file.
    identity: (u64, u64),
    /// True if it was used since [`Store::close_idle_rep_cache`] was last called.
    is_in_use: bool,
}

impl Store {
    /// Runs `f` on the database. If there is none, creates it if `create`, else calls `f` with `None`.
    ///
    /// # Errors
    /// As [`RepCache::open_or_create`], and those of `f`.
    pub(crate) fn with_rep_cache<T>(
        &self,
        create: bool,
        f: impl FnOnce(Option<&mut RepCache>) -> Result<T>,
    ) -> Result<T> {
        let path = self.layout().file(FILE);
        let mut open = self.rep_cache().0.lock();
        let identity = || self.disk().metadata(&path).ok().map(|meta| meta.identity);
        // An administrator may delete the database at any time. The open connection is then to a file without a name.
        if open.as_ref().map(|open| open.identity) != identity() {
            *open = None;
        }
        if open.is_none() {
            let cache = if create {
                Some(RepCache::open_or_create(self)?)
            } else {
                RepCache::open(&path)?
            };
            *open = cache.zip(identity()).map(|(cache, identity)| OpenRepCache {
                cache,
                identity,
                is_in_use: true,
            });
        }
        match &mut *open {
            Some(OpenRepCache { cache, is_in_use, .. }) => {
                *is_in_use = true;
                if create {
                    cache.initialise(self.format())?;
                }
                f(Some(cache))
            }
            None => f(None),
        }
    }

    /// Gives up the lock of [`RepCache::lookup_and_hold`], if this handle has it.
    pub(crate) fn release_rep_cache(&self) {
        if let Some(open) = &*self.rep_cache().0.lock() {
            open.cache.release();
        }
    }

    /// Closes the database of shared contents if it was not used since the last call.
    pub fn close_idle_rep_cache(&self) {
        if let Some(mut open) = self.rep_cache().0.try_lock() {
            open.take_if(|open| {
                !std::mem::take(&mut open.is_in_use) && open.cache.connection.is_autocommit()
            });
        }
    }
}

/// A row as SQLite returns it: any column may hold any type.
struct RawRow {
    hash: Vec<u8>,
    numbers: [i64; 4],
}

impl RawRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<RawRow> {
        Ok(RawRow {
            // Whatever type the column has, and in whatever encoding.
            hash: match row.get_ref(0)? {
                ValueRef::Text(hash) | ValueRef::Blob(hash) => hash.to_vec(),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
            },
            numbers: [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?],
        })
    }

    fn check(self) -> Result<RepCacheRow> {
        let sha1 = Sha1::parse_hex(&self.hash)
            .ok_or_else(|| Error::new(Code::BAD_CHECKSUM_PARSE, "Invalid character in hex checksum"))?;
        let [rev, item, length, expanded] = self.numbers;
        Ok(RepCacheRow {
            sha1,
            rev: Revnum(unsigned(rev)?),
            item: u64::try_from(item).map_err(|_| {
                let message = format!("Offset {item} too large in revision {rev}");
                Error::new(Code::FS_INDEX_OVERFLOW, message)
            })?,
            length: unsigned(length)?,
            expanded: unsigned(expanded)?,
        })
    }
}

fn unsigned(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| {
        let message = format!("Invalid number '{number}' in the rep-cache database");
        Error::new(Code::FS_CORRUPT, message)
    })
}

/// Converts an SQLite error, with the text of the incumbent.
fn sqlite(e: rusqlite::Error) -> Error {
    match e {
        rusqlite::Error::SqliteFailure(failure, message) => {
            let code = match failure.code {
                ErrorCode::ReadOnly => Code::SQLITE_READONLY,
                ErrorCode::DatabaseBusy => Code::SQLITE_BUSY,
                ErrorCode::ConstraintViolation => Code::SQLITE_CONSTRAINT,
                _ => Code::SQLITE_ERROR,
            };
            let message = message.unwrap_or_else(|| failure.to_string());
            Error::new(
                code,
                format!("sqlite[S{}]: {message}", failure.extended_code & 0xff),
            )
        }
        other => Error::new(Code::SQLITE_ERROR, format!("sqlite: {other}")),
    }
}

const SELECT: &str = "SELECT hash, revision, offset, size, expanded_size FROM rep_cache";

const INSERT: &str = "INSERT OR IGNORE INTO rep_cache (hash, revision, offset, size, expanded_size) \
    VALUES (?1, ?2, ?3, ?4, ?5)";

const SCHEMA: &str = "CREATE TABLE rep_cache (hash TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, \
    offset INTEGER NOT NULL, size INTEGER NOT NULL, expanded_size INTEGER NOT NULL)";

/// The name of the database in `db/`.
pub(crate) const FILE: &str = "rep-cache.db";

/// Held while this process opens a database file outside of SQLite: closing that descriptor would release the locks
/// that SQLite has on the file.
static OPENING: Mutex<()> = Mutex::new(());

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().expect("because the temporary folder can be written");
        let path = dir.path().join("rep-cache.db");
        let connection = Connection::open(&path).expect("a new database");
        connection.execute_batch(sql).expect(sql);
        (dir, path)
    }

    const SCHEMA: &str = "CREATE TABLE rep_cache (hash TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL,
        offset INTEGER NOT NULL, size INTEGER NOT NULL, expanded_size INTEGER NOT NULL); PRAGMA user_version=1;";

    fn rows(cache: &RepCache) -> Result<Vec<RepCacheRow>> {
        let mut rows = Vec::new();
        cache.for_each(Revnum(0), Revnum::MAX, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn rows_are_found() {
        let hash = Sha1::of(b"x");
        let (_dir, path) = database(&format!(
            "{SCHEMA} INSERT INTO rep_cache VALUES('{hash}',3,4,5,6), ('{}',1,2,3,4);",
            Sha1::of(b"y")
        ));
        let cache = RepCache::open(&path).expect("opens").expect("is there");
        assert_eq!(cache.max_revision().expect("a number"), Some(Revnum(3)));
        let row = cache.lookup(&hash).expect("works").expect("is there");
        assert_eq!(
            (row.rev, row.item, row.length, row.expanded),
            (Revnum(3), 4, 5, 6)
        );
        assert_eq!(cache.lookup(&Sha1::of(b"z")).expect("works"), None);
        assert_eq!(rows(&cache).expect("good rows")[1], row);
    }

    #[test]
    fn missing_and_empty_databases_hold_nothing() {
        let dir = tempfile::tempdir().expect("because the temporary folder can be written");
        let path = dir.path().join("rep-cache.db");
        assert!(RepCache::open(&path).expect("no error").is_none());
        std::fs::write(&path, b"").expect("because the folder can be written");
        let cache = RepCache::open(&path).expect("opens").expect("is there");
        assert_eq!(cache.max_revision().expect("works"), None);
        assert_eq!(rows(&cache).expect("works"), []);
    }

    #[test]
    fn damage_is_an_error() {
        let dir = tempfile::tempdir().expect("because the temporary folder can be written");
        let path = dir.path().join("rep-cache.db");
        std::fs::write(&path, b"garbage").expect("because the folder can be written");
        let error = RepCache::open(&path).expect_err("no database");
        assert_eq!(error.code(), Code::ATOMIC_INIT_FAILURE);
        assert!(error.root_cause().text().starts_with("sqlite[S26]"), "{error}");
        for (row, code) in [
            ("'xyz',1,2,3,4", Code::BAD_CHECKSUM_PARSE),
            (
                "'86f7e437faa5a7fce15d1ddcb9eaeaea377667b8',1,'two',3,4",
                Code::SQLITE_ERROR,
            ),
            ("x'00ff',1,2,3,4", Code::BAD_CHECKSUM_PARSE),
            (
                "'86f7e437faa5a7fce15d1ddcb9eaeaea377667b8',1,2,-3,4",
                Code::FS_CORRUPT,
            ),
            (
                "'86f7e437faa5a7fce15d1ddcb9eaeaea377667b8',1,-2,3,4",
                Code::FS_INDEX_OVERFLOW,
            ),
        ] {
            let (_dir, path) = database(&format!("{SCHEMA} INSERT INTO rep_cache VALUES({row});"));
            let cache = RepCache::open(&path).expect("opens").expect("is there");
            assert_eq!(rows(&cache).expect_err(row).code(), code);
        }
        let (_dir, path) = database("PRAGMA user_version=2; CREATE TABLE x(y);");
        let cache = RepCache::open(&path).expect("opens").expect("is there");
        assert_eq!(
            cache.max_revision().expect_err("no table").code(),
            Code::SQLITE_ERROR
        );
    }
}
