//! The small files of `db/`. Source: sections 2 and 19 of the description of FSX.
//!
//! | file | content |
//! |---|---|
//! | `format` | `2`, newline, `layout sharded <N>`, newline: N revisions in a shard; what follows is ignored |
//! | `revprop-generation` | a number, decimal, newline; odd while a change of revision properties is going on |
//! | `txn-current` | the number of the next transaction, base 36, with or without newline |
//! | `next-ids` of a transaction | the next node and copy number, base 36, newline; a NUL may follow |
//! | `itemidx` of a transaction | the next item number, decimal, without newline; missing or empty means 3 |

use base::Code;
use base::number::{parse_base36, parse_decimal};

use super::cursor::{Cursor, DecodeError, Subject};

/// The first item number that is free in a transaction.
pub(crate) const FIRST_FREE_ITEM: u64 = 3;

/// Returns the number of revisions in a shard, from the text of `format`.
pub(crate) fn shard_size(text: &[u8]) -> Result<u64, DecodeError> {
    const OTHER: Subject = Subject {
        name: "Expected FS format '2'",
        code: Code::FS_UNSUPPORTED_FORMAT,
    };
    const SUBJECT: Subject = Subject {
        name: "Format file of FSX",
        code: Code::BAD_VERSION_FILE_FORMAT,
    };
    let mut cursor = Cursor::new(text, SUBJECT);
    let number = cursor.until(b'\n')?;
    let number = parse_decimal(number).ok_or(cursor.fault("the first line is no number"))?;
    if number != FORMAT {
        return Err(DecodeError::new(OTHER, "another format", 0));
    }
    let bad = cursor.fault("no line with the layout");
    let size = cursor.until(b'\n')?.strip_prefix(b"layout sharded ");
    let size = size.and_then(parse_decimal).ok_or(bad)?;
    match size {
        1..=MAX_SHARD => Ok(size),
        _ => Err(bad),
    }
}

/// Returns the number in `revprop-generation`.
pub(crate) fn generation(text: &[u8]) -> Result<u64, DecodeError> {
    const SUBJECT: Subject = Subject {
        name: "File revprop-generation",
        code: Code::FS_INVALID_GENERATION,
    };
    let mut cursor = Cursor::new(text, SUBJECT);
    let line = cursor.until(b'\n')?;
    parse_decimal(line).ok_or(DecodeError::new(SUBJECT, "no number", 0))
}

/// Returns the number in `txn-current`.
pub(crate) fn txn_current(text: &[u8]) -> Result<u64, DecodeError> {
    let subject = Subject::file("File txn-current");
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    parse_base36(line).ok_or(DecodeError::new(subject, "no number", 0))
}

/// Returns the next node number and the next copy number, from `next-ids`.
pub(crate) fn next_ids(text: &[u8]) -> Result<(u64, u64), DecodeError> {
    let subject = Subject::file("File next-ids");
    let mut cursor = Cursor::new(text, subject);
    let line = cursor.until(b'\n')?;
    let mut fields = line.split(|&byte| byte == b' ').map(parse_base36);
    match (fields.next().flatten(), fields.next().flatten(), fields.next()) {
        (Some(node), Some(copy), None) => Ok((node, copy)),
        _ => Err(DecodeError::new(subject, "no two numbers", 0)),
    }
}

/// Returns the next item number, from `itemidx`.
pub(crate) fn next_item(text: &[u8]) -> Result<u64, DecodeError> {
    match text {
        b"" => Ok(FIRST_FREE_ITEM),
        _ => parse_decimal(text).ok_or(DecodeError::new(Subject::file("File itemidx"), "no number", 0)),
    }
}

/// The format that 1.14 reads and writes.
const FORMAT: u64 = 2;

/// The most revisions of a shard, so that sums of revision numbers cannot overflow.
const MAX_SHARD: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_new_repository() {
        assert_eq!(shard_size(b"2\nlayout sharded 1000\n"), Ok(1000));
        assert_eq!(shard_size(b"2\nlayout sharded 7\nlayout sharded 8\n"), Ok(7));
        assert_eq!(generation(b"0\n"), Ok(0));
        assert_eq!(txn_current(b"0\n"), Ok(0));
        assert_eq!(txn_current(b"2p"), Ok(97));
        assert_eq!(next_ids(b"0 0\n"), Ok((0, 0)));
        assert_eq!(next_ids(b"3 a\n\0"), Ok((3, 10)));
        assert_eq!((next_item(b""), next_item(b"17")), (Ok(3), Ok(17)));
    }

    #[test]
    fn malformed_files_are_refused() {
        let code = |text: &[u8]| shard_size(text).map_err(|e| e.code());
        assert_eq!(code(b"3\nlayout sharded 7\n"), Err(Code::FS_UNSUPPORTED_FORMAT));
        for bad in [
            &b""[..],
            b"2",
            b"2\n",
            b"x\n",
            b"2\nlayout linear\n",
            b"2\nlayout sharded 0\n",
            b"2\nlayout sharded 7",
            b"2\nlayout sharded 99999999999999\n",
        ] {
            assert_eq!(code(bad), Err(Code::BAD_VERSION_FILE_FORMAT), "{bad:?}");
        }
        assert!(next_ids(b"0\n").is_err() && next_ids(b"0 0 0\n").is_err());
    }
}
