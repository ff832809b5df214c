//! Objects and rows compared: garbage that no row names, and rows whose object is missing.
//!
//! An object is written before the row that names it. So one without a row may be part of a publication that is under way, and only
//! those that are older than a grace time are garbage. A row is never younger than its object.

use std::collections::{HashMap, HashSet};

use base::{Cancel, Result};
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::database::sql_error;
use crate::objects::{ListedObject, pack_key, revision_key};

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
    /// Names of objects that rows name and that are missing, or have another length.
    pub damaged: Vec<String>,
}

/// Makes the name of an object.
type MakeName = fn(Uuid, u64, Uuid) -> String;

/// The objects that rows name.
type NamedObjects = HashMap<String, NamedObject>;

/// What a row says of its object.
#[derive(Clone, Copy)]
struct NamedObject {
    length: u64,
    /// False while the content is in the row as well: the object may not have been written yet. It may also be old, of an attempt to
    /// move the content that was interrupted, and be named by the row alone the next moment. So it is no garbage.
    must_exist: bool,
}

impl Cluster {
    /// Compares all objects with the rows. With `remove`, garbage older than `grace` seconds is removed.
    ///
    /// # Errors
    /// `FS_GENERAL`, `CANCELLED`.
    pub fn compare_objects(&self, grace: u64, remove: bool, cancel: &Cancel) -> Result<ObjectReport> {
        // The objects first: one that is published while the rows are read is not taken for garbage, and one whose row was read is
        // in the list or was missing.
        let listed = self.0.objects.list("")?;
        cancel.check()?;
        let named = self.named_objects()?;
        let mut report = ObjectReport::default();
        let mut found: HashSet<&str> = HashSet::new();
        for object in &listed {
            cancel.check()?;
            match named.get(&object.name) {
                Some(named) => {
                    found.insert(&object.name);
                    report.objects += 1;
                    report.bytes += object.length;
                    if named.must_exist && named.length != object.length {
                        report.damaged.push(object.name.clone());
                    }
                }
                None => self.take_garbage(object, grace, remove, &mut report)?,
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

    fn take_garbage(
        &self,
        object: &ListedObject,
        grace: u64,
        remove: bool,
        report: &mut ObjectReport,
    ) -> Result<()> {
        if object.age < grace {
            return Ok(());
        }
        report.garbage += 1;
        report.garbage_bytes += object.length;
        match remove {
            true => self.0.objects.delete(&object.name),
            false => Ok(()),
        }
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
                };
                named.insert(name(id(0)?, number(1)?, id(2)?), object);
            }
        }
        Ok(named)
    }
}

const REVISIONS: &str = "SELECT r.instance, v.rev, v.publication, v.length, v.content IS NULL \
     FROM sven_revision v JOIN sven_repository r ON r.id = v.repository WHERE v.length > 0";
const PACKS: &str = "SELECT r.instance, p.shard, p.publication, p.length, true \
     FROM sven_pack p JOIN sven_repository r ON r.id = p.repository";
