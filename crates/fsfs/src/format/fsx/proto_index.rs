//! The index files of a transaction. Source: section 19 of the description of FSX.
//!
//! All numbers have 8 bytes, the lowest first.
//!
//! | file | record |
//! |---|---|
//! | `index.l2p` | offset + 1, item number, sub-item |
//! | `index.p2l` | offset, size, type, FNV, number of items, for each item the revision + 1 (0 in this transaction) and the number, end offset |
//!
//! The last 8 bytes of `index.p2l` are the end of the proto-revision file: bytes after it belong to no item.

use base::{Code, Revnum};

use super::cursor::{Cursor, DecodeError, Subject};
use crate::format::p2l::{ItemKind, P2lEntry};

const L2P: Subject = Subject {
    name: "File index.l2p",
    code: Code::FS_INDEX_CORRUPTION,
};

const P2L: Subject = Subject {
    name: "File index.p2l",
    code: Code::FS_INDEX_CORRUPTION,
};

/// Returns the offset of an item in the proto-revision file, from the text of `index.l2p`; `None` if it has none.
pub(crate) fn find_l2p(file: &[u8], item: u64) -> Result<Option<u64>, DecodeError> {
    let mut cursor = Cursor::new(file, L2P);
    let mut found = None;
    while !cursor.is_empty() {
        let (offset, number) = (word(&mut cursor)?, word(&mut cursor)?);
        word(&mut cursor)?;
        if number == item {
            found = offset.checked_sub(1);
        }
    }
    Ok(found)
}

/// An item of a proto-revision file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtoItem {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The number of the item type.
    pub(crate) item_type: u64,
    pub(crate) checksum: u64,
    /// Revision (`None` for this transaction) and number of each item.
    pub(crate) items: Vec<(Option<Revnum>, u64)>,
}

/// Decodes `index.p2l`. Returns the items, and the end of the last one.
pub(crate) fn parse_p2l(file: &[u8]) -> Result<(Vec<ProtoItem>, u64), DecodeError> {
    let mut cursor = Cursor::new(file, P2L);
    let (mut entries, mut end) = (Vec::new(), 0);
    while !cursor.is_empty() {
        let (offset, size) = (word(&mut cursor)?, word(&mut cursor)?);
        let (item_type, checksum, count) = (word(&mut cursor)?, word(&mut cursor)?, word(&mut cursor)?);
        let count = usize::try_from(count).ok();
        let count = count.filter(|count| *count <= cursor.rest().len() / 16);
        let mut items = Vec::with_capacity(count.ok_or(cursor.early_end())?);
        for _ in 0..items.capacity() {
            let (rev, number) = (word(&mut cursor)?, word(&mut cursor)?);
            items.push((rev.checked_sub(1).map(Revnum), number));
        }
        end = word(&mut cursor)?;
        entries.push(ProtoItem {
            offset,
            size,
            item_type,
            checksum,
            items,
        });
    }
    Ok((entries, end))
}

/// Decodes `index.p2l` of a transaction into items of its proto-revision file, in order of their offsets.
pub(crate) fn parse_items(file: &[u8]) -> Result<Vec<P2lEntry>, DecodeError> {
    let (items, _) = parse_p2l(file)?;
    let mut entries: Vec<P2lEntry> = Vec::with_capacity(items.len());
    for item in items {
        let fault = |what| DecodeError::new(P2L, what, item.offset);
        let end = item
            .offset
            .checked_add(item.size)
            .filter(|&end| end <= i64::MAX as u64);
        if end.is_none() || item.offset != entries.last().map_or(0, P2lEntry::end) {
            return Err(fault("items are not contiguous"));
        }
        let [(None, number)] = item.items[..] else {
            return Err(fault("not one item of the transaction"));
        };
        entries.push(P2lEntry {
            offset: item.offset,
            size: item.size,
            kind: ItemKind::from_number(item.item_type).ok_or(fault("invalid item type"))?,
            rev: Revnum::ZERO,
            item: number,
            checksum: u32::try_from(item.checksum).map_err(|_| fault("invalid checksum"))?,
        });
    }
    Ok(entries)
}

/// Appends the records of an item of the transaction to the texts of `index.l2p` and `index.p2l`.
pub(crate) fn push_item(entry: &P2lEntry, by_number: &mut Vec<u8>, by_offset: &mut Vec<u8>) {
    push_l2p(by_number, entry.offset, entry.item);
    let item = ProtoItem {
        offset: entry.offset,
        size: entry.size,
        item_type: entry.kind as u64,
        checksum: u64::from(entry.checksum),
        items: vec![(None, entry.item)],
    };
    push_p2l(by_offset, &item);
}

/// Appends the record of an item of the transaction to the text of `index.l2p`.
fn push_l2p(out: &mut Vec<u8>, offset: u64, number: u64) {
    push_words(out, &[offset + 1, number, 0]);
}

/// Appends the record of an item to the text of `index.p2l`.
fn push_p2l(out: &mut Vec<u8>, item: &ProtoItem) {
    let count = item.items.len() as u64;
    push_words(
        out,
        &[item.offset, item.size, item.item_type, item.checksum, count],
    );
    for (rev, number) in &item.items {
        push_words(out, &[rev.map_or(0, |rev| rev.0 + 1), *number]);
    }
    push_words(out, &[item.offset + item.size]);
}

fn push_words(out: &mut Vec<u8>, words: &[u64]) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn word(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let bytes = cursor.take(8)?.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| cursor.early_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_last_record_of_an_item_counts() {
        let file = words(&[1, 3, 0, 40, 4, 0, 50, 3, 0]);
        assert_eq!(find_l2p(&file, 3), Ok(Some(49)));
        assert_eq!(find_l2p(&file, 4), Ok(Some(39)));
        assert_eq!(find_l2p(&file, 5), Ok(None));
        assert!(find_l2p(&file[..70], 3).is_err());
    }

    #[test]
    fn items_of_a_proto_revision_file() {
        let file = words(&[0, 39, 1, 77, 1, 0, 3, 39]);
        let item = ProtoItem {
            offset: 0,
            size: 39,
            item_type: 1,
            checksum: 77,
            items: vec![(None, 3)],
        };
        let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
        push_p2l(&mut p2l, &item);
        push_l2p(&mut l2p, 49, 3);
        assert_eq!((&p2l, l2p), (&file, words(&[50, 3, 0])));
        assert_eq!(parse_p2l(&file), Ok((vec![item], 39)));
        assert_eq!(parse_p2l(b""), Ok((Vec::new(), 0)));
        let entries = parse_items(&file).expect("valid");
        let (mut by_number, mut by_offset) = (Vec::new(), Vec::new());
        push_item(&entries[0], &mut by_number, &mut by_offset);
        assert_eq!((by_number, &by_offset), (words(&[1, 3, 0]), &file));
        for bad in [
            words(&[1, 39, 1, 77, 1, 0, 3, 40]),
            words(&[0, 39, 9, 77, 1, 0, 3, 39]),
            words(&[0, 39, 1, 1 << 32, 1, 0, 3, 39]),
            words(&[0, 39, 1, 77, 1, 6, 3, 39]),
            words(&[0, u64::MAX, 1, 77, 1, 0, 3, 39]),
        ] {
            assert!(parse_items(&bad).is_err());
        }
        for bad in [&file[..63], &words(&[0, 39, 1, 77, u64::MAX, 0, 3, 39])] {
            assert!(parse_p2l(bad).is_err());
        }
    }
}
