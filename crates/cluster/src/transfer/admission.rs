//! Whether a repository of files may be imported into one of the cluster: a later import must not lose or mix anything.
//!
//! That is checked when an import begins, and again by each step that could replace something, with the row of the repository locked: nodes may
//! commit, lock and change properties while an import runs.

use base::{Code, Error, Result, Revnum};
use deadpool_postgres::Transaction;
use fsfs::shared::Head;
use uuid::Uuid;

use super::import::OwnChanges;
use super::lineage::has_same_history;
use super::source::Source;
use super::target::Target;
use crate::cluster::Cluster;
use crate::database::sql_error;

/// A change in the cluster that an import would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Revisions were committed during the import.
    Commits,
    /// Locks or property lists were changed.
    LocksOrProps,
    /// Another import has ended, with more revisions.
    LaterImport,
}

/// The state that an import continues.
#[derive(Clone, Copy)]
pub(super) struct ImportBase {
    repository: i64,
    /// -1 before the end of the first import.
    youngest: i64,
    may_lose_changes: bool,
}

impl ImportBase {
    /// Locks the row of the repository until the transaction ends, and looks for changes in the cluster that are not in the state.
    pub(super) async fn lock_and_check(
        self,
        transaction: &Transaction<'_>,
    ) -> std::result::Result<Option<Conflict>, tokio_postgres::Error> {
        transaction.query_one(LOCK, &[&self.repository]).await?;
        // A statement of its own: it sees what was committed while the lock was waited for.
        let row = transaction
            .query_one(HAS_COMMITS, &[&self.repository, &self.youngest])
            .await?;
        if row.try_get(0)? {
            return Ok(Some(Conflict::Commits));
        }
        let row = transaction
            .query_one(HAS_OWN_CHANGES, &[&self.repository, &self.may_lose_changes])
            .await?;
        Ok(row.try_get::<_, bool>(0)?.then_some(Conflict::LocksOrProps))
    }
}

impl Conflict {
    /// The error for a conflict in the repository with this name.
    pub(super) fn error(self, name: &str) -> Error {
        let text = match self {
            Conflict::Commits => format!(
                "Revisions were committed to the repository '{name}' of the cluster while it was imported; they would be lost. They stay, \
                 and the repository cannot be imported again: import under another name, or export this one"
            ),
            Conflict::LocksOrProps => format!(
                "Locks or revision properties of the repository '{name}' were changed in the cluster since the last import; they would be lost"
            ),
            Conflict::LaterImport => format!(
                "Another import has brought more revisions into the repository '{name}' of the cluster; they would be lost"
            ),
        };
        Error::new(Code::FS_ALREADY_EXISTS, text)
    }
}

impl Target<'_> {
    /// The state that this import continues.
    pub(super) fn base(&self) -> ImportBase {
        ImportBase {
            repository: self.info.id,
            youngest: self
                .info
                .youngest
                .map_or(-1, |rev| i64::try_from(rev).unwrap_or(i64::MAX)),
            may_lose_changes: self.own_changes == OwnChanges::Overwrite,
        }
    }

    /// Returns the repository with this name, and makes an empty one if there is none.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS` if it is another repository, or has revisions that the source lacks or has otherwise.
    pub(super) fn find_or_make<'a>(
        cluster: &'a Cluster,
        name: &str,
        own_changes: OwnChanges,
        source: &Source,
    ) -> Result<Target<'a>> {
        let text = |file: &str| -> Result<String> {
            let bytes = source.small_file(file)?;
            String::from_utf8(bytes)
                .map_err(|_| Error::new(Code::FS_CORRUPT, format!("'{file}' is not UTF-8")))
        };
        let (format, uuid) = (text("format")?, text("uuid")?);
        let conf = match source.small_file("fsfs.conf") {
            Err(e) if fsfs::disk::is_missing(&e) => Vec::new(),
            conf => conf?,
        };
        let instance = Uuid::new_v4();
        cluster.0.database.run("make a repository", |client| {
            let (name, format, uuid, conf) = (name.to_owned(), format.clone(), uuid.clone(), conf.clone());
            async move {
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                    [&name, &format, &uuid, &conf, &instance];
                client.execute(MAKE, &values).await
            }
        })?;
        let info = cluster.repository(name)?;
        let refused = |why: &str| {
            Err(Error::new(
                Code::FS_ALREADY_EXISTS,
                format!("The repository '{name}' of the cluster {why}"),
            ))
        };
        if info.uuid.lines().next() != uuid.lines().next() {
            return refused("has another UUID");
        }
        if info.format != format {
            return refused("has another format; it cannot be continued");
        }
        let import = new_import(info.instance);
        let target = Target {
            cluster,
            info,
            import,
            own_changes,
        };
        let (own, last) = target.foreign_revisions()?;
        if own > 0 {
            return refused("has revisions that were committed to it; they would be lost");
        }
        if target.has_own_changes()? {
            return Err(Conflict::LocksOrProps.error(name));
        }
        if let Some(last) = last {
            if last > source.fs.youngest()?.0 {
                return refused("has more revisions than the source");
            }
            if !target.has_revision_of(source, last)? {
                let why = format!(
                    "has another revision {last} than the source, which was restored or rebuilt; the two histories would be mixed"
                );
                return refused(&why);
            }
        }
        Ok(target)
    }

    /// True if locks or property lists were changed in the cluster, and the caller does not want to lose them.
    fn has_own_changes(&self) -> Result<bool> {
        let (id, may_lose) = (self.info.id, self.own_changes == OwnChanges::Overwrite);
        let row = self
            .cluster
            .0
            .database
            .run("look for changes", |client| async move {
                client.query_one(HAS_OWN_CHANGES, &[&id, &may_lose]).await
            })?;
        row.try_get(0).map_err(sql_error)
    }

    /// True if the last revision that is there is the one of the source.
    fn has_revision_of(&self, source: &Source, last: u64) -> Result<bool> {
        let packed = self.packs()?;
        let packed = (0..).take_while(|shard| packed.contains(shard)).count() as u64;
        let unfinished = (self.info.youngest != Some(last)).then_some(Head {
            youngest: Revnum(last),
            min_unpacked: Revnum(packed * source.shard_size),
            locks_version: 0,
            revprops_version: 0,
        });
        has_same_history(self.cluster, &self.info, unfinished, &source.fs, Revnum(last))
    }

    /// Returns how many revisions were not imported, and the last revision that is there.
    fn foreign_revisions(&self) -> Result<(i64, Option<u64>)> {
        let (id, instance) = (self.info.id, self.info.instance);
        let row = self
            .cluster
            .0
            .database
            .run("look for revisions", |client| async move {
                client.query_one(FOREIGN, &[&id, &instance]).await
            })?;
        let last: Option<i64> = row.try_get(1).map_err(sql_error)?;
        Ok((
            row.try_get(0).map_err(sql_error)?,
            last.and_then(|last| u64::try_from(last).ok()),
        ))
    }
}

/// The publication of a run.
fn new_import(instance: Uuid) -> Uuid {
    let mut bytes = Uuid::new_v4().into_bytes();
    bytes[..8].copy_from_slice(&instance.as_bytes()[..8]);
    Uuid::from_bytes(bytes)
}

const MAKE: &str = "INSERT INTO sven_repository (name, format, uuid, fsfs_conf, instance) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (name) DO NOTHING";
const FOREIGN: &str = "SELECT count(*) FILTER (WHERE left(publication::text, 18) <> left($2::uuid::text, 18)), max(rev) FROM sven_revision WHERE repository = $1";
const LOCK: &str = "SELECT id FROM sven_repository WHERE id = $1 FOR UPDATE";
/// Whether revisions were made since the youngest one was $2, other than by an import. No commit follows revisions of an import that has not ended,
/// as their rows are there already: if there are commits, the youngest revision is one.
const HAS_COMMITS: &str = "SELECT r.youngest < $2 OR (r.youngest > $2 AND NOT EXISTS (SELECT FROM sven_revision v \
         WHERE v.repository = r.id AND v.rev = r.youngest AND left(v.publication::text, 18) = left(r.instance::text, 18))) \
     FROM sven_repository r WHERE r.id = $1";
/// Whether there are changes that may not be lost. Without an import that has ended there can be none.
const HAS_OWN_CHANGES: &str = "SELECT NOT $2::boolean AND imported_locks IS NOT NULL \
     AND (imported_locks <> locks_version OR imported_revprops <> revprops_version) FROM sven_repository WHERE id = $1";
