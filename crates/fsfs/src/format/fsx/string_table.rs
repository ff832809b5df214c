//! String tables: the paths of a container. Source: section 14 of the description of FSX.
//!
//! A table is [packed data](super::packed_data) and consists of sub-tables:
//!
//! | stream | content |
//! |---|---|
//! | integers 0 | number of sub-tables, then their numbers of short strings, then their numbers of long strings |
//! | integers 1 | a table with a row for each short string: head string, head length, tail start, tail length |
//! | bytes 0 | the long strings, each with a NUL after it |
//! | bytes 1 | a string for each sub-table: the characters of its short strings, and 8 bytes of padding |
//!
//! The index of a string is 8192 * sub-table + 4096 if it is long + its position. A short string consists of the first
//! `head length` bytes of its head string, which is another short string of the sub-table, and of its tail, a range of the
//! sub-table's characters.

use base::{Code, FsPath};

use super::cursor::{DecodeError, Subject};
use super::packed_data::PackedData;

const SUBJECT: Subject = Subject::file("String table");

/// The distance of the indexes of two sub-tables.
const SUB_TABLE: u64 = 8192;

/// The first index of a long string in a sub-table.
const LONG: u64 = 4096;

/// The most bytes of a short string: those of the characters of a sub-table.
const MAX_SHORT: u64 = 65_535;

/// A decoded string table.
#[derive(Debug, Default)]
pub(crate) struct StringTable {
    sub_tables: Vec<SubTable>,
}

#[derive(Debug, Default)]
struct SubTable {
    short: Vec<Header>,
    characters: Vec<u8>,
    long: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    head: u64,
    head_len: u64,
    tail_start: u64,
    tail_len: u64,
}

impl StringTable {
    /// Decodes a table at the front of `bytes`, and moves `bytes` behind it.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let data = PackedData::decode(bytes)?;
        let fault = |what| DecodeError::new(SUBJECT, what, 0);
        let sizes = data.column(0)?.values()?;
        let count = sizes.first().copied().ok_or(fault("no number of sub-tables"))?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count.checked_mul(2) != Some(sizes.len() - 1) {
            return Err(fault("invalid number of sub-tables"));
        }
        let (short_counts, long_counts) = sizes[1..].split_at(count);
        let [heads, head_lens, tail_starts, tail_lens] = data.column(1)?.table()?;
        let mut headers = (0..heads.len()).map(|row| Header {
            head: heads[row],
            head_len: head_lens[row],
            tail_start: tail_starts[row],
            tail_len: tail_lens[row],
        });
        let (characters, long) = (data.strings(1)?, data.strings(0)?);
        let mut long = long.into_iter();
        if characters.len() != count {
            return Err(fault("invalid number of characters"));
        }
        let mut sub_tables = Vec::with_capacity(count);
        for (at, characters) in characters.into_iter().enumerate() {
            let mut sub_table = SubTable {
                characters: characters.to_vec(),
                ..SubTable::default()
            };
            for _ in 0..short_counts[at] {
                let header = headers.next().ok_or(fault("a short string is missing"))?;
                sub_table.short.push(header);
            }
            for _ in 0..long_counts[at] {
                let string = long.next().and_then(|string| string.strip_suffix(&[0]));
                sub_table
                    .long
                    .push(string.ok_or(fault("a long string is missing"))?.to_vec());
            }
            sub_tables.push(sub_table);
        }
        match headers.next().is_none() && long.next().is_none() {
            true => Ok(StringTable { sub_tables }),
            false => Err(fault("strings without a sub-table")),
        }
    }

    /// The bytes of a string.
    pub(crate) fn string(&self, index: u64) -> Result<Vec<u8>, DecodeError> {
        const OUTSIDE: Subject = Subject {
            name: "String table",
            code: Code::FS_CONTAINER_INDEX,
        };
        let missing = DecodeError::new(OUTSIDE, "no such string", index);
        let sub_table = usize::try_from(index / SUB_TABLE).ok();
        let sub_table = sub_table.and_then(|at| self.sub_tables.get(at)).ok_or(missing)?;
        let at = index % SUB_TABLE;
        match at.checked_sub(LONG) {
            Some(at) => sub_table.long.get(at as usize).cloned().ok_or(missing),
            None => match sub_table.short.get(at as usize) {
                Some(header) => sub_table.short_string(*header),
                None => Err(missing),
            },
        }
    }

    /// The path that a string is.
    pub(crate) fn path(&self, index: u64) -> Result<FsPath, DecodeError> {
        let string = self.string(index)?;
        FsPath::parse_bytes(&string).map_err(|_| DecodeError::new(SUBJECT, "invalid path in string", index))
    }

    /// The memory that the table takes, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |table: &SubTable| {
            let long: usize = table.long.iter().map(|string| 24 + string.len()).sum();
            table.characters.len() + table.short.len() * size_of::<Header>() + long
        };
        self.sub_tables.iter().map(of).sum()
    }
}

impl SubTable {
    /// Makes a short string from its end to its start. A step that yields no byte must not come more often than there are
    /// strings.
    fn short_string(&self, header: Header) -> Result<Vec<u8>, DecodeError> {
        let fault = |what| DecodeError::new(SUBJECT, what, header.tail_start);
        let length = header.head_len.saturating_add(header.tail_len);
        if length > MAX_SHORT {
            return Err(fault("short string too long"));
        }
        let mut string = vec![0; length as usize];
        let (mut header, mut end) = (header, length);
        for _ in 0..=self.short.len() {
            if header.head_len < end {
                let (own, needed) = (header.head_len, end - header.head_len);
                let start = usize::try_from(header.tail_start).ok();
                let tail = start.and_then(|start| self.characters.get(start..)?.get(..needed as usize));
                let tail = tail.filter(|_| needed <= header.tail_len);
                string[own as usize..end as usize]
                    .copy_from_slice(tail.ok_or(fault("tail outside of the characters"))?);
                end = own;
            }
            if end == 0 {
                return Ok(string);
            }
            let head = usize::try_from(header.head).ok();
            let head = head.and_then(|head| self.short.get(head));
            header = *head.ok_or(fault("head string does not exist"))?;
        }
        Err(fault("head strings are a cycle"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u64, u64, u64, u64)], characters: &[u8]) -> StringTable {
        let header = |&(head, head_len, tail_start, tail_len): &(u64, u64, u64, u64)| Header {
            head,
            head_len,
            tail_start,
            tail_len,
        };
        StringTable {
            sub_tables: vec![SubTable {
                short: rows.iter().map(header).collect(),
                characters: characters.to_vec(),
                long: vec![b"/long".to_vec()],
            }],
        }
    }

    #[test]
    fn heads_of_heads() {
        let rows = [
            (0, 0, 0, 6),
            (0, 3, 6, 1),
            (1, 4, 7, 1),
            (1, 2, 2, 1),
            (3, 3, 0, 0),
        ];
        let table = table(&rows, b"/trunkab");
        let string = |index| {
            table
                .string(index)
                .map(|string| String::from_utf8_lossy(&string).into_owned())
        };
        let all: Vec<_> = (0..5).map(|index| string(index).expect("a string")).collect();
        assert_eq!(all, ["/trunk", "/tra", "/trab", "/tr", "/tr"]);
        assert_eq!(string(4096).as_deref(), Ok("/long"));
        for missing in [5, 4095, 4097, 8192, u64::MAX] {
            assert_eq!(
                string(missing).map_err(|e| e.code()),
                Err(Code::FS_CONTAINER_INDEX)
            );
        }
    }

    #[test]
    fn rows_that_promise_too_much_are_refused() {
        for rows in [
            [(0, 0, 0, 9), (0, 0, 0, 0)],
            [(0, 0, u64::MAX, 1), (0, 0, 0, 0)],
            [(1, 2, 0, 1), (0, 2, 0, 1)],
            [(7, 2, 0, 1), (0, 0, 0, 0)],
            [(1, 5, 0, 1), (0, 0, 0, 2)],
            [(0, u64::MAX, 0, 1), (0, 0, 0, 0)],
            [(0, 1 << 40, 0, 1 << 40), (0, 0, 0, 0)],
        ] {
            assert!(table(&rows, b"/trunk").string(0).is_err(), "{rows:?}");
        }
    }
}
