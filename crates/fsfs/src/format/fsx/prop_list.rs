//! Property lists. Source: section 6 of the description of FSX.
//!
//! A list is the number of its entries, then for each entry the name, a NUL, the length of the value, the value and a NUL.
//! Both integers have the high bits first ([`Cursor::be`]). The order is free: the incumbent writes the order of its hash
//! table, the encoder the sorted order. Lists of nodes, transactions and revisions have this form. That of an unpacked
//! revision is followed by its FNV, 4 bytes, the highest first.

use base::checksum::fnv1a_32x4;
use base::{Code, Error, Props};
use delta::svndiff::varint;

use super::cursor::{Cursor, DecodeError, Subject};

const SUBJECT: Subject = Subject {
    name: "Property list",
    code: Code::FS_CORRUPT_PROPLIST,
};

/// The bytes of the checksum after a list or a file of lists.
const CHECKSUM_LEN: usize = 4;

/// Decodes a list, which takes all of `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Props, DecodeError> {
    let mut cursor = Cursor::new(bytes, SUBJECT);
    // An entry has at least one byte of a name, two NULs and a length.
    let count = cursor.be_count(4)?;
    let mut props = Props::new();
    for _ in 0..count {
        let name = match std::str::from_utf8(cursor.until(0)?) {
            Ok(name) if !name.is_empty() => name.to_owned(),
            _ => return Err(cursor.fault("invalid name")),
        };
        let length = cursor.be()?;
        let value = cursor.take(length)?.to_vec();
        if cursor.take(1)? != [0] {
            return Err(cursor.fault("no NUL after a value"));
        }
        if props.insert(name, value).is_some() {
            return Err(cursor.fault("a name is there twice"));
        }
    }
    cursor.finish()?;
    Ok(props)
}

/// Appends a list.
pub(crate) fn encode(props: &Props, out: &mut Vec<u8>) {
    varint::write(props.len() as u64, out);
    for (name, value) in props {
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        varint::write(value.len() as u64, out);
        out.extend_from_slice(value);
        out.push(0);
    }
}

/// Appends the checksum of a file, which ends with it.
pub(crate) fn push_checksum(file: &mut Vec<u8>) {
    let checksum = fnv1a_32x4(file);
    file.extend_from_slice(&checksum.to_be_bytes());
}

/// Splits the checksum from the end of a file, and compares it with that of the bytes before.
///
/// # Errors
/// `CHECKSUM_MISMATCH`.
pub(crate) fn check_file(bytes: &[u8]) -> base::Result<&[u8]> {
    let (content, stored) = bytes
        .split_last_chunk::<CHECKSUM_LEN>()
        .unwrap_or((bytes, &[0; CHECKSUM_LEN]));
    let (stored, actual) = (u32::from_be_bytes(*stored), fnv1a_32x4(content));
    if stored == actual {
        return Ok(content);
    }
    let message = format!("checksum mismatch:\n   expected:  {stored:08x}\n     actual:  {actual:08x}\n");
    Err(Error::new(Code::CHECKSUM_MISMATCH, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn malformed_lists_are_refused() {
        assert_eq!(decode(b"\x00"), Ok(Props::new()));
        for bad in [
            &b""[..],
            b"\x01",
            b"\x02a\0\x01b\0",
            b"\x01a\0\x01b\0x",
            b"\x01a\0\x01bx",
            b"\x01a\0\x7fb\0",
            b"\x01\0\x01b\0",
            b"\x02a\0\x01b\0a\0\x01b\0",
            b"\xff\xff\xff\xff\xff\x7fa\0\x01b\0",
            b"\x01\xff\0\x01b\0",
        ] {
            let e = decode(bad).expect_err("malformed");
            assert_eq!(e.code(), Code::FS_CORRUPT_PROPLIST, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_list_is_read_as_it_was_written(
            props in prop::collection::btree_map("[a-z:é]{1,5}", prop::collection::vec(any::<u8>(), 0..200), 0..6),
            damage: (prop::sample::Index, u8),
        ) {
            let mut bytes = Vec::new();
            encode(&props, &mut bytes);
            prop_assert_eq!(decode(&bytes), Ok(props));
            let at = damage.0.index(bytes.len());
            bytes[at] = damage.1;
            let _ = decode(&bytes);
        }
    }
}
