//! Objects and rows compared: garbage that no row names, and rows whose object is missing.
//!
//! An object is written before the row that names it. So one without a row may be part of a publication that is under way. The table
//! `sven_garbage` says since when an object is known to have no row, by the database's clock; an object is removed when that was a
//! grace time ago and it still has none. A row that comes later than half of the grace time after its object is refused (`naming_deadline`). The time of the object itself says less: an old revision has no row any more from the moment at
//! which its shard is packed, and a database that is restored to an earlier moment names it again.
//!
//! Objects are only listed in a store that belongs to the cluster (`store_identity`): all those of another one are garbage.
//!
//! A row is never younger than its object. While the content is in the row as well, an object under the name counts as named: an
//! interrupted attempt to move the content has left it, and the row may name it alone the next moment.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Cancel, Result};
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::database::sql_error;
use crate::jobs::JobKind;
use crate::metrics::add;
use crate::objects::{ListedObject, is_object_name, pack_key, revision_key};

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectReport {
    /// Objects that rows name.
    pub objects: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Objects that no row names, and their bytes. Those within the grace time do not count.
    pub garbage: u64,
    /// Bytes of the garbage.
    pub garbage_bytes: u64,
    /// Names of objects that rows name and that are missing, have another length, or were found damaged by the last scrub.
    pub damaged: Vec<String>,
}

/// What a removal of garbage has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// Objects that were removed, or would have been.
    pub removed: u64,
    /// Bytes of these.
    pub removed_bytes: u64,
    /// Objects without a row that are not removed yet.
    pub waiting: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
}

/// Makes the name of an object.
type MakeName = fn(Uuid, u64, Uuid) -> String;

/// The objects that rows name.
type NamedObjects = HashMap<String, NamedObject>;

/// What a row says of its object.
#[derive(Clone, Copy)]
struct NamedObject {
    length: u64,
    /// False while the content is in the row as well: the object may not have been written yet.
    must_exist: bool,
    /// The last scrub has found it damaged.
    is_damaged: bool,
}

impl Cluster {
    /// Compares all objects with the rows. Objects without a row count as garbage if they were written at least `grace` seconds ago.
    ///
    /// # Errors
    /// `FS_GENERAL`, `CANCELLED`.
    pub fn compare_objects(&self, grace: u64, cancel: &Cancel) -> Result<ObjectReport> {
        let (listed, named) = self.list_and_names(cancel)?;
        let mut report = ObjectReport::default();
        let mut found: HashSet<&str> = HashSet::new();
        for object in &listed {
            match named.get(&object.name) {
                Some(named) => {
                    found.insert(&object.name);
                    report.objects += 1;
                    report.bytes += object.length;
                    if named.must_exist && (named.length != object.length || named.is_damaged) {
                        report.damaged.push(object.name.clone());
                    }
                }
                None if object.age >= grace => {
                    report.garbage += 1;
                    report.garbage_bytes += object.length;
                }
                None => {}
            }
        }
        // Objects that were written after the list was made are asked for by name.
        let missing = named.iter().filter(|(name, _)| !found.contains(name.as_str()));
        for (name, object) in missing.filter(|(_, object)| object.must_exist) {
            cancel.check()?;
            if self.0.objects.length(name)? != Some(object.length) {
                report.damaged.push(name.clone());
            }
        }
        report.damaged.sort();
        Ok(report)
    }

    /// Removes the objects that are known to have no row for at least `grace` seconds, and notes those that have none now. While a node commits, that must
    /// not be shorter than [`ClusterSettings::gc_grace_ms`]. With `dry_run` only
    /// says what would be removed. Waits while another node does it.
    ///
    /// # Errors
    /// `FS_GENERAL`, `CANCELLED`.
    ///
    /// [`ClusterSettings::gc_grace_ms`]: crate::settings::ClusterSettings::gc_grace_ms
    pub fn collect_garbage(&self, grace: u64, dry_run: bool, cancel: &Cancel) -> Result<GarbageReport> {
        if dry_run {
            let (unnamed, due) = self.find_garbage(grace, false, cancel)?;
            return Ok(GarbageReport::of(&unnamed, &due));
        }
        let lease = self.wait_for_job(JobKind::Garbage, 0, cancel)?;
        let removed = self.remove_garbage(grace, cancel);
        let report = lease.explain(removed)?;
        lease.finish()?;
        Ok(report)
    }

    /// As [`Cluster::collect_garbage`], by a run that has the job.
    pub(crate) fn remove_garbage(&self, grace: u64, cancel: &Cancel) -> Result<GarbageReport> {
        let (unnamed, due) = self.find_garbage(grace, true, cancel)?;
        for object in unnamed.iter().filter(|object| due.contains(&object.name)) {
            cancel.check()?;
            self.0.objects.delete(&object.name)?;
            add(&self.0.metrics.removed_objects, 1);
        }
        Ok(GarbageReport::of(&unnamed, &due))
    }

    /// Returns the objects without a row, and the names of those that have to go. With `note`, the table has all of them afterwards.
    fn find_garbage(
        &self,
        grace: u64,
        note: bool,
        cancel: &Cancel,
    ) -> Result<(Vec<ListedObject>, HashSet<String>)> {
        let (mut listed, named) = self.list_and_names(cancel)?;
        listed.retain(|object| !named.contains_key(&object.name));
        let names: Vec<String> = listed.iter().map(|object| object.name.clone()).collect();
        let (names, grace) = (Arc::new(names), grace as f64);
        let rows = self.0.database.run("note objects without a row", |mut client| {
            let names = names.clone();
            async move {
                let transaction = client.transaction().await?;
                if note {
                    transaction.execute(FORGET, &[&*names]).await?;
                    transaction.execute(NOTE, &[&*names]).await?;
                }
                let rows = transaction.query(SELECT_DUE, &[&*names, &grace]).await?;
                transaction.commit().await?;
                Ok(rows)
            }
        })?;
        let due = rows.iter().map(|row| row.try_get(0).map_err(sql_error));
        Ok((listed, due.collect::<Result<_>>()?))
    }

    /// Lists the objects, and those that rows name.
    fn list_and_names(&self, cancel: &Cancel) -> Result<(Vec<ListedObject>, NamedObjects)> {
        // The objects first: one that is published while the rows are read is not taken for garbage, and one whose row was read is
        // in the list or was missing.
        self.check_store_identity()?;
        let mut listed = self.0.objects.list("")?;
        listed.retain(|object| is_object_name(&object.name));
        cancel.check()?;
        let named = self.named_objects()?;
        cancel.check()?;
        Ok((listed, named))
    }

    /// Returns the names and lengths of the objects that rows name.
    fn named_objects(&self) -> Result<NamedObjects> {
        let database = &self.0.database;
        let revisions = database.run("list revisions", |client| async move {
            client.query(REVISIONS, &[]).await
        })?;
        let packs = database.run(
            "list packs",
            |client| async move { client.query(PACKS, &[]).await },
        )?;
        let mut named = NamedObjects::new();
        for (rows, name) in [(revisions, revision_key as MakeName), (packs, pack_key)] {
            for row in &rows {
                let number = |at: usize| -> Result<u64> {
                    let number: i64 = row.try_get(at).map_err(sql_error)?;
                    Ok(u64::try_from(number).unwrap_or_default())
                };
                let id = |at: usize| row.try_get::<_, Uuid>(at).map_err(sql_error);
                let object = NamedObject {
                    length: number(3)?,
                    must_exist: row.try_get(4).map_err(sql_error)?,
                    is_damaged: row.try_get(5).map_err(sql_error)?,
                };
                named.insert(name(id(0)?, number(1)?, id(2)?), object);
            }
        }
        Ok(named)
    }
}

impl GarbageReport {
    fn of(unnamed: &[ListedObject], due: &HashSet<String>) -> GarbageReport {
        let mut report = GarbageReport::default();
        for object in unnamed {
            let (count, bytes) = match due.contains(&object.name) {
                true => (&mut report.removed, &mut report.removed_bytes),
                false => (&mut report.waiting, &mut report.waiting_bytes),
            };
            *count += 1;
            *bytes += object.length;
        }
        report
    }
}

const REVISIONS: &str = "SELECT r.instance, v.rev, v.publication, v.length, v.content IS NULL, \
         v.checked IS NOT NULL AND v.checked IS DISTINCT FROM v.good \
     FROM sven_revision v JOIN sven_repository r ON r.id = v.repository WHERE v.length > 0";
const PACKS: &str = "SELECT r.instance, p.shard, p.publication, p.length, true, \
         p.checked IS NOT NULL AND p.checked IS DISTINCT FROM p.good \
     FROM sven_pack p JOIN sven_repository r ON r.id = p.repository";
/// Objects that are gone, or that a row names (again).
const FORGET: &str = "DELETE FROM sven_garbage WHERE name <> ALL ($1)";
const NOTE: &str = "INSERT INTO sven_garbage (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
const SELECT_DUE: &str = "SELECT name FROM sven_garbage \
     WHERE name = ANY ($1) AND found <= clock_timestamp() - make_interval(secs => $2)";
