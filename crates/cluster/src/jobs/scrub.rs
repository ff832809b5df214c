//! Scrubbing: reads every object from the object store, and compares length and digest with the row that names it.
//!
//! The rows have the time at which each object was written or read last, and at which it was good last. The object that was not read for
//! the longest time comes first, so a scrub that is interrupted goes on where it was. What is damaged is reported and stays as it
//! is. A row without a digest or without checksums of blocks, of a program that did not write any, gets those of the bytes that are there.
//!
//! Contents that are still in rows are not objects yet.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{Cancel, Error, Result};
use fsfs::disk::IoMeter;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{JobKind, JobLease};
use crate::cluster::Cluster;
use crate::database::sql_error;
use crate::digest::ObjectDigest;
use crate::metrics::add;
use crate::objects::{pack_key, revision_key};

/// The result of a scrub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Objects that were read.
    pub objects: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// The damaged objects, and what is wrong with each.
    pub damaged: Vec<(String, String)>,
}

/// An object, as its row says.
struct ScrubbedObject {
    is_pack: bool,
    repository: i64,
    /// The revision, or the shard of a pack.
    number: i64,
    publication: Uuid,
    length: u64,
    digest: Option<Vec<u8>>,
    name: String,
}

/// Which objects a scrub reads.
#[derive(Clone, Copy)]
struct Due {
    /// `None` for those of all repositories.
    repository: Option<i64>,
    /// Seconds since 1970, by the database's clock: those that were not read since.
    before: f64,
}

impl Cluster {
    /// Reads all objects, or those of one repository. Calls `done` after each with what was read so far. The bytes are counted by `meter`,
    /// which may limit their rate. Waits while another node scrubs.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` without such a repository; `FS_GENERAL`, `CANCELLED`. Damaged objects are no error.
    pub fn scrub(
        &self,
        name: Option<&str>,
        meter: Option<&IoMeter>,
        done: &mut dyn FnMut(&ScrubReport),
        cancel: &Cancel,
    ) -> Result<ScrubReport> {
        // Otherwise all objects would be noted as damaged.
        self.check_store_identity()?;
        let repository = name.map(|name| self.repository(name)).transpose()?;
        let lease = self.wait_for_job(JobKind::Scrub, 0, cancel)?;
        let due = Due {
            repository: repository.map(|repository| repository.id),
            before: self.now()?,
        };
        let mut report = ScrubReport::default();
        let read = || -> Result<ScrubReport> {
            loop {
                if self.scrub_some(due, meter, &mut report, done, cancel)? == 0 {
                    return Ok(report);
                }
            }
        };
        let report = lease.explain(read())?;
        if name.is_none() {
            lease.finish()?;
        }
        Ok(report)
    }

    /// Reads objects that were not read for `interval`, for some time.
    pub(super) fn scrub_due(&self, interval: Duration) -> Result<()> {
        self.check_store_identity()?;
        let cancel = Cancel::new();
        let Some(lease) = JobLease::take(&self.0, JobKind::Scrub, 0, Duration::ZERO, &cancel)? else {
            return Ok(());
        };
        let due = Due {
            repository: None,
            before: self.now()? - interval.as_secs_f64(),
        };
        let (begun, meter) = (Instant::now(), self.job_meter(&cancel));
        let mut report = ScrubReport::default();
        let mut read = || -> Result<()> {
            while begun.elapsed() < SLICE {
                if self.scrub_some(due, Some(&meter), &mut report, &mut |_| {}, &cancel)? == 0 {
                    break;
                }
            }
            Ok(())
        };
        let outcome = read();
        lease.explain(outcome)
    }

    /// The time by the database's clock, seconds since 1970.
    fn now(&self) -> Result<f64> {
        let row = self.0.database.run("read the time", |client| async move {
            client.query_one(NOW, &[]).await
        })?;
        row.try_get(0).map_err(sql_error)
    }

    /// Reads the next objects. Returns how many there were.
    fn scrub_some(
        &self,
        due: Due,
        meter: Option<&IoMeter>,
        report: &mut ScrubReport,
        done: &mut dyn FnMut(&ScrubReport),
        cancel: &Cancel,
    ) -> Result<usize> {
        let rows = self
            .0
            .database
            .run("look for objects to read", |client| async move {
                let values: [&(dyn ToSql + Sync); 3] = [&due.repository, &due.before, &AT_ONCE];
                client.query(DUE, &values).await
            })?;
        for row in &rows {
            cancel.check()?;
            let object = object_of(row)?;
            let found = self.read_object(&object, meter, report, cancel)?;
            self.note(&object, found, report)?;
            done(report);
        }
        Ok(rows.len())
    }

    /// Reads an object. Returns its digest, or what is wrong with it.
    fn read_object(
        &self,
        object: &ScrubbedObject,
        meter: Option<&IoMeter>,
        report: &mut ScrubReport,
        cancel: &Cancel,
    ) -> Result<std::result::Result<ObjectDigest, String>> {
        let objects = &self.0.objects;
        match objects.length(&object.name)? {
            None => return Ok(Err("it is missing".to_owned())),
            Some(length) if length != object.length => {
                return Ok(Err(format!("it has {length} bytes instead of {}", object.length)));
            }
            Some(_) => {}
        }
        let read = objects.digest(&object.name, object.length, &mut |bytes| {
            report.bytes += bytes;
            add(&self.0.metrics.scrubbed_bytes, bytes);
            if let Some(meter) = meter {
                meter.read(usize::try_from(bytes).unwrap_or(usize::MAX));
            }
            cancel.check().map_err(|_| io::ErrorKind::Interrupted.into())
        });
        cancel.check()?;
        match read {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Err("it is missing".to_owned())),
            Err(e) => Err(Error::os(&e, &format!("Can't read the object '{}'", object.name))),
            Ok(digest)
                if object
                    .digest
                    .as_deref()
                    .is_some_and(|known| known != digest.sha256) =>
            {
                Ok(Err("it has other bytes than were written".to_owned()))
            }
            Ok(digest) => Ok(Ok(digest)),
        }
    }

    /// Notes what was found in the row, if it still names the object.
    fn note(
        &self,
        object: &ScrubbedObject,
        found: std::result::Result<ObjectDigest, String>,
        report: &mut ScrubReport,
    ) -> Result<()> {
        let (digest, damage) = match found {
            Ok(digest) => (Some(digest), None),
            Err(damage) => (None, Some(damage)),
        };
        let (sha256, blocks) = digest
            .map(|digest| (digest.sha256.to_vec(), digest.blocks))
            .unzip();
        let statement = match object.is_pack {
            true => NOTE_PACK,
            false => NOTE_REVISION,
        };
        let (repository, number, publication) = (object.repository, object.number, object.publication);
        let noted = self.0.database.run("note the state of an object", |client| {
            let (sha256, blocks) = (sha256.clone(), blocks.clone());
            async move {
                let values: [&(dyn ToSql + Sync); 5] = [&repository, &number, &publication, &sha256, &blocks];
                client.execute(statement, &values).await
            }
        })?;
        report.objects += 1;
        add(&self.0.metrics.scrubbed_objects, 1);
        if let (Some(damage), 1..) = (damage, noted) {
            // Otherwise its shard was packed, or the repository removed.
            self.0.metrics.damaged_objects.fetch_add(1, Ordering::Relaxed);
            tracing::error!("the object '{}' of the cluster is damaged: {damage}", object.name);
            report.damaged.push((object.name.clone(), damage));
        }
        Ok(())
    }
}

fn object_of(row: &Row) -> Result<ScrubbedObject> {
    let parse = || -> std::result::Result<ScrubbedObject, tokio_postgres::Error> {
        let (is_pack, number): (bool, i64) = (row.try_get(0)?, row.try_get(2)?);
        let (publication, instance): (Uuid, Uuid) = (row.try_get(3)?, row.try_get(6)?);
        let length: i64 = row.try_get(4)?;
        let at = u64::try_from(number).unwrap_or_default();
        Ok(ScrubbedObject {
            is_pack,
            repository: row.try_get(1)?,
            number,
            publication,
            length: u64::try_from(length).unwrap_or_default(),
            digest: row.try_get(5)?,
            name: match is_pack {
                true => pack_key(instance, at, publication),
                false => revision_key(instance, at, publication),
            },
        })
    };
    parse().map_err(sql_error)
}

/// How long a node scrubs before it looks for other jobs.
const SLICE: Duration = Duration::from_secs(10);

/// Objects whose rows are read at once.
const AT_ONCE: i64 = 100;

const NOW: &str = "SELECT extract(epoch FROM clock_timestamp())::float8";
const DUE: &str = "(SELECT false, v.repository, v.rev, v.publication, v.length, v.sha256, r.instance, v.checked \
         FROM sven_revision v JOIN sven_repository r ON r.id = v.repository \
         WHERE v.content IS NULL AND v.length > 0 AND ($1::bigint IS NULL OR v.repository = $1) \
         AND (v.checked IS NULL OR v.checked < to_timestamp($2)) \
         ORDER BY v.checked NULLS FIRST, v.repository, v.rev LIMIT $3) \
     UNION ALL \
     (SELECT true, p.repository, p.shard, p.publication, p.length, p.sha256, r.instance, p.checked \
         FROM sven_pack p JOIN sven_repository r ON r.id = p.repository \
         WHERE ($1::bigint IS NULL OR p.repository = $1) \
         AND (p.checked IS NULL OR p.checked < to_timestamp($2)) \
         ORDER BY p.checked NULLS FIRST, p.repository, p.shard LIMIT $3) \
     ORDER BY 8 NULLS FIRST, 2, 3 LIMIT $3";
const NOTE_REVISION: &str = "UPDATE sven_revision SET checked = now.t, sha256 = coalesce(sha256, $4), blocks = coalesce(blocks, $5), \
         good = CASE WHEN $4::bytea IS NULL THEN good ELSE now.t END \
     FROM (SELECT clock_timestamp() AS t) AS now \
     WHERE repository = $1 AND rev = $2 AND publication = $3 AND content IS NULL AND length > 0";
const NOTE_PACK: &str = "UPDATE sven_pack SET checked = now.t, sha256 = coalesce(sha256, $4), blocks = coalesce(blocks, $5), \
         good = CASE WHEN $4::bytea IS NULL THEN good ELSE now.t END \
     FROM (SELECT clock_timestamp() AS t) AS now \
     WHERE repository = $1 AND shard = $2 AND publication = $3";
