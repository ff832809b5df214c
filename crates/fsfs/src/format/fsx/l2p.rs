//! The L2P index: (revision, item number) to offset in the file and sub-item. Source: section 11 of the description of FSX.
//!
//! All numbers are integers with the low bits first ([`Cursor::le`]):
//!
//! | field | encoding |
//! |---|---|
//! | prefix | `L2P-INDEX` and a newline |
//! | first revision, number of revisions, page size, number of pages | of the file; the page size is a power of two |
//! | pages of a revision | for each revision; 0 and then k stands for k + 1 revisions of one page each |
//! | length, entries | two numbers for each page: its bytes, and its items |
//! | pages | back to back |
//!
//! A page begins with a list of containers: its length, and for each the difference of offset + 1 to the one before it, of
//! the first one to 0. Then follows an entry for each item:
//!
//! | entry | meaning |
//! |---|---|
//! | 0 | an unused item number |
//! | k, 1 to the number of containers, then a number s | sub-item s of container k |
//! | above | an offset + 1 + the number of containers, sub-item 0 |

use std::ops::Range;

use base::number::push_uint;
use base::{Code, Revnum};

use super::cursor::{Cursor, DecodeError, Subject};

/// The first bytes of the index.
pub(crate) const PREFIX: &[u8] = b"L2P-INDEX\n";

const SUBJECT: Subject = Subject {
    name: "L2P index",
    code: Code::FS_INDEX_CORRUPTION,
};

/// Where an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct L2pEntry {
    /// Offset in the file, bytes: of the item, or of its container.
    pub(crate) offset: u64,
    /// The number in the container; 0 for a plain item.
    pub(crate) sub_item: u64,
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct L2pHeader {
    first_rev: Revnum,
    page_size: u64,
    /// The first page of each revision, and the number of pages.
    rev_pages: Vec<u32>,
    pages: Vec<L2pPage>,
}

/// A page of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct L2pPage {
    /// Offset in the index, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) length: u64,
    /// Number of items.
    entries: u64,
}

/// The facts that an index must agree with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedL2p {
    pub(crate) first_rev: Revnum,
    pub(crate) rev_count: u64,
    /// Length of the index, bytes.
    pub(crate) index_len: u64,
}

impl L2pHeader {
    /// Parses the header at the front of `input`; `None` if it needs more bytes of the index.
    pub(crate) fn parse(input: &[u8], expect: ExpectedL2p) -> Result<Option<Self>, DecodeError> {
        match Self::parse_some(input, expect) {
            Err(e) if e.is_early_end() && (input.len() as u64) < expect.index_len => Ok(None),
            Err(e) => Err(e),
            Ok(header) => Ok(Some(header)),
        }
    }

    fn parse_some(input: &[u8], expect: ExpectedL2p) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(input, SUBJECT);
        if cursor.take(PREFIX.len() as u64)? != PREFIX {
            return Err(DecodeError::new(SUBJECT, "wrong prefix", 0));
        }
        if cursor.le()? != expect.first_rev.0 {
            return Err(cursor.fault("another first revision"));
        }
        let rev_count = cursor.le()?;
        if rev_count != expect.rev_count {
            return Err(cursor.fault("another number of revisions"));
        }
        let page_size = cursor.le()?;
        if !page_size.is_power_of_two() {
            return Err(cursor.fault("the page size is no power of two"));
        }
        let page_count = cursor.le()?;
        // A page takes at least two bytes of the header, so the length of the index bounds what is allocated.
        let most = (expect.index_len / 2).min(u64::from(u32::MAX));
        if page_count < rev_count || page_count > most {
            return Err(cursor.fault("invalid number of pages"));
        }
        let rev_pages = rev_pages(&mut cursor, rev_count, page_count)?;
        let mut pages = Vec::with_capacity(page_count as usize);
        let mut length_of_pages = 0u64;
        for _ in 0..page_count {
            let (length, entries) = (cursor.le()?, cursor.le()?);
            // Each entry takes at least one byte, and so does the number of containers.
            if entries == 0 || entries > page_size || entries >= length {
                return Err(cursor.fault("invalid number of entries"));
            }
            pages.push(L2pPage {
                offset: length_of_pages,
                length,
                entries,
            });
            length_of_pages = length_of_pages
                .checked_add(length)
                .filter(|&sum| sum <= expect.index_len)
                .ok_or(cursor.fault("the pages are longer than the index"))?;
        }
        let start = cursor.at() as u64;
        if start + length_of_pages != expect.index_len {
            return Err(cursor.fault("the pages do not fill the index"));
        }
        pages.iter_mut().for_each(|page| page.offset += start);
        Ok(L2pHeader {
            first_rev: expect.first_rev,
            page_size,
            rev_pages,
            pages,
        })
    }

    /// A page by its number, which [`L2pHeader::page_of`] or [`L2pHeader::pages_of`] has returned.
    pub(crate) fn page(&self, number: usize) -> L2pPage {
        self.pages[number]
    }

    /// The numbers of the pages of a revision.
    pub(crate) fn pages_of(&self, rev: Revnum) -> Result<Range<u32>, DecodeError> {
        let at = rev.0.checked_sub(self.first_rev.0);
        let at = at.and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| self.rev_pages.get(at..)?.get(..2)) {
            Some(&[start, end]) => Ok(start..end),
            _ => Err(DecodeError::new(OUTSIDE, "the file does not contain it", 0)),
        }
    }

    /// The number of the page with an item of a revision, and that of the entry in it.
    pub(crate) fn page_of(&self, rev: Revnum, item: u64) -> Result<(usize, usize), DecodeError> {
        let pages = self.pages_of(rev)?;
        let (within, entry) = (item / self.page_size, item % self.page_size);
        let too_large = DecodeError::new(TOO_LARGE, "item number too large", item);
        if within >= u64::from(pages.end - pages.start) {
            return Err(too_large);
        }
        let page = pages.start as usize + within as usize;
        match entry < self.pages[page].entries {
            true => Ok((page, entry as usize)),
            false => Err(too_large),
        }
    }
}

const OUTSIDE: Subject = Subject {
    name: "Revision not covered by index",
    code: Code::FS_INDEX_REVISION,
};

const TOO_LARGE: Subject = Subject {
    name: "L2P index",
    code: Code::FS_INDEX_OVERFLOW,
};

fn rev_pages(cursor: &mut Cursor<'_>, rev_count: u64, page_count: u64) -> Result<Vec<u32>, DecodeError> {
    let mut rev_pages = vec![0u32];
    let mut next = 0u64;
    while (rev_pages.len() as u64) <= rev_count {
        let (revs, pages) = match cursor.le()? {
            0 => (cursor.le()?.saturating_add(1), 1),
            pages => (1, pages),
        };
        if revs > rev_count + 1 - rev_pages.len() as u64 {
            return Err(cursor.fault("pages for more revisions than there are"));
        }
        for _ in 0..revs {
            next = next
                .checked_add(pages)
                .filter(|&next| next <= page_count)
                .ok_or(cursor.fault("more pages than there are"))?;
            rev_pages.push(next as u32);
        }
    }
    match next == page_count {
        true => Ok(rev_pages),
        false => Err(cursor.fault("pages without a revision")),
    }
}

impl L2pPage {
    /// Decodes the page, whose bytes are `data`: the place of each item, `None` for an unused item number.
    pub(crate) fn entries(&self, data: &[u8]) -> Result<Vec<Option<L2pEntry>>, DecodeError> {
        let mut cursor = Cursor::new(data, SUBJECT);
        let count = cursor.le_count(1)?;
        let mut containers = Vec::with_capacity(count);
        let mut value = 0u64;
        for _ in 0..count {
            value = value
                .checked_add(cursor.le()?)
                .ok_or(cursor.fault("offset too large"))?;
            let offset = value
                .checked_sub(1)
                .ok_or(cursor.fault("container without offset"))?;
            containers.push(offset);
        }
        if self.entries > cursor.rest().len() as u64 {
            return Err(cursor.early_end());
        }
        let mut entries = Vec::with_capacity(self.entries as usize);
        for _ in 0..self.entries {
            let value = cursor.le()?;
            entries.push(match value.checked_sub(1) {
                None => None,
                Some(value) => Some(
                    match usize::try_from(value).ok().and_then(|at| containers.get(at)) {
                        Some(&offset) => L2pEntry {
                            offset,
                            sub_item: cursor.le()?,
                        },
                        None => L2pEntry {
                            offset: value - count as u64,
                            sub_item: 0,
                        },
                    },
                ),
            });
        }
        cursor.finish()?;
        Ok(entries)
    }
}

/// Appends the index of a file: for each revision from `first_rev` on, the place of each item number, `None` for an unused one.
/// No revision is without items.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    first_rev: Revnum,
    page_size: usize,
    revisions: &[Vec<Option<L2pEntry>>],
) {
    let (mut counts, mut table, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    for entries in revisions {
        let before = counts.len();
        let mut count = 0;
        for page in entries.chunks(page_size) {
            let start = pages.len();
            encode_page(&mut pages, page);
            push_uint(&mut table, (pages.len() - start) as u64);
            push_uint(&mut table, page.len() as u64);
            count += 1;
        }
        debug_assert!(count > 0 && before == counts.len());
        counts.push(count);
    }
    out.extend_from_slice(PREFIX);
    for number in [
        first_rev.0,
        revisions.len() as u64,
        page_size as u64,
        counts.iter().sum(),
    ] {
        push_uint(out, number);
    }
    for run in counts.chunk_by(|one, other| *one == 1 && *other == 1) {
        match run {
            [pages] => push_uint(out, *pages),
            run => {
                push_uint(out, 0);
                push_uint(out, run.len() as u64 - 1);
            }
        }
    }
    out.append(&mut table);
    out.append(&mut pages);
}

/// As [`encode`], for a file of one revision without containers of several records: the offsets of its items.
pub(crate) fn encode_plain(out: &mut Vec<u8>, rev: Revnum, page_size: usize, offsets: &[Option<u64>]) {
    let place = |offset: &Option<u64>| offset.map(|offset| L2pEntry { offset, sub_item: 0 });
    encode(out, rev, page_size, &[offsets.iter().map(place).collect()]);
}

fn encode_page(out: &mut Vec<u8>, entries: &[Option<L2pEntry>]) {
    let mut sorted: Vec<L2pEntry> = entries.iter().flatten().copied().collect();
    sorted.sort_unstable_by_key(|entry| entry.offset);
    let of_containers = sorted.chunk_by(|one, other| one.offset == other.offset);
    let of_containers = of_containers.filter(|group| group.len() > 1 || group[0].sub_item != 0);
    let containers: Vec<u64> = of_containers.map(|group| group[0].offset).collect();
    let count = containers.len() as u64;
    push_uint(out, count);
    let mut last = 0;
    for offset in &containers {
        push_uint(out, offset + 1 - last);
        last = offset + 1;
    }
    for entry in entries {
        match entry {
            None => push_uint(out, 0),
            Some(entry) => match containers.binary_search(&entry.offset) {
                Ok(at) => {
                    push_uint(out, at as u64 + 1);
                    push_uint(out, entry.sub_item);
                }
                Err(_) => push_uint(out, entry.offset + 1 + count),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const R0: &[u8] = b"L2P-INDEX\n\x00\x01\x80\x40\x01\x01\x04\x03\x00\x00\x3a\x01";

    fn expect(rev: u64, rev_count: u64, index: &[u8]) -> ExpectedL2p {
        ExpectedL2p {
            first_rev: Revnum(rev),
            rev_count,
            index_len: index.len() as u64,
        }
    }

    fn plain(offset: u64) -> Option<L2pEntry> {
        Some(L2pEntry { offset, sub_item: 0 })
    }

    #[test]
    fn the_index_of_revision_0() {
        let header = L2pHeader::parse(R0, expect(0, 1, R0))
            .expect("valid")
            .expect("whole");
        let (page, entry) = header.page_of(Revnum(0), 2).expect("the root");
        let page = header.page(page);
        let data = &R0[page.offset as usize..];
        let entries = page.entries(data).expect("a page");
        assert_eq!(entries, [None, plain(57), plain(0)]);
        assert_eq!(entry, 2);
        let mut written = Vec::new();
        encode(&mut written, Revnum(0), 8192, &[entries]);
        assert_eq!(written, R0);
        let code = |rev, item| header.page_of(Revnum(rev), item).map_err(|e| e.code());
        assert_eq!(code(0, 3), Err(Code::FS_INDEX_OVERFLOW));
        assert_eq!(code(0, u64::MAX), Err(Code::FS_INDEX_OVERFLOW));
        assert_eq!(code(1, 0), Err(Code::FS_INDEX_REVISION));
    }

    #[test]
    fn a_cut_header_needs_more() {
        for cut in 0..18 {
            assert_eq!(L2pHeader::parse(&R0[..cut], expect(0, 1, R0)), Ok(None), "{cut}");
        }
        assert!(L2pHeader::parse(&R0[..14], expect(0, 1, &R0[..14])).is_err());
    }

    #[test]
    fn runs_of_revisions_with_one_page() {
        // Four revisions of 1, 1, 2 and 1 pages; each page has one unused item.
        let mut index = b"L2P-INDEX\n\x08\x04\x01\x05\x00\x01\x02\x01".to_vec();
        for _ in 0..5 {
            index.extend_from_slice(b"\x02\x01");
        }
        for _ in 0..5 {
            index.extend_from_slice(b"\x00\x00");
        }
        let header = L2pHeader::parse(&index, expect(8, 4, &index))
            .expect("valid")
            .expect("whole");
        let pages = |rev| header.pages_of(Revnum(rev)).map(|pages| pages.len());
        assert_eq!(
            [pages(8), pages(9), pages(10), pages(11)],
            [Ok(1), Ok(1), Ok(2), Ok(1)]
        );
        assert!(pages(7).is_err() && pages(12).is_err());
        assert!(L2pHeader::parse(&index, expect(8, 3, &index)).is_err());
        // A run that is longer than the revisions, or without end.
        index[15] = 9;
        assert!(L2pHeader::parse(&index, expect(8, 4, &index)).is_err());
    }

    #[test]
    fn entries_of_containers() {
        let page = L2pPage {
            offset: 0,
            length: 11,
            entries: 4,
        };
        // Containers at 9 and 29: unused, sub-item 3 of the second, sub-item 0 of the first, the plain offset 5.
        let entries = page
            .entries(b"\x02\x0a\x14\x00\x02\x03\x01\x00\x08")
            .expect("a page");
        let second = Some(L2pEntry {
            offset: 29,
            sub_item: 3,
        });
        assert_eq!(entries, [None, second, plain(9), plain(5)]);
        for bad in [
            &b""[..],
            b"\x02\x0a",
            b"\x09\x0a\x14\x00\x02\x03\x01\x00\x08",
            b"\x01\x00\x00\x00\x00\x00",
            b"\x00\x00\x00\x00\x00\x00",
            b"\x02\x0a\x14\x00\x02\x03\x01\x00",
        ] {
            assert!(page.entries(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_index_is_read_as_it_was_written(
            first in 0u64..1 << 40,
            page_bits in 0u32..4,
            revisions in prop::collection::vec(
                prop::collection::vec(prop::option::of((0u64..40, 0u64..3)), 1..30),
                1..9,
            ),
        ) {
            let place = |(offset, sub_item)| L2pEntry { offset, sub_item };
            let revisions: Vec<Vec<_>> = revisions
                .into_iter()
                .map(|items| items.into_iter().map(|item| item.map(place)).collect())
                .collect();
            let mut index = Vec::new();
            encode(&mut index, Revnum(first), 1 << page_bits, &revisions);
            let header = L2pHeader::parse(&index, expect(first, revisions.len() as u64, &index));
            let header = header.expect("valid").expect("whole");
            for (rev, items) in (first..).zip(&revisions) {
                let mut read = Vec::new();
                for page in header.pages_of(Revnum(rev)).expect("in the file") {
                    let page = header.page(page as usize);
                    let data = &index[page.offset as usize..][..page.length as usize];
                    read.extend(page.entries(data).expect("a page"));
                }
                prop_assert_eq!(&read, items);
            }
        }

        #[test]
        fn damage_never_panics(damage in prop::collection::vec((0..R0.len(), any::<u8>()), 1..4)) {
            let mut index = R0.to_vec();
            damage.into_iter().for_each(|(at, byte)| index[at] = byte);
            if let Ok(Some(header)) = L2pHeader::parse(&index, expect(0, 1, &index)) {
                for item in 0..4 {
                    if let Ok((page, _)) = header.page_of(Revnum(0), item) {
                        let page = header.page(page);
                        let _ = page.entries(&index[page.offset as usize..][..page.length as usize]);
                    }
                }
            }
        }
    }
}
