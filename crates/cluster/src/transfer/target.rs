//! The rows and objects of a repository that is being imported.
//!
//! All of it may be done twice: a step whose connection was lost is taken again. The publication of what an import writes begins with the first
//! half of the repository's instance, so rows of revisions that the cluster has made are recognised. The other half is a random number of
//! the run: names of objects are used once, as those of an interrupted run may be taken for garbage at any moment.
//!
//! A run that is stopped between an object and its row, and goes on days later, would name an object that has been removed meanwhile.
//! So a row is refused that comes too late (`naming_deadline`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use base::{Code, Error, Lock, Result, Revnum};
use fsfs::RepCacheRow;
use fsfs::disk::DiskFile;
use uuid::Uuid;

use super::admission::Conflict;
use super::import::OwnChanges;
use crate::cluster::{Cluster, RepositoryInfo};
use crate::database::sql_error;
use crate::naming_deadline::naming_deadline;
use crate::objects::{pack_key, read_whole, revision_key};

/// A repository in the cluster.
pub(super) struct Target<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) info: RepositoryInfo,
    /// The publication of all that this run writes.
    pub(super) import: Uuid,
    pub(super) own_changes: OwnChanges,
}

/// Revisions that are written together.
#[derive(Clone, Default)]
pub(super) struct Batch {
    revs: Vec<i64>,
    lengths: Vec<i64>,
    contents: Vec<Option<Vec<u8>>>,
    /// The digests of the files that are in the object store.
    digests: Vec<Option<Vec<u8>>>,
    /// The checksums of their blocks.
    blocks: Vec<Option<Vec<u8>>>,
    lists: Vec<Vec<u8>>,
    /// The length of all files and property lists.
    bytes: u64,
    /// When the rows must be there, if objects were written.
    deadline: Option<SystemTime>,
}

/// The last step of an import.
#[derive(Clone)]
pub(super) struct End {
    pub(super) youngest: Revnum,
    pub(super) min_unpacked: u64,
    pub(super) locks: Vec<Lock>,
}

impl Target<'_> {
    /// Returns the property lists that are there, by revision.
    pub(super) fn props(&self, first: u64, end: u64) -> Result<BTreeMap<u64, Vec<u8>>> {
        let (id, first, end) = (self.info.id, signed(first), signed(end));
        let rows = self
            .cluster
            .0
            .database
            .run("read property lists", |client| async move {
                client.query(SELECT_PROPS, &[&id, &first, &end]).await
            })?;
        let lists = rows.iter().map(|row| {
            let rev: i64 = row.try_get(0).map_err(sql_error)?;
            Ok((
                u64::try_from(rev).unwrap_or_default(),
                row.try_get(1).map_err(sql_error)?,
            ))
        });
        lists.collect()
    }

    /// Returns the packs that are there.
    pub(super) fn packs(&self) -> Result<Vec<u64>> {
        let id = self.info.id;
        let rows = self
            .cluster
            .0
            .database
            .run("look for packs", |client| async move {
                client.query(SELECT_PACKS, &[&id]).await
            })?;
        let shards = rows.iter().map(|row| {
            let shard: i64 = row.try_get(0).map_err(sql_error)?;
            Ok(u64::try_from(shard).unwrap_or_default())
        });
        shards.collect()
    }

    /// Copies a pack file.
    pub(super) fn put_pack(&self, shard: u64, file: &dyn DiskFile, manifest: Option<Vec<u8>>) -> Result<()> {
        let length = length_of(file)?;
        let (id, import) = (self.info.id, self.import);
        let name = pack_key(self.info.instance, shard, import);
        let deadline = self.deadline()?;
        let digest = self.cluster.0.objects.put_file(&name, file)?;
        let inserted = self.cluster.0.database.run("note a pack", |client| {
            let (manifest, digest) = (manifest.clone(), digest.clone());
            async move {
                let (shard, sha256) = (signed(shard), digest.sha256.as_slice());
                let blocks = digest.blocks;
                client
                    .execute(
                        INSERT_PACK,
                        &[
                            &id, &shard, &import, &length, &manifest, &sha256, &deadline, &blocks,
                        ],
                    )
                    .await
            }
        })?;
        // None are inserted either if the step was taken twice.
        match inserted > 0 || self.packs()?.contains(&shard) {
            true => Ok(()),
            false => Err(too_late()),
        }
    }

    /// When the row of an object must be there that is written now.
    fn deadline(&self) -> Result<SystemTime> {
        naming_deadline(&self.cluster.0.database, self.cluster.settings().gc_grace())
    }

    /// Copies a revision, or adds it to the batch if it is short. Without a file it is one that is packed.
    pub(super) fn add_revision(
        &self,
        batch: &mut Batch,
        rev: Revnum,
        file: Option<&dyn DiskFile>,
        list: Vec<u8>,
    ) -> Result<()> {
        let (length, content, digest) = match file {
            None => (0, None, None),
            Some(file) => {
                let length = length_of(file)?;
                if length == 0 {
                    // In the rows, this means that the revision is in a pack.
                    let text = format!("The file of revision {rev} is empty");
                    return Err(Error::new(Code::FS_CORRUPT, text));
                }
                let (instance, import) = (self.info.instance, self.import);
                match length <= MAX_INLINE {
                    true => {
                        let content = read_whole(file, length.cast_unsigned()).map_err(read_error)?;
                        (length, Some(content), None)
                    }
                    false => {
                        let name = revision_key(instance, rev.0, import);
                        if batch.deadline.is_none() {
                            batch.deadline = Some(self.deadline()?);
                        }
                        let digest = self.cluster.0.objects.put_file(&name, file)?;
                        (length, None, Some(digest))
                    }
                }
            }
        };
        batch.bytes += length.cast_unsigned() + list.len() as u64;
        batch.revs.push(signed(rev.0));
        batch.lengths.push(length);
        batch.contents.push(content);
        let (sha256, blocks) = digest
            .map(|digest| (digest.sha256.to_vec(), digest.blocks))
            .unzip();
        batch.digests.push(sha256);
        batch.blocks.push(blocks);
        batch.lists.push(list);
        match batch.bytes > BATCH_BYTES || batch.revs.len() >= BATCH_REVISIONS {
            true => self.write(batch),
            false => Ok(()),
        }
    }

    /// Writes the rows of a batch, which is empty then.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` if something was changed in the cluster that the import would lose.
    pub(super) fn write(&self, batch: &mut Batch) -> Result<()> {
        let batch = Arc::new(std::mem::take(batch));
        if batch.revs.is_empty() {
            return Ok(());
        }
        let (id, import, base) = (self.info.id, self.import, self.base());
        let inserted = self.cluster.0.database.run("write revisions", |mut client| {
            let batch = batch.clone();
            async move {
                let transaction = client.transaction().await?;
                if let Some(conflict) = base.lock_and_check(&transaction).await? {
                    return Ok(Err(conflict));
                }
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] = [
                    &id,
                    &import,
                    &batch.revs,
                    &batch.lengths,
                    &batch.contents,
                    &batch.lists,
                    &batch.digests,
                    &batch.deadline,
                    &batch.blocks,
                ];
                let inserted = transaction.execute(INSERT_REVISIONS, &values).await?;
                transaction.commit().await?;
                Ok(Ok(inserted))
            }
        })?;
        let inserted = inserted.map_err(|conflict| self.refused(conflict))?;
        match inserted == batch.revs.len() as u64 || self.has_all(&batch)? {
            true => Ok(()),
            false => Err(too_late()),
        }
    }

    /// True if all revisions of a batch are there: a step that was taken twice inserts none the second time.
    fn has_all(&self, batch: &Arc<Batch>) -> Result<bool> {
        let id = self.info.id;
        let row = self.cluster.0.database.run("look for revisions", |client| {
            let batch = batch.clone();
            async move { client.query_one(COUNT_REVISIONS, &[&id, &batch.revs]).await }
        })?;
        let there: i64 = row.try_get(0).map_err(sql_error)?;
        Ok(there == batch.revs.len() as i64)
    }

    /// Replaces property lists.
    ///
    /// # Errors
    /// As [`Target::write`]: the lists may be those of revisions that were committed to the cluster.
    pub(super) fn replace_props(&self, changed: Vec<(u64, Vec<u8>)>) -> Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        let (id, base) = (self.info.id, self.base());
        let revs: Vec<i64> = changed.iter().map(|(rev, _)| signed(*rev)).collect();
        let columns = Arc::new((
            revs,
            changed.into_iter().map(|(_, list)| list).collect::<Vec<_>>(),
        ));
        let replaced = self
            .cluster
            .0
            .database
            .run("change property lists", |mut client| {
                let columns = columns.clone();
                async move {
                    let transaction = client.transaction().await?;
                    if let Some(conflict) = base.lock_and_check(&transaction).await? {
                        return Ok(Err(conflict));
                    }
                    let row = transaction.query_one(SELECT_VERSION, &[&id]).await?;
                    let version: i64 = row.try_get(0)?;
                    transaction
                        .execute(UPDATE_PROPS, &[&id, &columns.0, &columns.1])
                        .await?;
                    transaction
                        .execute(INSERT_CHANGES, &[&id, &version, &columns.0])
                        .await?;
                    transaction
                        .execute(RAISE_VERSION, &[&id, &(columns.0.len() as i64)])
                        .await?;
                    transaction.commit().await?;
                    Ok(Ok(()))
                }
            })?;
        replaced.map_err(|conflict| self.refused(conflict))?;
        // Nodes may use the old lists for so long.
        std::thread::sleep(self.cluster.settings().staleness());
        Ok(())
    }

    /// Adds rows for rep sharing.
    pub(super) fn add_reps(&self, rows: &[RepCacheRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let id = self.info.id;
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| row.sha1.0.to_vec()).collect();
        let numbers =
            |of: fn(&RepCacheRow) -> u64| rows.iter().map(|row| signed(of(row))).collect::<Vec<i64>>();
        let columns = Arc::new((
            keys,
            numbers(|row| row.rev.0),
            numbers(|row| row.item),
            numbers(|row| row.length),
            numbers(|row| row.expanded),
        ));
        self.cluster.0.database.run("write rows of contents", |client| {
            let c = columns.clone();
            async move {
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                    [&id, &c.0, &c.1, &c.2, &c.3, &c.4];
                client.execute(INSERT_REPS, &values).await
            }
        })?;
        Ok(())
    }

    /// Makes everything visible that was copied.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` if something was changed in the cluster that the import would lose.
    pub(super) fn finish(&self, end: &End) -> Result<()> {
        let (id, base) = (self.info.id, self.base());
        let end = Arc::new(end.clone());
        let finished = self.cluster.0.database.run("complete an import", |mut client| {
            let end = end.clone();
            async move {
                let transaction = client.transaction().await?;
                if let Some(conflict) = base.lock_and_check(&transaction).await? {
                    return Ok(Err(conflict));
                }
                transaction.execute(DELETE_LOCKS, &[&id]).await?;
                for lock in &end.locks {
                    let (path, expires) = (lock.path.as_bytes(), lock.expires.map(|date| date.0));
                    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] = [
                        &id,
                        &path,
                        &lock.token,
                        &lock.owner,
                        &lock.comment,
                        &lock.is_dav_comment,
                        &lock.created.0,
                        &expires,
                    ];
                    transaction.execute(INSERT_LOCK, &values).await?;
                }
                let (youngest, min_unpacked) = (signed(end.youngest.0), signed(end.min_unpacked));
                let finished = transaction
                    .execute(FINISH, &[&id, &youngest, &min_unpacked])
                    .await?;
                if finished == 0 {
                    return Ok(Err(Conflict::LaterImport));
                }
                transaction.execute(NOTIFY, &[&id]).await?;
                transaction.commit().await?;
                Ok(Ok(()))
            }
        })?;
        finished.map_err(|conflict| self.refused(conflict))?;
        std::thread::sleep(self.cluster.settings().staleness());
        Ok(())
    }

    fn refused(&self, conflict: Conflict) -> Error {
        conflict.error(&self.info.name)
    }
}

fn too_late() -> Error {
    Error::new(
        Code::FS_GENERAL,
        "The import was stopped for so long that its objects may have been removed as garbage; start it again",
    )
}

fn length_of(file: &dyn DiskFile) -> Result<i64> {
    Ok(signed(file.len().map_err(read_error)?))
}

fn read_error(e: std::io::Error) -> Error {
    Error::os(&e, "Can't read a file of the repository")
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Revision files up to this length travel in rows, bytes.
const MAX_INLINE: i64 = 64 << 10;

/// A batch is written when its files and property lists take so many bytes, or when it has so many revisions.
const BATCH_BYTES: u64 = 2 << 20;
const BATCH_REVISIONS: usize = 500;

const SELECT_PROPS: &str =
    "SELECT rev, props FROM sven_revision WHERE repository = $1 AND rev >= $2 AND rev < $3";
const SELECT_PACKS: &str = "SELECT shard FROM sven_pack WHERE repository = $1";
const INSERT_PACK: &str = "INSERT INTO sven_pack (repository, shard, publication, length, manifest, sha256, blocks, checked, good) \
     SELECT $1, $2, $3, $4, $5, $6, $8, now(), now() WHERE clock_timestamp() < $7::timestamptz ON CONFLICT DO NOTHING";
const COUNT_REVISIONS: &str = "SELECT count(*) FROM sven_revision WHERE repository = $1 AND rev = ANY ($2)";
const INSERT_REVISIONS: &str = "INSERT INTO sven_revision \
         (repository, rev, publication, length, content, props, sha256, blocks, checked, good) \
     SELECT $1, r, $2, l, c, p, d, b, CASE WHEN d IS NOT NULL THEN now() END, CASE WHEN d IS NOT NULL THEN now() END \
     FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $9::bytea[]) AS new (r, l, c, p, d, b) \
     WHERE $8::timestamptz IS NULL OR clock_timestamp() < $8 ON CONFLICT DO NOTHING";
const SELECT_VERSION: &str = "SELECT revprops_version FROM sven_repository WHERE id = $1";
const UPDATE_PROPS: &str = "UPDATE sven_revision SET props = new.p FROM unnest($2::bigint[], $3::bytea[]) AS new (r, p) \
     WHERE repository = $1 AND rev = new.r";
const INSERT_CHANGES: &str = "INSERT INTO sven_revprop_change (repository, version, rev) \
     SELECT $1, $2 + number, r FROM unnest($3::bigint[]) WITH ORDINALITY AS new (r, number)";
const RAISE_VERSION: &str = "UPDATE sven_repository SET revprops_version = revprops_version + $2, imported_revprops = imported_revprops + $2 WHERE id = $1";
const INSERT_REPS: &str = "INSERT INTO sven_rep (repository, sha1, rev, item, length, expanded) \
     SELECT $1, s, r, i, l, e \
     FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS new (s, r, i, l, e) \
     ON CONFLICT DO NOTHING";
const DELETE_LOCKS: &str = "DELETE FROM sven_lock WHERE repository = $1";
const INSERT_LOCK: &str = "INSERT INTO sven_lock (repository, path, token, owner, comment, is_dav_comment, created, expires) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
/// The cluster may have packed shards that the source has not.
const FINISH: &str = "UPDATE sven_repository SET youngest = $2, min_unpacked = greatest(min_unpacked, $3), \
     locks_version = locks_version + 1, imported_locks = locks_version + 1, imported_revprops = revprops_version \
     WHERE id = $1 AND youngest <= $2";
const NOTIFY: &str =
    "SELECT pg_notify('sven_head', $1::bigint::text), pg_notify('sven_files', $1::bigint::text)";
