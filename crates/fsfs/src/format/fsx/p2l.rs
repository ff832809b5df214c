//! The P2L index: offset in the file to item. Source: section 12 of the description of FSX.
//!
//! The items of the file are divided into pages of a fixed number of bytes. The entries of a page are the items whose last
//! byte is in the page; a page inside of a long item has none. All numbers are integers with the low bits first
//! ([`Cursor::le`]):
//!
//! | field | encoding |
//! |---|---|
//! | prefix | `P2L-INDEX` and a newline |
//! | first revision, bytes of all items, page size in bytes, number of pages | the page size is a power of two |
//! | length | a number for each page: bytes of its entries |
//! | pages | back to back |
//!
//! A page that is not empty has the offset of its first entry, bytes, and then for each entry:
//!
//! | field | encoding |
//! |---|---|
//! | size | bytes |
//! | type and count | [`ItemType`] + 16 * the number of items: 0 for an unused range, 1 for a plain item, else the records of a container |
//! | checksum | FNV of the bytes, 0 for an unused range |
//! | revisions | signed, for each item: the difference to the one before it, of the first one to the first revision |
//! | item numbers | signed, for each item: the difference to the one before it, of the first one to 0 |
//!
//! An entry starts where the one before it ends. The last entry of the last page is an unused range up to the end of the
//! page.

use base::number::{push_int, push_uint, signed};
use base::{Code, Revnum};

use super::cursor::{Cursor, DecodeError, Subject};
use crate::format::p2l;

/// The first bytes of the index.
pub(crate) const PREFIX: &[u8] = b"P2L-INDEX\n";

const SUBJECT: Subject = Subject {
    name: "P2L index",
    code: Code::FS_INDEX_CORRUPTION,
};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ItemType {
    /// Padding of NUL bytes.
    Unused = 0,
    FileText = 1,
    DirText = 2,
    FileProps = 3,
    DirProps = 4,
    NodeRev = 5,
    Changes = 6,
    ChangesContainer = 8,
    NodeRevContainer = 9,
    RepContainer = 10,
}

impl ItemType {
    fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => ItemType::Unused,
            1 => ItemType::FileText,
            2 => ItemType::DirText,
            3 => ItemType::FileProps,
            4 => ItemType::DirProps,
            5 => ItemType::NodeRev,
            6 => ItemType::Changes,
            8 => ItemType::ChangesContainer,
            9 => ItemType::NodeRevContainer,
            10 => ItemType::RepContainer,
            _ => return None,
        })
    }

    /// The type of an item of an unpacked revision.
    pub(crate) fn of(kind: p2l::ItemKind) -> Self {
        match kind {
            p2l::ItemKind::Unused => ItemType::Unused,
            p2l::ItemKind::FileText => ItemType::FileText,
            p2l::ItemKind::DirText => ItemType::DirText,
            p2l::ItemKind::FileProps => ItemType::FileProps,
            p2l::ItemKind::DirProps => ItemType::DirProps,
            p2l::ItemKind::NodeRev => ItemType::NodeRev,
            p2l::ItemKind::Changes => ItemType::Changes,
            p2l::ItemKind::ChangesContainer => ItemType::ChangesContainer,
        }
    }

    /// What an item of an unpacked revision is; `None` for what only pack files have.
    pub(crate) fn kind(self) -> Option<p2l::ItemKind> {
        Some(match self {
            ItemType::Unused => p2l::ItemKind::Unused,
            ItemType::FileText => p2l::ItemKind::FileText,
            ItemType::DirText => p2l::ItemKind::DirText,
            ItemType::FileProps => p2l::ItemKind::FileProps,
            ItemType::DirProps => p2l::ItemKind::DirProps,
            ItemType::NodeRev => p2l::ItemKind::NodeRev,
            ItemType::Changes => p2l::ItemKind::Changes,
            ItemType::ChangesContainer => p2l::ItemKind::ChangesContainer,
            ItemType::NodeRevContainer | ItemType::RepContainer => return None,
        })
    }

    /// True for a representation of its own.
    pub(crate) fn is_rep(self) -> bool {
        matches!(
            self,
            ItemType::FileText | ItemType::DirText | ItemType::FileProps | ItemType::DirProps
        )
    }

    /// True for a representation or a container of them.
    pub(crate) fn holds_reps(self) -> bool {
        self.is_rep() || self == ItemType::RepContainer
    }

    /// True for a container.
    pub(crate) fn is_container(self) -> bool {
        matches!(
            self,
            ItemType::ChangesContainer | ItemType::NodeRevContainer | ItemType::RepContainer
        )
    }
}

/// A range of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct P2lEntry {
    /// Offset in the file, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) size: u64,
    pub(crate) item_type: ItemType,
    /// FNV of the bytes.
    pub(crate) checksum: u32,
    /// Revision and number of each item, in the order of sub-items.
    pub(crate) items: Box<[(Revnum, u64)]>,
}

impl P2lEntry {
    /// The offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.size
    }
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct P2lHeader {
    pub(crate) page_size: u64,
    /// Start of each page in the index, and the end of the last one, bytes.
    pages: Vec<u64>,
}

/// The facts that an index must agree with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedP2l {
    pub(crate) first_rev: Revnum,
    pub(crate) rev_count: u64,
    /// Bytes of all items.
    pub(crate) items_len: u64,
    /// Length of the index, bytes.
    pub(crate) index_len: u64,
}

impl P2lHeader {
    /// Parses the header at the front of `input`; `None` if it needs more bytes of the index.
    pub(crate) fn parse(input: &[u8], expect: ExpectedP2l) -> Result<Option<Self>, DecodeError> {
        match Self::parse_some(input, expect) {
            Err(e) if e.is_early_end() && (input.len() as u64) < expect.index_len => Ok(None),
            Err(e) => Err(e),
            Ok(header) => Ok(Some(header)),
        }
    }

    fn parse_some(input: &[u8], expect: ExpectedP2l) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(input, SUBJECT);
        if cursor.take(PREFIX.len() as u64)? != PREFIX {
            return Err(DecodeError::new(SUBJECT, "wrong prefix", 0));
        }
        if cursor.le()? != expect.first_rev.0 {
            return Err(cursor.fault("another first revision"));
        }
        let items_len = cursor.le()?;
        if items_len != expect.items_len || items_len == 0 {
            return Err(cursor.fault("another size of the items"));
        }
        let page_size = cursor.le()?;
        if !page_size.is_power_of_two() {
            return Err(cursor.fault("the page size is no power of two"));
        }
        let page_count = cursor.le()?;
        // A page takes at least one byte of the header, so the length of the index bounds what is allocated.
        if page_count != (items_len - 1) / page_size + 1 || page_count > expect.index_len {
            return Err(cursor.fault("invalid number of pages"));
        }
        let mut pages = Vec::with_capacity(page_count as usize + 1);
        let mut end = 0u64;
        for _ in 0..page_count {
            pages.push(end);
            end = end
                .checked_add(cursor.le()?)
                .filter(|&end| end <= expect.index_len)
                .ok_or(cursor.fault("the pages are longer than the index"))?;
        }
        pages.push(end);
        let start = cursor.at() as u64;
        if start + end != expect.index_len {
            return Err(cursor.fault("the pages do not fill the index"));
        }
        pages.iter_mut().for_each(|page| *page += start);
        Ok(P2lHeader { page_size, pages })
    }

    /// The number of pages.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len() - 1
    }

    /// The start and the end of a page in the index, bytes. The number must be below [`P2lHeader::page_count`].
    pub(crate) fn page_range(&self, page: usize) -> (u64, u64) {
        (self.pages[page], self.pages[page + 1])
    }
}

/// Decodes the entries of a page, whose bytes are `data`.
pub(crate) fn parse_page(data: &[u8], expect: ExpectedP2l) -> Result<Vec<P2lEntry>, DecodeError> {
    let mut cursor = Cursor::new(data, SUBJECT);
    if cursor.is_empty() {
        return Ok(Vec::new());
    }
    let mut offset = cursor.le()?;
    let mut entries = Vec::new();
    while !cursor.is_empty() {
        let entry = parse_entry(&mut cursor, offset, expect)?;
        offset = entry.end();
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_entry(cursor: &mut Cursor<'_>, offset: u64, expect: ExpectedP2l) -> Result<P2lEntry, DecodeError> {
    let size = cursor.le()?;
    if offset.checked_add(size).is_none_or(|end| end > i64::MAX as u64) {
        return Err(cursor.fault("offset too large"));
    }
    let compound = cursor.le()?;
    let item_type = ItemType::from_number(compound & 15).ok_or(cursor.fault("invalid item type"))?;
    let count = usize::try_from(compound >> 4).ok();
    // An item takes at least two bytes.
    let count = count.filter(|count| *count <= cursor.rest().len() / 2);
    let count = count.ok_or(cursor.fault("invalid number of items"))?;
    let checksum = cursor.le()?;
    let checksum = u32::try_from(checksum).map_err(|_| cursor.fault("invalid checksum"))?;
    let fits = match item_type {
        ItemType::Unused => count == 0 && checksum == 0,
        item_type if item_type.is_container() => count >= 1,
        _ => count == 1,
    };
    if !fits {
        return Err(cursor.fault("the number of items does not fit the item type"));
    }
    let mut rev = expect.first_rev.0;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        rev = rev.wrapping_add_signed(signed(cursor.le()?));
        if rev.wrapping_sub(expect.first_rev.0) >= expect.rev_count {
            return Err(cursor.fault("item of a revision that is not in the file"));
        }
        items.push((Revnum(rev), 0));
    }
    let is_changes = matches!(item_type, ItemType::Changes | ItemType::ChangesContainer);
    let mut number = 0u64;
    for item in &mut items {
        number = number.wrapping_add_signed(signed(cursor.le()?));
        if (number == CHANGES_ITEM) != is_changes || number > i64::MAX as u64 {
            return Err(cursor.fault("invalid item number"));
        }
        item.1 = number;
    }
    Ok(P2lEntry {
        offset,
        size,
        item_type,
        checksum,
        items: items.into(),
    })
}

/// Appends the index of a file whose items take `items_len` bytes. The entries come in order, without gaps.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    first_rev: Revnum,
    items_len: u64,
    page_size: u64,
    entries: &[P2lEntry],
) {
    let rest = P2lEntry {
        offset: items_len,
        size: items_len.next_multiple_of(page_size) - items_len,
        item_type: ItemType::Unused,
        checksum: 0,
        items: Box::default(),
    };
    let (mut data, mut lengths, mut page_start, mut page_end) = (Vec::new(), Vec::new(), 0, page_size);
    for entry in entries.iter().chain([&rest]) {
        while entry.end() > page_end {
            lengths.push(data.len() - page_start);
            page_start = data.len();
            page_end += page_size;
        }
        if data.len() == page_start {
            push_uint(&mut data, entry.offset);
        }
        encode_entry(&mut data, first_rev, entry);
    }
    lengths.push(data.len() - page_start);
    out.extend_from_slice(PREFIX);
    for number in [first_rev.0, items_len, page_size, lengths.len() as u64] {
        push_uint(out, number);
    }
    lengths
        .into_iter()
        .for_each(|length| push_uint(out, length as u64));
    out.append(&mut data);
}

/// As [`encode`], for a file of one revision without containers of several records.
pub(crate) fn encode_plain(
    out: &mut Vec<u8>,
    rev: Revnum,
    items_len: u64,
    page_size: u64,
    items: &[p2l::P2lEntry],
) {
    let entry = |item: &p2l::P2lEntry| {
        let item_type = ItemType::of(item.kind);
        P2lEntry {
            offset: item.offset,
            size: item.size,
            item_type,
            checksum: item.checksum,
            items: match item_type {
                ItemType::Unused => Box::default(),
                _ => Box::new([(rev, item.item)]),
            },
        }
    };
    let entries: Vec<P2lEntry> = items.iter().map(entry).collect();
    encode(out, rev, items_len, page_size, &entries);
}

fn encode_entry(out: &mut Vec<u8>, first_rev: Revnum, entry: &P2lEntry) {
    push_uint(out, entry.size);
    push_uint(out, entry.item_type as u64 + 16 * entry.items.len() as u64);
    push_uint(out, u64::from(entry.checksum));
    let mut last = first_rev.0;
    for (rev, _) in &entry.items {
        push_int(out, rev.0.wrapping_sub(last) as i64);
        last = rev.0;
    }
    let mut last = 0;
    for (_, number) in &entry.items {
        push_int(out, number.wrapping_sub(last) as i64);
        last = *number;
    }
}

/// The item number of changed-path lists.
pub(crate) const CHANGES_ITEM: u64 = 1;

/// The number of the root of every revision and transaction.
pub(crate) const ROOT_ITEM: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const R0: &[u8] = b"P2L-INDEX\n\x00\x3a\x80\x80\x40\x01\x18\
        \x00\x39\x15\xed\xd2\xe3\xeb\x0a\x00\x04\x01\x16\x9d\x9e\xa9\x94\x0f\x00\x02\xc6\xff\x3f\x00\x00";

    fn expect(index: &[u8]) -> ExpectedP2l {
        ExpectedP2l {
            first_rev: Revnum(0),
            rev_count: 1,
            items_len: 58,
            index_len: index.len() as u64,
        }
    }

    #[test]
    fn the_index_of_revision_0() {
        let header = P2lHeader::parse(R0, expect(R0)).expect("valid").expect("whole");
        let (start, end) = header.page_range(0);
        let entries = parse_page(&R0[start as usize..end as usize], expect(R0)).expect("valid");
        let kinds: Vec<_> = entries.iter().map(|e| (e.offset, e.size, e.item_type)).collect();
        let filler = (58, (1 << 20) - 58, ItemType::Unused);
        assert_eq!(
            kinds,
            [(0, 57, ItemType::NodeRev), (57, 1, ItemType::Changes), filler]
        );
        assert_eq!(&*entries[0].items, [(Revnum(0), 2)]);
        assert_eq!(entries[1].checksum, base::checksum::fnv1a_32x4(b"\n"));
        let mut written = Vec::new();
        encode(&mut written, Revnum(0), 58, 1 << 20, &entries[..2]);
        assert_eq!(written, R0);
        for cut in 0..17 {
            assert_eq!(P2lHeader::parse(&R0[..cut], expect(R0)), Ok(None), "{cut}");
        }
    }

    #[test]
    fn the_records_of_a_container_are_in_the_order_of_sub_items() {
        // Node-revisions 5 of r1, 3 of r2 and 7 of r0.
        let page = b"\x00\x20\x39\x05\x02\x02\x03\x0a\x03\x08";
        let expect = ExpectedP2l {
            rev_count: 3,
            ..expect(b"")
        };
        let entries = parse_page(page, expect).expect("valid");
        let items = [(Revnum(1), 5), (Revnum(2), 3), (Revnum(0), 7)];
        assert_eq!(&*entries[0].items, items);
        assert!(
            parse_page(
                page,
                ExpectedP2l {
                    rev_count: 2,
                    ..expect
                }
            )
            .is_err()
        );
    }

    #[test]
    fn malformed_entries_are_refused() {
        for bad in [
            &b"\x00\x39\x17\x00\x00\x04"[..],
            b"\x00\x39\x1b\x00\x00\x04",
            b"\x00\x39\x10\x00\x00\x04",
            b"\x00\x39\x00\x01",
            b"\x00\x39\x05\x00",
            b"\x00\x39\x25\x00\x00\x00\x04\x02",
            b"\x00\x39\x09\x00",
            b"\x00\x39\x15\x00\x00\x02",
            b"\x00\x39\x16\x00\x00\x04",
            b"\x00\x39\x15\x00\x01\x04",
            b"\x00\x39\x15\x00\x00",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x00\x00",
            b"\x00\x39\xf5\xff\xff\xff\x7f\x00\x00\x04",
        ] {
            assert!(parse_page(bad, expect(b"")).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_index_is_read_as_it_was_written(
            sizes in prop::collection::vec((1u64..300, prop::collection::vec((7u64..9, 2u64..1 << 40), 0..4), any::<u32>()), 1..30),
        ) {
            let (mut offset, mut entries) = (0, Vec::new());
            for (size, items, checksum) in sizes {
                let items: Vec<_> = items.into_iter().map(|(rev, number)| (Revnum(rev), number)).collect();
                let (item_type, checksum) = match items.len() {
                    0 => (ItemType::Unused, 0),
                    1 => (ItemType::NodeRev, checksum),
                    _ => (ItemType::NodeRevContainer, checksum),
                };
                entries.push(P2lEntry { offset, size, item_type, checksum, items: items.into() });
                offset += size;
            }
            let mut index = Vec::new();
            encode(&mut index, Revnum(7), offset, 256, &entries);
            let expect = ExpectedP2l {
                first_rev: Revnum(7),
                rev_count: 2,
                items_len: offset,
                index_len: index.len() as u64,
            };
            let header = P2lHeader::parse(&index, expect).expect("valid").expect("whole");
            let mut read = Vec::new();
            for page in 0..header.page_count() {
                let (start, end) = header.page_range(page);
                read.extend(parse_page(&index[start as usize..end as usize], expect).expect("a page"));
            }
            prop_assert_eq!(read.pop().map(|rest| rest.end() % 256), Some(0));
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn damage_never_panics(damage in prop::collection::vec((0..R0.len(), any::<u8>()), 1..4)) {
            let mut index = R0.to_vec();
            damage.into_iter().for_each(|(at, byte)| index[at] = byte);
            if let Ok(Some(header)) = P2lHeader::parse(&index, expect(&index)) {
                for page in 0..header.page_count() {
                    let (start, end) = header.page_range(page);
                    let _ = parse_page(&index[start as usize..end as usize], expect(&index));
                }
            }
        }
    }
}
