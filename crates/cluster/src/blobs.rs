//! The parts of a repository that never change: revision files and pack files.
//!
//! The database says where the file of a revision is: in its row, or in an object whose name follows from the row. Rows are cached,
//! and are read in groups around the one that is needed, with the contents of short files.
//!
//! A row changes in two ways: its content moves to an object, which is written before the row says so; and it names no file any more
//! after its shard was packed. The bytes of the file stay the same. So a cached row is right as long as the object is there. If an object
//! is missing, the row is read again: if it does not name the object any more, the file says so with the system's error for a file that another
//! machine has deleted (`ESTALE`), and the engine opens the revision again. Otherwise the object is lost, and the error has its name.
//!
//! Objects are read through the [`BlockCache`]. A file that is read from one block to the next has the blocks that follow fetched
//! ahead, more of them the longer that goes on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::{Error, Result, Revnum};
use fsfs::disk::DiskFile;
use fsfs::shared::{SharedBlobs, Uploaded};
use rustix::io::Errno;
use uuid::Uuid;

use crate::block_cache::{BLOCK, BlockCache, BlockKey};
use crate::block_source::BlockSource;
use crate::database::{Database, sql_error};
use crate::digest::block_checksum;
use crate::heads::MAX_INLINE;
use crate::metrics::ClusterMetrics;
use crate::naming_deadline::naming_deadline;
use crate::objects::{Objects, pack_key, revision_key};
use crate::row_cache::{Content, Row, RowCache};
use crate::state::ClusterState;

/// The blobs of one repository.
pub(crate) struct Blobs(Arc<BlobsState>);

struct BlobsState {
    database: Database,
    /// The number of the repository in the database.
    id: i64,
    instance: Uuid,
    objects: Arc<Objects>,
    cache: Arc<BlockCache>,
    source: Arc<BlockSource>,
    rows: Arc<RowCache>,
    metrics: Arc<ClusterMetrics>,
    gc_grace: Duration,
    /// Blocks that are being fetched ahead.
    in_progress: AtomicUsize,
}

/// Where a pack file is.
struct Pack {
    publication: Uuid,
    length: u64,
    /// The checksums of its blocks, if they are known.
    blocks: Option<Arc<[u8]>>,
    /// `None` if there is none, or if it was not read.
    manifest: Option<Vec<u8>>,
}

impl Blobs {
    pub(crate) fn new(cluster: &ClusterState, id: i64, instance: Uuid) -> Blobs {
        Blobs(Arc::new(BlobsState {
            database: cluster.database.clone(),
            id,
            instance,
            objects: cluster.objects.clone(),
            cache: cluster.cache.clone(),
            source: cluster.source.clone(),
            rows: cluster.rows.clone(),
            metrics: cluster.metrics.clone(),
            gc_grace: cluster.settings.gc_grace(),
            in_progress: AtomicUsize::new(0),
        }))
    }

    fn file(&self, named_by: NamedBy, length: u64, blocks: Option<Arc<[u8]>>) -> Arc<dyn DiskFile> {
        Arc::new(ObjectFile {
            blobs: self.0.clone(),
            name: named_by.object(self.0.instance).into(),
            length,
            blocks: blocks.unwrap_or_default(),
            named_by,
            next: AtomicU64::new(0),
            run: AtomicU64::new(0),
        })
    }
}

impl SharedBlobs for Blobs {
    fn open_revision(&self, rev: Revnum) -> io::Result<Arc<dyn DiskFile>> {
        let cached = self.0.rows.get(self.0.id, rev.0);
        let row = match cached {
            Some(row) if !matches!(row.content, Content::InRow) => row,
            _ => self
                .0
                .read_rows(rev.0)
                .map_err(io::Error::other)?
                .ok_or(Errno::NOENT)?,
        };
        // A revision in a pack has a row for its properties only.
        if row.length == 0 {
            return Err(Errno::NOENT.into());
        }
        match row.content {
            Content::Inline(bytes) => Ok(Arc::new(MemoryFile(bytes))),
            Content::Object(blocks) => {
                let named_by = NamedBy::Revision(rev.0, row.publication);
                Ok(self.file(named_by, row.length, blocks))
            }
            // The row that was asked for is read with its content.
            Content::InRow => Err(Errno::NOENT.into()),
        }
    }

    fn open_pack(&self, shard: u64) -> io::Result<Arc<dyn DiskFile>> {
        let pack = self
            .0
            .read_pack(shard, false)
            .map_err(io::Error::other)?
            .ok_or(Errno::NOENT)?;
        let named_by = NamedBy::Pack(shard, pack.publication);
        Ok(self.file(named_by, pack.length, pack.blocks))
    }

    fn pack_manifest(&self, shard: u64) -> io::Result<Vec<u8>> {
        let found = self.0.read_pack(shard, true).map_err(io::Error::other)?;
        let manifest = found.and_then(|pack| pack.manifest);
        Ok(manifest.ok_or(Errno::NOENT)?)
    }

    fn upload_ahead(&self, rev: Revnum, file: &dyn DiskFile) -> Result<Option<Uploaded>> {
        let length = file
            .len()
            .map_err(|e| Error::os(&e, &format!("Can't read the file of revision {rev}")))?;
        if !self.is_uploaded_ahead(length) {
            return Ok(None);
        }
        let begun = Instant::now();
        let deadline = naming_deadline(&self.0.database, self.0.gc_grace)?;
        let publication = Uuid::new_v4();
        let name = revision_key(self.0.instance, rev.0, publication);
        let digest = self.0.objects.put_file(&name, file)?;
        self.0.metrics.uploaded(begun.elapsed());
        Ok(Some(Uploaded {
            id: publication.as_u128(),
            digest: digest.sha256,
            blocks: digest.blocks,
            deadline,
        }))
    }

    fn is_uploaded_ahead(&self, length: u64) -> bool {
        length > MAX_INLINE
    }
}

impl BlobsState {
    /// Reads the rows around a revision into the cache. Returns its own; `None` without one.
    fn read_rows(&self, rev: u64) -> Result<Option<Row>> {
        let signed = |rev: u64| i64::try_from(rev).unwrap_or(i64::MAX);
        let (id, wanted) = (self.id, signed(rev));
        let (first, last) = (
            signed(rev.saturating_sub(ROWS_BEFORE)),
            signed(rev.saturating_add(ROWS_AFTER)),
        );
        let rows = self.database.run("look for a revision", |client| async move {
            let statement = client.prepare_cached(SELECT_REVISIONS).await?;
            client
                .query(&statement, &[&id, &first, &last, &wanted, &SHORT])
                .await
        })?;
        let mut found = None;
        for row in &rows {
            let (number, length): (i64, i64) = (
                row.try_get(0).map_err(sql_error)?,
                row.try_get(2).map_err(sql_error)?,
            );
            let is_inline: bool = row.try_get(3).map_err(sql_error)?;
            let content: Option<Vec<u8>> = row.try_get(4).map_err(sql_error)?;
            let blocks: Option<Vec<u8>> = row.try_get(5).map_err(sql_error)?;
            let content = match (content, is_inline) {
                (Some(bytes), _) => Content::Inline(bytes.into()),
                (None, true) => Content::InRow,
                (None, false) => Content::Object(blocks.map(Into::into)),
            };
            let made = Row {
                publication: row.try_get(1).map_err(sql_error)?,
                length: u64::try_from(length).unwrap_or_default(),
                content,
            };
            if number == wanted {
                found = Some(made.clone());
            }
            self.rows
                .insert(self.id, u64::try_from(number).unwrap_or_default(), made);
        }
        if found.is_none() {
            self.rows.remove(self.id, rev);
        }
        Ok(found)
    }

    /// Returns the row of a pack; `None` without one.
    fn read_pack(&self, shard: u64, with_manifest: bool) -> Result<Option<Pack>> {
        let (id, shard) = (self.id, i64::try_from(shard).unwrap_or(i64::MAX));
        let row = self
            .database
            .run("look for a packed shard", |client| async move {
                let statement = client.prepare_cached(SELECT_PACK).await?;
                client.query_opt(&statement, &[&id, &shard, &with_manifest]).await
            })?;
        let Some(row) = row else { return Ok(None) };
        let length: i64 = row.try_get(1).map_err(sql_error)?;
        let blocks: Option<Vec<u8>> = row.try_get(3).map_err(sql_error)?;
        Ok(Some(Pack {
            blocks: blocks.map(Into::into),
            publication: row.try_get(0).map_err(sql_error)?,
            length: u64::try_from(length).unwrap_or_default(),
            manifest: row.try_get(2).map_err(sql_error)?,
        }))
    }
}

/// The row that has named an object, and its publication then.
#[derive(Clone, Copy)]
enum NamedBy {
    Revision(u64, Uuid),
    Pack(u64, Uuid),
}

impl NamedBy {
    /// The name of the object.
    fn object(self, instance: Uuid) -> String {
        match self {
            NamedBy::Revision(rev, publication) => revision_key(instance, rev, publication),
            NamedBy::Pack(shard, publication) => pack_key(instance, shard, publication),
        }
    }
}

/// A file in the object store.
struct ObjectFile {
    blobs: Arc<BlobsState>,
    name: Arc<str>,
    length: u64,
    /// The checksums of its blocks, as far as they are known.
    blocks: Arc<[u8]>,
    named_by: NamedBy,
    /// The block that follows the one that was read last.
    next: AtomicU64,
    /// Blocks that were read one after the other.
    run: AtomicU64,
}

impl ObjectFile {
    fn key(&self, number: u64) -> BlockKey {
        BlockKey {
            object: self.name.clone(),
            number,
            checksum: block_checksum(&self.blocks, number),
        }
    }

    /// Bytes of a block.
    fn block_length(&self, number: u64) -> usize {
        (self.length - number * BLOCK).min(BLOCK) as usize
    }

    /// Fetches the blocks after `number` ahead if the file is being read in order.
    fn read_ahead(&self, number: u64) {
        let expected = self.next.swap(number + 1, Ordering::Relaxed);
        if number + 1 == expected {
            // The same block again.
            return;
        }
        let run = match number == expected && number > 0 {
            true => self.run.fetch_add(1, Ordering::Relaxed) + 1,
            false => {
                self.run.store(0, Ordering::Relaxed);
                return;
            }
        };
        let end = self
            .length
            .div_ceil(BLOCK)
            .min(number + 1 + (2 * run).min(MAX_AHEAD));
        for ahead in number + 1..end {
            self.fetch_ahead(ahead);
        }
    }

    /// The error for an object that is not in the object store.
    fn missing(&self) -> io::Error {
        let still_named = match self.named_by {
            NamedBy::Revision(rev, publication) => self.blobs.read_rows(rev).map(|row| {
                row.is_some_and(|row| {
                    row.publication == publication
                        && row.length > 0
                        && matches!(row.content, Content::Object(_))
                })
            }),
            NamedBy::Pack(shard, publication) => self
                .blobs
                .read_pack(shard, false)
                .map(|pack| pack.is_some_and(|pack| pack.publication == publication)),
        };
        match still_named {
            Ok(true) => io::Error::other(format!(
                "The object '{}' is missing in the object store",
                self.name
            )),
            Ok(false) => Errno::STALE.into(),
            Err(e) => io::Error::other(e),
        }
    }

    fn fetch_ahead(&self, number: u64) {
        let (key, length, blobs) = (self.key(number), self.block_length(number), self.blobs.clone());
        if blobs.cache.is_open(&key) {
            return;
        }
        if blobs.in_progress.fetch_add(1, Ordering::AcqRel) >= MAX_IN_PROGRESS {
            blobs.in_progress.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        crate::database::spawn_blocking(move || {
            let fetch = || blobs.source.fetch(&key, length);
            // A reader that needs the block gets the error itself.
            _ = blobs.cache.prefetch(&key, length, &fetch);
            blobs.in_progress.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

impl DiskFile for ObjectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.length || buf.is_empty() {
            return Ok(0);
        }
        let number = offset / BLOCK;
        self.read_ahead(number);
        let (key, length) = (self.key(number), self.block_length(number));
        let fetch = || self.blobs.source.fetch(&key, length);
        let read = self
            .blobs
            .cache
            .read(&key, length, (offset % BLOCK) as usize, buf, &fetch);
        read.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => self.missing(),
            _ => e,
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }
}

/// A file that was in a row.
struct MemoryFile(Arc<[u8]>);

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..));
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// Rows that are read with one that is needed.
const ROWS_BEFORE: u64 = 16;
const ROWS_AFTER: u64 = 47;

/// Contents up to this length are read with their neighbours, bytes.
const SHORT: i64 = 8 << 10;

/// Blocks that are fetched ahead of a reader at most.
const MAX_AHEAD: u64 = 8;

/// Blocks that are fetched ahead at the same time, for all readers of a repository.
const MAX_IN_PROGRESS: usize = 16;

const SELECT_REVISIONS: &str = "SELECT rev, publication, length, content IS NOT NULL, \
     CASE WHEN rev = $4 OR length <= $5 THEN content END, blocks \
     FROM sven_revision WHERE repository = $1 AND rev BETWEEN $2 AND $3";
const SELECT_PACK: &str = "SELECT publication, length, CASE WHEN $3 THEN manifest END, blocks \
     FROM sven_pack WHERE repository = $1 AND shard = $2";
