//! The L2P and P2L indexes of a file with logical addressing.
//!
//! An index is read when it is first used. Its header stays with the open file. The cache has the pages of P2L indexes and
//! the long pages of L2P indexes. The L2P index of a pack file has a short page for each revision: blocks of its stored bytes
//! are in the cache, and a short page is decoded at each look-up.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use base::{Code, Error, Result, Revnum};

use super::{Addressing, RevFile, in_file};
use crate::format::footer::Footer;
use crate::format::l2p::{self, L2pHeader, L2pPage};
use crate::format::p2l::{self, P2lEntry, P2lHeader};
use crate::format::prefix_mismatch;
use crate::store::cache::values::L2pBlock;
use crate::store::cache::{Cache, Key};
use crate::store::open_file::WHOLE_FILE;

/// The indexes of a file, as far as they have been read.
pub(super) struct Indexes {
    pub(super) footer: Footer,
    l2p: OnceLock<L2pHeader>,
    p2l: OnceLock<P2lHeader>,
    /// The only page of the L2P index, which almost every single revision has.
    only_page: OnceLock<Arc<[Option<u64>]>>,
}

/// Bytes of an L2P index that are read and cached together, so that a walk over a pack file needs no read for each revision.
const L2P_BLOCK: u64 = 4 << 10;

/// The most entries of a page that is decoded at each look-up: this takes less than a microsecond.
const SHORT_PAGE: u32 = 256;

impl Indexes {
    /// Indexes of which only the footer has been read.
    pub(super) fn new(footer: Footer) -> Self {
        Indexes {
            footer,
            l2p: OnceLock::new(),
            p2l: OnceLock::new(),
            only_page: OnceLock::new(),
        }
    }
}

impl RevFile {
    /// Returns the offset of an item according to the L2P index; `None` for an unused item number.
    pub(super) fn logical_offset(
        &self,
        indexes: &Indexes,
        cache: &Cache,
        rev: Revnum,
        item: u64,
    ) -> Result<Option<u64>> {
        let header = self.l2p_header(indexes)?;
        let (page, entry) = header.page_of(rev, item).map_err(|e| match e {
            l2p::L2pError::Item => {
                Error::new(e.code(), format!("Item index {item} too large in revision {rev}"))
            }
            other => in_file(other, &self.bytes),
        })?;
        let page_info = &header.pages[page as usize];
        if page_info.entries <= SHORT_PAGE && header.pages.len() > 1 {
            let data = self.l2p_data(indexes, cache, page_info)?;
            return l2p::page_offset(&data, page_info.entries, entry).map_err(|e| in_file(e, &self.bytes));
        }
        let offsets = self.l2p_page(indexes, header, cache, page)?;
        Ok(offsets.get(entry).copied().flatten())
    }

    /// All entries of the L2P index that belong to `rev`: offsets by item number.
    pub(crate) fn l2p_entries(&self, cache: &Cache, rev: Revnum) -> Result<Vec<Option<u64>>> {
        let indexes = self.indexes()?;
        let header = self.l2p_header(indexes)?;
        let mut all = Vec::new();
        for page in header.pages_of(rev).map_err(|e| in_file(e, &self.bytes))? {
            all.extend_from_slice(&self.l2p_page(indexes, header, cache, page)?);
        }
        Ok(all)
    }

    /// The header of the P2L index.
    pub(crate) fn p2l_header(&self) -> Result<&P2lHeader> {
        let indexes = self.indexes()?;
        if let Some(header) = indexes.p2l.get() {
            return Ok(header);
        }
        let expect = self.p2l_expect(indexes);
        let header =
            self.parse_growing(indexes.footer.p2l_offset, indexes.footer.footer_offset, |bytes| {
                P2lHeader::parse(bytes, expect).map_err(|e| match e {
                    p2l::P2lError::Prefix => prefix_mismatch(&e.into(), p2l::PREFIX, bytes),
                    _ => in_file(e, &self.bytes),
                })
            })?;
        Ok(indexes.p2l.get_or_init(|| header))
    }

    /// The items whose last byte lies in a page of the P2L index.
    pub(crate) fn p2l_page(&self, cache: &Cache, page: u64) -> Result<Arc<[P2lEntry]>> {
        let indexes = self.indexes()?;
        let key =
            Key::part::<Arc<[P2lEntry]>>(self.instance, self.first_rev.0, page, u64::from(self.is_packed));
        if let Some(entries) = cache.get(&key) {
            return Ok(entries);
        }
        let header = self.p2l_header()?;
        let (start, end) = header.page_range(page).ok_or(p2l::P2lError::Offset)?;
        let data = self
            .bytes
            .read_vec(indexes.footer.p2l_offset + start, end - start)?;
        let entries: Arc<[P2lEntry]> = p2l::parse_page(&data, self.p2l_expect(indexes), header.limit())
            .map_err(|e| in_file(e, &self.bytes))?
            .into();
        cache.insert(key, entries.clone());
        Ok(entries)
    }

    /// The P2L entry that contains `offset`; `None` if there is none.
    pub(crate) fn p2l_at(&self, cache: &Cache, offset: u64) -> Result<Option<P2lEntry>> {
        let header = self.p2l_header()?;
        // An item is listed in the page of its last byte, so a long item comes after pages without entries.
        for page in offset / header.page_size..header.page_count() {
            let entries = self.p2l_page(cache, page)?;
            let at = entries.partition_point(|entry| entry.end() <= offset);
            if let Some(entry) = entries.get(at) {
                return Ok((entry.offset <= offset && offset < header.file_size).then_some(*entry));
            }
        }
        Ok(None)
    }

    fn indexes(&self) -> Result<&Indexes> {
        match &self.addressing {
            Addressing::Logical(indexes) => Ok(indexes),
            Addressing::Physical(_) | Addressing::Fsx(_) => Err(self.has_no_such_index()),
        }
    }

    /// The error of a file without the indexes of this module.
    pub(super) fn has_no_such_index(&self) -> Error {
        Error::new(
            Code::UNSUPPORTED_FEATURE,
            format!("File '{}' has no index", self.bytes.path().display()),
        )
    }

    fn p2l_expect(&self, indexes: &Indexes) -> p2l::ExpectedP2l {
        p2l::ExpectedP2l {
            first_rev: self.first_rev,
            rev_count: self.rev_count,
            file_size: indexes.footer.l2p_offset,
            index_len: indexes.footer.footer_offset - indexes.footer.p2l_offset,
        }
    }

    fn l2p_header<'a>(&self, indexes: &'a Indexes) -> Result<&'a L2pHeader> {
        if let Some(header) = indexes.l2p.get() {
            return Ok(header);
        }
        let (start, end) = (indexes.footer.l2p_offset, indexes.footer.p2l_offset);
        let expect = l2p::ExpectedL2p {
            first_rev: self.first_rev,
            rev_count: self.rev_count,
            index_len: end - start,
        };
        let header = self.parse_growing(start, end, |bytes| {
            L2pHeader::parse(bytes, expect).map_err(|e| match e {
                l2p::L2pError::Prefix => prefix_mismatch(&e.into(), l2p::PREFIX, bytes),
                _ => in_file(e, &self.bytes),
            })
        })?;
        Ok(indexes.l2p.get_or_init(|| header))
    }

    /// Returns the offsets of a page by item number.
    fn l2p_page(
        &self,
        indexes: &Indexes,
        header: &L2pHeader,
        cache: &Cache,
        page: u32,
    ) -> Result<Arc<[Option<u64>]>> {
        let page_info = &header.pages[page as usize];
        let decode = |data: &[u8]| -> Result<Arc<[Option<u64>]>> {
            let offsets = l2p::parse_page(data, page_info.entries).map_err(|e| in_file(e, &self.bytes))?;
            Ok(offsets.into())
        };
        let read = || {
            let start = indexes.footer.l2p_offset + page_info.offset;
            self.bytes.read_vec(start, u64::from(page_info.length))
        };
        if header.pages.len() == 1 {
            if let Some(offsets) = indexes.only_page.get() {
                return Ok(offsets.clone());
            }
            let offsets = decode(&read()?)?;
            return Ok(indexes.only_page.get_or_init(|| offsets).clone());
        }
        if page_info.entries <= SHORT_PAGE {
            return decode(&self.l2p_data(indexes, cache, page_info)?);
        }
        let part = u64::from(self.is_packed);
        let key = Key::part::<Arc<[Option<u64>]>>(self.instance, self.first_rev.0, u64::from(page), part);
        if let Some(offsets) = cache.get(&key) {
            return Ok(offsets);
        }
        let offsets = decode(&read()?)?;
        cache.insert(key, offsets.clone());
        Ok(offsets)
    }

    /// Returns the stored bytes of a short page, out of one or two blocks.
    fn l2p_data(&self, indexes: &Indexes, cache: &Cache, page: &L2pPage) -> Result<PageBytes> {
        let (start, end) = (page.offset, page.offset + u64::from(page.length));
        let (first, last) = (start / L2P_BLOCK, (end - 1) / L2P_BLOCK);
        let block = self.l2p_block(indexes, cache, first)?;
        let from = (start - first * L2P_BLOCK) as usize;
        if first == last {
            let to = (end - first * L2P_BLOCK) as usize;
            return Ok(PageBytes::Within(block, from..to));
        }
        let mut bytes = block[from..].to_vec();
        for number in first + 1..=last {
            let block = self.l2p_block(indexes, cache, number)?;
            let to = (end - number * L2P_BLOCK).min(L2P_BLOCK) as usize;
            bytes.extend_from_slice(&block[..to]);
        }
        Ok(PageBytes::Joined(bytes))
    }

    /// Returns block `number` of the stored bytes of the L2P index.
    fn l2p_block(&self, indexes: &Indexes, cache: &Cache, number: u64) -> Result<Arc<[u8]>> {
        let key = Key::part::<L2pBlock>(self.instance, self.first_rev.0, number, u64::from(self.is_packed));
        if let Some(L2pBlock(bytes)) = cache.get(&key) {
            return Ok(bytes);
        }
        let start = indexes.footer.l2p_offset + number * L2P_BLOCK;
        let length = L2P_BLOCK.min(indexes.footer.p2l_offset.saturating_sub(start));
        let bytes: Arc<[u8]> = self.bytes.read_vec(start, length)?.into();
        cache.insert(key, L2pBlock(bytes.clone()));
        Ok(bytes)
    }

    /// Parses a header at `start` whose length shows only in parsing. Reads more bytes, up to `end`, until it is
    /// complete.
    fn parse_growing<T>(
        &self,
        start: u64,
        end: u64,
        parse: impl Fn(&[u8]) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut length = (end - start).min(WHOLE_FILE);
        loop {
            let data = self.bytes.read_vec(start, length)?;
            match parse(&data)? {
                Some(value) => return Ok(value),
                None if length < end - start => length = length.saturating_mul(4).min(end - start),
                None => return Err(self.bytes.ends_early()),
            }
        }
    }
}

/// The stored bytes of a page.
enum PageBytes {
    /// A range of a block.
    Within(Arc<[u8]>, Range<usize>),
    /// Parts of two blocks or more, joined.
    Joined(Vec<u8>),
}

impl Deref for PageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            PageBytes::Within(block, range) => &block[range.clone()],
            PageBytes::Joined(bytes) => bytes,
        }
    }
}
