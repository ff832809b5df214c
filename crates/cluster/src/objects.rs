//! The object store, for blocking callers: whole uploads, range reads, deletions.
//!
//! Names of objects are used once: a revision's object has the number of the attempt that made it in its name. So a put that is
//! repeated because its answer was lost writes the same bytes again, and no put ever replaces another object. That needs no
//! conditional put of the store, which not all have; only the object with the identity of the cluster is written with one. (With such a put, a repeated one whose first response was lost would be refused as a
//! duplicate, and `object_store` does not repeat it after a time-out. The object under the name would have to be looked at.)
//!
//! An upload in parts that was interrupted leaves parts without an object. A rule of the bucket should remove such parts after some days.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::database::wait_for;
use crate::digest::{ObjectDigest, ObjectDigester, digest_of_bytes};
use crate::settings::ClusterSettings;
use base::{Code, Error, Result};
use bytes::Bytes;
use fsfs::disk::DiskFile;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt as _, PutMode, RetryConfig, WriteMultipart,
};

/// The objects of a cluster. What writes or removes one checks first that the store belongs to the cluster.
#[derive(Clone)]
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    identity: Arc<dyn IdentityCheck>,
}

/// Finds out whether a store belongs to the cluster.
pub(crate) trait IdentityCheck: Send + Sync {
    /// Returns at once if that is known.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` if it does not; `FS_GENERAL` if that could not be found out.
    fn check(&self, objects: &Objects) -> Result<()>;

    /// True if it is known that it does.
    fn is_checked(&self) -> bool;
}

/// An object in a list.
pub(crate) struct ListedObject {
    /// Without the prefix of the cluster.
    pub(crate) name: String,
    /// Seconds since it was written.
    pub(crate) age: u64,
    /// Bytes.
    pub(crate) length: u64,
}

impl Objects {
    /// Opens the store.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub(crate) fn connect(
        settings: &ClusterSettings,
        identity: impl IdentityCheck + 'static,
    ) -> Result<Objects> {
        let bad = |e: String| Error::new(Code::BAD_CONFIG_VALUE, format!("The objects of the cluster: {e}"));
        let rest = settings
            .objects
            .strip_prefix("s3://")
            .ok_or_else(|| bad(format!("'{}' does not begin with 's3://'", settings.objects)))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(RetryConfig {
                // The time ends the attempts, not their number, which the log has.
                max_retries: most_attempts(settings.patience()),
                retry_timeout: settings.patience(),
                backoff: BackoffConfig {
                    init_backoff: SHORTEST_PAUSE,
                    max_backoff: LONGEST_PAUSE,
                    ..BackoffConfig::default()
                },
            })
            .with_client_options(
                ClientOptions::new()
                    .with_allow_http(true)
                    .with_connect_timeout(CONNECT_TIMEOUT)
                    .with_timeout(settings.patience()),
            );
        if let Some(endpoint) = &settings.endpoint {
            if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
                return Err(bad(format!(
                    "the endpoint '{endpoint}' does not begin with 'http://' or 'https://'"
                )));
            }
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        if let (Some(key), Some(secret)) = (&settings.access_key, &settings.secret_key) {
            builder = builder.with_access_key_id(key).with_secret_access_key(secret);
        }
        let store = builder.build().map_err(|e| bad(e.to_string()))?;
        Ok(Objects {
            store: Arc::new(store),
            prefix: prefix.trim_matches('/').to_owned(),
            identity: Arc::new(identity),
        })
    }

    /// Checks that the store belongs to the cluster, once.
    ///
    /// # Errors
    /// As [`IdentityCheck::check`].
    pub(crate) fn check_identity(&self) -> Result<()> {
        self.identity.check(self)
    }

    /// True if the store was found to belong to the cluster.
    pub(crate) fn is_identity_checked(&self) -> bool {
        self.identity.is_checked()
    }

    fn path(&self, name: &str) -> ObjectPath {
        match self.prefix.is_empty() {
            true => ObjectPath::from(name),
            false => ObjectPath::from(format!("{}/{name}", self.prefix)),
        }
    }

    /// Uploads a file as a new object, in parts if it is long. Returns the digest of its bytes.
    ///
    /// # Errors
    /// `FS_GENERAL`; the system's for the file; those of [`Objects::check_identity`].
    pub(crate) fn put_file(&self, name: &str, file: &dyn DiskFile) -> Result<ObjectDigest> {
        self.check_identity()?;
        let length = file.len().map_err(|e| store_error("write", name, &e))?;
        if length <= PART as u64 {
            let whole = read_whole(file, length).map_err(|e| store_error("write", name, &e))?;
            return self.put(name, whole.into());
        }
        let mut attempt = 1;
        loop {
            let mut digest = ObjectDigester::default();
            let failed = match self.put_parts(name, file, length, &mut digest) {
                Ok(()) => return Ok(digest.finish()),
                Err(e) => e,
            };
            // The last request may have succeeded although its response was lost. Asked again, the store does not know the upload any more.
            if self.length(name).is_ok_and(|found| found == Some(length)) {
                return digest_of(file, length).map_err(|e| store_error("write", name, &e));
            }
            if attempt == UPLOAD_ATTEMPTS {
                return Err(failed);
            }
            attempt += 1;
        }
    }

    /// The file is read outside of the client's futures: it may be an object itself.
    fn put_parts(
        &self,
        name: &str,
        file: &dyn DiskFile,
        length: u64,
        digest: &mut ObjectDigester,
    ) -> Result<()> {
        let failed = |e: &(dyn std::error::Error + 'static)| store_error("write", name, e);
        let path = self.path(name);
        let part_size = (PART as u64).max(length.div_ceil(MAX_PARTS));
        let upload = wait_for(self.store.put_multipart(&path))?.map_err(|e| failed(&e))?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, part_size as usize);
        let mut offset = 0;
        while offset < length {
            let wanted = (length - offset).min(part_size);
            let put = read_range(file, offset, wanted)
                .map_err(|e| failed(&e))
                .and_then(|part| {
                    digest.update(&part);
                    wait_for(async {
                        writer.wait_for_capacity(PARTS_UNDER_WAY).await?;
                        writer.put(part.into());
                        Ok(())
                    })?
                    .map_err(|e: object_store::Error| failed(&e))
                });
            if let Err(e) = put {
                // Only tidies up: parts that stay belong to no object.
                _ = wait_for(writer.abort());
                return Err(e);
            }
            offset += wanted;
        }
        wait_for(writer.finish())?.map(drop).map_err(|e| failed(&e))
    }

    /// Writes a new object. Returns the digest of its bytes.
    ///
    /// # Errors
    /// `FS_GENERAL`; those of [`Objects::check_identity`].
    pub(crate) fn put(&self, name: &str, bytes: Bytes) -> Result<ObjectDigest> {
        self.check_identity()?;
        let path = self.path(name);
        let digest = digest_of_bytes(&bytes);
        let put = wait_for(self.store.put(&path, bytes.into()))?;
        put.map(|_| digest).map_err(|e| store_error("write", name, &e))
    }

    /// Writes an object unless there is one of that name, without [`Objects::check_identity`]. Returns true if it was written. A store that knows no conditional
    /// requests replaces the object.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn create(&self, name: &str, bytes: Bytes) -> Result<bool> {
        let path = self.path(name);
        let put = |mode: PutMode| wait_for(self.store.put_opts(&path, bytes.clone().into(), mode.into()));
        let is_unknown = |e: &object_store::Error| {
            matches!(e, object_store::Error::NotImplemented { .. })
                || e.to_string().contains("<Code>NotImplemented</Code>")
        };
        let created = match put(PutMode::Create)? {
            Err(e) if is_unknown(&e) => put(PutMode::Overwrite)?,
            created => created,
        };
        match created {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(false)
            }
            Err(e) => Err(store_error("write", name, &e)),
        }
    }

    /// Reads a short object of unknown length; `None` if there is none.
    ///
    /// # Errors
    /// `FS_GENERAL`, also if there is no such bucket.
    pub(crate) fn read_small(&self, name: &str) -> Result<Option<Bytes>> {
        let path = self.path(name);
        let read = wait_for(async { self.store.get(&path).await?.bytes().await })?;
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { source, .. }) if !is_bucket_missing(&*source) => Ok(None),
            Err(e) => Err(store_error("read", name, &e)),
        }
    }

    /// Reads all of an object and returns the digest of its bytes. Calls `read` with the number of bytes after each part; its error ends
    /// the reading.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; those of `read`.
    pub(crate) fn digest(
        &self,
        name: &str,
        length: u64,
        read: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<ObjectDigest> {
        let mut digest = ObjectDigester::default();
        let mut offset = 0;
        while offset < length {
            let part = self.get(name, offset, (length - offset).min(PART as u64))?;
            digest.update(&part);
            offset += part.len() as u64;
            read(part.len() as u64)?;
        }
        Ok(digest.finish())
    }

    /// Reads a part of an object.
    ///
    /// # Errors
    /// `NotFound` if there is no such object in the bucket.
    pub(crate) fn get(&self, name: &str, offset: u64, length: u64) -> io::Result<Bytes> {
        let path = self.path(name);
        let bytes =
            wait_for(self.store.get_range(&path, offset..offset + length)).map_err(io::Error::other)?;
        let bytes = bytes.map_err(|e| match e {
            object_store::Error::NotFound { source, .. } if !is_bucket_missing(&*source) => {
                io::ErrorKind::NotFound.into()
            }
            e => io::Error::other(format!(
                "Can't read the object '{name}' in the object store of the cluster: {}",
                reason(&e)
            )),
        })?;
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(io::Error::other(format!("The object '{name}' is too short"))),
        }
    }

    /// Removes an object; one that is not there is no error.
    ///
    /// # Errors
    /// `FS_GENERAL`; those of [`Objects::check_identity`].
    pub(crate) fn delete(&self, name: &str) -> Result<()> {
        self.check_identity()?;
        self.remove(name)
    }

    /// As [`Objects::delete`], without [`Objects::check_identity`].
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        match wait_for(self.store.delete(&path))? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(store_error("remove", name, &e)),
        }
    }

    /// Returns the length of an object; `None` if there is none.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn length(&self, name: &str) -> Result<Option<u64>> {
        let path = self.path(name);
        match wait_for(self.store.head(&path))? {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(store_error("read", name, &e)),
        }
    }

    /// Lists the objects whose names begin with a directory; all of the cluster for an empty name.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn list(&self, directory: &str) -> Result<Vec<ListedObject>> {
        let path = self.path(directory);
        let found: std::result::Result<Vec<_>, _> = wait_for(self.store.list(Some(&path)).try_collect())?;
        let found = found.map_err(|e| store_error("list", directory, &e))?;
        let now = std::time::SystemTime::now();
        let listed = found.into_iter().map(|object| ListedObject {
            name: self.name_of(&object.location),
            age: now
                .duration_since(object.last_modified.into())
                .map_or(0, |age| age.as_secs()),
            length: object.size,
        });
        Ok(listed.collect())
    }

    /// Returns the names of some objects of the cluster.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn list_some(&self, limit: usize) -> Result<Vec<String>> {
        let path = self.path("");
        let found: std::result::Result<Vec<_>, _> =
            wait_for(self.store.list(Some(&path)).take(limit).try_collect())?;
        let found = found.map_err(|e| store_error("list", "", &e))?;
        Ok(found
            .iter()
            .map(|object| self.name_of(&object.location))
            .collect())
    }

    /// The name of an object without the prefix of the cluster.
    fn name_of(&self, location: &ObjectPath) -> String {
        let skipped = match self.prefix.is_empty() {
            true => 0,
            false => self.prefix.len() + 1,
        };
        location.as_ref()[skipped..].to_owned()
    }
}

/// Returns the digest of a file.
fn digest_of(file: &dyn DiskFile, length: u64) -> io::Result<ObjectDigest> {
    let mut digest = ObjectDigester::default();
    let mut offset = 0;
    while offset < length {
        let part = read_range(file, offset, (length - offset).min(PART as u64))?;
        digest.update(&part);
        offset += part.len() as u64;
    }
    Ok(digest.finish())
}

/// True for names that this module's users give: those of revisions and packs, and of objects that check the store. What has another name below the prefix does not
/// belong to the cluster, such as the objects of a cluster whose prefix is longer.
pub(crate) fn is_object_name(name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    match uuid::Uuid::try_parse(first) {
        Ok(_) => rest.starts_with("r/") || rest.starts_with("p/"),
        Err(_) => rest.is_empty() && first.starts_with(CHECK),
    }
}

/// The name of a revision's object.
pub(crate) fn revision_key(instance: uuid::Uuid, rev: u64, publication: uuid::Uuid) -> String {
    format!("{instance}/r/{:06}/{rev}-{publication}", rev / 1000)
}

/// The name of a pack's object.
pub(crate) fn pack_key(instance: uuid::Uuid, shard: u64, publication: uuid::Uuid) -> String {
    format!("{instance}/p/{shard}-{publication}")
}

/// Reads all of a file.
pub(crate) fn read_whole(file: &dyn DiskFile, length: u64) -> io::Result<Vec<u8>> {
    read_range(file, 0, length)
}

fn read_range(file: &dyn DiskFile, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        match file.read_at(&mut bytes[at..], offset + at as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => at += read,
        }
    }
    Ok(bytes)
}

/// True for the error of a bucket that does not exist, which has the same status as that of an object.
fn is_bucket_missing(e: &dyn std::error::Error) -> bool {
    e.to_string().contains("<Code>NoSuchBucket</Code>")
}

/// More attempts than there is time for.
fn most_attempts(patience: Duration) -> usize {
    let most = patience.as_millis() / SHORTEST_PAUSE.as_millis() + 1;
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The reason of an error, for clients: the code or the status of the answer, or that there was none, and the first cause. The whole error has addresses of the
/// network and names of buckets, and goes to the log.
fn reason(e: &(dyn std::error::Error + 'static)) -> String {
    let text = e.to_string();
    tracing::warn!(error = %text, "a request to the object store failed");
    let part = |from: &str, to: &str| {
        let rest = text.split_once(from)?.1;
        rest.split_once(to).map(|(part, _)| part.to_owned())
    };
    let answer = part("<Code>", "</Code>").or_else(|| part("status code: ", ":"));
    answer.unwrap_or_else(|| {
        let mut first = e;
        while let Some(cause) = first.source() {
            first = cause;
        }
        let cause = first.to_string();
        // The number would make the error look like one of a local file.
        let cause = cause
            .split_once(" (os error ")
            .map_or(&*cause, |(cause, _)| cause);
        match e.is::<io::Error>() {
            true => cause.to_owned(),
            false => format!("it cannot be reached: {cause}"),
        }
    })
}

fn store_error(what: &str, name: &str, e: &(dyn std::error::Error + 'static)) -> Error {
    let e = reason(e);
    Error::new(
        Code::FS_GENERAL,
        format!("Can't {what} '{name}' in the object store of the cluster: {e}"),
    )
}

/// The beginning of the names of objects that check that the store can be written to.
pub(crate) const CHECK: &str = "check-";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pauses between attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// S3 accepts no more than 10,000.
const MAX_PARTS: u64 = 9_000;

/// How often an upload in parts is begun.
const UPLOAD_ATTEMPTS: u32 = 3;

/// Bytes of a part of an upload.
const PART: usize = 8 << 20;
/// Parts that are under way at once.
const PARTS_UNDER_WAY: usize = 4;
