//! The L2P index (logical addressing, format 7 and later): (revision, item number) to offset in the file.
//!
//! All numbers but the offsets are index integers (see [`number`](base::number)).
//!
//! | field | encoding |
//! |---|---|
//! | prefix | `L2P-INDEX` and a newline |
//! | first revision | of the file |
//! | page size | the most entries of a page, a power of two |
//! | number of revisions | in the file |
//! | number of pages | of all revisions |
//! | pages of a revision | a number for each revision |
//! | length, entries | two numbers for each page: its bytes, and its offsets |
//! | pages | back to back |
//!
//! A page has a signed index integer for each item number: the difference to the value before it in the page, the
//! first one to 0. A value is offset + 1, or 0 for an unused item number. Each revision has its own pages, and each
//! page is decoded on its own.

use base::Revnum;

use super::decode_error;
use base::number::{push_int, push_uint, take_int, take_uint};

decode_error! {
    /// Why an L2P index is not usable.
    L2pError {
        Prefix => FS_INDEX_CORRUPTION, "Index stream header prefix mismatch.";
        Truncated => FS_INDEX_CORRUPTION, "L2P index data ends early";
        FirstRevision => FS_INDEX_CORRUPTION, "Index rev / pack file revision numbers do not match";
        PageSize => FS_INDEX_CORRUPTION, "L2P index page size is not a power of two";
        RevisionCount => FS_INDEX_CORRUPTION, "Invalid number of revisions in L2P index";
        PageCount => FS_INDEX_CORRUPTION, "Invalid number of pages in L2P index";
        EmptyRevision => FS_INDEX_CORRUPTION, "Revision with no L2P index pages";
        EmptyPage => FS_INDEX_CORRUPTION, "Empty L2P index page";
        PageEntries => FS_INDEX_CORRUPTION, "L2P index page exceeds the maximum number of entries";
        PageLength => FS_INDEX_CORRUPTION, "L2P index pages do not fill the index";
        PageData => FS_INDEX_CORRUPTION, "L2P index page contains invalid data";
        Revision => FS_INDEX_REVISION, "Revision not covered by item index";
        Item => FS_INDEX_OVERFLOW, "Item index too large in revision";
    }
}

/// The start of every L2P index.
pub(crate) const PREFIX: &[u8] = b"L2P-INDEX\n";

/// The parsed header: which page has which items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct L2pHeader {
    pub(crate) first_rev: Revnum,
    /// The most entries of a page.
    pub(crate) page_size: u64,
    /// The first page of each revision, and the number of pages at the end.
    rev_pages: Vec<u32>,
    pub(crate) pages: Vec<L2pPage>,
}

/// The position of a page and the number of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct L2pPage {
    /// Offset from the start of the index, bytes.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u32,
    pub(crate) entries: u32,
}

/// The values that the index of a file must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedL2p {
    /// The first revision of the file.
    pub(crate) first_rev: Revnum,
    /// The number of revisions in the file: 1, or the size of a shard.
    pub(crate) rev_count: u64,
    /// The length of the whole index, bytes.
    pub(crate) index_len: u64,
}

impl L2pHeader {
    /// Parses the header at the front of `input`; `None` if more bytes are needed.
    pub(crate) fn parse(input: &[u8], expect: ExpectedL2p) -> Result<Option<Self>, L2pError> {
        let whole = input.len() as u64 >= expect.index_len;
        match Self::parse_some(input, expect) {
            Err(L2pError::Truncated) if !whole => Ok(None),
            Err(e) => Err(e),
            Ok(header) => Ok(Some(header)),
        }
    }

    fn parse_some(input: &[u8], expect: ExpectedL2p) -> Result<Self, L2pError> {
        let mut rest = match input.strip_prefix(PREFIX) {
            Some(rest) => rest,
            None if PREFIX.starts_with(input) => return Err(L2pError::Truncated),
            None => return Err(L2pError::Prefix),
        };
        if header_number(&mut rest)? != expect.first_rev.0 {
            return Err(L2pError::FirstRevision);
        }
        let page_size = header_number(&mut rest)?;
        if !page_size.is_power_of_two() {
            return Err(L2pError::PageSize);
        }
        let rev_count = header_number(&mut rest)?;
        if rev_count != expect.rev_count {
            return Err(L2pError::RevisionCount);
        }
        let page_count = header_number(&mut rest)?;
        // Each page takes at least two bytes of the header, so the length of the index bounds what is allocated.
        if page_count < rev_count || page_count > expect.index_len / 2 || page_count > u64::from(u32::MAX) {
            return Err(L2pError::PageCount);
        }
        let rev_pages = parse_rev_pages(&mut rest, rev_count, page_count)?;
        let (mut pages, data_length) = parse_pages(&mut rest, page_count, page_size)?;
        let data_start = (input.len() - rest.len()) as u64;
        for page in &mut pages {
            page.offset += data_start;
        }
        if data_start.checked_add(data_length) != Some(expect.index_len) {
            return Err(L2pError::PageLength);
        }
        Ok(L2pHeader {
            first_rev: expect.first_rev,
            page_size,
            rev_pages,
            pages,
        })
    }

    /// The numbers of the pages of one revision.
    pub(crate) fn pages_of(&self, rev: Revnum) -> Result<std::ops::Range<u32>, L2pError> {
        let at = rev.0.checked_sub(self.first_rev.0).ok_or(L2pError::Revision)?;
        let at = usize::try_from(at).map_err(|_| L2pError::Revision)?;
        match self.rev_pages.get(at..).and_then(|rest| rest.get(..2)) {
            Some(&[start, end]) => Ok(start..end),
            _ => Err(L2pError::Revision),
        }
    }

    /// The number of the page with an item, and the index of its entry there.
    pub(crate) fn page_of(&self, rev: Revnum, item: u64) -> Result<(u32, usize), L2pError> {
        let pages = self.pages_of(rev)?;
        let within = item / self.page_size;
        if within >= u64::from(pages.end - pages.start) {
            return Err(L2pError::Item);
        }
        let page = pages.start + within as u32;
        let entry = item % self.page_size;
        if entry >= u64::from(self.pages[page as usize].entries) {
            return Err(L2pError::Item);
        }
        Ok((page, entry as usize))
    }
}

/// Takes a number of the header.
fn header_number(rest: &mut &[u8]) -> Result<u64, L2pError> {
    match take_uint(rest) {
        Some(number) => Ok(number),
        None if rest.len() < 10 => Err(L2pError::Truncated),
        None => Err(L2pError::PageData),
    }
}

/// Parses the numbers of pages of the revisions. Returns the first page of each revision, and the number of pages at the end.
fn parse_rev_pages(rest: &mut &[u8], rev_count: u64, page_count: u64) -> Result<Vec<u32>, L2pError> {
    let mut rev_pages = Vec::with_capacity(rev_count as usize + 1);
    let mut first_page = 0u64;
    for _ in 0..rev_count {
        rev_pages.push(first_page as u32);
        let pages = header_number(rest)?;
        if pages == 0 {
            return Err(L2pError::EmptyRevision);
        }
        first_page = first_page
            .checked_add(pages)
            .filter(|&n| n <= page_count)
            .ok_or(L2pError::PageCount)?;
    }
    if first_page != page_count {
        return Err(L2pError::PageCount);
    }
    rev_pages.push(page_count as u32);
    Ok(rev_pages)
}

/// Parses the lengths of the pages and their numbers of entries. Returns the pages, with offsets from the first one, and the length of
/// all, bytes.
fn parse_pages(rest: &mut &[u8], page_count: u64, page_size: u64) -> Result<(Vec<L2pPage>, u64), L2pError> {
    let mut pages = Vec::with_capacity(page_count as usize);
    let mut offset = 0u64;
    for _ in 0..page_count {
        let length = header_number(rest)?;
        let entries = header_number(rest)?;
        if length == 0 || entries == 0 {
            return Err(L2pError::EmptyPage);
        }
        // Every entry takes at least one byte.
        if entries > page_size || entries > length {
            return Err(L2pError::PageEntries);
        }
        let length = u32::try_from(length).map_err(|_| L2pError::PageLength)?;
        pages.push(L2pPage {
            offset,
            length,
            entries: entries as u32,
        });
        offset = offset
            .checked_add(u64::from(length))
            .ok_or(L2pError::PageLength)?;
    }
    Ok((pages, offset))
}

/// Decodes a page: offsets by item number, `None` for unused numbers.
pub(crate) fn parse_page(data: &[u8], entries: u32) -> Result<Vec<Option<u64>>, L2pError> {
    if (data.len() as u64) < u64::from(entries) {
        return Err(L2pError::PageData);
    }
    let mut offsets = Vec::with_capacity(entries as usize);
    decode_page(data, entries, |offset| offsets.push(offset))?;
    Ok(offsets)
}

/// Decodes a page for the offset of one entry; `None` if there is none.
pub(crate) fn page_offset(data: &[u8], entries: u32, entry: usize) -> Result<Option<u64>, L2pError> {
    let (mut at, mut found) = (0, None);
    decode_page(data, entries, |offset| {
        if at == entry {
            found = offset;
        }
        at += 1;
    })?;
    Ok(found)
}

/// Passes the offset of each entry of a page to `each`.
fn decode_page(mut data: &[u8], entries: u32, mut each: impl FnMut(Option<u64>)) -> Result<(), L2pError> {
    let mut value = 0i64;
    for _ in 0..entries {
        let step = take_int(&mut data).ok_or(L2pError::PageData)?;
        value = value
            .checked_add(step)
            .filter(|&v| v >= 0)
            .ok_or(L2pError::PageData)?;
        each((value as u64).checked_sub(1));
    }
    match data.is_empty() {
        true => Ok(()),
        false => Err(L2pError::PageData),
    }
}

/// Returns the offset of an item out of the index of one revision with one page, for a single look-up without making
/// tables. `None` for any other or damaged index.
pub(crate) fn single_offset(index: &[u8], rev: Revnum, item: u64) -> Option<u64> {
    let mut rest = index.strip_prefix(PREFIX)?;
    let mut number = || take_uint(&mut rest);
    let (first_rev, page_size) = (number()?, number()?);
    let (rev_count, page_count, pages) = (number()?, number()?, number()?);
    let (length, entries) = (number()?, number()?);
    let is_ordinary = first_rev == rev.0
        && page_size.is_power_of_two()
        && [rev_count, page_count, pages] == [1; 3]
        && length == rest.len() as u64
        && (1..=page_size.min(length)).contains(&entries);
    if !is_ordinary {
        return None;
    }
    let (mut value, mut found) = (0i64, None);
    for at in 0..entries {
        let step = take_int(&mut rest)?;
        value = value.checked_add(step).filter(|&v| v >= 0)?;
        if at == item {
            found = (value as u64).checked_sub(1);
        }
    }
    found.filter(|_| rest.is_empty())
}

/// Appends a whole index. `revs` has for each revision the offsets by item number.
pub(crate) fn encode(out: &mut Vec<u8>, first_rev: Revnum, page_size: usize, revs: &[Vec<Option<u64>>]) {
    let mut pages: Vec<(Vec<u8>, usize)> = Vec::new();
    let mut rev_pages = Vec::with_capacity(revs.len());
    for offsets in revs {
        let before = pages.len();
        for page in offsets.chunks(page_size) {
            let mut data = Vec::new();
            let mut previous = 0i64;
            for offset in page {
                // Offsets are below 2^63 everywhere in FSFS.
                let value = offset.map_or(0, |offset| offset as i64 + 1);
                push_int(&mut data, value - previous);
                previous = value;
            }
            pages.push((data, page.len()));
        }
        rev_pages.push(pages.len() - before);
    }
    out.extend_from_slice(PREFIX);
    for number in [
        first_rev.0,
        page_size as u64,
        revs.len() as u64,
        pages.len() as u64,
    ] {
        push_uint(out, number);
    }
    for count in rev_pages {
        push_uint(out, count as u64);
    }
    for (data, entries) in &pages {
        push_uint(out, data.len() as u64);
        push_uint(out, *entries as u64);
    }
    for (data, _) in &pages {
        out.extend_from_slice(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sample revision of the specification.
    const REAL: &[u8] = b"L2P-INDEX\n\x01\x80\x40\x01\x01\x01\x10\x09\
        \x00\xb0\x0a\xf7\x01\xb5\x08\x4e\x84\x01\xd6\x02\x80\x01\xe8\x01";

    fn expect(bytes: &[u8], first_rev: u64, rev_count: u64) -> ExpectedL2p {
        ExpectedL2p {
            first_rev: Revnum(first_rev),
            rev_count,
            index_len: bytes.len() as u64,
        }
    }

    fn decode(bytes: &[u8], first_rev: u64, rev_count: u64) -> Vec<Vec<Option<u64>>> {
        let header = L2pHeader::parse(bytes, expect(bytes, first_rev, rev_count))
            .expect("valid")
            .expect("whole");
        (0..rev_count)
            .map(|rev| {
                let pages = header.pages_of(Revnum(first_rev + rev)).expect("covered");
                let pages = &header.pages[pages.start as usize..pages.end as usize];
                pages
                    .iter()
                    .flat_map(|page| {
                        let start = page.offset as usize;
                        parse_page(&bytes[start..start + page.length as usize], page.entries).expect("valid")
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_real_index_round_trips() {
        let offsets = decode(REAL, 1, 1);
        let expected = [
            None,
            Some(663),
            Some(539),
            Some(0),
            Some(39),
            Some(105),
            Some(276),
            Some(340),
            Some(456),
        ];
        assert_eq!(offsets, [expected]);
        let mut out = Vec::new();
        encode(&mut out, Revnum(1), 8192, &offsets);
        assert_eq!(out, REAL);
        let header = L2pHeader::parse(REAL, expect(REAL, 1, 1))
            .expect("valid")
            .expect("whole");
        assert_eq!(header.page_of(Revnum(1), 8), Ok((0, 8)));
        assert_eq!(header.page_of(Revnum(1), 9), Err(L2pError::Item));
        assert_eq!(header.page_of(Revnum(1), 8192), Err(L2pError::Item));
        assert_eq!(header.page_of(Revnum(2), 1), Err(L2pError::Revision));
        assert_eq!(header.page_of(Revnum(0), 1), Err(L2pError::Revision));
    }

    #[test]
    fn single_offset_finds_the_same_as_the_pages() {
        let offsets = &decode(REAL, 1, 1)[0];
        for (item, offset) in offsets.iter().enumerate() {
            assert_eq!(single_offset(REAL, Revnum(1), item as u64), *offset);
        }
        let beyond = offsets.len() as u64;
        assert_eq!(single_offset(REAL, Revnum(1), beyond), None);
        assert_eq!(single_offset(REAL, Revnum(2), 1), None, "another revision's");
        for cut in 0..REAL.len() {
            assert_eq!(single_offset(&REAL[..cut], Revnum(1), 1), None);
        }
        assert_eq!(single_offset(&[REAL, b"\0"].concat(), Revnum(1), 1), None);
    }

    #[test]
    fn a_cut_header_needs_more() {
        for cut in 0..18 {
            assert_eq!(
                L2pHeader::parse(&REAL[..cut], expect(REAL, 1, 1)),
                Ok(None),
                "{cut}"
            );
        }
    }

    #[test]
    fn hostile_headers_are_refused_before_allocating() {
        let parse = |numbers: &[u64], len: u64| {
            let mut bytes = PREFIX.to_vec();
            numbers.iter().for_each(|&n| push_uint(&mut bytes, n));
            let expect = ExpectedL2p {
                first_rev: Revnum(1),
                rev_count: 1,
                index_len: len,
            };
            L2pHeader::parse(&bytes, expect).map(|_| ())
        };
        assert_eq!(parse(&[2, 8192, 1, 1, 1, 1, 1], 17), Err(L2pError::FirstRevision));
        assert_eq!(parse(&[1, 8191, 1, 1, 1, 1, 1], 17), Err(L2pError::PageSize));
        assert_eq!(parse(&[1, 8192, 2, 2], 17), Err(L2pError::RevisionCount));
        assert_eq!(parse(&[1, 8192, 1, u64::MAX], 17), Err(L2pError::PageCount));
        assert_eq!(parse(&[1, 8192, 1, 1, 0], 40), Err(L2pError::EmptyRevision));
        assert_eq!(parse(&[1, 8192, 1, 1, 2], 40), Err(L2pError::PageCount));
        assert_eq!(parse(&[1, 8192, 1, 1, 1, 5, 9], 40), Err(L2pError::PageEntries));
        assert_eq!(parse(&[1, 8192, 1, 1, 1, 5, 5], 400), Err(L2pError::PageLength));
        assert_eq!(parse_page(&[0; 4], 5), Err(L2pError::PageData));
        assert_eq!(parse_page(&[1], 1), Err(L2pError::PageData), "below zero");
    }

    proptest! {
        #[test]
        fn round_trips(
            first_rev in 0u64..1 << 40,
            page_size in 0u32..6,
            revs in prop::collection::vec(prop::collection::vec(prop::option::of(0u64..1 << 62), 1..40), 1..20),
        ) {
            let mut out = Vec::new();
            encode(&mut out, Revnum(first_rev), 1 << page_size, &revs);
            prop_assert_eq!(decode(&out, first_rev, revs.len() as u64), revs);
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, entries: u32) {
            let bytes = [PREFIX, &bytes].concat();
            let _ = L2pHeader::parse(&bytes, expect(&bytes, 1, 1));
            let _ = parse_page(&bytes, entries);
        }
    }
}
