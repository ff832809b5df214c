//! The index files of a transaction with logical addressing (format 7 and later).
//!
//! `index.l2p` and `index.p2l` consist of fixed records of unsigned 64-bit numbers, low byte first. Writers append a
//! record for each item.
//!
//! | file | fields of a record |
//! |---|---|
//! | `index.l2p` (16 bytes) | offset + 1, item number; an offset field of 0 separates revisions |
//! | `index.p2l` (48 bytes) | offset, size, kind of item (see [`ItemKind`]), checksum (as in the P2L index), revision + 1 (0: the one to be committed), item number |
//!
//! Offsets and sizes are bytes in the proto-revision file. The file `itemidx` has the next item number in decimal.

use base::Revnum;

use super::decode_error;
use super::p2l::{ItemKind, P2lEntry};
use base::number::parse_decimal;

decode_error! {
    /// Why a transaction's index files are not usable.
    ProtoIndexError {
        Kind => FS_INDEX_CORRUPTION, "Invalid item type in P2L proto index";
        Checksum => FS_INDEX_CORRUPTION, "Invalid FNV1 checksum in P2L proto index";
        Gap => FS_INDEX_CORRUPTION, "Entries of the P2L proto index are not contiguous";
        Number => FS_INDEX_CORRUPTION, "Item number in the P2L proto index is too large";
        NextItem => FS_CORRUPT, "Malformed next item number of a transaction";
    }
}

/// The first item number for other items: 1 is the changed-path list, 2 the root node-revision.
pub(crate) const FIRST_ITEM: u64 = 3;

/// Parses `index.p2l`. An incomplete last record, as a crash leaves it, is ignored.
pub(crate) fn parse_p2l(text: &[u8]) -> Result<Vec<P2lEntry>, ProtoIndexError> {
    let (records, _) = text.as_chunks::<P2L_RECORD>();
    let mut entries: Vec<P2lEntry> = Vec::with_capacity(records.len());
    for record in records {
        let [offset, size, kind, checksum, _, item] = numbers(record);
        let expected = entries.last().map_or(0, P2lEntry::end);
        if offset != expected || offset.checked_add(size).is_none_or(|end| end > i64::MAX as u64) {
            return Err(ProtoIndexError::Gap);
        }
        if item > MAX_ITEM {
            return Err(ProtoIndexError::Number);
        }
        entries.push(P2lEntry {
            offset,
            size,
            kind: ItemKind::from_number(kind).ok_or(ProtoIndexError::Kind)?,
            rev: Revnum::ZERO,
            item,
            checksum: u32::try_from(checksum).map_err(|_| ProtoIndexError::Checksum)?,
        });
    }
    Ok(entries)
}

/// Appends the record of an item to the text of `index.p2l`.
pub(crate) fn push_p2l(out: &mut Vec<u8>, entry: &P2lEntry) {
    let kind = entry.kind as u64;
    for number in [
        entry.offset,
        entry.size,
        kind,
        u64::from(entry.checksum),
        0,
        entry.item,
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Appends the record of an item to the text of `index.l2p`.
pub(crate) fn push_l2p(out: &mut Vec<u8>, entry: &P2lEntry) {
    for number in [entry.offset + 1, entry.item] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Returns the offset of an item according to the text of `index.l2p`.
pub(crate) fn find_l2p(text: &[u8], item: u64) -> Option<u64> {
    let (records, _) = text.as_chunks::<L2P_RECORD>();
    records.iter().find_map(|record| {
        let [offset, number] = numbers(record);
        offset.checked_sub(1).filter(|_| number == item)
    })
}

/// Parses `itemidx`.
pub(crate) fn parse_next_item(text: &[u8]) -> Result<u64, ProtoIndexError> {
    match text.trim_ascii() {
        b"" => Ok(FIRST_ITEM),
        digits => parse_decimal(digits)
            .filter(|&item| item <= MAX_ITEM)
            .ok_or(ProtoIndexError::NextItem),
    }
}

fn numbers<const BYTES: usize, const N: usize>(record: &[u8; BYTES]) -> [u64; N] {
    let (words, _) = record.as_chunks::<8>();
    std::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
}

/// The largest item number.
const MAX_ITEM: u64 = i32::MAX as u64;

/// Bytes of a record of `index.p2l`.
const P2L_RECORD: usize = 48;

/// Bytes of a record of `index.l2p`.
const L2P_RECORD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample transaction of the specification.
    #[test]
    fn real_records_round_trip() {
        let l2p = b"\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0";
        let mut p2l = vec![0; 8];
        for number in [0x4bu64, 1, 0x0dfc_b716, 0, 3] {
            p2l.extend_from_slice(&number.to_le_bytes());
        }
        let entries = parse_p2l(&p2l).expect("valid");
        assert_eq!(
            (entries[0].size, entries[0].kind, entries[0].item),
            (0x4b, ItemKind::FileText, 3)
        );
        let (mut again, mut other) = (Vec::new(), Vec::new());
        push_p2l(&mut again, &entries[0]);
        push_l2p(&mut other, &entries[0]);
        assert_eq!((&again, &other[..]), (&p2l, &l2p[..]));
        assert_eq!((find_l2p(l2p, 3), find_l2p(l2p, 4)), (Some(0), None));
        p2l.extend_from_slice(&[7; 20]);
        assert_eq!(parse_p2l(&p2l).expect("a torn record").len(), 1);
    }

    #[test]
    fn damage_is_an_error() {
        let entry = |offset: u64, kind: u64, checksum: u64, item: u64| -> Vec<u8> {
            [offset, 5, kind, checksum, 0, item]
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect()
        };
        for (record, error) in [
            (entry(1, 1, 0, 3), ProtoIndexError::Gap),
            (entry(0, 7, 0, 3), ProtoIndexError::Kind),
            (entry(0, 1, 1 << 32, 3), ProtoIndexError::Checksum),
            (entry(0, 1, 0, u64::MAX), ProtoIndexError::Number),
        ] {
            assert_eq!(parse_p2l(&record), Err(error));
        }
        assert_eq!(parse_next_item(b""), Ok(3));
        assert_eq!(parse_next_item(b"17"), Ok(17));
        assert_eq!(parse_next_item(b"-1"), Err(ProtoIndexError::NextItem));
        assert_eq!(parse_next_item(b"99999999999"), Err(ProtoIndexError::NextItem));
    }
}
