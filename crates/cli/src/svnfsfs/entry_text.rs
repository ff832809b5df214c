//! The text form of an index entry: formats and parses it.

use base::{Code, Error, Result, Revnum};
use fsfs::admin::indexes::IndexEntry;

/// The line above the table.
pub const HEADER: &str = "       Start       Length Type   Revision     Item Checksum";

/// Formats an entry.
pub fn line(entry: &IndexEntry) -> String {
    let kind = IndexEntry::KINDS
        .get(usize::from(entry.kind))
        .copied()
        .unwrap_or("???");
    format!(
        "{:12x} {:12x} {kind:<5} {:9} {:8} {:08x}",
        entry.offset, entry.size, entry.rev.0, entry.item, entry.checksum
    )
}

/// Parses a line. Returns `None` for an empty line and for the header, which may be anywhere. The checksum is
/// ignored.
///
/// # Errors
/// `INVALID_INPUT`, `REVNUM_PARSE_FAILURE`, `BAD_TOKEN`.
pub fn parse(line: &str) -> Result<Option<IndexEntry>> {
    let columns: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let invalid = |text: String| Error::new(Code::INVALID_INPUT, text);
    let number = |text: &str, radix: u32| {
        u64::from_str_radix(text, radix)
            .ok()
            .filter(|number| i64::try_from(*number).is_ok())
            .ok_or_else(|| invalid(format!("{text} is not a value HEX string")))
    };
    let offset = match columns.first() {
        None => return Ok(None),
        Some(word) if word.eq_ignore_ascii_case("start") => return Ok(None),
        Some(word) => number(word, 16)?,
    };
    let too_few = |needed: usize| {
        let provided = columns.len();
        invalid(format!("{needed} columns needed, {provided} provided"))
    };
    let size = number(columns.get(1).ok_or_else(|| too_few(2))?, 16)?;
    let &[_, _, word, rev, item, ..] = columns.as_slice() else {
        return Err(too_few(5));
    };
    Ok(Some(IndexEntry {
        offset,
        size,
        kind: kind(word)?,
        rev: revision(rev)?,
        item: number(item, 10)?,
        checksum: 0,
    }))
}

fn kind(word: &str) -> Result<u8> {
    (0_u8..)
        .zip(IndexEntry::KINDS)
        .find(|(_, name)| *name == word)
        .map(|(kind, _)| kind)
        .ok_or_else(|| Error::new(Code::BAD_TOKEN, format!("Unknown item type '{word}'")))
}

fn revision(word: &str) -> Result<Revnum> {
    Revnum::parse(word.as_bytes()).ok_or_else(|| {
        let what = match word.starts_with('-') {
            true => "Negative",
            false => "Invalid",
        };
        let text = format!("{what} revision number found parsing '{word}'");
        Error::new(Code::REVNUM_PARSE_FAILURE, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatted_entry_parses() {
        let text = "         15e           a2 node          1        6 b087af0a";
        let entry = parse(text)
            .expect("because it is the incumbent's")
            .expect("because it is an entry");
        assert_eq!(
            (entry.offset, entry.size, entry.kind, entry.rev, entry.item),
            (0x15e, 0xa2, 5, Revnum(1), 6)
        );
        let checksum = 0xb087_af0a;
        assert_eq!(line(&IndexEntry { checksum, ..entry }), text);
        for nothing in ["", "  ", HEADER, "start"] {
            assert_eq!(parse(nothing), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn wrong_columns_are_reported() {
        for (text, code) in [
            ("garbage x x x x", Code::INVALID_INPUT),
            ("0 1b frep 2", Code::INVALID_INPUT),
            ("0 1b frep 2 3k", Code::INVALID_INPUT),
            ("0 ffffffffffffffffff frep 2 3", Code::INVALID_INPUT),
            ("0 1b frep x 3", Code::REVNUM_PARSE_FAILURE),
            ("0 1b frep -1 3", Code::REVNUM_PARSE_FAILURE),
            ("0 1b FREP 2 3", Code::BAD_TOKEN),
        ] {
            assert_eq!(parse(text).map_err(|e| e.code()), Err(code), "{text}");
        }
    }
}
