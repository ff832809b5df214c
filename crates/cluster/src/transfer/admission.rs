//! Whether a repository of files may be imported into one of the cluster: a later import must not lose or mix anything.

use base::{Code, Error, Result, Revnum};
use fsfs::shared::Head;
use uuid::Uuid;

use super::import::OwnChanges;
use super::lineage::has_same_history;
use super::source::Source;
use super::target::Target;
use crate::cluster::Cluster;
use crate::database::sql_error;

impl Target<'_> {
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
            return Err(own_changes_error(name));
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

/// The error for changes that were made in the cluster.
pub(super) fn own_changes_error(name: &str) -> Error {
    Error::new(
        Code::FS_ALREADY_EXISTS,
        format!(
            "Locks or revision properties of the repository '{name}' were changed in the cluster since the last import; they would be lost"
        ),
    )
}

const MAKE: &str = "INSERT INTO sven_repository (name, format, uuid, fsfs_conf, instance) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (name) DO NOTHING";
const FOREIGN: &str = "SELECT count(*) FILTER (WHERE left(publication::text, 18) <> left($2::uuid::text, 18)), max(rev) FROM sven_revision WHERE repository = $1";
/// Whether there are changes that may not be lost. Without an import that has ended there can be none.
pub(super) const HAS_OWN_CHANGES: &str = "SELECT NOT $2::boolean AND imported_locks IS NOT NULL \
     AND (imported_locks <> locks_version OR imported_revprops <> revprops_version) FROM sven_repository WHERE id = $1";
