//! The L2P and P2L indexes of a file with logical addressing.
//!
//! An index is read when it is first used. Its header stays with the open file; its pages are in the cache, except the
//! only page of a small L2P index.

use std::sync::{Arc, OnceLock};

use base::{Code, Error, Result, Revnum};

use super::{Addressing, RevFile, in_file};
use crate::format::footer::Footer;
use crate::format::l2p::{self, L2pHeader, L2pPage};
use crate::format::p2l::{self, P2lEntry, P2lHeader};
use crate::format::prefix_mismatch;
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

/// Bytes of an L2P index that one read may take along, so that a walk over a pack file needs no read for each
/// revision.
const L2P_READ: usize = 2 << 10;

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
            Addressing::Physical(_) => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                format!("File '{}' has no index", self.bytes.path().display()),
            )),
        }
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

    fn l2p_page(
        &self,
        indexes: &Indexes,
        header: &L2pHeader,
        cache: &Cache,
        page: u32,
    ) -> Result<Arc<[Option<u64>]>> {
        let is_only = header.pages.len() == 1;
        if is_only && let Some(offsets) = indexes.only_page.get() {
            return Ok(offsets.clone());
        }
        let part = u64::from(self.is_packed);
        let key = |page: u64| Key::part::<Arc<[Option<u64>]>>(self.instance, self.first_rev.0, page, part);
        if let Some(offsets) = cache.get(&key(u64::from(page))) {
            return Ok(offsets);
        }
        let index_start = indexes.footer.l2p_offset;
        let decode = |page_info: &L2pPage, data: &[u8]| -> Result<Arc<[Option<u64>]>> {
            let offsets = l2p::parse_page(data, page_info.entries).map_err(|e| in_file(e, &self.bytes))?;
            Ok(offsets.into())
        };
        // Pages of neighbouring revisions are small and lie side by side. The read takes along those that fit into
        // `L2P_READ`.
        let pages = &header.pages[page as usize..];
        let lengths = pages.iter().scan(0, |sum: &mut usize, page_info| {
            *sum += page_info.length as usize;
            Some(*sum)
        });
        let count = lengths.take_while(|&sum| sum <= L2P_READ).count().max(1);
        let pages = &pages[..count];
        let length = pages.iter().map(|page_info| u64::from(page_info.length)).sum();
        let data = self.bytes.read_vec(index_start + pages[0].offset, length)?;
        let (first, mut rest) = data.split_at(pages[0].length as usize);
        let offsets = decode(&pages[0], first)?;
        if is_only {
            return Ok(indexes.only_page.get_or_init(|| offsets).clone());
        }
        cache.insert(key(u64::from(page)), offsets.clone());
        for (at, page_info) in pages.iter().enumerate().skip(1) {
            let (data, behind) = rest.split_at(page_info.length as usize);
            rest = behind;
            // A damaged page of a neighbour is no error here. A reader that needs that page gets the error.
            if let Ok(offsets) = decode(page_info, data) {
                cache.insert(key(u64::from(page) + at as u64), offsets);
            }
        }
        Ok(offsets)
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
