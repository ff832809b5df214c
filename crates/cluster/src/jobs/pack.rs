//! Packing: the revisions of a complete shard become one object, with the bytes of a pack file of FSFS.
//!
//! The pack is written to a file of the node and uploaded under a name of its own. It is read back, and then one transaction puts it in the
//! place of the revisions: the row of the pack, the first unpacked revision, and the rows of the revisions, which have only their
//! property lists from then on. That transaction checks the lease and the first unpacked revision, so a run that was paused does no harm.
//!
//! The objects of the revisions are garbage then. Readers that have them open go on, until they miss one: then they read the row again, find that
//! it has no file, and look for the pack.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use base::{Cancel, Code, Error, Result, Revnum};
use fsfs::admin::pack::{PackEvent, complete_shards, write_shard};
use fsfs::disk::{Disk as _, DiskFile, IoMeter, RealDisk};
use fsfs::shared::{SharedBlobs, SharedFs, Uploaded};
use fsfs::{Cache, Fs};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{JobKind, JobLease};
use crate::cluster::{Cluster, RepositoryInfo};
use crate::database::sql_error;
use crate::digest::ObjectDigest;
use crate::naming_deadline::naming_deadline;
use crate::node_dir::{make_dirs, remove};
use crate::objects::pack_key;

/// Packs all complete shards of the repository that is open at the directory of a node. Waits while another node packs it.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` below format 4; `CANCELLED`; those of reading; the system's; `FS_GENERAL`. Shards that were packed before
/// the error stay packed.
pub fn pack(fs: &Fs, notify: &mut dyn FnMut(PackEvent), cancel: &Cancel) -> Result<()> {
    if complete_shards(fs)?.is_empty() {
        return Ok(());
    }
    let (cluster, repository) = crate::directories::find(fs.path())?;
    let lease = cluster.wait_for_job(JobKind::Pack, repository.id, cancel)?;
    let run = PackRun {
        cluster: &cluster,
        repository: &repository,
        lease: &lease,
        cancel,
    };
    let packed = run.pack(fs, notify);
    lease.explain(packed)?;
    lease.finish()
}

impl Cluster {
    /// Packs the complete shards of all repositories that no other node is packing.
    pub(super) fn pack_due(&self) -> Result<()> {
        for repository in self.repositories()? {
            let db = self.0.settings.repositories().join(&repository.name).join("db");
            if has_complete_shard(&repository) && crate::is_node_dir(&db) {
                self.pack_repository(&repository, &db)?;
            }
        }
        Ok(())
    }

    fn pack_repository(&self, repository: &RepositoryInfo, db: &Path) -> Result<()> {
        let cancel = Cancel::new();
        let taken = JobLease::take(&self.0, JobKind::Pack, repository.id, Duration::ZERO, &cancel)?;
        let Some(lease) = taken else { return Ok(()) };
        let shared = self.shared_fs(repository);
        let blobs = MeteredBlobs {
            blobs: shared.blobs.clone(),
            meter: self.job_meter(&cancel),
        };
        let shared = SharedFs {
            blobs: Arc::new(blobs),
            ..shared
        };
        let fs = Fs::open_shared(db, &Cache::for_one_pass(CACHE), Arc::new(RealDisk), shared)?;
        let run = PackRun {
            cluster: self,
            repository,
            lease: &lease,
            cancel: &cancel,
        };
        let packed = run.pack(&fs, &mut |event| {
            if let PackEvent::End(shard) = event {
                tracing::info!(shard, "packed a shard of '{}'", repository.name);
            }
        });
        lease.explain(packed)?;
        lease.finish()
    }
}

/// True if a repository has a complete shard that is not packed, and a format with packing.
fn has_complete_shard(repository: &RepositoryInfo) -> bool {
    let mut lines = repository.format.lines();
    let number: u32 = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let size = lines.find_map(|line| line.strip_prefix("layout sharded "));
    let size: u64 = size.and_then(|size| size.parse().ok()).unwrap_or(0);
    let end = repository.youngest.map_or(0, |youngest| youngest + 1);
    number >= FIRST_WITH_PACKING && size > 0 && end / size > repository.min_unpacked / size
}

/// The packing of one repository.
struct PackRun<'a> {
    cluster: &'a Cluster,
    repository: &'a RepositoryInfo,
    lease: &'a JobLease,
    cancel: &'a Cancel,
}

impl PackRun<'_> {
    fn pack(&self, fs: &Fs, notify: &mut dyn FnMut(PackEvent)) -> Result<()> {
        let size = fs.info()?.shard_size;
        loop {
            let shards = complete_shards(fs)?;
            if shards.is_empty() {
                return Ok(());
            }
            self.cancel.check()?;
            notify(PackEvent::Start(shards.start));
            let dir = self.directory();
            // Left by a run that has ended with its process.
            remove(&dir)?;
            make_dirs(&dir)?;
            let packed = self.pack_shard(fs, shards.start, size, &dir);
            remove(&dir)?;
            packed?;
            self.cluster
                .0
                .metrics
                .packed_shards
                .fetch_add(1, Ordering::Relaxed);
            notify(PackEvent::End(shards.start));
        }
    }

    /// The directory of the files. There is one run for a repository, so it needs no other name.
    fn directory(&self) -> PathBuf {
        let name = format!("pack-{}", self.repository.instance);
        self.cluster.settings().directory.join("new").join(name)
    }

    fn pack_shard(&self, fs: &Fs, shard: u64, size: u64, dir: &Path) -> Result<()> {
        let written = write_shard(fs, shard, dir, self.cancel)?;
        let failed = |path: &Path, e: io::Error| Error::io("Can't read file", path, &e);
        let file = RealDisk
            .open(&written.pack)
            .map_err(|e| failed(&written.pack, e))?;
        let length = file.len().map_err(|e| failed(&written.pack, e))?;
        let manifest = written.manifest.as_deref();
        let manifest = manifest.map(|path| fs::read(path).map_err(|e| failed(path, e)));
        let manifest = manifest.transpose()?;
        let publication = Uuid::new_v4();
        let name = pack_key(self.repository.instance, shard, publication);
        let grace = self.cluster.settings().gc_grace();
        let deadline = naming_deadline(&self.cluster.0.database, grace)?;
        let objects = &self.cluster.0.objects;
        let digest = objects.put_file(&name, &*file)?;
        // The revisions are removed after this: a pack that the store did not keep as it was sent would be the end of them.
        let cancelled = || io::Error::other("cancelled");
        let found = objects.digest(&name, length, &mut |_| {
            self.cancel.check().map_err(|_| cancelled())
        });
        self.cancel.check()?;
        let found = found.map_err(|e| Error::os(&e, &format!("Can't read the object '{name}'")))?;
        if found != digest {
            let text = format!("The object store has returned other bytes of '{name}' than were written");
            return Err(Error::new(Code::FS_CORRUPT, text));
        }
        let (first, next) = (shard * size, (shard + 1) * size);
        let outcome = self.switch_over(NewPack {
            shard: signed(shard),
            first: signed(first),
            next: signed(next),
            publication,
            length: signed(length),
            manifest,
            digest,
            deadline,
        })?;
        match outcome {
            DONE => Ok(()),
            LOST => Err(self.lease.lost()),
            TOO_LATE => Err(Error::new(
                Code::FS_GENERAL,
                format!(
                    "Packing shard {shard} of '{}' took longer than half of 'gc-grace' in [cluster]: the object may have been removed as garbage",
                    self.repository.name
                ),
            )),
            _ => Err(Error::new(
                Code::FS_GENERAL,
                format!(
                    "Shard {shard} of '{}' was changed by another program while it was packed",
                    self.repository.name
                ),
            )),
        }
    }

    /// Puts the pack in the place of the revisions. Returns the result of `sven_pack_1`, which is that of `sven_pack_4`, or [`TOO_LATE`].
    fn switch_over(&self, pack: NewPack) -> Result<i32> {
        let (id, holder, pack) = (self.repository.id, self.lease.holder(), Arc::new(pack));
        let row = self.cluster.0.database.run("note a pack", |client| {
            let pack = pack.clone();
            async move {
                let sha256 = pack.digest.sha256.as_slice();
                let values: [&(dyn ToSql + Sync); 11] = [
                    &id,
                    &holder,
                    &pack.shard,
                    &pack.first,
                    &pack.next,
                    &pack.publication,
                    &pack.length,
                    &pack.manifest,
                    &sha256,
                    &pack.digest.blocks,
                    &pack.deadline,
                ];
                client.query_one(PACK, &values).await
            }
        })?;
        row.try_get(0).map_err(sql_error)
    }
}

/// What the row of a pack gets.
struct NewPack {
    shard: i64,
    first: i64,
    next: i64,
    publication: Uuid,
    length: i64,
    manifest: Option<Vec<u8>>,
    digest: ObjectDigest,
    /// When the row must be there.
    deadline: SystemTime,
}

/// Blobs that are read with a limit.
struct MeteredBlobs {
    blobs: Arc<dyn SharedBlobs>,
    meter: Arc<IoMeter>,
}

struct MeteredFile {
    file: Arc<dyn DiskFile>,
    meter: Arc<IoMeter>,
}

impl MeteredBlobs {
    fn metered(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(MeteredFile {
            file,
            meter: self.meter.clone(),
        })
    }
}

impl SharedBlobs for MeteredBlobs {
    fn open_revision(&self, rev: Revnum) -> io::Result<Arc<dyn DiskFile>> {
        self.blobs.open_revision(rev).map(|file| self.metered(file))
    }

    fn open_pack(&self, shard: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.blobs.open_pack(shard).map(|file| self.metered(file))
    }

    fn pack_manifest(&self, shard: u64) -> io::Result<Vec<u8>> {
        self.blobs.pack_manifest(shard)
    }

    fn upload_ahead(&self, rev: Revnum, file: &dyn DiskFile) -> Result<Option<Uploaded>> {
        self.blobs.upload_ahead(rev, file)
    }

    fn is_uploaded_ahead(&self, length: u64) -> bool {
        self.blobs.is_uploaded_ahead(length)
    }
}

impl DiskFile for MeteredFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(buf, offset)?;
        self.meter.read(count);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The oldest format whose revisions can be packed.
const FIRST_WITH_PACKING: u32 = 4;

/// Of a filesystem whose shards are packed: its trees are not read. Bytes.
const CACHE: u64 = 1 << 20;

const DONE: i32 = 0;
const LOST: i32 = 5;
/// Of the statement around the function.
const TOO_LATE: i32 = 6;

const PACK: &str = "SELECT CASE WHEN clock_timestamp() < $11::timestamptz \
     THEN sven_pack_4($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ELSE 6 END";
