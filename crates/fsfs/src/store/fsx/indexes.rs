//! The indexes of a revision or pack file of FSX: from (revision, item) to bytes.
//!
//! The L2P index of the file says where an item is, the P2L index what is there: an item, or a container with the item as
//! one of its records. Both must agree. Indexes are decoded page by page when they are first used. Their headers stay with the
//! open file, their pages are in the cache.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use base::checksum::fnv1a_32x4;
use base::{Code, Error, Result, Revnum};

use super::in_file;
use crate::format::footer::Footer;
use crate::format::fsx::cursor::DecodeError;
use crate::format::fsx::l2p::{self, ExpectedL2p, L2pEntry, L2pHeader};
use crate::format::fsx::p2l::{self, ExpectedP2l, ItemType, P2lEntry, P2lHeader};
use crate::format::prefix_mismatch;
use crate::store::cache::{Cache, Cached, Instance, Key};
use crate::store::open_file::OpenFile;

/// The indexes of a file, as far as they have been read.
pub(crate) struct FsxIndexes {
    pub(crate) footer: Footer,
    l2p: OnceLock<L2pHeader>,
    p2l: OnceLock<P2lHeader>,
}

impl FsxIndexes {
    /// Indexes of which only the footer has been read.
    pub(crate) fn new(footer: Footer) -> Self {
        FsxIndexes {
            footer,
            l2p: OnceLock::new(),
            p2l: OnceLock::new(),
        }
    }
}

/// The items of an open file.
#[derive(Clone, Copy)]
pub(crate) struct FsxItems<'f> {
    pub(crate) bytes: &'f OpenFile,
    pub(crate) first_rev: Revnum,
    pub(crate) rev_count: u64,
    pub(crate) indexes: &'f FsxIndexes,
    /// The cache with the pages of the indexes.
    pub(crate) cache: &'f Cache,
    /// The file in keys of the cache.
    pub(crate) key: (Instance, u64, bool),
}

/// The entries of a decoded page of the L2P index.
type L2pEntries = Arc<[Option<L2pEntry>]>;

/// An item: where it is, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsxItem {
    /// Offset of the item or of its container, bytes.
    pub(crate) offset: u64,
    /// Length of the item or of its container, bytes.
    pub(crate) size: u64,
    pub(crate) item_type: ItemType,
    /// The number of the record in a container; 0 for a plain item.
    pub(crate) sub_item: u64,
    checksum: u32,
}

/// Checks the bytes of the item at `offset` of its file.
///
/// # Errors
/// `CHECKSUM_MISMATCH`.
pub(crate) fn check_item(bytes: &[u8], offset: u64, expected: u32) -> Result<()> {
    let actual = fnv1a_32x4(bytes);
    if actual == expected {
        return Ok(());
    }
    let message = format!(
        "Low-level checksum mismatch while reading\n{} bytes of meta data at offset {offset} :\n   \
         expected:  {expected:08x}\n     actual:  {actual:08x}\n",
        bytes.len()
    );
    Err(Error::new(Code::CHECKSUM_MISMATCH, message))
}

/// The first read of an index, bytes: enough for the header of most.
const INDEX_READ: u64 = 16 << 10;

impl<'f> FsxItems<'f> {
    /// Adds the path of the file to the error of a decoder.
    pub(crate) fn in_file<T>(&self, result: std::result::Result<T, DecodeError>) -> Result<T> {
        in_file(result, self.bytes.path())
    }

    /// Finds an item.
    ///
    /// # Errors
    /// `FS_INDEX_REVISION`, `FS_INDEX_OVERFLOW`, `FS_INDEX_INCONSISTENT`, `FS_CORRUPT` if there is no such item.
    pub(crate) fn item(&self, rev: Revnum, number: u64) -> Result<FsxItem> {
        let place = self.l2p_entry(rev, number)?.ok_or_else(|| {
            let message = format!("Item {number} of revision {rev} does not exist");
            Error::new(Code::FS_CORRUPT, message)
        })?;
        let inconsistent = |what: &str| {
            let message = format!(
                "Item {number} of revision {rev} at offset {}: {what}",
                place.offset
            );
            Error::new(Code::FS_INDEX_INCONSISTENT, message)
        };
        let Some((page, at)) = self.p2l_at(place.offset)? else {
            return Err(inconsistent("the P2L index has no item there"));
        };
        let entry = &page[at];
        let sub_item = usize::try_from(place.sub_item).ok();
        let found = sub_item.and_then(|at| entry.items.get(at));
        if entry.offset != place.offset || found != Some(&(rev, number)) {
            return Err(inconsistent("the P2L index has another item there"));
        }
        if entry.end() > self.indexes.footer.l2p_offset {
            return Err(inconsistent("it is not inside of the items"));
        }
        Ok(FsxItem {
            offset: entry.offset,
            size: entry.size,
            item_type: entry.item_type,
            sub_item: place.sub_item,
            checksum: entry.checksum,
        })
    }

    /// The numbers of the revisions in the file.
    pub(crate) fn revisions(&self) -> Range<u64> {
        self.first_rev.0..self.first_rev.0.saturating_add(self.rev_count)
    }

    /// The number of pages of the P2L index.
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION`; the system's.
    pub(crate) fn page_count(&self) -> Result<usize> {
        Ok(self.p2l_index()?.page_count())
    }

    /// The entries of a page of the P2L index, whose number must be below [`FsxItems::page_count`].
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION`; the system's.
    pub(crate) fn page_entries(&self, page: usize) -> Result<Arc<[P2lEntry]>> {
        self.p2l_page(self.p2l_index()?, page)
    }

    /// The number of items of a revision according to the L2P index.
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION`, `FS_INDEX_REVISION`; the system's.
    pub(crate) fn used_items(&self, rev: Revnum) -> Result<usize> {
        let index = self.l2p_index()?;
        let mut used = 0;
        for page in self.in_file(index.pages_of(rev))? {
            used += self.l2p_page(index, page as usize)?.iter().flatten().count();
        }
        Ok(used)
    }

    /// Reads the bytes of an item or of its container, and checks them.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`; the system's.
    pub(crate) fn read_checked(&self, item: &FsxItem) -> Result<Vec<u8>> {
        let bytes = self.bytes.read_vec(item.offset, item.size)?;
        check_item(&bytes, item.offset, item.checksum)?;
        Ok(bytes)
    }

    fn l2p_entry(&self, rev: Revnum, item: u64) -> Result<Option<L2pEntry>> {
        let index = self.l2p_index()?;
        let (page, entry) = self.in_file(index.page_of(rev, item))?;
        Ok(self.l2p_page(index, page)?.get(entry).copied().flatten())
    }

    fn l2p_index(&self) -> Result<&'f L2pHeader> {
        if let Some(index) = self.indexes.l2p.get() {
            return Ok(index);
        }
        let (start, end) = (self.indexes.footer.l2p_offset, self.indexes.footer.p2l_offset);
        let expect = ExpectedL2p {
            first_rev: self.first_rev,
            rev_count: self.rev_count,
            index_len: end - start,
        };
        let header = self.read_growing(l2p::PREFIX, start, end, |bytes| L2pHeader::parse(bytes, expect))?;
        Ok(self.indexes.l2p.get_or_init(|| header))
    }

    fn l2p_page(&self, index: &L2pHeader, number: usize) -> Result<L2pEntries> {
        let key = self.page_key::<L2pEntries>(number);
        if let Some(entries) = self.cache.get(&key) {
            return Ok(entries);
        }
        let page = index.page(number);
        let start = self.indexes.footer.l2p_offset + page.offset;
        let data = self.bytes.read_vec(start, page.length)?;
        let entries: L2pEntries = self.in_file(page.entries(&data))?.into();
        self.cache.insert(key, entries.clone());
        Ok(entries)
    }

    /// The page of the P2L index with the entry that contains `offset`, and the number of the entry in it.
    fn p2l_at(&self, offset: u64) -> Result<Option<(Arc<[P2lEntry]>, usize)>> {
        let index = self.p2l_index()?;
        // An item is listed in the page of its last byte, so a long item comes after pages without entries.
        let first = usize::try_from(offset / index.page_size).unwrap_or(usize::MAX);
        for number in first..index.page_count() {
            let page = self.p2l_page(index, number)?;
            let at = page.partition_point(|entry| entry.end() <= offset);
            if let Some(entry) = page.get(at) {
                return Ok((entry.offset <= offset).then_some((page, at)));
            }
        }
        Ok(None)
    }

    fn expected_p2l(&self) -> ExpectedP2l {
        ExpectedP2l {
            first_rev: self.first_rev,
            rev_count: self.rev_count,
            items_len: self.indexes.footer.l2p_offset,
            index_len: self.indexes.footer.footer_offset - self.indexes.footer.p2l_offset,
        }
    }

    fn p2l_index(&self) -> Result<&'f P2lHeader> {
        if let Some(index) = self.indexes.p2l.get() {
            return Ok(index);
        }
        let expect = self.expected_p2l();
        let (start, end) = (self.indexes.footer.p2l_offset, self.indexes.footer.footer_offset);
        let header = self.read_growing(p2l::PREFIX, start, end, |bytes| P2lHeader::parse(bytes, expect))?;
        Ok(self.indexes.p2l.get_or_init(|| header))
    }

    /// The key of a page of an index, of which this is the type.
    fn page_key<T: Cached>(&self, number: usize) -> Key {
        let (instance, first_rev, is_packed) = self.key;
        Key::part::<T>(instance, first_rev, number as u64, u64::from(is_packed))
    }

    fn p2l_page(&self, index: &P2lHeader, number: usize) -> Result<Arc<[P2lEntry]>> {
        let key = self.page_key::<Arc<[P2lEntry]>>(number);
        if let Some(entries) = self.cache.get(&key) {
            return Ok(entries);
        }
        let (start, end) = index.page_range(number);
        let data = self
            .bytes
            .read_vec(self.indexes.footer.p2l_offset + start, end - start)?;
        let entries: Arc<[P2lEntry]> = self.in_file(p2l::parse_page(&data, self.expected_p2l()))?.into();
        self.cache.insert(key, entries.clone());
        Ok(entries)
    }

    /// Decodes a header at `start`, which begins with `prefix` and whose length shows only in decoding. Reads more bytes, up to `end`, until it is
    /// complete.
    fn read_growing<T>(
        &self,
        prefix: &[u8],
        start: u64,
        end: u64,
        decode: impl Fn(&[u8]) -> std::result::Result<Option<T>, DecodeError>,
    ) -> Result<T> {
        let mut length = (end - start).min(INDEX_READ);
        loop {
            let data = self.bytes.read_vec(start, length)?;
            if !data.starts_with(prefix) {
                let message = "Index stream header prefix mismatch.";
                let e = Error::new(Code::FS_INDEX_CORRUPTION, message);
                return Err(prefix_mismatch(&e, prefix, &data));
            }
            match self.in_file(decode(&data))? {
                Some(value) => return Ok(value),
                None if length < end - start => length = length.saturating_mul(4).min(end - start),
                None => return Err(self.bytes.ends_early()),
            }
        }
    }
}
