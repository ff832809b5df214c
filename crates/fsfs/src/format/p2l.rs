//! The P2L index (logical addressing, format 7 and later): offset in the file to item. Used to pack, to verify and to
//! read ahead.
//!
//! The items of the file are divided into pages of a fixed number of bytes. The entries of a page are the items whose
//! last byte is in the page; a page inside of a long item has none. All numbers are index integers (see
//! [`number`](base::number)).
//!
//! | field | encoding |
//! |---|---|
//! | prefix | `P2L-INDEX` and a newline |
//! | first revision | of the file |
//! | file size | bytes of all items |
//! | page size | bytes of items in a page, a power of two |
//! | number of pages | of the file |
//! | length | a number for each page: bytes of its entries |
//! | pages | back to back |
//!
//! A page that is not empty has the offset of its first entry, bytes, and then for each entry:
//!
//! | field | encoding |
//! |---|---|
//! | size | bytes |
//! | item and kind | signed: difference of item number * 8 + [`ItemKind`] to the entry before it in the page, the first one to 0 |
//! | revision | signed: difference to the entry before it in the page, the first one to the first revision of the file |
//! | checksum | `base::checksum::fnv1a_32x4` of the bytes, 0 for an unused range |
//!
//! An entry starts where the one before it ends. The last entry of the last page is an unused range up to the end of
//! the page. Each page is decoded on its own.

use base::Revnum;

use super::decode_error;
use base::number::{push_int, push_uint, take_int, take_uint};

decode_error! {
    /// Why a P2L index is not usable.
    P2lError {
        Prefix => FS_INDEX_CORRUPTION, "Index stream header prefix mismatch.";
        Truncated => FS_INDEX_CORRUPTION, "P2L index data ends early";
        FirstRevision => FS_INDEX_CORRUPTION, "Index rev / pack file revision numbers do not match";
        FileSize => FS_INDEX_CORRUPTION, "Index offset and rev / pack file size do not match";
        PageSize => FS_INDEX_CORRUPTION, "P2L index page size is not a power of two";
        PageCount => FS_INDEX_CORRUPTION, "P2L page count does not match rev / pack file size";
        PageLength => FS_INDEX_CORRUPTION, "P2L index pages do not fill the index";
        Number => FS_INDEX_CORRUPTION, "P2L index contains an invalid number";
        Revision => FS_INDEX_CORRUPTION, "P2L index entry for a revision that is not in the file";
        Kind => FS_INDEX_CORRUPTION, "Invalid item type in P2L index";
        Changes => FS_INDEX_CORRUPTION, "Changed path list must have item number 1";
        Checksum => FS_INDEX_CORRUPTION, "Invalid FNV1 checksum in P2L index";
        Unused => FS_INDEX_CORRUPTION, "Unused regions in P2L index must have item number 0 and checksum 0";
        Overflow => FS_INDEX_OVERFLOW, "P2L entry offset overflows";
        Offset => FS_INDEX_OVERFLOW, "Offset not covered by P2L index";
    }
}

/// The start of every P2L index.
pub(crate) const PREFIX: &[u8] = b"P2L-INDEX\n";

/// The kind of a stored item; the numbers are those in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ItemKind {
    Unused = 0,
    FileText = 1,
    DirText = 2,
    FileProps = 3,
    DirProps = 4,
    NodeRev = 5,
    Changes = 6,
    /// A changed-path list in the form of packed ones (FSX).
    ChangesContainer = 8,
}

impl ItemKind {
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => ItemKind::Unused,
            1 => ItemKind::FileText,
            2 => ItemKind::DirText,
            3 => ItemKind::FileProps,
            4 => ItemKind::DirProps,
            5 => ItemKind::NodeRev,
            6 => ItemKind::Changes,
            _ => return None,
        })
    }

    /// True for representations.
    pub(crate) fn is_rep(self) -> bool {
        matches!(
            self,
            ItemKind::FileText | ItemKind::DirText | ItemKind::FileProps | ItemKind::DirProps
        )
    }
}

/// An entry: an item, or an unused range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct P2lEntry {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) kind: ItemKind,
    pub(crate) rev: Revnum,
    pub(crate) item: u64,
    /// The checksum of the bytes (`base::checksum::fnv1a_32x4`); 0 for unused ranges.
    pub(crate) checksum: u32,
}

impl P2lEntry {
    /// The offset of the first byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.size
    }
}

/// The parsed header: the position of each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct P2lHeader {
    pub(crate) first_rev: Revnum,
    /// The size of all items, bytes.
    pub(crate) file_size: u64,
    /// The bytes of items that a page covers.
    pub(crate) page_size: u64,
    /// The start of each page from the start of the index, and the end of the last one, bytes.
    pub(crate) pages: Vec<u64>,
}

/// The values that the index of a file must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedP2l {
    /// The first revision of the file.
    pub(crate) first_rev: Revnum,
    /// The number of revisions in the file: 1, or the size of a shard.
    pub(crate) rev_count: u64,
    /// The size of all items, bytes.
    pub(crate) file_size: u64,
    /// The length of the whole index, bytes.
    pub(crate) index_len: u64,
}

impl P2lHeader {
    /// Parses the header at the front of `input`; `None` if more bytes are needed.
    pub(crate) fn parse(input: &[u8], expect: ExpectedP2l) -> Result<Option<Self>, P2lError> {
        let whole = input.len() as u64 >= expect.index_len;
        match Self::parse_some(input, expect) {
            Err(P2lError::Truncated) if !whole => Ok(None),
            Err(e) => Err(e),
            Ok(header) => Ok(Some(header)),
        }
    }

    fn parse_some(input: &[u8], expect: ExpectedP2l) -> Result<Self, P2lError> {
        let mut rest = match input.strip_prefix(PREFIX) {
            Some(rest) => rest,
            None if PREFIX.starts_with(input) => return Err(P2lError::Truncated),
            None => return Err(P2lError::Prefix),
        };
        let number = |rest: &mut &[u8]| match take_uint(rest) {
            Some(number) => Ok(number),
            None if rest.len() < 10 => Err(P2lError::Truncated),
            None => Err(P2lError::Number),
        };
        if number(&mut rest)? != expect.first_rev.0 {
            return Err(P2lError::FirstRevision);
        }
        let file_size = number(&mut rest)?;
        if file_size != expect.file_size || file_size == 0 {
            return Err(P2lError::FileSize);
        }
        let page_size = number(&mut rest)?;
        if !page_size.is_power_of_two() {
            return Err(P2lError::PageSize);
        }
        let page_count = number(&mut rest)?;
        // A page takes at least one byte of the header, so the length of the index bounds what is allocated.
        if page_count != (file_size - 1) / page_size + 1 || page_count > expect.index_len {
            return Err(P2lError::PageCount);
        }
        let mut pages = Vec::with_capacity(page_count as usize + 1);
        let mut offset = 0u64;
        for _ in 0..page_count {
            pages.push(offset);
            offset = offset
                .checked_add(number(&mut rest)?)
                .ok_or(P2lError::PageLength)?;
        }
        pages.push(offset);
        let data_start = (input.len() - rest.len()) as u64;
        if data_start.checked_add(offset) != Some(expect.index_len) {
            return Err(P2lError::PageLength);
        }
        for start in &mut pages {
            *start += data_start;
        }
        Ok(P2lHeader {
            first_rev: expect.first_rev,
            file_size,
            page_size,
            pages,
        })
    }

    /// The number of pages.
    pub(crate) fn page_count(&self) -> u64 {
        self.pages.len() as u64 - 1
    }

    /// The start and end of a page from the start of the index, bytes.
    pub(crate) fn page_range(&self, page: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(page).ok()?;
        Some((*self.pages.get(at)?, *self.pages.get(at + 1)?))
    }

    /// The largest end of an entry: the end of the last page.
    pub(crate) fn limit(&self) -> u64 {
        self.page_count().saturating_mul(self.page_size)
    }
}

/// Decodes the entries of a page. `expect` is that of the header, `limit` that of [`P2lHeader::limit`].
pub(crate) fn parse_page(
    mut data: &[u8],
    expect: ExpectedP2l,
    limit: u64,
) -> Result<Vec<P2lEntry>, P2lError> {
    if data.is_empty() {
        return Ok(Vec::new());
    }
    let mut offset = take_uint(&mut data).ok_or(P2lError::Number)?;
    let mut compound = 0i64;
    let mut rev = i64::try_from(expect.first_rev.0).map_err(|_| P2lError::Revision)?;
    // An entry takes at least four bytes.
    let mut entries = Vec::with_capacity(data.len() / 4);
    while !data.is_empty() {
        let size = take_uint(&mut data).ok_or(P2lError::Number)?;
        let step = take_int(&mut data).ok_or(P2lError::Number)?;
        compound = compound
            .checked_add(step)
            .filter(|&n| n >= 0)
            .ok_or(P2lError::Number)?;
        let step = take_int(&mut data).ok_or(P2lError::Number)?;
        rev = rev
            .checked_add(step)
            .filter(|&n| n >= 0)
            .ok_or(P2lError::Revision)?;
        let checksum = take_uint(&mut data).ok_or(P2lError::Number)?;
        let checksum = u32::try_from(checksum).map_err(|_| P2lError::Checksum)?;
        let (number, item) = (compound as u64 & 7, compound as u64 >> 3);
        let kind = ItemKind::from_number(number).ok_or(P2lError::Kind)?;
        let revnum = Revnum(rev as u64);
        if revnum
            .0
            .checked_sub(expect.first_rev.0)
            .is_none_or(|at| at >= expect.rev_count)
        {
            return Err(P2lError::Revision);
        }
        if (kind == ItemKind::Changes) != (item == 1) {
            return Err(P2lError::Changes);
        }
        if kind == ItemKind::Unused && (item != 0 || checksum != 0) {
            return Err(P2lError::Unused);
        }
        let end = offset
            .checked_add(size)
            .filter(|&end| end <= limit)
            .ok_or(P2lError::Overflow)?;
        entries.push(P2lEntry {
            offset,
            size,
            kind,
            rev: revnum,
            item,
            checksum,
        });
        offset = end;
    }
    Ok(entries)
}

/// Appends a whole index. The entries must cover 0 to `file_size` without gaps. The unused range at the end is added
/// here.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    first_rev: Revnum,
    file_size: u64,
    page_size: u64,
    entries: &[P2lEntry],
) {
    let mut writer = P2lWriter::new(first_rev, page_size);
    entries.iter().for_each(|entry| writer.push(entry));
    writer.finish(file_size, out);
}

/// An index that is being made. It takes entries in ascending order and keeps only their encoded form.
pub(crate) struct P2lWriter {
    first_rev: Revnum,
    page_size: u64,
    /// The pages so far, back to back, and the length of each.
    data: Vec<u8>,
    lengths: Vec<u64>,
    /// The page, the encoded item and kind, and the revision of the last entry.
    before: Option<(u64, i64, Revnum)>,
}

impl P2lWriter {
    /// An empty index of a file that starts with `first_rev`.
    pub(crate) fn new(first_rev: Revnum, page_size: u64) -> Self {
        P2lWriter {
            first_rev,
            page_size,
            data: Vec::new(),
            lengths: vec![0],
            before: None,
        }
    }

    /// Adds an entry, which starts where the one before it ends.
    pub(crate) fn push(&mut self, entry: &P2lEntry) {
        let page = entry.end().saturating_sub(1) / self.page_size;
        self.push_to(page, entry);
    }

    fn push_to(&mut self, page: u64, entry: &P2lEntry) {
        let start = self.data.len();
        while (self.lengths.len() as u64) <= page {
            self.lengths.push(0);
        }
        let (compound, rev) = match self.before {
            Some((before, compound, rev)) if before == page => (compound, rev),
            _ => {
                push_uint(&mut self.data, entry.offset);
                (0, self.first_rev)
            }
        };
        let new_compound = (entry.item << 3 | entry.kind as u64) as i64;
        push_uint(&mut self.data, entry.size);
        push_int(&mut self.data, new_compound - compound);
        push_int(&mut self.data, entry.rev.0 as i64 - rev.0 as i64);
        push_uint(&mut self.data, u64::from(entry.checksum));
        self.before = Some((page, new_compound, entry.rev));
        if let Some(length) = self.lengths.last_mut() {
            *length += (self.data.len() - start) as u64;
        }
    }

    /// Appends the index to `out`. `file_size` is the size of all items, bytes.
    pub(crate) fn finish(&mut self, file_size: u64, out: &mut Vec<u8>) {
        let page_count = file_size.saturating_sub(1) / self.page_size + 1;
        let filler = P2lEntry {
            offset: file_size,
            size: page_count * self.page_size - file_size,
            kind: ItemKind::Unused,
            rev: self.before.map_or(self.first_rev, |(_, _, rev)| rev),
            item: 0,
            checksum: 0,
        };
        self.push_to(page_count - 1, &filler);
        out.extend_from_slice(PREFIX);
        for number in [self.first_rev.0, file_size, self.page_size, page_count] {
            push_uint(out, number);
        }
        for length in &self.lengths {
            push_uint(out, *length);
        }
        out.extend_from_slice(&self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sample revision of the specification.
    const REAL: &[u8] = b"P2L-INDEX\n\x01\xa9\x06\x80\x80\x40\x01\x48\
        \x00\x27\x32\x00\xec\xaa\x80\xfe\x02\x42\x18\x00\x84\x89\xfa\xdd\x03\xab\x01\x10\x00\xf7\xa6\xc0\xd1\x09\
        \x40\x0a\x00\xf6\xa7\xa1\xe4\x03\x74\x16\x00\xf5\xf1\xc2\xc0\x09\x53\x0a\x00\xac\x91\xfc\x1e\
        \x7c\x59\x00\xf5\xdd\xc5\xfb\x0b\x92\x01\x0d\x00\xef\x9a\xde\xec\x01\xd7\xf9\x3f\x1b\x00\x00";

    fn expect(bytes: &[u8], first_rev: u64, rev_count: u64, file_size: u64) -> ExpectedP2l {
        ExpectedP2l {
            first_rev: Revnum(first_rev),
            rev_count,
            file_size,
            index_len: bytes.len() as u64,
        }
    }

    fn decode(bytes: &[u8], expect: ExpectedP2l) -> Vec<P2lEntry> {
        let header = P2lHeader::parse(bytes, expect).expect("valid").expect("whole");
        (0..header.page_count())
            .flat_map(|page| {
                let (start, end) = header.page_range(page).expect("a page");
                let data = &bytes[start as usize..end as usize];
                parse_page(data, expect, header.limit()).expect("valid")
            })
            .collect()
    }

    #[test]
    fn a_real_index_round_trips() {
        let mut entries = decode(REAL, expect(REAL, 1, 1, 809));
        assert_eq!(entries.len(), 9);
        let first = P2lEntry {
            offset: 0,
            size: 39,
            kind: ItemKind::FileText,
            rev: Revnum(1),
            item: 3,
            checksum: 0x2fc0_156c,
        };
        assert_eq!(entries[0], first);
        let filler = entries.pop().expect("nine entries");
        assert_eq!((filler.kind, filler.end()), (ItemKind::Unused, 1 << 20));
        let mut out = Vec::new();
        encode(&mut out, Revnum(1), 809, 1 << 20, &entries);
        assert_eq!(out, REAL);
    }

    #[test]
    fn hostile_headers_are_refused_before_allocating() {
        let parse = |numbers: &[u64], len: u64| {
            let mut bytes = PREFIX.to_vec();
            numbers.iter().for_each(|&n| push_uint(&mut bytes, n));
            let expect = ExpectedP2l {
                first_rev: Revnum(1),
                rev_count: 1,
                file_size: 809,
                index_len: len,
            };
            P2lHeader::parse(&bytes, expect).map(|_| ())
        };
        assert_eq!(parse(&[2, 809, 1 << 20, 1, 0], 90), Err(P2lError::FirstRevision));
        assert_eq!(parse(&[1, 810, 1 << 20, 1, 0], 90), Err(P2lError::FileSize));
        assert_eq!(parse(&[1, 809, 1000, 1, 0], 90), Err(P2lError::PageSize));
        assert_eq!(parse(&[1, 809, 1 << 20, 2, 0], 90), Err(P2lError::PageCount));
        assert_eq!(parse(&[1, 809, 1, 809, 0], 90), Err(P2lError::PageCount));
        assert_eq!(parse(&[1, 809, 1 << 20, 1, 5], 90), Err(P2lError::PageLength));
    }

    #[test]
    fn hostile_entries_are_refused() {
        let parse = |numbers: &[(u64, i64, i64, u64)]| {
            let mut bytes = vec![0];
            for &(size, compound, rev, checksum) in numbers {
                push_uint(&mut bytes, size);
                push_int(&mut bytes, compound);
                push_int(&mut bytes, rev);
                push_uint(&mut bytes, checksum);
            }
            parse_page(&bytes, expect(&bytes, 1, 1, 809), 1024).map(|_| ())
        };
        assert_eq!(parse(&[(10, 3 << 3 | 7, 0, 0)]), Err(P2lError::Kind));
        assert_eq!(parse(&[(10, 3 << 3 | 6, 0, 0)]), Err(P2lError::Changes));
        assert_eq!(parse(&[(10, 1 << 3 | 5, 0, 0)]), Err(P2lError::Changes));
        assert_eq!(parse(&[(10, 2 << 3, 0, 0)]), Err(P2lError::Unused));
        assert_eq!(parse(&[(10, 0, 0, 1)]), Err(P2lError::Unused));
        assert_eq!(parse(&[(10, 3 << 3 | 1, 1, 0)]), Err(P2lError::Revision));
        assert_eq!(parse(&[(10, 3 << 3 | 1, -1, 0)]), Err(P2lError::Revision));
        assert_eq!(parse(&[(10, 3 << 3 | 1, 0, 1 << 32)]), Err(P2lError::Checksum));
        assert_eq!(parse(&[(1025, 3 << 3 | 1, 0, 0)]), Err(P2lError::Overflow));
        assert_eq!(parse(&[(10, -1, 0, 0)]), Err(P2lError::Number));
    }

    proptest! {
        #[test]
        fn round_trips(sizes in prop::collection::vec((1u64..3000, 1u64..6, 3u64..100, 0u64..4, any::<u32>()), 1..50)) {
            let mut offset = 0;
            let entries: Vec<_> = sizes
                .into_iter()
                .map(|(size, kind, item, rev, checksum)| {
                    let kind = ItemKind::from_number(kind).expect("1 to 5");
                    let entry = P2lEntry { offset, size, kind, rev: Revnum(100 + rev), item, checksum };
                    offset += size;
                    entry
                })
                .collect();
            let mut out = Vec::new();
            encode(&mut out, Revnum(100), offset, 1024, &entries);
            let mut read = decode(&out, expect(&out, 100, 4, offset));
            read.pop();
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>) {
            let bytes = [PREFIX, &bytes].concat();
            let _ = P2lHeader::parse(&bytes, expect(&bytes, 1, 1, 809));
            let _ = parse_page(&bytes[10..], expect(&bytes, 1, 1, 809), 1 << 20);
        }
    }
}
