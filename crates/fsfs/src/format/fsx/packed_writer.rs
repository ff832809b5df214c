//! [`PackedWriter`]: makes [packed data](super::packed_data) of integer streams, of tables (streams with a substream for each
//! column), and of byte streams.
//!
//! A payload is compressed if that makes it shorter.

use base::number::{push_uint, unsigned};
use delta::svndiff::Codec;

/// The zlib level of the incumbent.
const LEVEL: u8 = 5;

/// How the values of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As they are.
    Plain = 0,
    /// As the differences between them.
    Differences = 1,
    /// As differences, and marked as signed.
    SignedDifferences = 3,
}

/// Packed data that is being made.
#[derive(Default)]
pub(crate) struct PackedWriter {
    /// The descriptions of the integer streams, and their number.
    columns: Vec<u8>,
    count: u64,
    /// The descriptions of the byte streams, and their number.
    strings: Vec<u8>,
    string_streams: u64,
    /// The contents of all integer streams, and then of all byte streams.
    payloads: [Vec<Vec<u8>>; 2],
}

impl PackedWriter {
    /// Adds an integer stream, stored as `values` or as the differences between them.
    pub(crate) fn column(&mut self, values: &[u64], as_differences: bool) {
        let coding = match as_differences {
            true => Coding::Differences,
            false => Coding::Plain,
        };
        let mut content = Vec::new();
        self.describe(values, coding, &mut content);
        self.count += 1;
        self.payloads[0].push(content);
    }

    /// Adds an integer stream with a substream for each column. All columns have the same length.
    pub(crate) fn table(&mut self, columns: &[(&[u64], Coding)]) {
        let mut content = Vec::new();
        self.describe_table(columns, &mut content);
        self.count += 1;
        self.payloads[0].push(content);
    }

    /// Adds an integer stream whose substreams are tables.
    pub(crate) fn tables(&mut self, tables: &[&[(&[u64], Coding)]]) {
        push_uint(&mut self.columns, 4 * tables.len() as u64);
        // The incumbent counts no values here, as it fills each table for itself.
        push_uint(&mut self.columns, 0);
        push_uint(&mut self.columns, 0);
        let mut content = Vec::new();
        for columns in tables {
            self.describe_table(columns, &mut content);
        }
        self.count += 1;
        self.payloads[0].push(content);
    }

    /// Adds the description of a table, and appends its values to `content`.
    fn describe_table(&mut self, columns: &[(&[u64], Coding)], content: &mut Vec<u8>) {
        let values: usize = columns.iter().map(|(values, _)| values.len()).sum();
        push_uint(&mut self.columns, 4 * columns.len() as u64);
        push_uint(&mut self.columns, values as u64);
        push_uint(&mut self.columns, 0);
        for (values, coding) in columns {
            self.describe(values, *coding, content);
        }
    }

    /// Adds the description of a stream or substream, and appends its values to `content`.
    fn describe(&mut self, values: &[u64], coding: Coding, content: &mut Vec<u8>) {
        let (start, mut last) = (content.len(), 0);
        for &value in values {
            match coding {
                Coding::Plain => push_uint(content, value),
                Coding::Differences | Coding::SignedDifferences => {
                    push_uint(content, unsigned(value.wrapping_sub(last) as i64));
                }
            }
            last = value;
        }
        push_uint(&mut self.columns, coding as u64);
        push_uint(&mut self.columns, values.len() as u64);
        push_uint(&mut self.columns, (content.len() - start) as u64);
    }

    /// Adds a byte stream, and the integer stream with the lengths of its strings.
    pub(crate) fn strings(&mut self, strings: &[&[u8]]) {
        let lengths: Vec<u64> = strings.iter().map(|string| string.len() as u64).collect();
        let lengths_at = self.count;
        self.column(&lengths, false);
        let content = strings.concat();
        push_uint(&mut self.strings, 0);
        push_uint(&mut self.strings, lengths_at);
        push_uint(&mut self.strings, content.len() as u64);
        self.string_streams += 1;
        self.payloads[1].push(content);
    }

    /// Appends the packed data.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let mut structure = Vec::new();
        push_uint(&mut structure, self.count);
        structure.extend_from_slice(&self.columns);
        push_uint(&mut structure, self.string_streams);
        structure.extend_from_slice(&self.strings);
        push_uint(out, structure.len() as u64);
        out.extend_from_slice(&structure);
        let mut codec = Codec::new();
        let mut frame = Vec::new();
        for content in self.payloads.iter().flatten() {
            frame.clear();
            codec.write_zlib_block(content, LEVEL, &mut frame);
            push_uint(out, frame.len() as u64);
            out.extend_from_slice(&frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed_data::PackedData;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_data_is_read_as_it_was_written(
            plain: Vec<u64>,
            differences: Vec<u64>,
            strings in prop::collection::vec(prop::collection::vec(0u8..3, 0..900), 0..5),
            rows: Vec<[u64; 3]>,
        ) {
            let table = [0, 1, 2].map(|column| rows.iter().map(|row| row[column]).collect::<Vec<_>>());
            let strings: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let mut writer = PackedWriter::default();
            writer.column(&plain, false);
            writer.column(&differences, true);
            writer.table(&[
                (&table[0], Coding::Plain),
                (&table[1], Coding::Differences),
                (&table[2], Coding::SignedDifferences),
            ]);
            let first = [(&table[0][..], Coding::Differences)];
            writer.tables(&[&first, &[(&table[1], Coding::Plain), (&table[2], Coding::Differences)]]);
            writer.strings(&strings);
            let mut bytes = Vec::new();
            writer.finish(&mut bytes);
            let mut rest = &bytes[..];
            let data = PackedData::decode(&mut rest).expect("what was written");
            prop_assert!(rest.is_empty());
            prop_assert_eq!(data.column(0).and_then(|column| column.values()), Ok(plain));
            prop_assert_eq!(data.column(1).and_then(|column| column.values()), Ok(differences));
            prop_assert_eq!(data.column(2).and_then(|column| column.table::<3>()), Ok(table.clone()));
            let inner = |number| data.column(3).and_then(|tables| tables.sub(number));
            let [first, second, third] = table;
            prop_assert_eq!(inner(0).and_then(|table| table.table::<1>()), Ok([first]));
            prop_assert_eq!(inner(1).and_then(|table| table.table::<2>()), Ok([second, third]));
            prop_assert_eq!(data.strings(0), Ok(strings));
        }
    }
}
