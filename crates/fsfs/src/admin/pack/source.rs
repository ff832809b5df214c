//! Reading the revision files of a shard that is being packed, on the disk or in the shared storage.
//!
//! Each file is read once from front to back. Its bytes stay in memory as long as all files together are within a budget; the
//! items of other files are read again when they are written to the pack.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Error, Result, Revnum};
use parking_lot::Mutex;

use crate::format::footer::{Footer, MAX_FOOTER};
use crate::format::fs_format::BackEnd;
use crate::format::fsx;
use crate::format::p2l::{self, P2lEntry, P2lHeader};
use crate::store::Store;
use crate::store::disk::DiskFile;

/// A revision file with logical addressing.
pub(super) struct SourceRevision {
    rev: Revnum,
    path: PathBuf,
    /// The bytes of all items, if the file was short enough.
    bytes: Option<Vec<u8>>,
    /// The items, in the order of their offsets.
    pub(super) entries: Vec<P2lEntry>,
}

/// Longer files are never kept in memory, bytes.
const MAX_KEPT: u64 = 4 << 20;

impl SourceRevision {
    /// Opens a revision file and reads its P2L index. `budget` is the number of bytes that may stay in memory; what this file
    /// takes is subtracted.
    pub(super) fn read(store: &Store, rev: Revnum, budget: &mut u64) -> Result<SourceRevision> {
        let file = SourceFile::open(store, rev)?;
        let whole = match file.len <= MAX_KEPT {
            true => Some(file.read(0, file.len)?),
            false => None,
        };
        let part = |start: u64, end: u64| -> Result<Vec<u8>> {
            match &whole {
                // The offsets of the footer are inside of the file: the parser has checked that.
                Some(bytes) => Ok(bytes[start as usize..end as usize].to_vec()),
                None => file.read(start, end - start),
            }
        };
        let tail = part(file.len.saturating_sub(MAX_FOOTER as u64), file.len)?;
        let footer = Footer::parse(&tail, file.len).map_err(|e| file.fault(e))?;
        let index = part(footer.p2l_offset, footer.footer_offset)?;
        let items_len = footer.l2p_offset;
        let entries = match store.format().back_end {
            BackEnd::Fsfs => entries(&index, rev, items_len),
            BackEnd::Fsx => fsx_entries(&index, rev, items_len),
        };
        let entries = entries.and_then(|entries| items(entries, rev, items_len));
        let entries = entries.map_err(|e| file.fault(e))?;
        // The L2P index has at least one byte for each number.
        if let Some(entry) = entries.iter().find(|entry| entry.item >= file.len) {
            let message = format!("Item number {} is impossible", entry.item);
            return Err(file.fault(Error::new(Code::FS_INDEX_CORRUPTION, message)));
        }
        let bytes = whole.map(|mut bytes| {
            bytes.truncate(footer.l2p_offset as usize);
            bytes
        });
        let bytes = bytes.filter(|bytes| bytes.len() as u64 <= *budget);
        *budget -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Ok(SourceRevision {
            rev,
            path: file.path,
            bytes,
            entries,
        })
    }

    /// Returns the revision.
    pub(super) fn rev(&self) -> Revnum {
        self.rev
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads items of revision files, and keeps some of the files open.
pub(super) struct SourceReader<'a> {
    store: &'a Store,
    open: Mutex<Vec<(u64, Arc<SourceFile>)>>,
}

/// Most files that are kept open: in most shards, few files are not in memory.
const OPEN_FILES: usize = 64;

impl<'a> SourceReader<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        SourceReader {
            store,
            open: Mutex::default(),
        }
    }

    /// Calls `take` for the bytes of an item, in pieces of at most [`PIECE`] bytes.
    pub(super) fn each_piece(
        &self,
        source: &SourceRevision,
        item: &P2lEntry,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(bytes) = &source.bytes {
            let item = bytes.get(item.offset as usize..item.end() as usize);
            return take(item.ok_or_else(|| misplaced(&source.path))?);
        }
        let file = self.file(source)?;
        let mut at = item.offset;
        while at < item.end() {
            let length = (item.end() - at).min(PIECE);
            take(&file.read(at, length)?)?;
            at += length;
        }
        Ok(())
    }

    /// Returns the first bytes of an item, at most `most`.
    pub(super) fn start(&self, source: &SourceRevision, item: &P2lEntry, most: u64) -> Result<Vec<u8>> {
        let short = P2lEntry {
            size: item.size.min(most),
            ..*item
        };
        let mut start = Vec::with_capacity(short.size as usize);
        self.each_piece(source, &short, &mut |piece| {
            start.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(start)
    }

    fn file(&self, source: &SourceRevision) -> Result<Arc<SourceFile>> {
        let mut open = self.open.lock();
        if let Some(at) = open.iter().position(|(rev, _)| *rev == source.rev.0) {
            open[..=at].rotate_right(1);
            return Ok(open[0].1.clone());
        }
        let file = Arc::new(SourceFile::open(self.store, source.rev)?);
        open.truncate(OPEN_FILES - 1);
        open.insert(0, (source.rev.0, file.clone()));
        Ok(file)
    }
}

/// Most bytes that are read with one call.
pub(super) const PIECE: u64 = 1 << 20;

/// An open file with its path and length.
pub(super) struct SourceFile {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    pub(super) len: u64,
}

impl SourceFile {
    /// Opens the file of an unpacked revision.
    pub(super) fn open(store: &Store, rev: Revnum) -> Result<Self> {
        let path = store.layout().rev(rev);
        let file = match store.shared_fs() {
            Some(shared) => shared.blobs.open_revision(rev),
            None => store.disk().open(&path),
        };
        let file = file.map_err(|e| Error::io("Can't open file", &path, &e))?;
        let len = file
            .len()
            .map_err(|e| Error::io("Can't get attribute information from open file", &path, &e))?;
        Ok(SourceFile { path, file, len })
    }

    /// Reads bytes that must exist: the length of the file bounds the allocation.
    pub(super) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        if offset.checked_add(length).is_none_or(|end| end > self.len) {
            return Err(misplaced(&self.path));
        }
        let mut buf = vec![0; length as usize];
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(misplaced(&self.path)),
                Ok(length) => done += length,
                Err(e) => return Err(Error::io("Can't read file", &self.path, &e)),
            }
        }
        Ok(buf)
    }

    fn fault(&self, e: impl Into<Error>) -> Error {
        let e: Error = e.into();
        let message = format!("{} (file '{}')", e.message(), self.path.display());
        Error::new(e.code(), message)
    }
}

/// Returns the entries of a P2L index.
fn entries(index: &[u8], rev: Revnum, items_len: u64) -> Result<Vec<P2lEntry>> {
    let expect = p2l::ExpectedP2l {
        first_rev: rev,
        rev_count: 1,
        file_size: items_len,
        index_len: index.len() as u64,
    };
    let header = P2lHeader::parse(index, expect)?.ok_or(p2l::P2lError::Truncated)?;
    let mut entries = Vec::new();
    for page in 0..header.page_count() {
        let (start, stop) = header.page_range(page).ok_or(p2l::P2lError::Offset)?;
        let data = index
            .get(start as usize..stop as usize)
            .ok_or(p2l::P2lError::PageLength)?;
        entries.append(&mut p2l::parse_page(data, expect, header.limit())?);
    }
    Ok(entries)
}

/// As [`entries`], for FSX. The file of a revision has no containers of several items.
fn fsx_entries(index: &[u8], rev: Revnum, items_len: u64) -> Result<Vec<P2lEntry>> {
    let expect = fsx::p2l::ExpectedP2l {
        first_rev: rev,
        rev_count: 1,
        items_len,
        index_len: index.len() as u64,
    };
    // The index is complete, so its header is.
    let header = fsx::p2l::P2lHeader::parse(index, expect)?.ok_or(p2l::P2lError::Truncated)?;
    let mut entries = Vec::new();
    for page in 0..header.page_count() {
        let (start, stop) = header.page_range(page);
        for entry in fsx::p2l::parse_page(&index[start as usize..stop as usize], expect)? {
            let number = match *entry.items {
                [] => Some(0),
                [(_, number)] => Some(number),
                _ => None,
            };
            let (Some(kind), Some(item)) = (entry.item_type.kind(), number) else {
                let message = format!("The file of r{rev} has a container at offset {}", entry.offset);
                return Err(Error::new(Code::FS_INDEX_CORRUPTION, message));
            };
            entries.push(P2lEntry {
                offset: entry.offset,
                size: entry.size,
                kind,
                rev,
                item,
                checksum: entry.checksum,
            });
        }
    }
    Ok(entries)
}

/// Returns all items among the entries, which must cover the item area without gaps. Padding is left out.
fn items(entries: Vec<P2lEntry>, rev: Revnum, items_len: u64) -> Result<Vec<P2lEntry>> {
    let mut items: Vec<P2lEntry> = Vec::new();
    let mut end = 0;
    for entry in entries {
        if entry.offset != end {
            let message = format!("P2L index of r{rev} has a gap at offset {end}");
            return Err(Error::new(Code::FS_INDEX_CORRUPTION, message));
        }
        end = entry.end();
        if entry.kind != p2l::ItemKind::Unused {
            items.push(entry);
        }
    }
    let last = items.last();
    if end < items_len || last.is_none_or(|last| last.end() > items_len) {
        let message = format!("P2L index of r{rev} does not cover its file");
        return Err(Error::new(Code::FS_INDEX_CORRUPTION, message));
    }
    Ok(items)
}

fn misplaced(path: &Path) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!("Unexpected end of file '{}'", path.display()),
    )
}
