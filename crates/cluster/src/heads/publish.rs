//! Making revisions, and keeping other nodes from it.
//!
//! Revision files above [`MAX_INLINE`] bytes go to the object store first, under a name that no other attempt has; a single commit has
//! uploaded its file before it took the lock of its machine. Shorter ones travel in the statement, and are moved to the object store
//! later (`upkeep`). An attempt that is refused, or whose node dies, leaves objects that no row names; they are removed after some
//! days. A publication that comes so late that its objects may have been removed is refused (`naming_deadline`).
//!
//! Every change takes an advisory lock of the repository, shared with all other changes. A hold has the same lock alone, on a session
//! of its own; what its process changes meanwhile runs on that session. A session that does nothing for a minute ends, so a node
//! that stops does not keep the others out for long.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::{Code, Error, Result, Revnum};
use deadpool_postgres::Object;
use fsfs::shared::{Head, NewRevision, Outcome, SharedHold};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::locks::number;
use super::{DEAD, DONE, Heads, HeadsState, OUTDATED, TOO_LATE, missing};
use crate::database::{StepError, step_error, wait_for};
use crate::digest::ObjectDigest;
use crate::naming_deadline::naming_deadline;
use crate::objects::{read_whole, revision_key};
use crate::row_cache::{Content, Row};

/// Revision files up to this length travel in the statement, bytes.
pub(crate) const MAX_INLINE: u64 = 64 << 10;

/// The session of a hold.
pub(super) struct Hold {
    client: Client,
}

/// The connection of a step: of the pool, or of the hold.
pub(super) enum StepClient {
    Pooled(Box<Object>),
    Held(Arc<Hold>),
}

/// The value that ends a hold when it is dropped.
struct HoldGuard {
    state: Arc<HeadsState>,
    hold: Arc<Hold>,
}

/// The parameters of a publication.
#[derive(Clone)]
struct Publication {
    id: uuid::Uuid,
    revs: Vec<i64>,
    lengths: Vec<i64>,
    contents: Vec<Option<Vec<u8>>>,
    /// The digests of the files that are uploaded.
    digests: Vec<Option<Vec<u8>>>,
    /// The checksums of their blocks.
    blocks: Vec<Option<Vec<u8>>>,
    /// When the rows must be there, if files were uploaded.
    deadline: Option<SystemTime>,
    lists: Vec<Vec<u8>>,
    sha1s: Vec<Vec<u8>>,
    /// Revision, item, length and expanded length of each content.
    reps: [Vec<i64>; 4],
}

impl Heads {
    pub(super) fn publish_revisions(&self, from: &Head, revisions: &[NewRevision]) -> Result<Outcome> {
        if revisions.is_empty() {
            return Ok(Outcome::Done);
        }
        let begun = Instant::now();
        let publication = Arc::new(self.prepare(revisions)?);
        self.0.cluster.metrics.uploaded(begun.elapsed());
        let epoch = self.0.cluster.nodes.epoch_for_writing()?;
        let known_version = self.0.revprops.version();
        let result = self.send(from, epoch, &publication);
        let outcome = match result {
            Ok(DONE) => Outcome::Done,
            Ok(OUTDATED) => Outcome::Outdated,
            Ok(DEAD) => {
                self.0.cluster.nodes.lose(epoch);
                return Err(Error::new(
                    Code::FS_TXN_OUT_OF_DATE,
                    "This machine does not belong to the cluster any more: its lease has ended; try again",
                ));
            }
            Ok(TOO_LATE) => return Err(too_late(self.0.cluster.settings.gc_grace() / 2)),
            Ok(_) => return Err(missing(self.0.instance)),
            Err(StepError::Refused(e)) => {
                return Err(e.context("Can't make a revision in the database of the cluster"));
            }
            Err(StepError::Lost(_)) => self.settle_publication(&publication)?,
        };
        if let (Outcome::Done, Some(last)) = (outcome, revisions.last()) {
            self.remember(&publication, known_version);
            self.0.reader.see_youngest(last.rev);
            self.0.cluster.to_move.revisions_made(self.0.id);
        }
        Ok(outcome)
    }

    /// Puts what was just made into the caches: the next commit reads the revision, and the response to this one its properties. The
    /// properties did not change up to the version `known_version`, at which the revision did not exist.
    fn remember(&self, made: &Publication, known_version: u64) {
        let mut lists = Vec::with_capacity(made.revs.len());
        for (at, rev) in made.revs.iter().enumerate() {
            let rev = rev.cast_unsigned();
            let content = match &made.contents[at] {
                Some(bytes) => Content::Inline(bytes.as_slice().into()),
                None => Content::Object(made.blocks[at].as_deref().map(Into::into)),
            };
            let row = Row {
                publication: made.id,
                length: made.lengths[at].cast_unsigned(),
                content,
            };
            self.0.cluster.rows.insert(self.0.id, rev, row);
            lists.push((Revnum(rev), Arc::from(made.lists[at].as_slice())));
        }
        self.0.revprops.insert(known_version, &lists);
    }

    /// Sends the statement. Returns the result of `sven_publish_1`, which is that of `sven_publish_4`, or [`TOO_LATE`].
    fn send(
        &self,
        from: &Head,
        epoch: i64,
        publication: &Arc<Publication>,
    ) -> std::result::Result<i32, StepError> {
        let (id, youngest, version) = (self.0.id, number(from.youngest.0), number(from.locks_version));
        self.0.run_in_hold(|client| {
            let p = publication.clone();
            async move {
                let [revs, items, lengths, expanded] = &p.reps;
                let mut values: Vec<&(dyn ToSql + Sync)> = vec![
                    &id,
                    &youngest,
                    &version,
                    &epoch,
                    &p.revs,
                    &p.id,
                    &p.lengths,
                    &p.contents,
                    &p.lists,
                    &p.sha1s,
                    revs,
                    items,
                    lengths,
                    expanded,
                ];
                let has_digests = p.digests.iter().any(Option::is_some);
                if has_digests {
                    values.push(&p.digests);
                    values.push(&p.blocks);
                    values.push(&p.deadline);
                }
                let text = if has_digests { PUBLISH_UPLOADED } else { PUBLISH };
                let statement = client.statement(text).await?;
                let row = client.client().query_one(&statement, &values).await?;
                row.try_get::<_, i32>(0)
            }
        })
    }

    /// Reads the files, and uploads the long ones.
    fn prepare(&self, revisions: &[NewRevision]) -> Result<Publication> {
        // Each attempt has an ID of its own. That of an upload belongs to one attempt, for one revision.
        let uploaded = match revisions {
            [revision] => revision.uploaded.as_ref(),
            _ => None,
        };
        let id = uploaded.map_or_else(uuid::Uuid::new_v4, |uploaded| uuid::Uuid::from_u128(uploaded.id));
        let mut publication = Publication {
            id,
            revs: Vec::new(),
            lengths: Vec::new(),
            contents: Vec::new(),
            digests: Vec::new(),
            blocks: Vec::new(),
            deadline: uploaded.map(|uploaded| uploaded.deadline),
            lists: Vec::new(),
            sha1s: Vec::new(),
            reps: Default::default(),
        };
        for revision in revisions {
            let failed = |e: std::io::Error| {
                Error::os(&e, &format!("Can't read the file of revision {}", revision.rev))
            };
            let length = revision.file.len().map_err(failed)?;
            let (content, digest) = match (length <= MAX_INLINE, uploaded) {
                (true, _) => (Some(read_whole(&*revision.file, length).map_err(failed)?), None),
                (false, Some(uploaded)) => {
                    let (sha256, blocks) = (uploaded.digest, uploaded.blocks.clone());
                    (None, Some(ObjectDigest { sha256, blocks }))
                }
                (false, None) => {
                    let cluster = &self.0.cluster;
                    if publication.deadline.is_none() {
                        publication.deadline =
                            Some(naming_deadline(&cluster.database, cluster.settings.gc_grace())?);
                    }
                    let name = revision_key(self.0.instance, revision.rev.0, publication.id);
                    let digest = cluster.objects.put_file(&name, &*revision.file)?;
                    (None, Some(digest))
                }
            };
            publication.revs.push(number(revision.rev.0));
            publication.lengths.push(number(length));
            publication.contents.push(content);
            let (sha256, blocks) = digest
                .map(|digest| (digest.sha256.to_vec(), digest.blocks))
                .unzip();
            publication.digests.push(sha256);
            publication.blocks.push(blocks);
            publication.lists.push(revision.props.clone());
            for rep in &revision.reps {
                publication.sha1s.push(rep.sha1.0.to_vec());
                let columns = [rep.rev.0, rep.item, rep.length, rep.expanded];
                for (column, value) in publication.reps.iter_mut().zip(columns) {
                    column.push(number(value));
                }
            }
        }
        Ok(publication)
    }

    /// Finds out whether a publication was made whose connection was lost. From then on it cannot be made any more.
    fn settle_publication(&self, publication: &Publication) -> Result<Outcome> {
        let (id, first) = (self.0.id, publication.revs.first().copied().unwrap_or_default());
        // The hold has lost its connection too.
        *self.0.hold.lock() = None;
        let made = self
            .0
            .cluster
            .database
            .run("find out about a revision", |mut client| async move {
                let transaction = client.transaction().await?;
                transaction.execute(RAISE_LOCKS_VERSION, &[&id]).await?;
                let row = transaction.query_opt(SELECT_PUBLICATION, &[&id, &first]).await?;
                transaction.commit().await?;
                row.map(|row| row.try_get::<_, uuid::Uuid>(0)).transpose()
            });
        let made = made.map_err(|e| e.context("It is not known whether the revision was made"))?;
        Ok(match made == Some(publication.id) {
            true => Outcome::Done,
            false => Outcome::Outdated,
        })
    }

    pub(super) fn begin_hold(&self) -> Result<Box<dyn SharedHold>> {
        let id = self.0.id;
        let database = &self.0.cluster.database;
        let take = async {
            let client = database.connect().await?;
            client
                .batch_execute(LIMIT_HOLD)
                .await
                .map_err(|e| step_error(&e))?;
            let taken = client.execute(TAKE_HOLD, &[&id]).await;
            taken.map_err(|e| step_error(&e))?;
            Ok::<_, StepError>(Hold { client })
        };
        let hold = wait_for(async {
            let taken = tokio::time::timeout(database.patience(), take).await;
            taken.unwrap_or_else(|_| Err(StepError::Lost("it does not answer".to_owned())))
        })?;
        let hold = Arc::new(hold.map_err(|e| match e {
            StepError::Refused(e) => e.context("Can't keep other machines of the cluster from committing"),
            StepError::Lost(text) => unreachable_database(&text),
        })?);
        *self.0.hold.lock() = Some(hold.clone());
        Ok(Box::new(HoldGuard {
            state: self.0.clone(),
            hold,
        }))
    }
}

impl HeadsState {
    /// Takes a step that changes the repository, once: on the session of the hold, if there is one.
    pub(super) fn run_in_hold<T, F>(
        &self,
        step: impl Fn(StepClient) -> F,
    ) -> std::result::Result<T, StepError>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        let hold = self.hold.lock().clone();
        let Some(hold) = hold else {
            return self
                .cluster
                .database
                .run_once(|client| step(StepClient::Pooled(Box::new(client))));
        };
        let taken = wait_for(async {
            let limit = self.cluster.database.patience();
            match tokio::time::timeout(limit, step(StepClient::Held(hold))).await {
                Ok(result) => result.map_err(|e| step_error(&e)),
                Err(_) => Err(StepError::Lost("it does not answer".to_owned())),
            }
        });
        taken.unwrap_or_else(|e| Err(StepError::Refused(e)))
    }
}

impl StepClient {
    pub(super) fn client(&self) -> &Client {
        match self {
            StepClient::Pooled(object) => object,
            StepClient::Held(hold) => &hold.client,
        }
    }

    /// Prepares a statement. The pool remembers it with its connection.
    pub(super) async fn statement(
        &self,
        text: &str,
    ) -> std::result::Result<tokio_postgres::Statement, tokio_postgres::Error> {
        match self {
            StepClient::Pooled(object) => object.prepare_cached(text).await,
            StepClient::Held(hold) => hold.client.prepare(text).await,
        }
    }
}

impl SharedHold for HoldGuard {}

impl Drop for HoldGuard {
    fn drop(&mut self) {
        let mut held = self.state.hold.lock();
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, &self.hold)) {
            *held = None;
        }
        // The lock ends with the session, which ends with its last user.
    }
}

/// The error of a commit whose upload was begun longer ago than `limit`.
fn too_late(limit: Duration) -> Error {
    Error::new(
        Code::FS_TXN_OUT_OF_DATE,
        format!(
            "The upload of the revision was begun more than {} seconds ago, half of 'gc-grace' in [cluster], and the object may have been removed as garbage; commit again",
            limit.as_secs()
        ),
    )
}

fn unreachable_database(text: &str) -> Error {
    Error::new(
        Code::FS_GENERAL,
        format!("The database of the cluster cannot be reached: {text}"),
    )
}

const PUBLISH: &str = "SELECT sven_publish_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const PUBLISH_UPLOADED: &str = "SELECT CASE WHEN clock_timestamp() < $17::timestamptz \
     THEN sven_publish_4($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ELSE 6 END";
const RAISE_LOCKS_VERSION: &str =
    "UPDATE sven_repository SET locks_version = locks_version + 1 WHERE id = $1";
const SELECT_PUBLICATION: &str = "SELECT publication FROM sven_revision WHERE repository = $1 AND rev = $2";
const LIMIT_HOLD: &str = "SET idle_session_timeout = '60s'";
/// The class is that of `sven_hold_class` in the tables.
const TAKE_HOLD: &str = "SELECT pg_advisory_lock(sven_hold_class(), $1::bigint::integer)";
