//! [`StringTableWriter`]: makes a [string table](super::string_table).
//!
//! A short string is stored as the part that it does not have in common with the string before it in the order of bytes, which
//! is its head. The incumbent follows heads only while the head of a head is not longer than what is wanted of it, so the head is
//! the nearest string for which that holds. It misplaces long strings unless they are in the first sub-table, so all are there.

use std::collections::HashMap;

use base::common_prefix;

use super::packed_writer::{Coding, PackedWriter};

/// The most strings of each kind in a sub-table.
const MAX_STRINGS: usize = 4096;

/// The most bytes of all short strings of a sub-table.
const MAX_CHARACTERS: usize = 65_000;

/// A longer string is a long one, bytes.
const MAX_SHORT: usize = 16_383;

/// The distance of the indexes of two sub-tables, and the first index of a long string.
const SUB_TABLE: usize = 8192;
const LONG: usize = 4096;

/// The NUL bytes after the characters of a sub-table.
const PADDING: usize = 8;

/// A table that is being made.
pub(crate) struct StringTableWriter<'s> {
    indexes: HashMap<&'s [u8], u64>,
    sub_tables: Vec<SubTable<'s>>,
    long: Vec<&'s [u8]>,
}

#[derive(Default)]
struct SubTable<'s> {
    short: Vec<&'s [u8]>,
    /// The sum of their lengths.
    length: usize,
}

/// A short string: the number of its head, and the bytes that it has of it.
#[derive(Clone, Copy, Default)]
struct Head {
    string: usize,
    length: usize,
}

impl<'s> StringTableWriter<'s> {
    pub(crate) fn new() -> Self {
        StringTableWriter {
            indexes: HashMap::new(),
            sub_tables: vec![SubTable::default()],
            long: Vec::new(),
        }
    }

    /// Adds a string, unless it is there already. Returns its index, or `None` if there are too many long strings.
    pub(crate) fn add(&mut self, string: &'s [u8]) -> Option<u64> {
        if let Some(index) = self.indexes.get(string) {
            return Some(*index);
        }
        let index = match string.len() {
            ..=MAX_SHORT => self.add_short(string),
            _ if self.long.len() == MAX_STRINGS => return None,
            _ => {
                self.long.push(string);
                LONG + self.long.len() - 1
            }
        };
        self.indexes.insert(string, index as u64);
        Some(index as u64)
    }

    fn add_short(&mut self, string: &'s [u8]) -> usize {
        let is_full = self.sub_tables.last().is_none_or(|last| {
            last.short.len() == MAX_STRINGS || last.length + string.len() > MAX_CHARACTERS
        });
        if is_full {
            self.sub_tables.push(SubTable::default());
        }
        let number = self.sub_tables.len() - 1;
        let last = &mut self.sub_tables[number];
        last.short.push(string);
        last.length += string.len();
        number * SUB_TABLE + last.short.len() - 1
    }

    /// Appends the table.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let mut sizes = vec![self.sub_tables.len() as u64];
        sizes.extend(self.sub_tables.iter().map(|table| table.short.len() as u64));
        // All long strings are in the first sub-table.
        sizes.push(self.long.len() as u64);
        sizes.resize(2 * self.sub_tables.len() + 1, 0);
        let mut columns: [Vec<u64>; 4] = Default::default();
        let mut characters = Vec::with_capacity(self.sub_tables.len());
        for table in &self.sub_tables {
            let mut tails: Vec<u8> = Vec::new();
            for (string, head) in table.short.iter().zip(table.heads()) {
                let tail = &string[head.length..];
                let row = [head.string, head.length, tails.len(), tail.len()];
                columns
                    .iter_mut()
                    .zip(row)
                    .for_each(|(column, value)| column.push(value as u64));
                tails.extend_from_slice(tail);
            }
            tails.resize(tails.len() + PADDING, 0);
            characters.push(tails);
        }
        let long: Vec<Vec<u8>> = self
            .long
            .iter()
            .map(|string| [string, &[0][..]].concat())
            .collect();
        let mut writer = PackedWriter::default();
        writer.column(&sizes, false);
        let [heads, head_lengths, tails, tail_lengths] = &columns;
        writer.table(&[
            (heads, Coding::Differences),
            (head_lengths, Coding::Plain),
            (tails, Coding::Differences),
            (tail_lengths, Coding::Plain),
        ]);
        for strings in [long, characters] {
            let strings: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            writer.strings(&strings);
        }
        writer.finish(out);
    }
}

impl SubTable<'_> {
    /// Returns the head of each string.
    fn heads(&self) -> Vec<Head> {
        let mut order: Vec<usize> = (0..self.short.len()).collect();
        order.sort_unstable_by_key(|at| self.short[*at]);
        let mut heads = vec![Head::default(); self.short.len()];
        for pair in order.windows(2) {
            let [mut before, own] = [pair[0], pair[1]];
            let length = common_prefix(self.short[before], self.short[own]);
            while length > 0 && heads[before].length > length {
                before = heads[before].string;
            }
            if length > 0 {
                heads[own] = Head {
                    string: before,
                    length,
                };
            }
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::super::string_table::StringTable;
    use super::*;
    use proptest::prelude::*;

    fn check(strings: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let mut writer = StringTableWriter::new();
        let indexes: Vec<u64> = strings
            .iter()
            .map(|string| writer.add(string).expect("few long strings"))
            .collect();
        for table in &writer.sub_tables {
            let heads = table.heads();
            for head in &heads {
                // The incumbent refuses to follow longer heads.
                prop_assert!(head.length == 0 || heads[head.string].length <= head.length);
            }
        }
        let mut bytes = Vec::new();
        writer.finish(&mut bytes);
        let table = StringTable::decode(&mut &bytes[..]).expect("what was written");
        for (string, index) in strings.iter().zip(indexes) {
            prop_assert_eq!(&table.string(index).expect("a string"), string);
        }
        Ok(())
    }

    #[test]
    fn long_strings_are_in_the_first_sub_table() {
        let mut strings: Vec<Vec<u8>> = (0..5000).map(|at| format!("/dir/{at}").into_bytes()).collect();
        strings.extend([vec![b'x'; 16_383], vec![b'y'; 16_384], vec![b'z'; 70_000]]);
        check(&strings).expect("equal");
        let mut writer = StringTableWriter::new();
        let indexes: Vec<_> = strings.iter().map(|string| writer.add(string)).collect();
        assert_eq!(indexes[4096], Some(8192));
        assert_eq!(indexes[5001..], [Some(4096), Some(4097)]);
    }

    proptest! {
        #[test]
        fn every_table_is_read_as_it_was_written(strings in prop::collection::vec("[ab/]{0,9}", 0..60)) {
            let strings: Vec<Vec<u8>> = strings.into_iter().map(String::into_bytes).collect();
            check(&strings)?;
        }
    }
}
