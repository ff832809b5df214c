//! The identity of a cluster, in the database and in the object store.
//!
//! The row of `sven_cluster` has a UUID, and the object [`MARKER`] repeats it. What is written or removed at a place of the object store that belongs to another
//! cluster is lost for one of the two: the garbage collection of a cluster removes all objects that its database does not name. So a process compares both once,
//! before it writes or removes its first object.
//!
//! A place without the object gets it if it is that of the cluster:
//!
//! | the database | the place | outcome |
//! |---|---|---|
//! | names objects | has one of a sample of them | written: the tables are older than the object, or it was lost |
//! | names objects | has none of the sample | refused |
//! | names none, and the object was never written | has only objects of the cluster's own repositories, or garbage that it knows | written: the cluster is new |
//! | names none, and the object was never written | has other objects | refused |
//! | names none, and the object was written | | refused: it was written at another place |
//!
//! What is absent: copies of a database. They have the identity of the original.

use std::sync::atomic::{AtomicBool, Ordering};

use base::{Code, Error, Result};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::database::{Database, sql_error};
use crate::objects::{IdentityCheck, Objects, is_object_name, pack_key, revision_key};

/// The name of the object with the identity.
const MARKER: &str = "cluster-id";

/// The cluster to which objects must belong.
pub(crate) struct StoreIdentity {
    database: Database,
    identity: Uuid,
    /// The place of the objects, as in the settings.
    place: String,
    /// True once the object store was found to belong to the cluster.
    is_checked: AtomicBool,
    /// Held during the check.
    checking: Mutex<()>,
}

impl IdentityCheck for StoreIdentity {
    /// A store that belongs to no cluster yet is marked.
    fn check(&self, objects: &Objects) -> Result<()> {
        if self.is_checked() {
            return Ok(());
        }
        let _checking = self.checking.lock();
        if self.is_checked() {
            return Ok(());
        }
        match objects.read_small(MARKER)? {
            Some(text) => {
                self.compare(&text)?;
                self.note_marker()?;
            }
            None => self.mark(objects)?,
        }
        self.is_checked.store(true, Ordering::Release);
        Ok(())
    }

    fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::Acquire)
    }
}

impl StoreIdentity {
    pub(crate) fn new(database: Database, identity: Uuid, place: &str) -> StoreIdentity {
        StoreIdentity {
            database,
            identity,
            place: place.to_owned(),
            is_checked: AtomicBool::new(false),
            checking: Mutex::new(()),
        }
    }

    fn compare(&self, text: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(text);
        let found = text.trim_end();
        match Uuid::parse_str(found) {
            Ok(found) if found == self.identity => Ok(()),
            _ => Err(self.refused(&format!(
                "belongs to the cluster '{found}' (object '{MARKER}'), but the database to the cluster '{}'. Each cluster needs a bucket or a prefix of its own: \
                 correct 'objects' or 'database' in [cluster]",
                self.identity
            ))),
        }
    }

    /// Writes the object if the store may be that of the cluster.
    fn mark(&self, objects: &Objects) -> Result<()> {
        let was_marked = self.may_mark(objects)?;
        let is_new = objects.create(MARKER, format!("{}\n", self.identity).into())?;
        // Another cluster may have been faster.
        let text = objects.read_small(MARKER)?.unwrap_or_default();
        self.compare(&text)?;
        if !self.note_marker()? && is_new && !was_marked {
            // A process with other settings has marked another place since `may_mark`.
            objects.remove(MARKER)?;
            return Err(self.marked_elsewhere());
        }
        Ok(())
    }

    /// Notes that the object was written. Returns false if that is known already.
    fn note_marker(&self) -> Result<bool> {
        let changed = self
            .database
            .run("note the identity of the object store", |client| async move {
                client.execute(NOTE_MARKER, &[]).await
            })?;
        Ok(changed > 0)
    }

    /// Checks that the store may be marked. Returns true if the database says that it was marked before.
    fn may_mark(&self, objects: &Objects) -> Result<bool> {
        let was_marked = self
            .database
            .run("read the identity of the cluster", |client| async move {
                client.query_one(SELECT_MARKED, &[]).await
            })?;
        let was_marked = was_marked.try_get(0).map_err(sql_error)?;
        let named = self.sample()?;
        for name in &named {
            if objects.length(name)?.is_some() {
                return Ok(was_marked);
            }
        }
        match (named.first(), was_marked) {
            (Some(first), _) => Err(self.refused(&format!(
                "has none of the objects that the database names, such as '{first}', and no object '{MARKER}'. Correct 'objects' in [cluster], or copy all objects of \
                 the cluster there"
            ))),
            (None, true) => Err(self.marked_elsewhere()),
            (None, false) => {
                self.check_listed(objects)?;
                Ok(false)
            }
        }
    }

    /// Checks that the objects in the store are those of the cluster's repositories, although no row names one.
    fn check_listed(&self, objects: &Objects) -> Result<()> {
        let listed = objects.list_some(LISTED)?;
        let names: Vec<String> = listed.into_iter().filter(|name| is_object_name(name)).collect();
        let foreign = self.database.run("look for objects of the cluster", |client| {
            let names = names.clone();
            async move { client.query_opt(SELECT_FOREIGN, &[&names]).await }
        })?;
        let Some(foreign) = foreign else { return Ok(()) };
        let name: String = foreign.try_get(0).map_err(sql_error)?;
        Err(self.refused(&format!(
            "has objects that the database of the cluster does not know, such as '{name}'. If they belong to another cluster, choose another bucket or prefix \
             ('objects' in [cluster]); otherwise remove them"
        )))
    }

    /// The names of some objects that must exist.
    fn sample(&self) -> Result<Vec<String>> {
        let rows = self
            .database
            .run("look for objects of the cluster", |client| async move {
                client.query(SELECT_SAMPLE, &[]).await
            })?;
        let name = |row: &tokio_postgres::Row| -> std::result::Result<String, tokio_postgres::Error> {
            let (is_pack, number): (bool, i64) = (row.try_get(0)?, row.try_get(2)?);
            let (instance, publication): (Uuid, Uuid) = (row.try_get(1)?, row.try_get(3)?);
            Ok(match is_pack {
                true => pack_key(instance, number.cast_unsigned(), publication),
                false => revision_key(instance, number.cast_unsigned(), publication),
            })
        };
        rows.iter().map(|row| name(row).map_err(sql_error)).collect()
    }

    fn marked_elsewhere(&self) -> Error {
        self.refused(&format!(
            "has no object '{MARKER}', although the cluster '{}' has written it. Correct 'objects' in [cluster]. If the objects of the cluster were moved, move '{MARKER}', \
             too; if the cluster has no repositories yet, begin with an empty database",
            self.identity
        ))
    }

    fn refused(&self, why: &str) -> Error {
        Error::new(
            Code::BAD_CONFIG_VALUE,
            format!("The object store '{}' {why}", self.place),
        )
    }
}

/// Objects that are looked at in a store without the marker.
const LISTED: usize = 1_000;

const NOTE_MARKER: &str = "UPDATE sven_cluster SET is_store_marked = true WHERE NOT is_store_marked";
const SELECT_MARKED: &str = "SELECT is_store_marked FROM sven_cluster";
const SELECT_FOREIGN: &str = "SELECT name FROM unnest($1::text[]) AS listed (name) \
     WHERE name NOT LIKE 'check-%' AND split_part(name, '/', 1) NOT IN (SELECT instance::text FROM sven_repository) \
     AND name NOT IN (SELECT name FROM sven_garbage) LIMIT 1";
const SELECT_SAMPLE: &str = "(SELECT true, r.instance, p.shard, p.publication FROM sven_pack p \
         JOIN sven_repository r ON r.id = p.repository LIMIT 8) \
     UNION ALL (SELECT false, r.instance, v.rev, v.publication FROM sven_revision v \
         JOIN sven_repository r ON r.id = v.repository WHERE v.length > 0 AND v.content IS NULL \
         ORDER BY v.repository DESC, v.rev DESC LIMIT 8)";
