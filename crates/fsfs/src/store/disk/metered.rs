//! A disk that counts the bytes which pass it, and may limit their rate.
//!
//! Every byte that the engine reads or writes through the seam is counted once, whether the system has it in memory or not. Not
//! counted are names, metadata, and the SQLite database, which does not pass the seam.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base::Cancel;
use rustix::io::Errno;

use super::{Create, Disk, DiskDir, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta, Throttle};

/// The counters of a run, and its limit if there is one. The threads of the run share it.
#[derive(Debug, Default)]
pub struct IoMeter {
    read: AtomicU64,
    written: AtomicU64,
    throttle: Option<Throttle>,
    cancel: Cancel,
}

/// The bytes of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl IoMeter {
    /// Returns counters at zero. `cancel` ends the copying of a long file.
    pub fn new(throttle: Option<Throttle>, cancel: Cancel) -> Self {
        IoMeter {
            throttle,
            cancel,
            ..IoMeter::default()
        }
    }

    /// Returns the bytes so far.
    pub fn counts(&self) -> IoCounts {
        IoCounts {
            read: self.read.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
        }
    }

    /// Counts bytes that were read, and waits if the limit says so.
    pub fn read(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(throttle) = &self.throttle {
            throttle.read(bytes as u64);
        }
    }

    /// Counts bytes that were written, and waits if the limit says so.
    fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(throttle) = &self.throttle {
            throttle.wrote(bytes as u64);
        }
    }

    /// Returns how much of a file is copied at once: an eighth of a second's bytes.
    fn copied_at_once(&self) -> u32 {
        let of_rate = self.throttle.as_ref().map_or(u64::MAX, |limit| limit.rate() / 8);
        // At most 8 MiB.
        of_rate.clamp(16 << 10, 8 << 20) as u32
    }
}

/// A disk whose bytes an [`IoMeter`] counts.
pub struct MeteredDisk {
    disk: Arc<dyn Disk>,
    meter: Arc<IoMeter>,
}

impl MeteredDisk {
    /// Returns a disk that does what `disk` does.
    pub fn new(disk: Arc<dyn Disk>, meter: Arc<IoMeter>) -> Self {
        MeteredDisk { disk, meter }
    }

    fn counted(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.meter.read(bytes.len());
        bytes
    }
}

impl Disk for MeteredDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Metered {
            inner: self.disk.open(path)?,
            meter: self.meter.clone(),
        }))
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.disk.read_small(path).map(|bytes| self.counted(bytes))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.disk.list(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        self.disk.metadata(path)
    }

    fn open_dir(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskDir>>> {
        let Some(inner) = self.disk.open_dir(path)? else {
            return Ok(None);
        };
        Ok(Some(Arc::new(Metered {
            inner,
            meter: self.meter.clone(),
        })))
    }

    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        Ok(Box::new(Metered {
            inner: self.disk.write(path, how)?,
            meter: self.meter.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_new(from, to)
    }

    fn refresh_names(&self, dir: &Path) -> io::Result<()> {
        self.disk.refresh_names(dir)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        self.disk.symlink(target, path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        self.disk.copy_permissions(like, path)
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.copy_in_parts(from, to, self.meter.copied_at_once(), &mut |_| Ok(()))
    }

    fn copy_in_parts(
        &self,
        from: &Path,
        to: &Path,
        part: u32,
        copied: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        self.disk.copy_in_parts(from, to, part, &mut |length| {
            self.meter.read(length as usize);
            self.meter.wrote(length as usize);
            if self.meter.cancel.is_cancelled() {
                return Err(Errno::CANCELED.into());
            }
            copied(length)
        })
    }

    fn set_modified(&self, path: &Path, time: SystemTime) -> io::Result<()> {
        self.disk.set_modified(path, time)
    }

    fn set_writable(&self, path: &Path) -> io::Result<()> {
        self.disk.set_writable(path)
    }

    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.disk.set_read_only(path)
    }

    fn share_group(&self, path: &Path) -> io::Result<()> {
        self.disk.share_group(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        self.disk.open_volume(path)
    }

    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.disk.lock(path, wait)
    }
}

/// An open file or directory whose bytes are counted. `F` is a pointer to it.
struct Metered<F> {
    inner: F,
    meter: Arc<IoMeter>,
}

impl<F> Metered<F> {
    fn read(&self, length: io::Result<usize>) -> io::Result<usize> {
        length.inspect(|length| self.meter.read(*length))
    }
}

impl DiskFile for Metered<Arc<dyn DiskFile>> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read(self.inner.read_at(buf, offset))
    }

    fn append_at(&self, buf: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<usize> {
        self.read(self.inner.append_at(buf, length, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}

impl DiskFile for Metered<Box<dyn DiskWriter>> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read(self.inner.read_at(buf, offset))
    }

    fn append_at(&self, buf: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<usize> {
        self.read(self.inner.append_at(buf, length, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}

impl DiskWriter for Metered<Box<dyn DiskWriter>> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.append(bytes)?;
        self.meter.wrote(bytes.len());
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.inner.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }
}

impl DiskDir for Metered<Arc<dyn DiskDir>> {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Metered {
            inner: self.inner.open(name)?,
            meter: self.meter.clone(),
        }))
    }

    fn read_small(&self, name: &str) -> io::Result<(Vec<u8>, FileMeta)> {
        let read = self.inner.read_small(name)?;
        self.meter.read(read.0.len());
        Ok(read)
    }

    fn read_small_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<FileMeta> {
        let meta = self.inner.read_small_into(name, bytes)?;
        self.meter.read(bytes.len());
        Ok(meta)
    }

    fn metadata(&self, name: &str) -> io::Result<FileMeta> {
        self.inner.metadata(name)
    }
}
