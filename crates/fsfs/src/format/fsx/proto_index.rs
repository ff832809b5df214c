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
        assert_eq!(parse_p2l(&file), Ok((vec![item], 39)));
        assert_eq!(parse_p2l(b""), Ok((Vec::new(), 0)));
        for bad in [&file[..63], &words(&[0, 39, 1, 77, u64::MAX, 0, 3, 39])] {
            assert!(parse_p2l(bad).is_err());
        }
    }
}
