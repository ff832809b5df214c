//! The blobs of a storage in memory.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::{Result, Revnum};
use fsfs::disk::DiskFile;
use fsfs::shared::{SharedBlobs, Uploaded};

use super::MemoryStorage;

/// One machine's way to the blobs.
pub(super) struct NodeBlobs(pub(super) Arc<MemoryStorage>);

/// A blob.
struct MemoryFile(Arc<Vec<u8>>);

impl SharedBlobs for NodeBlobs {
    fn open_revision(&self, rev: Revnum) -> io::Result<Arc<dyn DiskFile>> {
        let blob = self.0.state.lock().revisions.get(&rev.0).cloned();
        Ok(Arc::new(MemoryFile(blob.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn open_pack(&self, shard: u64) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.0.state.lock();
        let blob = state.packs.get(&shard).map(|(pack, _)| pack.clone());
        Ok(Arc::new(MemoryFile(blob.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn pack_manifest(&self, shard: u64) -> io::Result<Vec<u8>> {
        let state = self.0.state.lock();
        let manifest = state.packs.get(&shard).map(|(_, manifest)| manifest.clone());
        manifest.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn upload_ahead(&self, _: Revnum, file: &dyn DiskFile) -> Result<Option<Uploaded>> {
        let bytes = whole(file);
        if bytes.len() <= MAX_INLINE {
            return Ok(None);
        }
        if let Some(work) = &mut *self.0.while_uploading.lock() {
            work();
        }
        let mut state = self.0.state.lock();
        state.may_fail()?;
        state.uploads.push(bytes);
        Ok(Some(Uploaded {
            id: state.uploads.len() as u128 - 1,
            digest: [0; 32],
            blocks: Vec::new(),
            deadline: SystemTime::now() + Duration::from_hours(1),
        }))
    }

    fn is_uploaded_ahead(&self, length: u64) -> bool {
        length > MAX_INLINE as u64
    }
}

/// Files up to this length are published without an upload, bytes.
pub(super) const MAX_INLINE: usize = 64 << 10;

/// Reads a whole file.
pub(super) fn whole(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; file.len().expect("a file") as usize];
    let mut at = 0;
    while at < bytes.len() {
        let read = file.read_at(&mut bytes[at..], at as u64).expect("a file");
        assert!(read > 0, "the file is as long as it says");
        at += read;
    }
    bytes
}

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..));
        let rest = rest.unwrap_or_default();
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
