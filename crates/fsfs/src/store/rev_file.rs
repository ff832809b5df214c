//! Revision and pack files: from (revision, item) to bytes.
//!
//! With physical addressing an item is an offset from the start of its revision; in a pack file, the manifest says
//! where each revision starts. With logical addressing an item is a number, which the L2P index of the file maps to
//! an offset.
//!
//! Another process may pack a shard at any time. Then the files of its revisions disappear, item numbers stay the
//! same and offsets change. So an offset is used only with the file that it was looked up in, and a reader that finds
//! its file missing or stale starts again ([`Store::with_rev_file`]).
//!
//! A small file is read whole when it is opened. Of a longer file the end is read, where the trailer or the indexes
//! are. Open files are kept in the cache.

mod indexes;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Code, Error, Result, Revnum};

use self::indexes::Indexes;
use super::Store;
use crate::format::footer::{Footer, FooterError, MAX_FOOTER};
use crate::format::fs_format::BackEnd;
use crate::format::manifest;
use crate::format::rev_trailer::{self, RevTrailer, TrailerError};
use crate::store::cache::{Cache, Instance};
use crate::store::disk::{is_missing, is_stale};
use crate::store::fsx::indexes::{FsxIndexes, FsxItems};
use crate::store::open_file::{FileBlocks, OpenFile};
use crate::store::shard_dirs::ShardKind;

/// An open file of one revision or of one packed shard.
pub(crate) struct RevFile {
    bytes: OpenFile,
    instance: Instance,
    first_rev: Revnum,
    rev_count: u64,
    is_packed: bool,
    addressing: Addressing,
    /// True if it was read since [`RevFile::take_use`] was last called.
    is_in_use: AtomicBool,
}

enum Addressing {
    /// Start of each revision, bytes.
    Physical(Vec<u64>),
    Logical(Box<Indexes>),
    Fsx(Box<FsxIndexes>),
}

/// The bytes in memory of the end of a longer file of one revision: enough for the indexes of some hundred items.
const TAIL: u64 = 4 << 10;

impl Store {
    /// Runs `f` on the file that holds `rev`. Runs it once more if the file has gone stale or was packed.
    pub(crate) fn with_rev_file<T>(&self, rev: Revnum, f: impl Fn(&Arc<RevFile>) -> Result<T>) -> Result<T> {
        let mut retried = false;
        loop {
            let file = self.rev_file(rev)?;
            match f(&file) {
                Err(e) if !retried && is_stale(&e) => {
                    retried = true;
                    self.cache().drop_file(&file.key());
                }
                result => return result,
            }
        }
    }

    /// The open file that holds `rev`.
    pub(crate) fn rev_file(&self, rev: Revnum) -> Result<Arc<RevFile>> {
        let (mut reopened, mut refreshed) = (false, false);
        loop {
            let is_packed = self.is_packed(rev);
            let shard_size = self.format().shard_size;
            let first_rev = match is_packed {
                true => Revnum(rev.0 / shard_size * shard_size),
                false => rev,
            };
            let key = (self.instance(), first_rev.0, is_packed);
            if let Some(file) = self.cache().file(&key)
                && (file.bytes().is_whole() || self.read_mode().may_wait())
            {
                return Ok(file);
            }
            self.check_may_wait()?;
            match self.open_rev_file(first_rev, is_packed) {
                Ok(file) => {
                    let file = Arc::new(file);
                    self.cache().insert_file(key, file.clone());
                    return Ok(file);
                }
                // Another machine has deleted the file. Opening it again says whether its shard was packed.
                Err(e) if !reopened && is_stale(&e) => reopened = true,
                Err(e) if !is_missing(&e) => return Err(e),
                Err(_) if !refreshed && self.format().has_packing() => {
                    // Another process may have packed the shard since `min-unpacked-rev` was read.
                    refreshed = true;
                    self.refresh_min_unpacked_rev()?;
                }
                Err(_) => return Err(no_such_revision(rev)),
            }
        }
    }

    /// True if `rev` was packed when `min-unpacked-rev` was last read.
    pub(crate) fn is_packed(&self, rev: Revnum) -> bool {
        rev < self.min_unpacked_rev()
    }

    fn open_rev_file(&self, first_rev: Revnum, is_packed: bool) -> Result<RevFile> {
        let path = match is_packed {
            true => self.layout().pack(first_rev.0 / self.format().shard_size),
            false => self.rev_path(first_rev),
        };
        let logical = self.format().logical;
        let tail = match (is_packed, logical) {
            (true, _) => MAX_FOOTER as u64,
            (false, true) => TAIL,
            (false, false) => rev_trailer::WINDOW as u64,
        };
        let bytes = self.open_bytes(first_rev, is_packed, path, tail)?;
        let bytes = match bytes.is_whole() {
            true => bytes,
            false => {
                let blocks = FileBlocks::new(self.cache(), self.instance(), first_rev, is_packed);
                bytes.with_blocks(blocks)
            }
        };
        let rev_count = if is_packed { self.format().shard_size } else { 1 };
        let addressing = if logical {
            let footer = Footer::parse(bytes.tail(), bytes.len());
            let footer = footer.map_err(|e| footer_error(e, first_rev, &bytes))?;
            match self.format().back_end {
                BackEnd::Fsfs => Addressing::Logical(Box::new(Indexes::new(footer))),
                BackEnd::Fsx => Addressing::Fsx(Box::new(FsxIndexes::new(footer))),
            }
        } else if is_packed {
            let shard = first_rev.0 / self.format().shard_size;
            let path = self.layout().manifest(shard);
            let text = match self.shared_fs() {
                Some(shared) => shared.blobs.pack_manifest(shard),
                None => self.disk().read_small(&path),
            }
            .map_err(|e| Error::io("Can't open file", &path, &e))?;
            Addressing::Physical(manifest::parse(&text, rev_count)?)
        } else {
            Addressing::Physical(vec![0])
        };
        Ok(RevFile {
            bytes,
            instance: self.instance(),
            first_rev,
            rev_count,
            is_packed,
            addressing,
            is_in_use: AtomicBool::new(true),
        })
    }
}

impl Store {
    /// Opens the file of a revision or of a packed shard, on the disk or in the shared storage.
    fn open_bytes(&self, first_rev: Revnum, is_packed: bool, path: PathBuf, tail: u64) -> Result<OpenFile> {
        let blob = match (self.shared_fs(), is_packed) {
            (Some(shared), true) => shared.blobs.open_pack(first_rev.0 / self.format().shard_size),
            (Some(shared), false) if self.has_final_name(first_rev) => shared.blobs.open_revision(first_rev),
            (None, true) => return OpenFile::open(self.disk(), path, tail),
            (_, false) => return self.open_single(first_rev, path, tail),
        };
        OpenFile::of(
            blob.map_err(|e| Error::io("Can't open file", &path, &e))?,
            path,
            tail,
        )
    }

    /// Opens the file of an unpacked revision.
    fn open_single(&self, rev: Revnum, path: PathBuf, tail: u64) -> Result<OpenFile> {
        let shard = self.layout().shard(rev).unwrap_or_default();
        // The file of a revision of an open group is in another directory.
        if self.has_final_name(rev)
            && !self.format().is_fsx()
            && let Some(dir) = self.shard_dir(ShardKind::Revs, shard, || path.clone())
        {
            match dir.open(&rev.to_string()) {
                Ok(file) => return OpenFile::of(file, path, tail),
                // Another directory may have taken the place of the open one.
                Err(_) => self.forget_shard_dir(ShardKind::Revs, shard),
            }
        }
        OpenFile::open(self.disk(), path, tail)
    }
}

/// The error for a revision that does not exist (any more).
pub(crate) fn no_such_revision(rev: Revnum) -> Error {
    Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}"))
}

impl RevFile {
    /// The key of the file in the cache.
    pub(crate) fn key(&self) -> (Instance, u64, bool) {
        (self.instance, self.first_rev.0, self.is_packed)
    }

    /// Notes that the file is needed.
    pub(crate) fn note_use(&self) {
        // Most often it is noted already, and threads need not wait for each other.
        if !self.is_in_use.load(Ordering::Relaxed) {
            self.is_in_use.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the file was needed since the last call.
    pub(crate) fn take_use(&self) -> bool {
        self.is_in_use.swap(false, Ordering::Relaxed)
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &OpenFile {
        &self.bytes
    }

    /// First revision in the file.
    pub(crate) fn first_rev(&self) -> Revnum {
        self.first_rev
    }

    /// Number of revisions in the file.
    pub(crate) fn rev_count(&self) -> u64 {
        self.rev_count
    }

    /// Offset of an item in the file.
    ///
    /// # Errors
    /// `FS_INDEX_REVISION`, `FS_INDEX_OVERFLOW`, `FS_CORRUPT` if there is no such item.
    pub(crate) fn item_offset(&self, cache: &Cache, rev: Revnum, item: u64) -> Result<u64> {
        match &self.addressing {
            Addressing::Physical(_) => {
                let (start, end) = self.rev_range(rev)?;
                let offset = start.checked_add(item).filter(|&offset| offset < end);
                offset.ok_or_else(|| {
                    Error::new(
                        Code::FS_CORRUPT,
                        format!("Offset {item} is outside of revision {rev}"),
                    )
                })
            }
            Addressing::Logical(indexes) => {
                let offset = self.logical_offset(indexes, cache, rev, item)?;
                let offset = offset.filter(|&offset| offset < indexes.footer.l2p_offset);
                offset.ok_or_else(|| {
                    Error::new(
                        Code::FS_CORRUPT,
                        format!("Item {item} of revision {rev} does not exist"),
                    )
                })
            }
            // The item may be one of several in a container: an offset does not find it.
            Addressing::Fsx(_) => Err(self.has_no_such_index()),
        }
    }

    /// The end of the items, bytes: of the whole file with logical addressing, of `rev` with physical addressing.
    pub(crate) fn items_end(&self, rev: Revnum) -> Result<u64> {
        match &self.addressing {
            Addressing::Physical(_) => Ok(self.rev_range(rev)?.1),
            Addressing::Logical(indexes) => Ok(indexes.footer.l2p_offset),
            Addressing::Fsx(indexes) => Ok(indexes.footer.l2p_offset),
        }
    }

    /// The item of the root node-revision.
    pub(crate) fn root_item(&self, rev: Revnum) -> Result<u64> {
        match &self.addressing {
            Addressing::Physical(_) => Ok(self.trailer(rev)?.root),
            Addressing::Logical(_) | Addressing::Fsx(_) => Ok(2),
        }
    }

    /// The item of the changed-path list.
    pub(crate) fn changes_item(&self, rev: Revnum) -> Result<u64> {
        match &self.addressing {
            Addressing::Physical(_) => Ok(self.trailer(rev)?.changes),
            Addressing::Logical(_) | Addressing::Fsx(_) => Ok(1),
        }
    }

    /// True if the changed-path list of a revision, its empty line included, may end at `offset`: with physical addressing, only the
    /// trailer follows.
    pub(crate) fn is_end_of_changes(&self, rev: Revnum, offset: u64) -> Result<bool> {
        let Addressing::Physical(_) = &self.addressing else {
            return Ok(true);
        };
        let mut trailer = Vec::new();
        self.trailer(rev)?.encode(&mut trailer);
        Ok(offset + trailer.len() as u64 == self.rev_range(rev)?.1)
    }

    /// The start and end of the data of a revision, bytes. With logical addressing, where a pack file mixes
    /// revisions, all items of the file.
    pub(crate) fn rev_range(&self, rev: Revnum) -> Result<(u64, u64)> {
        match &self.addressing {
            Addressing::Logical(indexes) => Ok((0, indexes.footer.l2p_offset)),
            Addressing::Fsx(indexes) => Ok((0, indexes.footer.l2p_offset)),
            Addressing::Physical(starts) => {
                let at = (rev.0 - self.first_rev.0) as usize;
                let start = starts.get(at).copied();
                let end = starts.get(at + 1).copied().unwrap_or(self.bytes.len());
                match start {
                    Some(start) if start < end && end <= self.bytes.len() => Ok((start, end)),
                    _ => Err(Error::new(
                        Code::FS_CORRUPT,
                        format!(
                            "Revision {rev} is not inside file '{}'",
                            self.bytes.path().display()
                        ),
                    )),
                }
            }
        }
    }

    fn trailer(&self, rev: Revnum) -> Result<RevTrailer> {
        let (start, end) = self.rev_range(rev)?;
        let window = (end - start).min(rev_trailer::WINDOW as u64);
        let mut tail = [0; rev_trailer::WINDOW];
        let tail = &mut tail[..window as usize];
        self.bytes.read_exact_at(end - window, tail)?;
        RevTrailer::parse(tail).map_err(|e| match e {
            TrailerError::NewlineMissing => {
                let message = format!("Revision file (r{rev}) lacks trailing newline");
                Error::new(e.code(), message)
            }
            _ => in_file(e, &self.bytes),
        })
    }

    /// The indexes' footer; `None` with physical addressing.
    pub(crate) fn footer(&self) -> Option<&Footer> {
        match &self.addressing {
            Addressing::Physical(_) => None,
            Addressing::Logical(indexes) => Some(&indexes.footer),
            Addressing::Fsx(indexes) => Some(&indexes.footer),
        }
    }

    /// The items of a file of FSX.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE` for a file of FSFS.
    pub(crate) fn fsx<'f>(&'f self, cache: &'f Cache) -> Result<FsxItems<'f>> {
        match &self.addressing {
            Addressing::Fsx(indexes) => Ok(FsxItems {
                bytes: &self.bytes,
                first_rev: self.first_rev,
                rev_count: self.rev_count,
                indexes,
                cache,
                key: self.key(),
            }),
            Addressing::Physical(_) | Addressing::Logical(_) => {
                let message = format!("File '{}' is not one of FSX", self.bytes.path().display());
                Err(Error::new(Code::UNSUPPORTED_FEATURE, message))
            }
        }
    }
}

/// Adds the path of the file to the error of a decoder.
fn in_file(e: impl Into<Error>, file: &OpenFile) -> Error {
    let e = e.into();
    let message = format!("{} (file '{}')", e.message(), file.path().display());
    Error::new(e.code(), message)
}

/// The error of a footer. A footer length beyond the start of the file gives a negative offset: the incumbent gets
/// the error for that from the operating system.
fn footer_error(e: FooterError, first_rev: Revnum, file: &OpenFile) -> Error {
    match e {
        FooterError::Length => {
            let invalid = rustix::io::Errno::INVAL.into();
            Error::io("Can't set position pointer in file", file.path(), &invalid)
        }
        FooterError::Order | FooterError::Extra => in_file(e, file),
        e => e.of(first_rev, file.tail()),
    }
}
